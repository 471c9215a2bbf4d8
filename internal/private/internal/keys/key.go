package keys

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/durable"
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
		return Key{}, &origin.Error{Code: origin.Unusable, Msg: "making the private folder", Err: err}
	}
	path := filepath.Join(dir, KeyFile)
	key, err := ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(path); err == nil {
			key, err = ReadKey(path)
		}
	}
	return key, err
}

// For derives the key of one purpose; keys of different purposes are independent.
func (k Key) For(purpose string) []byte {
	key := NewMAC(k.secret).Of("sotto record " + purpose)
	return key[:]
}

// ID names the key in public: 16 hexadecimal digits that say nothing else about it.
func (k Key) ID() string {
	id := k.For("key id")
	return hex.EncodeToString(id[:8])
}

// String keeps the secret from being printed.
func (Key) String() string { return "(the key of a private folder)" }

// GoString does too.
func (k Key) GoString() string { return k.String() }

// ReadKey reads the key in a file, which only its owner may be able to read.
func ReadKey(path string) (Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Key{}, &origin.Error{Code: origin.Unusable, Msg: "reading the fingerprint key", Err: err}
	}
	if !info.Mode().IsRegular() {
		return Key{}, origin.Refuse("the fingerprint key %s is not a regular file", path)
	}
	if info.Mode().Perm()&0o077 != 0 && !ForeignModes {
		return Key{}, origin.Refuse("the fingerprint key %s can be read by others: chmod 600 it", path)
	}
	if info.Size() != keySize {
		return Key{}, damagedKey(path)
	}
	secret, err := os.ReadFile(path)
	if err != nil {
		return Key{}, &origin.Error{Code: origin.Unusable, Msg: "reading the fingerprint key", Err: err}
	}
	if len(secret) != keySize {
		return Key{}, damagedKey(path)
	}
	return Key{secret}, nil
}

func damagedKey(path string) error {
	return origin.Refuse("the fingerprint key %s is damaged: restore it; with another key the ledger does not know the data again", path)
}

// makeKey writes a new key, unless another process was first.
func makeKey(path string) error {
	secret := make([]byte, keySize)
	rand.Read(secret) // never fails, crypto/rand
	err := (Key{secret}).WriteNew(path)
	if errors.Is(err, fs.ErrExist) {
		// The other process may not have come as far.
		return durable.SyncDir(filepath.Dir(path))
	}
	return err
}

// CopyTo writes the key to a new file with mode 0600, on any kind of file system.
func (k Key) CopyTo(path string) error {
	if err := durable.WriteNew(path, k.secret, 0o600); err != nil {
		return &origin.Error{Code: origin.Unusable, Msg: "writing the fingerprint key", Err: err}
	}
	return nil
}

// WriteNew writes the key to a file with mode 0600, whole or not at all. One that is there stays as it is, with
// an error that is [fs.ErrExist].
func (k Key) WriteNew(path string) error {
	if err := durable.LinkNew(path, k.secret); err != nil {
		return &origin.Error{Code: origin.Unusable, Msg: "writing the fingerprint key", Err: err}
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
