package noise

import (
	"math/big"
	"math/bits"
)

// bernoulliExp returns true with probability exactly exp(-num/den).
//
// Proof: P(U < exp(-x)) = exp(-x) for a uniform real U. The comparison is
// decided on enclosures of both sides (see expNeg) and, when they overlap, on
// narrower ones. It has the law of algorithm 1 of Canonne, Kamath and Steinke
// (2020) and costs one word in all but about 2^-60 of the draws.
func (s *Stream) bernoulliExp(num, den uint64) bool {
	lo, _ := bits.Div64(num%den, 0, den)
	u := s.Uint64()
	v := s.belowExp(u, fixedPoint{hi: num / den, lo: lo, err: 1})
	return v == below || v == undecided && s.settleExp(u, ratio(num, den))
}

// bernoulliExpRat is bernoulliExp for any rational x > 0.
func (s *Stream) bernoulliExpRat(x *big.Rat) bool {
	u := s.Uint64()
	v := s.belowExp(u, fixedRat(x))
	return v == below || v == undecided && s.settleExp(u, x)
}
