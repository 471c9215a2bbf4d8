package noise

import (
	"math/big"
	"math/bits"
)

// halfSquare returns (hi + lo·2^-64)²/2 rounded down by less than one ulp, for
// hi < 2^31.
func halfSquare(hi, lo uint64) fixedPoint {
	whole := hi * hi
	top, _ := bits.Mul64(lo, lo)
	ch, cl := bits.Mul64(hi, lo)
	frac, carry := bits.Add64(cl, top>>1, 0)
	frac, carry2 := bits.Add64(frac, whole<<63, 0)
	return fixedPoint{hi: whole>>1 + ch + carry + carry2, lo: frac}
}

// RoundedGaussian is continuous Gaussian noise N(0,σ²) rounded to the nearest
// grid step.
//
// Precondition: an integer-valued vector of ℓ2-sensitivity Δ steps, one
// independent Y added to each coordinate.
// Postcondition: every guarantee of the continuous Gaussian mechanism with
// noise multiplier σ/Δ, for every accountant and in every dimension.
// Proof: for an integer q, q + round(N) = round(q + N), which is
// post-processing of the continuous mechanism's output q + N.
type RoundedGaussian struct{ m multiplier }

// NewRoundedGaussian takes σ in grid steps, as an exact rational in (0, 2^46].
func NewRoundedGaussian(sigma *big.Rat) (*RoundedGaussian, error) {
	if err := checkScale("sigma", sigma); err != nil {
		return nil, err
	}
	return &RoundedGaussian{newMultiplier(sigma)}, nil
}

// Draw returns one value, in grid steps.
func (g *RoundedGaussian) Draw(s *Stream) int64 {
	k, x := s.halfNormal()
	return s.sign(g.m.floor(s, k, &x, 1<<63))
}

// halfNormal draws a real N ≥ 0 with density ∝ exp(-N²/2), as a whole part and
// the digits of a fraction.
//
// Proof (Karney 2016, "Sampling exactly from the normal distribution"): k has
// P(k) ∝ exp(-k/2)·exp(-k(k-1)/2) = exp(-k²/2); a uniform x kept with
// probability exp(-x(2k+x)/2) gives k+x density ∝ exp(-(k+x)²/2).
func (s *Stream) halfNormal() (k uint64, x digits) {
	for {
		for k = 0; k < maxWhole && s.inverseSqrtE(); {
			k++
		}
		if k > 1 && !s.keepWhole(k) {
			continue
		}
		x = digits{head: s.Uint64()}
		if s.keepFraction(k, &x) {
			return k, x
		}
	}
}

// inverseSqrtE is a Bernoulli(exp(-1/2)).
func (s *Stream) inverseSqrtE() bool {
	const half = 1 << 7 // index of exp(-128/2^8)
	u := s.Uint64()
	if u != expCoarse[half] {
		return u < expCoarse[half]
	}
	return s.settleExp(u, big.NewRat(1, 2))
}

func (s *Stream) keepWhole(k uint64) bool {
	whole := k * (k - 1) / 2
	u := s.Uint64()
	v := s.belowExp(u, fixedPoint{hi: whole})
	return v == below || v == undecided && s.settleExp(u, ratio(whole, 1))
}

func (s *Stream) keepFraction(k uint64, x *digits) bool {
	// k·x + x²/2: the digits of x not yet drawn add at most k+1 ulps, the
	// square is rounded down by less than one.
	hi, lo := bits.Mul64(k, x.head)
	square := halfSquare(0, x.head)
	lo, carry := bits.Add64(lo, square.lo, 0)
	u := s.Uint64()
	switch s.belowExp(u, fixedPoint{hi + carry, lo, k + 3}) {
	case below:
		return true
	case notBelow:
		return false
	}
	return s.settleExpOf(u, x, func(x *big.Rat) *big.Rat {
		y := new(big.Rat).Add(x, new(big.Rat).SetInt(new(big.Int).SetUint64(2*k)))
		y.Mul(y, x)
		return y.Quo(y, big.NewRat(2, 1))
	})
}
