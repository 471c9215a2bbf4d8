package tokenizer

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"sotto/lm"
)

const (
	cacheBits    = 15 // slots
	cacheLongest = 64 // bytes of a piece
)

// cache remembers the tokens of pieces. Words repeat, so most pieces of a text are
// found here. A piece has one slot and replaces what was in it: memory is bounded, and
// readers and writers need no lock.
type cache struct {
	seed  maphash.Seed
	slots [1 << cacheBits]atomic.Pointer[remembered]
}

type remembered struct {
	piece  string
	tokens []lm.Token
}

func newCache() *cache { return &cache{seed: maphash.MakeSeed()} }

// through appends the tokens of a piece, computing them if they are not remembered.
func (c *cache) through(tokens []lm.Token, piece string, compute func([]lm.Token, string) []lm.Token) []lm.Token {
	if len(piece) > cacheLongest {
		return compute(tokens, piece)
	}
	slot := &c.slots[maphash.String(c.seed, piece)>>(64-cacheBits)]
	if r := slot.Load(); r != nil && r.piece == piece {
		return append(tokens, r.tokens...)
	}
	before := len(tokens)
	tokens = compute(tokens, piece)
	slot.Store(&remembered{
		piece:  strings.Clone(piece), // of what may be a much longer text
		tokens: append([]lm.Token(nil), tokens[before:]...),
	})
	return tokens
}
