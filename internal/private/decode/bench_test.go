package decode

import (
	"fmt"
	"math"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// BenchmarkPick is what a token costs beside the model: choosing it from scores of 40
// prompts, among the usual candidates or the whole vocabulary.
func BenchmarkPick(b *testing.B) {
	const prompts = 40
	sampling := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.1, Prompts: prompts, PerPrompt: 2}
	for _, k := range []int{100, 49152} {
		v := View{Public: make([]float64, k), Base: make([]float64, k)}
		scores := func(seed int) []float64 {
			out := make([]float64, k)
			total := 0.0
			for i := range out {
				out[i] = 6 * math.Sin(float64(i*(seed+3)))
				total += math.Exp(out[i])
			}
			for i := range out {
				out[i] -= math.Log(total)
			}
			return out
		}
		v.Public, v.Base = scores(0), scores(0)
		for i := range prompts {
			v.Prompts = append(v.Prompts, scores(i))
		}
		for _, m := range []Method{
			&Clipped{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.1}, Expected: prompts, Range: 0.3, Temperature: 1, Candidates: k},
			&Mixing{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.1}, Expected: prompts, Range: 0.3, Temperature: 1, Candidates: k},
			&PublishedMixing{Draw: scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: prompts, Of: 1000}, Order: 8, Beta: 0.2, Candidates: k},
			&Gaussian{Draw: sampling, Sigma: 0.5},
			&NoisyMax{Draw: sampling, Epsilon: 1},
			&Radius{Draw: sampling, Sigma0: 10, Sigma1: 0.9, Sigma2: 5, Lambda: 0.2, Rounds: 2},
		} {
			b.Run(fmt.Sprintf("%s/%d", m.Name(), k), func(b *testing.B) {
				key := noise.KeyFromSeed(1)
				for i := 0; b.Loop(); i++ {
					if _, err := m.Select(v, key.Stream("bench", uint64(i))); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
