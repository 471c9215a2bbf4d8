package noise

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
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

// ProbabilityRatio returns num/den.
func ProbabilityRatio(num, den uint64) (Probability, error) {
	if den == 0 || num > den {
		return Probability{}, fmt.Errorf("probability %d/%d: needs a denominator above 0 and a numerator that does not exceed it", num, den)
	}
	return probabilityRat(new(big.Rat).SetFrac(new(big.Int).SetUint64(num), new(big.Int).SetUint64(den)))
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

// BernoulliExp returns true with probability exactly exp(-num/den); den must
// not be 0.
//
// Proof: P(U < exp(-x)) = exp(-x) for a uniform real U. The comparison is
// decided on enclosures of both sides (see expNeg) and, when they overlap, on
// narrower ones. It has the law of algorithm 1 of Canonne, Kamath and Steinke
// (2020) and costs one word in all but about 2^-60 of the draws.
func (s *Stream) BernoulliExp(num, den uint64) (bool, error) {
	if den == 0 {
		return false, errors.New("exponent den = 0: the denominator must be positive")
	}
	if num == 0 {
		return true, nil
	}
	lo, _ := bits.Div64(num%den, 0, den)
	x := fixed{hi: num / den, lo: lo, err: 1}
	u := s.Uint64()
	if v := s.belowExp(u, x); v != undecided {
		return v == below, nil
	}
	return s.settleExp(u, ratio(num, den)), nil
}

// BernoulliExpRat is [Stream.BernoulliExp] for any rational x ≥ 0.
func (s *Stream) BernoulliExpRat(x *big.Rat) (bool, error) {
	if x == nil || x.Sign() < 0 {
		return false, errors.New("exponent x: must be a rational number ≥ 0")
	}
	if x.Sign() == 0 {
		return true, nil
	}
	u := s.Uint64()
	if v := s.belowExp(u, fixedRat(x)); v != undecided {
		return v == below, nil
	}
	return s.settleExp(u, x), nil
}

// fixedRat encloses a rational; 2^64 and above come back as expCutoff, which is
// all that expNeg looks at.
func fixedRat(x *big.Rat) fixed {
	n := scaledFloor(x, 64)
	lo := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	if n.Rsh(n, 64); !n.IsUint64() {
		return fixed{hi: expCutoff}
	}
	return fixed{hi: n.Uint64(), lo: lo, err: 1}
}

func ratio(num, den uint64) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(num), new(big.Int).SetUint64(den))
}
