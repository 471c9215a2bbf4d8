package noise

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// Probability is an exact rational number in [0,1]. The zero value is 0.
type Probability struct {
	// head is floor(p·2^64) and rest the fraction left over, so that the
	// first 64 digits decide unless they equal head.
	head uint64
	rest *big.Rat
	sure bool
}

// ProbabilityFloat takes p as the dyadic rational that the float64 is.
func ProbabilityFloat(p float64) (Probability, error) {
	if math.IsNaN(p) || p < 0 || p > 1 {
		return Probability{}, fmt.Errorf("probability p = %v: must lie in [0, 1]", p)
	}
	return probabilityRat(new(big.Rat).SetFloat64(p))
}

// probabilityRat returns p.
func probabilityRat(p *big.Rat) (Probability, error) {
	if p == nil || p.Sign() < 0 || p.Cmp(big.NewRat(1, 1)) > 0 {
		return Probability{}, errors.New("probability p: must be a rational number in [0, 1]")
	}
	if p.Cmp(big.NewRat(1, 1)) == 0 {
		return Probability{sure: true}, nil
	}
	scaled := new(big.Rat).Mul(p, new(big.Rat).SetInt(new(big.Int).Lsh(one, 64)))
	whole := new(big.Int).Quo(scaled.Num(), scaled.Denom())
	out := Probability{head: whole.Uint64()}
	if rest := scaled.Sub(scaled, new(big.Rat).SetInt(whole)); rest.Sign() > 0 {
		out.rest = rest
	}
	return out, nil
}

// Rat returns the exact value.
func (p Probability) Rat() *big.Rat {
	if p.sure {
		return big.NewRat(1, 1)
	}
	r := new(big.Rat).SetInt(new(big.Int).SetUint64(p.head))
	if p.rest != nil {
		r.Add(r, p.rest)
	}
	return r.Quo(r, new(big.Rat).SetInt(new(big.Int).Lsh(one, 64)))
}

// Bernoulli returns true with probability exactly p.
//
// Proof: it compares the digits of a uniform real U with those of p, 64 at a
// time, and stops at the first difference; P(U < p) = p. When p has no digits
// left, U ≥ p.
func (s *Stream) Bernoulli(p Probability) bool {
	if p.sure {
		return true
	}
	u := s.Uint64()
	if u != p.head {
		return u < p.head
	}
	return p.rest != nil && s.bernoulliRat(p.rest)
}

func (s *Stream) bernoulliRat(rest *big.Rat) bool {
	p, err := probabilityRat(rest)
	return err == nil && s.Bernoulli(p)
}

// fixedRat encloses a rational; 2^64 and above come back as expCutoff, which is
// all that expNeg looks at.
func fixedRat(x *big.Rat) fixedPoint {
	n := scaledFloor(x, 64)
	lo := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	if n.Rsh(n, 64); !n.IsUint64() {
		return fixedPoint{hi: expCutoff}
	}
	return fixedPoint{hi: n.Uint64(), lo: lo, err: 1}
}

func ratio(num, den uint64) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(num), new(big.Int).SetUint64(den))
}
