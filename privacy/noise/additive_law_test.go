package noise

import (
	"math"
	"math/big"
	"testing"
)

// drawer is any sampler of integer noise.
type drawer interface{ Draw(*Stream) int64 }

// byScale adapts a constructor that takes an exact scale; base·scale as float64
// is what the law is computed from too.
func byScale[T drawer](base float64, make func(*big.Rat) (T, error)) func(testing.TB, float64) func(*Stream) int64 {
	return func(t testing.TB, scale float64) func(*Stream) int64 {
		d, err := make(new(big.Rat).SetFloat64(base * scale))
		if err != nil {
			t.Fatal(err)
		}
		return d.Draw
	}
}

// bySigma is byScale for a constructor that takes the variance.
func bySigma(base float64) func(testing.TB, float64) func(*Stream) int64 {
	return byScale(base, func(sigma *big.Rat) (*DiscreteGaussian, error) {
		return NewDiscreteGaussian(sigma.Mul(sigma, sigma))
	})
}

const lawDraws = 50_000

func TestDiscreteGaussianLaw(t *testing.T) {
	for _, sigma := range []float64{0.35, 1, 1.7, 1 << 10, 12345.678, 1 << 40} {
		integerFit(label("sigma", sigma), lawDraws, spread(sigma), func(scale float64, m int64) float64 {
			return discreteGaussianCDF(sigma*scale, m)
		}, bySigma(sigma)).run(t)
	}
}

func TestDiscreteGaussianRationalVariance(t *testing.T) {
	// σ² = 7/3 has an irrational root.
	integerFit("variance 7/3", lawDraws, spread(1.5), func(scale float64, m int64) float64 {
		return discreteGaussianCDF(scale*math.Sqrt(7.0/3), m)
	}, func(t testing.TB, scale float64) func(*Stream) int64 {
		v := big.NewRat(7, 3)
		v.Mul(v, new(big.Rat).SetFloat64(scale*scale))
		g, err := NewDiscreteGaussian(v)
		if err != nil {
			t.Fatal(err)
		}
		return g.Draw
	}).run(t)
}

func TestRoundedGaussianLaw(t *testing.T) {
	for _, sigma := range []float64{0.35, 1.7, 1 << 10, 1 << 40} {
		integerFit(label("sigma", sigma), lawDraws, spread(sigma), func(scale float64, m int64) float64 {
			return normalCDF((float64(m) + 0.5) / (sigma * scale))
		}, byScale(sigma, NewRoundedGaussian)).run(t)
	}
}

func TestDiscreteLaplaceLaw(t *testing.T) {
	for _, b := range []float64{0.3, 1, 7.25, 1 << 40} {
		integerFit(label("scale", b), lawDraws, spread(b), func(scale float64, m int64) float64 {
			return discreteLaplaceCDF(b*scale, m)
		}, byScale(b, NewDiscreteLaplace)).run(t)
	}
}

func TestRoundedLaplaceLaw(t *testing.T) {
	for _, b := range []float64{0.3, 1, 7.25, 1 << 40} {
		integerFit(label("scale", b), lawDraws, spread(b), func(scale float64, m int64) float64 {
			return laplaceCDF((float64(m) + 0.5) / (b * scale))
		}, byScale(b, NewRoundedLaplace)).run(t)
	}
}

func TestExponentialLaw(t *testing.T) {
	for _, b := range []float64{0.4, 7.25, 1 << 40} {
		integerFit(label("scale", b), lawDraws, spread(b), func(scale float64, m int64) float64 {
			return exponentialCDF(b*scale, m)
		}, byScale(b, NewExponential)).run(t)
	}
}

// The gap to the next included index is geometric.
func TestGapLaw(t *testing.T) {
	for _, p := range []float64{0.8, 0.3, 1e-3, 1e-9} {
		integerFit(label("p", p), lawDraws, spread(1/p), func(scale float64, m int64) float64 {
			if m < 0 {
				return 0
			}
			return -math.Expm1((float64(m) + 1) * math.Log1p(-p*scale))
		}, func(t testing.TB, scale float64) func(*Stream) int64 {
			q, err := ProbabilityFloat(p * scale)
			if err != nil {
				t.Fatal(err)
			}
			skip := newSkipper(q.Rat())
			return func(s *Stream) int64 {
				n, _ := skip.next(s, 0, 1<<63)
				return int64(n)
			}
		}).run(t)
	}
}

// The mechanisms on a grid: the law in steps must follow from multiplier,
// sensitivity and grid, for both forms.
func TestAdditiveLaw(t *testing.T) {
	grid, err := NewGrid(10)
	if err != nil {
		t.Fatal(err)
	}
	const multiplier, sensitivity = 0.51, 1.5
	steps := multiplier * sensitivity * 1024
	mechanism := func(make func(Options) (*Additive, error), form Form) func(testing.TB, float64) func(*Stream) int64 {
		return func(t testing.TB, scale float64) func(*Stream) int64 {
			a, err := make(Options{Multiplier: multiplier * scale, Sensitivity: sensitivity, Grid: grid, Form: form})
			if err != nil {
				t.Fatal(err)
			}
			value := [1]int64{}
			return func(s *Stream) int64 {
				value[0] = 1000
				if err := a.AddTo(s, value[:]); err != nil {
					t.Fatal(err)
				}
				return value[0] - 1000
			}
		}
	}
	integerFit("rounded gaussian", lawDraws, spread(steps), func(scale float64, m int64) float64 {
		return normalCDF((float64(m) + 0.5) / (steps * scale))
	}, mechanism(NewGaussian, Rounded)).run(t)
	integerFit("discrete gaussian", lawDraws, spread(steps), func(scale float64, m int64) float64 {
		return discreteGaussianCDF(steps*scale, m)
	}, mechanism(NewGaussian, Discrete)).run(t)
	integerFit("rounded laplace", lawDraws, spread(steps), func(scale float64, m int64) float64 {
		return laplaceCDF((float64(m) + 0.5) / (steps * scale))
	}, mechanism(NewLaplace, Rounded)).run(t)
	integerFit("discrete laplace", lawDraws, spread(steps), func(scale float64, m int64) float64 {
		return discreteLaplaceCDF(steps*scale, m)
	}, mechanism(NewLaplace, Discrete)).run(t)
}
