package noise

import (
	"math/big"
	"math/bits"
)

// fixedPoint encloses a non-negative real x by (hi + lo·2^-64) ≤ x ≤ the same plus
// err·2^-64. A unit of 2^-64 is called an ulp below. Arithmetic is on integers
// only, so enclosures are the same on every machine.
type fixedPoint struct {
	hi, lo, err uint64
}

// expCutoff: at x ≥ 64, exp(-x) < 2^-92, less than one ulp.
const expCutoff = 64

// expErr is the width in ulps of expNeg for an exactly known argument.
const expErr = 10

// expNeg returns an enclosure of exp(-x): p ≤ exp(-x)·2^64 ≤ p+err.
//
// Proof. Write x = i + a/2^8 + b/2^16 + r with r < 2^-16. The tables hold
// floor(2^64·exp(-i)), floor(2^64·exp(-a/2^8)) and floor(2^64·exp(-b/2^16)),
// capped at 2^64-1 for the first entry, each at most one ulp low. For exp(-r)
// the alternating series gives 1 - r + r²/2 - r³/6 ≤ exp(-r) ≤ the same plus
// r⁴/24 < 2^-64/24. In ulps, r is exact, r²/2 is rounded down by less than 1,
// r³/6 by less than 1.01, so with t2 and t3 the rounded terms
// 2^64 - r + t2 - t3 - 2 is a lower bound and at most 4 low. If A is in
// [a,a+d] ulps, B in [b,b+e] ulps and both are at most 1, then AB is in
// [floor(ab/2^64), the same + d+e+1]. Three products with d=1 take 4 to 10.
// A larger x by err ulps lowers exp(-x) by at most err ulps, as |exp'| ≤ 1.
func expNeg(x fixedPoint) (p, err uint64) {
	if x.hi >= expCutoff {
		return 0, 1
	}
	r := x.lo & (1<<48 - 1)
	r2, _ := bits.Mul64(r, r)
	r3, _ := bits.Mul64(r2, r)
	p = -r + r2>>1 - r3/6 - 2
	p, _ = bits.Mul64(p, expFine[x.lo>>48&0xff])
	p, _ = bits.Mul64(p, expCoarse[x.lo>>56])
	p, _ = bits.Mul64(p, expWhole[x.hi])
	if x.err > p {
		return 0, expErr + p
	}
	return p - x.err, expErr + x.err
}

// belowExp compares a uniform real with first digits u to exp(-x).
func (s *Stream) belowExp(u uint64, x fixedPoint) conclusion {
	p, err := expNeg(x)
	if s.widen != 0 {
		cut := min(p, s.widen)
		p, err = p-cut, err+cut+s.widen
	}
	if u < p {
		return below
	}
	if top, carry := bits.Add64(p, err, 0); carry == 0 && u >= top {
		return notBelow
	}
	return undecided
}

// settleExp decides whether a uniform real with first digits u is below
// exp(-x), drawing digits and raising the precision until it is certain. It
// ends with probability 1: the two numbers differ, and both enclosures shrink.
func (s *Stream) settleExp(u uint64, x *big.Rat) bool {
	d := digits{head: u}
	for {
		d.reveal(s)
		n, b := d.floor()
		lo, hi := expNegBig(x, b)
		if n.Cmp(hi) >= 0 {
			return false
		}
		if n.Add(n, one).Cmp(lo) <= 0 {
			return true
		}
	}
}

// settleExpOf is settleExp for an argument f(x) that depends on a real x of
// which digits are still being drawn; f must not decrease in x.
func (s *Stream) settleExpOf(u uint64, x *digits, f func(*big.Rat) *big.Rat) bool {
	d := digits{head: u}
	for {
		d.reveal(s)
		x.reveal(s)
		n, b := d.floor()
		xlo, xhi := x.bounds()
		lo, _ := expNegBig(f(xhi), b)
		_, hi := expNegBig(f(xlo), b)
		if n.Cmp(hi) >= 0 {
			return false
		}
		if n.Add(n, one).Cmp(lo) <= 0 {
			return true
		}
	}
}

// expNegBig returns lo ≤ exp(-x)·2^b ≤ hi for rational x ≥ 0, with hi-lo a few
// units. Validity does not rest on that width: every rounding is directed.
func expNegBig(x *big.Rat, b uint) (lo, hi *big.Int) {
	if x.Sign() == 0 {
		return new(big.Int).Lsh(one, b), new(big.Int).Lsh(one, b)
	}
	whole := new(big.Int).Quo(x.Num(), x.Denom())
	if !whole.IsUint64() || whole.Uint64() >= uint64(b) {
		// exp(-b) < 2^-b.
		return new(big.Int), big.NewInt(1)
	}
	// Halve x until it is below 2^-8; squaring back loses one bit each time.
	halvings := uint(whole.BitLen()) + 8
	w := b + halvings + 32
	y := new(big.Int).Lsh(x.Num(), w-halvings)
	y.Quo(y, x.Denom())
	_, hi = expNegSeries(y, w)
	lo, _ = expNegSeries(y.Add(y, one), w)
	for range halvings {
		lo.Mul(lo, lo).Rsh(lo, w)
		ceilShift(hi.Mul(hi, hi), w)
	}
	return lo.Rsh(lo, w-b), ceilShift(hi, w-b)
}

// expNegSeries encloses exp(-y·2^-w)·2^w for 0 ≤ y·2^-w < 2^-7: terms of the
// alternating series decrease, so the first one left out bounds the rest, and
// each of the n terms computed here is at most n units low (its own floor plus
// the floors before it, shrunk by factors below 1).
func expNegSeries(y *big.Int, w uint) (lo, hi *big.Int) {
	sum := new(big.Int).Lsh(one, w)
	term := new(big.Int).Set(sum)
	n := int64(1)
	for ; term.Sign() > 0; n++ {
		term.Mul(term, y).Rsh(term, w)
		term.Quo(term, big.NewInt(n))
		if n%2 == 1 {
			sum.Sub(sum, term)
		} else {
			sum.Add(sum, term)
		}
	}
	slack := big.NewInt(n * n)
	return new(big.Int).Sub(sum, slack), new(big.Int).Add(sum, slack)
}

func ceilShift(n *big.Int, by uint) *big.Int {
	n.Neg(n).Rsh(n, by)
	return n.Neg(n)
}
