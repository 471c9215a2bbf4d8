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

const lawDraws = 50_000

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
// sensitivity and grid.
func TestAdditiveLaw(t *testing.T) {
	grid, err := NewGrid(10)
	if err != nil {
		t.Fatal(err)
	}
	const multiplier, sensitivity = 0.51, 1.5
	steps := multiplier * sensitivity * 1024
	mechanism := func(make func(Options) (*Additive, error)) func(testing.TB, float64) func(*Stream) int64 {
		return func(t testing.TB, scale float64) func(*Stream) int64 {
			a, err := make(Options{Multiplier: multiplier * scale, Sensitivity: sensitivity, Grid: grid})
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
	}, mechanism(NewGaussian)).run(t)
	integerFit("rounded laplace", lawDraws, spread(steps), func(scale float64, m int64) float64 {
		return laplaceCDF((float64(m) + 0.5) / (steps * scale))
	}, mechanism(NewLaplace)).run(t)
}
