package noise

import "math/big"

// exponential draws a real E with density exp(-E), as a whole part and the
// digits of a fraction.
//
// Proof: with v geometric, P(v) ∝ exp(-v), and x uniform in [0,1) kept with
// probability exp(-x), the density of v+x is ∝ exp(-v)·exp(-x).
func (s *Stream) exponential() (v uint64, x digits) {
	for {
		x = digits{head: s.Uint64()}
		u := s.Uint64()
		conclusion := s.belowExp(u, fixedPoint{lo: x.head, err: 1})
		if conclusion == below {
			break
		}
		if conclusion == undecided && s.settleExpOf(u, &x, identity) {
			break
		}
	}
	for v < maxWhole && s.inverseE() {
		v++
	}
	return v, x
}

// geometric draws an exponential times m, rounded down: P(Z ≥ c) = exp(-c/m).
func (m *multiplier) geometric(s *Stream) uint64 {
	v, x := s.exponential()
	return m.floor(s, v, &x, 0)
}

func identity(x *big.Rat) *big.Rat { return x }

// inverseE is a Bernoulli(1/e).
func (s *Stream) inverseE() bool {
	u := s.Uint64()
	if u != expWhole[1] {
		return u < expWhole[1]
	}
	return s.settleExp(u, big.NewRat(1, 1))
}

// DiscreteLaplace is the two-sided geometric law, P(Y=y) ∝ exp(-|y|/scale) on
// the integers (Ghosh, Roughgarden and Sundararajan 2009).
//
// Precondition: an integer-valued query of ℓ1-sensitivity Δ steps.
// Postcondition: query + Y is (Δ/scale)-DP.
// Proof: the ratio of the probabilities of any outcome is at most
// exp(Δ/scale), by the triangle inequality.
//
// It is not dominated by the continuous Laplace mechanism: at Δ = 1 its total
// variation is tanh(ε/2), the continuous one's 1-exp(-ε/2), which is less. So
// account for it as pure DP; noise charged as laplace(b) needs [RoundedLaplace].
type DiscreteLaplace struct{ m multiplier }

// NewDiscreteLaplace takes the scale in grid steps; it must lie in (0, 2^46].
func NewDiscreteLaplace(scale *big.Rat) (*DiscreteLaplace, error) {
	if err := checkScale("scale", scale); err != nil {
		return nil, err
	}
	return &DiscreteLaplace{newMultiplier(scale)}, nil
}

// Draw returns one value, in grid steps. A sign on a geometric magnitude would
// count 0 twice, so one of the two zeros is rejected.
func (l *DiscreteLaplace) Draw(s *Stream) int64 {
	for {
		y := int64(l.m.geometric(s))
		if !s.Bool() {
			return y
		}
		if y != 0 {
			return -y
		}
	}
}

// RoundedLaplace is continuous Laplace noise rounded to the nearest grid step.
//
// Precondition: an integer-valued query of ℓ1-sensitivity Δ steps.
// Postcondition: query + Y has every guarantee of the continuous Laplace
// mechanism of this scale, for every accountant.
// Proof: for an integer q, q + round(L) = round(q + L), which is
// post-processing of the continuous mechanism's output q + L.
type RoundedLaplace struct{ m multiplier }

// NewRoundedLaplace takes the scale in grid steps; it must lie in (0, 2^46].
func NewRoundedLaplace(scale *big.Rat) (*RoundedLaplace, error) {
	if err := checkScale("scale", scale); err != nil {
		return nil, err
	}
	return &RoundedLaplace{newMultiplier(scale)}, nil
}

// Draw returns one value, in grid steps.
func (l *RoundedLaplace) Draw(s *Stream) int64 {
	v, x := s.exponential()
	return s.sign(l.m.floor(s, v, &x, 1<<63))
}

func (s *Stream) sign(magnitude uint64) int64 {
	if s.Bool() {
		return -int64(magnitude)
	}
	return int64(magnitude)
}
