package rowsketch

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
)

// mac gives keyed hashes of 64 bits. It is not for concurrent use.
type mac struct {
	value, row cipher.Block
	state      [aes.BlockSize]byte // a field, since what goes to an interface escapes
}

func newMAC(key keys.Key) *mac {
	secret := key.For("sketch")
	return &mac{value: cipherOf(secret[:16]), row: cipherOf(secret[16:])}
}

func cipherOf(key []byte) cipher.Block {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // a derived key has a length that AES takes
	}
	return block
}

// of hashes bytes.
func (m *mac) of(b []byte) uint64 {
	s := m.state[:]
	clear(s)
	binary.LittleEndian.PutUint32(s, uint32(len(b)))
	b = b[copy(s[4:], b):]
	for m.value.Encrypt(s, s); len(b) > 0; m.value.Encrypt(s, s) {
		n := min(len(b), aes.BlockSize)
		for i, c := range b[:n] {
			s[i] ^= c
		}
		b = b[n:]
	}
	return binary.LittleEndian.Uint64(s)
}

// spread is a pseudorandom permutation of a number, cut to 64 bits; the tag separates uses.
func (m *mac) spread(x, tag uint64) uint64 {
	s := m.state[:]
	binary.LittleEndian.PutUint64(s, x)
	binary.LittleEndian.PutUint64(s[8:], tag)
	m.row.Encrypt(s, s)
	return binary.LittleEndian.Uint64(s)
}

// The uses of spread.
const (
	tagRow = iota
	tagFactor
	tagOffset
	tagValue
	tagWhole
)
