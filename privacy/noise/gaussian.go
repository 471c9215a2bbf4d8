package noise

import (
	"errors"
	"math/big"
	"math/bits"
)

// DiscreteGaussian is the law P(Y=y) ∝ exp(-y²/(2σ²)) on the integers
// (Canonne, Kamath and Steinke 2020, "The Discrete Gaussian for Differential
// Privacy").
//
// Precondition: an integer-valued vector of ℓ2-sensitivity Δ steps, one
// independent Y added to each coordinate.
// Postcondition: (Δ²/(2σ²))-zCDP, the same as the continuous Gaussian.
// Proof: that paper's theorems on concentrated differential privacy, for one
// dimension and for several.
//
// Its (ε,δ) curve is not dominated by the continuous Gaussian's: at σ = Δ = 1
// its total variation is 0.399, the continuous one's 0.383. The difference
// falls like 1/σ² with σ in grid steps. So account for it by zCDP or RDP;
// noise charged as gaussian(σ) through a privacy loss distribution needs
// [RoundedGaussian].
type DiscreteGaussian struct {
	variance *big.Rat
	proposal DiscreteLaplace
	t        uint64      // floor(σ)+1, the scale of the proposal
	inverse  coefficient // 1/σ
	offset   uint64      // floor(2^64·σ/t)
}

// NewDiscreteGaussian takes the variance parameter σ² in squared grid steps, as
// an exact rational; σ must lie in (0, 2^46).
func NewDiscreteGaussian(variance *big.Rat) (*DiscreteGaussian, error) {
	if err := checkVariance(variance); err != nil {
		return nil, err
	}
	root := new(big.Int).Sqrt(scaledFloor(variance, 0))
	t := root.Add(root, one)
	scale := new(big.Rat).SetInt(t)
	square := new(big.Rat).Mul(scale, scale)
	ratio := square.Quo(variance, square)
	return &DiscreteGaussian{
		variance: new(big.Rat).Set(variance),
		proposal: DiscreteLaplace{Exponential{newMultiplier(scale)}},
		t:        t.Uint64(),
		inverse:  sqrtCoefficient(new(big.Rat).Inv(variance)),
		offset:   new(big.Int).Sqrt(scaledFloor(ratio, 128)).Uint64(),
	}, nil
}

func checkVariance(variance *big.Rat) error {
	if variance == nil || variance.Sign() <= 0 {
		return errors.New("variance: must be a positive number")
	}
	if limit := new(big.Int).Lsh(one, 92); variance.Cmp(new(big.Rat).SetInt(limit)) >= 0 {
		return errors.New("variance: its root σ reaches 2^46 grid steps: choose a coarser grid")
	}
	return nil
}

// Draw returns one value, in grid steps.
//
// Proof: algorithm 3 of Canonne, Kamath and Steinke: a discrete Laplace
// proposal of scale t kept with probability exp(-(|y|-σ²/t)²/(2σ²)); the
// product with exp(-|y|/t) is ∝ exp(-y²/(2σ²)). At least 0.46 of the proposals
// are kept for every σ, about 0.76 for a large one.
func (g *DiscreteGaussian) Draw(s *Stream) int64 {
	for {
		y := g.proposal.Draw(s)
		n := uint64(max(y, -y))
		u := s.Uint64()
		v := s.belowExp(u, g.exponent(n))
		if v == below || v == undecided && s.settleExp(u, g.exactExponent(n)) {
			return y
		}
	}
}

// exponent encloses (n/σ - σ/t)²/2.
//
// Proof: let z be the enclosure of n/σ and r that of σ/t, which is one ulp
// wide; D = |z-r| of their lower ends is within e = z.err+1 ulps of the true
// difference d. Then |d²/2 - D²/2| ≤ D·e + e²/2 in reals, which is at most
// (D.hi+1)·e + 1 ulps as e < 2^32; halfSquare is low by less than one.
func (g *DiscreteGaussian) exponent(n uint64) fixedPoint {
	z := g.inverse.times(n)
	if z.hi >= expCutoff {
		return fixedPoint{hi: expCutoff}
	}
	lo, borrow := bits.Sub64(z.lo, g.offset, 0)
	hi, borrow := bits.Sub64(z.hi, 0, borrow)
	if borrow != 0 {
		lo, borrow = bits.Sub64(0, lo, 0)
		hi = -hi - borrow
	}
	doubt := (hi+1)*(z.err+1) + 1
	x := halfSquare(hi, lo)
	x.lo, borrow = bits.Sub64(x.lo, doubt, 0)
	if x.hi < borrow {
		return fixedPoint{err: 2*doubt + 2}
	}
	x.hi -= borrow
	x.err = 2*doubt + 2
	return x
}

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

// exactExponent returns (n·t - σ²)²/(2σ²t²), which is (n - σ²/t)²/(2σ²).
func (g *DiscreteGaussian) exactExponent(n uint64) *big.Rat {
	t := new(big.Rat).SetInt(new(big.Int).SetUint64(g.t))
	d := new(big.Rat).SetInt(new(big.Int).SetUint64(n))
	d.Mul(d, t).Sub(d, g.variance).Quo(d, t)
	d.Mul(d, d)
	return d.Quo(d, new(big.Rat).Mul(g.variance, big.NewRat(2, 1)))
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
