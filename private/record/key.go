package record

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

const (
	keyFile = "fingerprint.key"
	keySize = 32
)

// digest is a keyed hash that stands for a value.
type digest [16]byte

// keys are independent keys, one for each purpose, derived from that of the folder.
type keys struct {
	content, name, check, unit, label, rank, seal []byte
}

// folderKeys reads the key of a private folder. The first use of a folder makes both.
func folderKeys(dir string) (*keys, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &Error{Code: Unusable, Msg: "making the private folder", err: err}
	}
	path := filepath.Join(dir, keyFile)
	secret, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(path); err == nil {
			secret, err = readKey(path)
		}
	}
	if err != nil {
		return nil, err
	}
	derive := func(purpose string) []byte {
		key := newMAC(secret).of("sotto record " + purpose)
		return key[:]
	}
	return &keys{
		content: derive("content"), name: derive("name"), check: derive("check"),
		unit: derive("unit"), label: derive("label"), rank: derive("rank"), seal: derive("seal"),
	}, nil
}

func readKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &Error{Code: Unusable, Msg: "reading the fingerprint key", err: err}
	}
	if info.Mode().Perm()&0o077 != 0 && !foreignModes {
		return nil, unusable("the fingerprint key %s can be read by others: chmod 600 it", path)
	}
	secret, err := os.ReadFile(path)
	if err != nil {
		return nil, &Error{Code: Unusable, Msg: "reading the fingerprint key", err: err}
	}
	if len(secret) != keySize {
		return nil, unusable("the fingerprint key %s is damaged: restore it; with another key the ledger does not know the data again", path)
	}
	return secret, nil
}

// makeKey writes a new key, unless another process was first.
func makeKey(path string) error {
	fail := func(err error) error {
		return &Error{Code: Unusable, Msg: "making the fingerprint key", err: err}
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
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fail(err)
	}
	return nil
}

// mac is HMAC-SHA-256 over lists of strings, encoded injectively. It is not for
// concurrent use.
type mac struct {
	h   hash.Hash
	buf []byte
}

func newMAC(key []byte) *mac { return &mac{h: hmac.New(sha256.New, key)} }

func (m *mac) of(parts ...string) (sum [sha256.Size]byte) {
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

func (m *mac) digest(parts ...string) digest {
	sum := m.of(parts...)
	return digest(sum[:])
}

// marks gives the keyed hashes of entries. It is not for concurrent use.
type marks struct {
	check, unit, label *mac
	rank               cipher.Block
}

func (k *keys) marks() *marks {
	block, err := aes.NewCipher(k.rank)
	if err != nil {
		panic(err) // a derived key has a length that AES takes
	}
	return &marks{newMAC(k.check), newMAC(k.unit), newMAC(k.label), block}
}

// checkOf is the short checksum by which a record is known again.
func (m *marks) checkOf(ordinal int64, e *entry) (c [checkSize]byte) {
	sum := m.check.of(strconv.FormatInt(ordinal, 10), e.unit, e.condition, e.text)
	copy(c[:], sum[:])
	return c
}

func (m *marks) unitOf(e *entry) digest { return m.unit.digest(e.unit) }

func (m *marks) labelOf(condition string) digest { return m.label.digest(condition) }

// rankOf orders the labels of a unit, which takes part under the one of least rank: a
// keyed permutation of the sum of both digests. It depends on the unit and its own
// labels alone, and to anyone without the key each of them is equally likely to be
// first. It can be undone, so that sorting by rank loses nothing.
func (m *marks) rankOf(unit, label digest) (rank digest) {
	subtle.XORBytes(rank[:], unit[:], label[:])
	m.rank.Encrypt(rank[:], rank[:])
	return rank
}

// labelAt is the label that has a rank for a unit.
func (m *marks) labelAt(unit, rank digest) (label digest) {
	m.rank.Decrypt(label[:], rank[:])
	subtle.XORBytes(label[:], label[:], unit[:])
	return label
}
