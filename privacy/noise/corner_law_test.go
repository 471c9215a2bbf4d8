package noise

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"testing"
)

// scripted makes the stream's next words the given ones; fresh ones follow.
func scripted(s *Stream, words ...uint64) {
	s.refill()
	for i, w := range words {
		binary.LittleEndian.PutUint64(s.buf[8*i:], w)
	}
}

// Draws whose first 64 digits tie with those of the probability, which no test
// would see by chance: what decides then are the digits after them.
func TestLawAfterTie(t *testing.T) {
	// p = scale·0.6·2^-64 has 64 zeros; given a first word of 0, U < p has
	// probability scale·0.6.
	small := func(t testing.TB, scale float64) Probability {
		return mustProbability(t, math.Ldexp(0.6*scale, -64))
	}
	coinFit("Bernoulli", 20_000, func(scale float64) float64 { return 0.6 * scale },
		func(t testing.TB, scale float64) func(*Stream) bool {
			p := small(t, scale)
			return func(s *Stream) bool {
				scripted(s, 0)
				return s.Bernoulli(p)
			}
		}).run(t)
	zeros := make([]uint64, 64)
	fit{
		name:  "64 lanes",
		draws: 10_000,
		bins: func(scale float64) []float64 {
			p := 0.6 * scale
			return []float64{(1 - p) * (1 - p) * (1 - p), 3 * p * (1 - p) * (1 - p), 3 * p * p * (1 - p), p * p * p}
		},
		sampler: func(t testing.TB, scale float64) func(*Stream) int {
			p := small(t, scale)
			return func(s *Stream) int {
				scripted(s, zeros...)
				return bits.OnesCount64(s.bernoulli64(p) & (1<<63 | 1<<20 | 1))
			}
		},
	}.run(t)
}

// b·(v+x) just below a whole number, where 64 digits of x cannot tell: more
// digits must be drawn, and the floor is the number before.
func TestFloorBelowWhole(t *testing.T) {
	for _, b := range []int64{1, 3, 1 << 40} {
		m := newMultiplier(big.NewRat(b, 1))
		s := KeyFromSeed(1).Stream("floor")
		x := digits{head: math.MaxUint64}
		if got, want := m.floor(s, 5, &x, 0), uint64(6*b-1); got != want {
			t.Errorf("%d·5.999…: %d, want %d", b, got, want)
		}
		if len(x.tail) == 0 {
			t.Errorf("%d·5.999…: decided without more digits", b)
		}
	}
}

func TestCornerCases(t *testing.T) {
	s := KeyFromSeed(1).Stream("corners")
	var or uint64
	for range 200 {
		or |= s.Uint64n(0)
		if s.Uint64n(1) != 0 {
			t.Fatal("Uint64n(1) is not 0")
		}
	}
	if or != math.MaxUint64 {
		t.Errorf("Uint64n(0) reaches %#x", or)
	}
	if n, err := (Grid{}).Round(0); n != 0 || err != nil {
		t.Errorf("zero rounds to %d, %v", n, err)
	}
	if _, err := (Grid{62}).RoundedL2(1e9, 1); err == nil {
		t.Error("a sensitivity beyond 2^62 steps was accepted")
	}
	// 2^53+1 steps of 2^-60 are no float64; the bound must not fall below.
	g := Grid{60}
	l2 := math.Nextafter(math.Ldexp(1, -7), 1)
	up, err := g.RoundedL2(l2, 1)
	if err != nil || up < l2 {
		t.Errorf("RoundedL2(%v) = %v, %v", l2, up, err)
	}
	if p, err := s.Permutation(0); len(p) != 0 || err != nil {
		t.Errorf("permutation of nothing: %v, %v", p, err)
	}
	if set, err := s.Subset(5, 5); len(set) != 5 || err != nil {
		t.Errorf("subset of everything: %v, %v", set, err)
	}
}
