package answer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/internal/sys/durable"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// keyFile has the key of a list's randomness, mode 0600, and of each block no longer than until
// its answers are on disk. It has two slots: the next state goes into the one that is free, and
// only when it is on disk is the other erased, so that at any moment one of them is whole.
type keyFile struct {
	path  string
	state listState
}

// listState is what a slot has.
type listState struct {
	// Sequence is higher in the newer slot.
	Sequence int64  `json:"sequence"`
	Name     string `json:"name"`
	// Asked is a hash of all that answers depend on.
	Asked string `json:"asked"`
	// Block that Key is for. Later ones follow from it, and earlier ones do not.
	Block int    `json:"block"`
	Key   []byte `json:"key,omitempty"`
	// Complete: nothing is left to do.
	Complete bool `json:"complete,omitempty"`
}

const slotSize = 1024

// read finds the newest state that is whole; false if there is none.
func (f *keyFile) read() (bool, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return false, err
	}
	data, err := io.ReadAll(io.LimitReader(file, 2*slotSize))
	if err := errors.Join(err, file.Close()); err != nil {
		return false, err
	}
	defer clear(data)
	found := false
	for at := 0; at < len(data); at += slotSize {
		text, sum, ok := strings.Cut(strings.TrimRight(string(data[at:min(at+slotSize, len(data))]), " \x00\n"), "\t")
		var s listState
		if !ok || sum != checksum([]byte(text)) || json.Unmarshal([]byte(text), &s) != nil || s.Name == "" {
			continue
		}
		if !found || s.Sequence > f.state.Sequence {
			f.state, found = s, true
		}
	}
	return found, nil
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// begin has a fresh name and key on disk. What was not written to its end was written before
// anything was charged.
func (f *keyFile) begin(asked string) error {
	key, err := noise.NewKey()
	if err != nil {
		return err
	}
	defer key.Erase()
	f.state = listState{Name: newName(), Asked: asked}
	if f.state.Key, err = key.Export(); err != nil {
		return err
	}
	return errors.Join(f.write(), durable.SyncDir(filepath.Dir(f.path)))
}

// write puts the state into the free slot, and erases the other.
func (f *keyFile) write() error {
	f.state.Sequence++
	text, err := json.Marshal(f.state)
	if err != nil {
		return err
	}
	slot := append(text, "\t"+checksum(text)...)
	defer clear(slot)
	if len(slot) >= slotSize {
		return errors.New("the key of the questions does not fit its place: this is an internal error")
	}
	slot = append(slot, strings.Repeat(" ", slotSize-1-len(slot))+"\n"...)
	file, err := os.OpenFile(f.path, os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep the key of the questions: %w", err)
	}
	here, other := f.state.Sequence%2*slotSize, (f.state.Sequence+1)%2*slotSize
	_, err = file.WriteAt(slot, here)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		_, err = file.WriteAt(make([]byte, slotSize), other)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("keep the key of the questions: %w", err)
	}
	return nil
}

// key is that of a block, which is the current one or later.
func (f *keyFile) key(block int) (noise.Key, error) {
	if block < f.state.Block || len(f.state.Key) == 0 {
		return noise.Key{}, errors.New("the key of these questions is gone, since they were answered: this is an internal error")
	}
	chain, err := noise.ImportKey(f.state.Key)
	if err != nil {
		return noise.Key{}, fmt.Errorf("%s: %w", f.path, err)
	}
	for range block - f.state.Block {
		next := chain.Derive("next block")
		chain.Erase()
		chain = next
	}
	defer chain.Erase()
	return chain.Derive("answers"), nil
}

// reach notes that the answers before an index are on disk: keys of the blocks that they fill go.
func (f *keyFile) reach(index int) error {
	block := index / blockSize
	if block < f.state.Block {
		return fmt.Errorf("answers that were written are missing from the file: restore it, or name another one. What was charged for the list of %s stays", f.path)
	}
	if block == f.state.Block {
		return nil
	}
	chain, err := noise.ImportKey(f.state.Key)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	for range block - f.state.Block {
		next := chain.Derive("next block")
		chain.Erase()
		chain = next
	}
	defer chain.Erase()
	f.forget()
	if f.state.Key, err = chain.Export(); err != nil {
		return err
	}
	f.state.Block = block
	return f.write()
}

// complete leaves the name of the list, and no key.
func (f *keyFile) complete() error {
	f.forget()
	f.state.Complete = true
	return f.write()
}

// forget removes the key from memory.
func (f *keyFile) forget() {
	clear(f.state.Key)
	f.state.Key = nil
}
