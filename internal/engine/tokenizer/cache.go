package tokenizer

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/sotto-dp/sotto/lm"
)

const (
	cacheBits      = 13 // sets
	cacheWays      = 4  // pieces in a set
	maxCacheBytes  = 32 // bytes of a piece
	maxCacheTokens = 7  // tokens of a piece
)

// cache remembers the tokens of pieces. Words repeat, so most pieces of a text are
// found here. A piece belongs to one set and drives out the oldest of it: memory is
// bounded. Readers and writers need no lock, since what is remembered never changes
// and forgetting does no harm.
type cache struct {
	seed maphash.Seed
	sets [1 << cacheBits][cacheWays]atomic.Pointer[cacheEntry]
}

// cacheEntry is a piece and its tokens in one allocation.
type cacheEntry struct {
	length, count uint8
	piece         [maxCacheBytes]byte
	tokens        [maxCacheTokens]lm.Token
}

func newCache() *cache { return &cache{seed: maphash.MakeSeed()} }

// through appends the tokens of a piece, computing them if they are not remembered.
func (c *cache) through(tokens []lm.Token, piece string, compute func([]lm.Token, string) []lm.Token) []lm.Token {
	if len(piece) > maxCacheBytes {
		return compute(tokens, piece)
	}
	set := &c.sets[maphash.String(c.seed, piece)>>(64-cacheBits)]
	for i := range set {
		if r := set[i].Load(); r != nil && string(r.piece[:r.length]) == piece {
			return append(tokens, r.tokens[:r.count]...)
		}
	}
	before := len(tokens)
	tokens = compute(tokens, piece)
	if found := tokens[before:]; len(found) <= maxCacheTokens {
		r := &cacheEntry{length: uint8(len(piece)), count: uint8(len(found))}
		copy(r.piece[:], piece)
		copy(r.tokens[:], found)
		for i := cacheWays - 1; i > 0; i-- {
			set[i].Store(set[i-1].Load())
		}
		set[0].Store(r)
	}
	return tokens
}
