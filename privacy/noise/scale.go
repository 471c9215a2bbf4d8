package noise

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// maxScale bounds the scale of noise in grid steps. A draw is below 2^16 times
// the scale, so it fits an int64 with room for the value it is added to.
const maxScale = 1 << 46

// maxWhole caps the whole part of an exponential or normal deviate. Reaching
// it has probability below exp(-32767).
const maxWhole = 1<<16 - 1

// floatRat returns x as the dyadic rational it is, or an error that names it.
func floatRat(name string, x float64) (*big.Rat, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) || x <= 0 {
		return nil, fmt.Errorf("%s = %v: must be a positive finite number", name, x)
	}
	return new(big.Rat).SetFloat64(x), nil
}

func checkScale(name string, b *big.Rat) error {
	if b == nil || b.Sign() <= 0 {
		return fmt.Errorf("%s: must be a positive number", name)
	}
	if b.Cmp(big.NewRat(maxScale, 1)) > 0 {
		return fmt.Errorf("%s: exceeds 2^46 grid steps: choose a coarser grid", name)
	}
	return nil
}

// multiplier multiplies lazily drawn reals by an exact positive rational of at
// most maxScale and rounds down.
type multiplier struct {
	exact  *big.Rat
	hi, lo uint64 // floor(exact·2^64)
}

func newMultiplier(b *big.Rat) multiplier {
	n := fixedRat(b)
	return multiplier{new(big.Rat).Set(b), n.hi, n.lo}
}

// floor returns floor(exact·(v+x) + half·2^-64) for v ≤ maxWhole.
//
// Proof: with b = hi + lo·2^-64 and h = x.head·2^-64, the sum computed here is
// b·(v+h) + half·2^-64 rounded down by less than one ulp. The true product
// exceeds b·(v+h) by at most (v+1) ulps for the digits of exact left out of b,
// plus (hi+1) ulps for the digits of x not yet drawn. If adding all of that
// does not carry into the whole part, the whole part is certain.
func (m *multiplier) floor(s *Stream, v uint64, x *digits, half uint64) uint64 {
	whole := m.hi * v
	frac := half
	add := func(hi, lo uint64) {
		var carry uint64
		frac, carry = bits.Add64(frac, lo, 0)
		whole += hi + carry
	}
	add(bits.Mul64(m.hi, x.head))
	add(bits.Mul64(m.lo, v))
	top, _ := bits.Mul64(m.lo, x.head)
	add(0, top)
	doubt := m.hi + v + 3 + s.widen
	if x.tail == nil {
		if _, carry := bits.Add64(frac, doubt, 0); carry == 0 {
			return whole
		}
	}
	return m.settleFloor(s, v, x, half)
}

func (m *multiplier) settleFloor(s *Stream, v uint64, x *digits, half uint64) uint64 {
	offset := new(big.Rat).SetFrac(new(big.Int).SetUint64(half), new(big.Int).Lsh(one, 64))
	at := func(x *big.Rat) *big.Int {
		x.Add(x, new(big.Rat).SetInt(new(big.Int).SetUint64(v)))
		x.Mul(x, m.exact).Add(x, offset)
		return new(big.Int).Quo(x.Num(), x.Denom())
	}
	for {
		// x < hi strictly, so equal floors at lo and hi settle it; a product
		// that is a whole number exactly at hi only costs more digits.
		lo, hi := x.bounds()
		if n := at(lo); n.Cmp(at(hi)) == 0 {
			return n.Uint64()
		}
		x.reveal(s)
	}
}

// coefficient multiplies integers by a positive real c of which the first 64
// significant bits are known: mant ≤ c·2^shift < mant+1.
type coefficient struct {
	mant  uint64
	shift int
}

// newCoefficient returns a positive rational.
func newCoefficient(c *big.Rat) coefficient {
	shift := 64 - (c.Num().BitLen() - c.Denom().BitLen())
	n := scaledFloor(c, shift)
	if n.BitLen() > 64 {
		shift--
		n = scaledFloor(c, shift)
	}
	return coefficient{n.Uint64(), shift}
}

// scaledFloor returns floor(r·2^shift).
func scaledFloor(r *big.Rat, shift int) *big.Int {
	num, den := new(big.Int).Set(r.Num()), new(big.Int).Set(r.Denom())
	if shift >= 0 {
		num.Lsh(num, uint(shift))
	} else {
		den.Lsh(den, uint(-shift))
	}
	return num.Quo(num, den)
}

// times encloses c·n. Values of expCutoff and more come back as some enclosure
// whose lower end is at least expCutoff, which is all that expNeg looks at.
//
// Proof: c·n·2^64 is in [mant·n, (mant+1)·n)·2^(64-shift). The product of mant
// and n is exact in 128 bits; shifting right rounds down by less than one ulp.
// The relative width is at most 1/mant ≤ 2^-63, hence the absolute width below
// whole+1 is at most 2·(whole+1) ulps.
func (c coefficient) times(n uint64) fixedPoint {
	hi, lo := bits.Mul64(c.mant, n)
	switch by := c.shift - 64; {
	case n == 0:
		return fixedPoint{}
	case by >= 128:
		hi, lo = 0, 0
	case by >= 64:
		hi, lo = 0, hi>>uint(by-64)
	case by >= 0:
		hi, lo = hi>>uint(by), lo>>uint(by)|hi<<uint(64-by)
	default:
		left := uint(-by)
		if left >= 64 || hi>>(64-left) != 0 {
			return fixedPoint{hi: expCutoff}
		}
		hi, lo = hi<<left|lo>>(64-left), lo<<left
	}
	if hi >= expCutoff {
		return fixedPoint{hi: expCutoff}
	}
	return fixedPoint{hi, lo, 2*(hi+1) + 1}
}
