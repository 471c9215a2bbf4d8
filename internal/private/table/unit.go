package table

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// Unit stands for a unit of privacy by 128 bits of a keyed hash.
//
// Two units with the same hash would count as one, and share the room of one. Among n units
// two have the same with probability below n²/2^129, over the key: 10⁻²⁴ for ten million.
// That is less than the pseudorandom function itself is trusted for, on which the guarantee
// rests anyway, so nothing is added to δ.
type Unit [2]uint64

// unitHash is CBC-MAC with AES-256 over the length and then the bytes, which is a
// pseudorandom function since no such encoding begins another one (Petrank and Rackoff 2000,
// "CBC MAC for Real-Time Data Sources"; Bellare, Kilian and Rogaway 2000).
type unitHash struct{ block cipher.Block }

func newUnitHash(key []byte) (*unitHash, error) {
	block, err := aes.NewCipher(key)
	return &unitHash{block}, err
}

// of is safe for concurrent use.
func (u *unitHash) of(unit []byte) Unit {
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
	return Unit{binary.LittleEndian.Uint64(state[:]), binary.LittleEndian.Uint64(state[8:])}
}
