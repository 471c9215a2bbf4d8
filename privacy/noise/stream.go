package noise

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
)

// bufferSize trades the cost of opening a stream (which fills one buffer)
// against the cost per word. Streams are often opened per token.
const bufferSize = 1024

// Stream is an unbounded sequence of uniform bits, fixed by a key, a purpose
// and indices. It is not safe for concurrent use: give each goroutine a stream
// of its own, distinguished by an index.
//
// Every sampler takes its randomness from a Stream and reads as much as it
// needs, so what a later draw returns depends on all draws before it.
//
// Copies share one position, so that copying a Stream cannot repeat noise.
type Stream struct{ *state }

type state struct {
	ctr     cipher.Stream
	pos     int
	private bool

	// widen is added to every error bound, in units of 2^-64. It is 0 except
	// in tests, which use it to send many draws down the paths that need more
	// than 64 bits.
	widen uint64

	// memory is behind a second pointer to keep it out of fmt's reach; see
	// secret.
	*memory
}

type memory struct {
	buf     [bufferSize]byte
	coins   uint64   // unused bits for Bool, below a leading 1
	weights []uint64 // scratch for Softmax
}

// Stream derives the stream named by a purpose and indices. Equal names give
// equal bits, so a run replays; different names give streams that nobody
// without the key can distinguish from independent ones.
//
// Guarantee: the name is encoded injectively, HMAC-SHA256 under the key maps
// it to an AES-256 key, and AES-256 in counter mode from zero makes the bits.
// If HMAC-SHA256 is a PRF and AES-256 a PRP, all streams together are
// indistinguishable from uniform bits; the switch from permutation to function
// costs b²/2^129 for a stream of b blocks.
//
// Using one name for two draws repeats the noise and voids the privacy of
// both. Put the step (record, text, token) into the indices.
//
// It panics for a zero or erased key: continuing would produce noise that
// anyone can predict.
func (k Key) Stream(purpose string, indices ...uint64) *Stream {
	if k.s == nil || k.s.origin == 0 {
		panic("noise: Stream from a zero or erased Key: make one with NewKey")
	}
	block, err := aes.NewCipher(k.derive(purpose, indices))
	if err != nil {
		panic("noise: " + err.Error())
	}
	var iv [aes.BlockSize]byte
	return &Stream{&state{
		ctr:     cipher.NewCTR(block, iv[:]),
		pos:     bufferSize,
		private: k.Private(),
		memory:  &memory{coins: 1},
	}}
}

// derive is injective in (purpose, indices): both are preceded by their length.
func (k Key) derive(purpose string, indices []uint64) []byte {
	msg := make([]byte, 0, 64+len(purpose)+8*len(indices))
	msg = append(msg, "sotto/privacy/noise stream v1\x00"...)
	msg = binary.BigEndian.AppendUint64(msg, uint64(len(purpose)))
	msg = append(msg, purpose...)
	msg = binary.BigEndian.AppendUint64(msg, uint64(len(indices)))
	for _, i := range indices {
		msg = binary.BigEndian.AppendUint64(msg, i)
	}
	mac := hmac.New(sha256.New, k.s.bytes[:])
	mac.Write(msg)
	return mac.Sum(nil)
}

// Private reports whether the stream's key came from the operating system. A
// result drawn from a stream that is not private must be marked NOT PRIVATE
// and never be written as a release.
func (s *Stream) Private() bool { return s.private }

func (s *Stream) refill() {
	clear(s.buf[:])
	s.ctr.XORKeyStream(s.buf[:], s.buf[:])
	s.pos = 0
}

// Uint64 returns 64 uniform bits.
func (s *Stream) Uint64() uint64 {
	if s.pos > bufferSize-8 {
		s.refill()
	}
	u := binary.LittleEndian.Uint64(s.buf[s.pos:])
	s.pos += 8
	return u
}

// Bool returns a fair coin. One word gives 63 of them.
func (s *Stream) Bool() bool {
	if s.coins <= 1 {
		s.coins = s.Uint64() | 1<<63
	}
	heads := s.coins&1 == 1
	s.coins >>= 1
	return heads
}

// Bits returns n uniform bits in the low end of a word. n above 64 counts as
// 64, n below 0 as 0.
func (s *Stream) Bits(n int) uint64 {
	if n <= 0 {
		return 0
	}
	return s.Uint64() >> uint(64-min(n, 64))
}

// Uint64n returns a uniform integer in [0, n). n = 0 stands for 2^64.
//
// Exact: the product of a word and n is split into its upper word, which is
// the answer, and its lower word; the lower words below 2^64 mod n are
// rejected, which leaves each answer floor(2^64/n) words (Lemire 2019,
// "Fast random integer generation in an interval").
func (s *Stream) Uint64n(n uint64) uint64 {
	if n == 0 {
		return s.Uint64()
	}
	hi, lo := bits.Mul64(s.Uint64(), n)
	if lo < n {
		for surplus := -n % n; lo < surplus; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

// BigBelow returns a uniform integer in [0, n) by rejection from the integers
// of n's length; n must be positive.
func (s *Stream) BigBelow(n *big.Int) (*big.Int, error) {
	if n == nil || n.Sign() <= 0 {
		return nil, errors.New("n must be a positive integer")
	}
	length := new(big.Int).Sub(n, big.NewInt(1)).BitLen()
	words := (length + 63) / 64
	for {
		x := new(big.Int)
		for range words {
			x.Lsh(x, 64)
			x.Or(x, new(big.Int).SetUint64(s.Uint64()))
		}
		x.Rsh(x, uint(64*words-length))
		if x.Cmp(n) < 0 {
			return x, nil
		}
	}
}

// String returns a placeholder: a stream's state reveals its past noise.
func (s *Stream) String() string { return "noise.Stream(redacted)" }

// Format writes a placeholder for every verb and flag.
func (s *Stream) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("noise.Stream(redacted)")) }
