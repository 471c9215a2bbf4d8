package table

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// unitHash stands for units by 64 bits: CBC-MAC with AES-256 over the length and then the
// bytes, which is a pseudorandom function since no such encoding begins another one
// (Petrank and Rackoff 2000, "CBC MAC for Real-Time Data Sources"; Bellare, Kilian and
// Rogaway 2000).
//
// A given unit has the hash of another one among n with probability at most n/2^64, over
// the key. Then two units would count as one, and contribution bounding could not tell
// them apart: so much is to be added to δ (5·10⁻¹³ for ten million units).
type unitHash struct{ block cipher.Block }

func newUnitHash(key []byte) (*unitHash, error) {
	block, err := aes.NewCipher(key)
	return &unitHash{block}, err
}

// of is safe for concurrent use.
func (u *unitHash) of(unit []byte) uint64 {
	var state [aes.BlockSize]byte
	binary.LittleEndian.PutUint64(state[:], uint64(len(unit)))
	u.block.Encrypt(state[:], state[:])
	for len(unit) > 0 {
		n := min(len(unit), aes.BlockSize)
		for i, b := range unit[:n] {
			state[i] ^= b
		}
		u.block.Encrypt(state[:], state[:])
		unit = unit[n:]
	}
	return binary.LittleEndian.Uint64(state[:])
}
