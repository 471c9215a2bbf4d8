package noise

import (
	"math"
	"testing"
)

func softmaxLaw(scores []int64, unit float64) []float64 {
	top := scores[0]
	for _, n := range scores {
		top = max(top, n)
	}
	out, sum := make([]float64, len(scores)), 0.0
	for i, n := range scores {
		out[i] = math.Exp(-float64(uint64(top)-uint64(n)) * unit)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// permuteAndFlipLaw enumerates the sets of candidates that show heads.
func permuteAndFlipLaw(scores []int64, unit float64) []float64 {
	top := scores[0]
	for _, n := range scores {
		top = max(top, n)
	}
	out := make([]float64, len(scores))
	for mask := 1; mask < 1<<len(scores); mask++ {
		p, heads := 1.0, 0
		for i, n := range scores {
			h := math.Exp(float64(n-top) * unit)
			if mask>>i&1 == 1 {
				p *= h
				heads++
			} else {
				p *= 1 - h
			}
		}
		for i := range scores {
			if mask>>i&1 == 1 {
				out[i] += p / float64(heads)
			}
		}
	}
	return out
}

type choice func(*Selector, *Stream, []int64) (int, error)

func selectorFit(name string, scores []int64, grid int, rate float64,
	law func([]int64, float64) []float64, choose choice,
) fit {
	return fit{
		name:  name,
		draws: 100_000,
		bins:  func(scale float64) []float64 { return law(scores, math.Ldexp(rate*scale, -grid)) },
		sampler: func(t testing.TB, scale float64) func(*Stream) int {
			g, err := NewGrid(grid)
			if err != nil {
				t.Fatal(err)
			}
			sel, err := NewSelector(SelectorOptions{Grid: g, Rate: rate * scale})
			if err != nil {
				t.Fatal(err)
			}
			return func(s *Stream) int {
				i, err := choose(sel, s, scores)
				if err != nil {
					t.Fatal(err)
				}
				return i
			}
		},
	}
}

var fewScores = []int64{-700, 0, 1000, 990, 1000, 300, -100000}

func TestSoftmaxLaw(t *testing.T) {
	choose := (*Selector).Softmax
	selectorFit("7 candidates", fewScores, 9, 2, softmaxLaw, choose).run(t)
	selectorFit("far from zero", []int64{math.MaxInt64, math.MaxInt64 - 3, math.MinInt64}, 1, 1, softmaxLaw, choose).run(t)
	// 100 candidates over a spread of 30 nats.
	many := make([]int64, 100)
	for i := range many {
		many[i] = -int64(i*i) << 20 * 3 / 1000
	}
	f := selectorFit("100 candidates", many, 20, 1, softmaxLaw, choose)
	f.draws, f.doubtful = 70_000, 100
	f.run(t)
}

func TestPermuteAndFlipLaw(t *testing.T) {
	f := selectorFit("7 candidates", fewScores, 9, 2, permuteAndFlipLaw, (*Selector).PermuteAndFlip)
	f.draws = 200_000
	f.run(t)
}

// Ding et al. 2021: permute-and-flip has the law of the noisy maximum with
// exponential noise of mean 1. P(i wins) = ∫ e^-z ∏_{j≠i} (1-e^-(z+q_i-q_j))₊ dz.
func TestPermuteAndFlipIsNoisyMax(t *testing.T) {
	for _, scores := range [][]int64{{0, 0}, {0, 5, 9}, {-300, 512, 500, 100}, fewScores} {
		const unit = 1.0 / 512
		law := permuteAndFlipLaw(scores, unit)
		for i := range scores {
			const h = 1.0 / 4096
			sum := 0.0
			for z := h / 2; z < 60; z += h {
				p := math.Exp(-z)
				for j := range scores {
					if j != i {
						p *= max(0, -math.Expm1(-(z + float64(scores[i]-scores[j])*unit)))
					}
				}
				sum += p * h
			}
			if math.Abs(sum-law[i]) > 1e-6 {
				t.Errorf("scores %v: candidate %d wins with %.8f, permute-and-flip takes it with %.8f", scores, i, sum, law[i])
			}
		}
	}
}

// Theorem 1 of McKenna and Sheldon on laws as computed: moving every score by at
// most Δ changes no probability by a factor above exp(2·rate·Δ), and by
// exp(rate·Δ) if all move in the same direction.
func TestPermuteAndFlipIsPure(t *testing.T) {
	s := KeyFromSeed(1).Stream("scores")
	const unit = 1.0 / 8
	for range 300 {
		a, b, up := make([]int64, 5), make([]int64, 5), make([]int64, 5)
		const delta = 4
		for i := range a {
			a[i] = int64(s.Uint64n(40))
			b[i] = a[i] + int64(s.Uint64n(2*delta+1)) - delta
			up[i] = a[i] + int64(s.Uint64n(delta+1))
		}
		pa, pb, pu := permuteAndFlipLaw(a, unit), permuteAndFlipLaw(b, unit), permuteAndFlipLaw(up, unit)
		for i := range pa {
			if r := math.Abs(math.Log(pa[i] / pb[i])); r > 2*delta*unit+1e-9 {
				t.Fatalf("loss %v exceeds %v for %v and %v", r, 2*delta*unit, a, b)
			}
			if r := math.Abs(math.Log(pa[i] / pu[i])); r > delta*unit+1e-9 {
				t.Fatalf("loss %v exceeds %v for %v and %v", r, delta*unit, a, up)
			}
		}
	}
}
