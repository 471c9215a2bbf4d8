package origin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// KeyFile is the name of the key in a private folder.
	KeyFile = "fingerprint.key"
	keySize = 32
)

// Key is the secret of a private folder, which keys of every purpose come from.
type Key struct{ secret []byte }

// FolderKey reads the key of a private folder. The first use of a folder makes both.
func FolderKey(dir string) (Key, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Key{}, &Error{Code: Unusable, Msg: "making the private folder", Err: err}
	}
	path := filepath.Join(dir, KeyFile)
	secret, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(path); err == nil {
			secret, err = readKey(path)
		}
	}
	return Key{secret}, err
}

// For derives the key of one purpose; keys of different purposes are independent.
func (k Key) For(purpose string) []byte {
	key := NewMAC(k.secret).Of("sotto record " + purpose)
	return key[:]
}

// String keeps the secret from being printed.
func (Key) String() string { return "(the key of a private folder)" }

func readKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &Error{Code: Unusable, Msg: "reading the fingerprint key", Err: err}
	}
	if info.Mode().Perm()&0o077 != 0 && !ForeignModes {
		return nil, Refuse("the fingerprint key %s can be read by others: chmod 600 it", path)
	}
	secret, err := os.ReadFile(path)
	if err != nil {
		return nil, &Error{Code: Unusable, Msg: "reading the fingerprint key", Err: err}
	}
	if len(secret) != keySize {
		return nil, Refuse("the fingerprint key %s is damaged: restore it; with another key the ledger does not know the data again", path)
	}
	return secret, nil
}

// makeKey writes a new key, unless another process was first.
func makeKey(path string) error {
	fail := func(err error) error {
		return &Error{Code: Unusable, Msg: "making the fingerprint key", Err: err}
	}
	secret := make([]byte, keySize)
	if _, err := rand.Read(secret); err != nil {
		return fail(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return fail(err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(secret)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fail(err)
	}
	// A link, unlike a rename, does not replace the key of another process.
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(err)
	}
	// With a key that is lost, a ledger that has charges would not know the data.
	if err := SyncDir(filepath.Dir(path)); err != nil {
		return fail(err)
	}
	return nil
}

// MAC is HMAC-SHA-256 over lists of strings, encoded injectively. It is not for
// concurrent use.
type MAC struct {
	h   hash.Hash
	buf []byte
}

// NewMAC returns the function for a key.
func NewMAC(key []byte) *MAC { return &MAC{h: hmac.New(sha256.New, key)} }

// Of returns the hash of a list.
func (m *MAC) Of(parts ...string) (sum [sha256.Size]byte) {
	m.buf = m.buf[:0]
	for _, p := range parts {
		m.buf = binary.AppendUvarint(m.buf, uint64(len(p)))
		m.buf = append(m.buf, p...)
	}
	m.h.Reset()
	m.h.Write(m.buf)
	m.h.Sum(sum[:0])
	return sum
}
