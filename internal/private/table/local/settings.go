package local

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy"
)

// The ε of a column must lie between these. Below the least, the grid of 2^-64 on which
// chances live is too coarse for the proof; above the most, nothing changes any more.
const (
	MinEpsilon = 1e-6
	MaxEpsilon = 1e6
)

// MaxValues is the size of the largest domain: codes are 16 bits.
const MaxValues = 1 << 16

// Settings say how rows are perturbed. They are public.
type Settings struct {
	// Domains are the numbers of values of the columns, in the order of the schema.
	Domains []int `json:"domains"`
	// Epsilons are the budgets of the columns; 0 for a column of one value.
	Epsilons []float64 `json:"epsilons"`
}

// Check finds what is wrong with settings that were read from a file.
func (s Settings) Check() error {
	if len(s.Domains) == 0 {
		return errors.New("there is no column to perturb: name at least one in the schema")
	}
	if len(s.Epsilons) != len(s.Domains) {
		return fmt.Errorf("%d columns have %d values of ε: give one for each", len(s.Domains), len(s.Epsilons))
	}
	for i, d := range s.Domains {
		switch e := s.Epsilons[i]; {
		case d < 1 || d > MaxValues:
			return fmt.Errorf("column %d has %d values: a column that is perturbed has from 1 to %d; use coarser bins or fewer values", i+1, d, MaxValues)
		case d == 1 && e != 0:
			return fmt.Errorf("column %d has one value, and ε = %v would be spent on nothing: set it to 0", i+1, e)
		case d > 1 && !(e >= MinEpsilon && e <= MaxEpsilon):
			return fmt.Errorf("column %d has ε = %v: it must lie between %v and %v; leave the column out of the schema if it is worth nothing", i+1, e, MinEpsilon, float64(MaxEpsilon))
		}
	}
	return nil
}

// Event is what perturbing one table does to privacy, under replace-one.
func (s Settings) Event() privacy.Event {
	var each []privacy.Event
	for i, d := range s.Domains {
		if d > 1 {
			each = append(each, privacy.RandomizedResponse{Epsilon: s.Epsilons[i], K: int64(d)})
		}
	}
	return privacy.Canonical(privacy.Compose{Events: each})
}

// Adjacency is what the event is about.
func (s Settings) Adjacency() privacy.Adjacency { return privacy.ReplaceOne }

// Thresholds are the chances to keep a value that run, in units of 2^-64, for the columns
// of more than one value; those of one value have 0 and are not drawn for. Check must
// have passed.
func (s Settings) Thresholds() []uint64 {
	out := make([]uint64, len(s.Domains))
	for i, d := range s.Domains {
		if d > 1 {
			out[i] = threshold(s.Epsilons[i], d)
		}
	}
	return out
}

// Channel is what perturbing does to the distribution of rows: the chances that run, to
// the nearest float64.
func (s Settings) Channel() reconstruct.Channel {
	c := reconstruct.Channel{Domains: s.Domains}
	for i, t := range s.Thresholds() {
		keep, other := 1., 0.
		if d := s.Domains[i]; d > 1 {
			keep = float64(t) * 0x1p-64
			// 2^64−t in 64 bits: t is never 0.
			other = float64(-t) * 0x1p-64 / float64(d-1)
		}
		c.Keep, c.Other = append(c.Keep, keep), append(c.Other, other)
	}
	return c
}

// enough is an ε from which on a value is kept with the chance 1−2^-64 in any domain.
const enough = 64

// threshold is the chance to keep a value in units of 2^-64: at most 2^64·p with
// p = E/(E+d−1), E = e^ε, and by less than 2 units.
//
// Theorem: the odds o = t(d−1)/(2^64−t) are between 1/E and E. Proof: o grows with t.
// It is E at t = 2^64·p, and t is at most that: [expDown] is at most E, E/(E+d−1) grows
// with E, and the quotient is rounded down. It is 1/E at t' = 2^64/(1+(d−1)E), and
//
//	p − t'/2^64 = (d−1)(E²−1) / ((E+d−1)(1+(d−1)E)),
//
// which grows with E, as p does and t' does not, and shrinks with d. At ε = 10^-6 and
// d = 2^16 it is more than 3·10^-11, which is 5·10^8 units. ∎
func threshold(epsilon float64, d int) uint64 {
	odds, _ := expDown(math.Min(epsilon, enough)).Rat(nil)
	rest := big.NewRat(int64(d-1), 1)
	p := rest.Quo(odds, rest.Add(rest, odds))
	t := new(big.Int).Lsh(p.Num(), 64)
	return t.Quo(t, p.Denom()).Uint64() // p < 1
}

// expDown is at most e^x, and nearly that, for x ≥ 0: a part of the series of e^(x/2^k),
// all of whose terms are positive, raised to 2^k. Every operation on positive numbers
// rounds toward zero, so that no result is above the exact one.
func expDown(x float64) *big.Float {
	const precision, halvings, terms = 320, 16, 40
	number := func(v float64) *big.Float {
		return new(big.Float).SetPrec(precision).SetMode(big.ToZero).SetFloat64(v)
	}
	small := number(x)
	small.SetMantExp(small, -halvings)
	sum, term := number(1), number(1)
	for i := 1; i <= terms; i++ {
		term.Mul(term, small)
		term.Quo(term, number(float64(i)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}
