package plan

import (
	"math"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// exceeds is P(X > k) of a binomial, added up.
func exceeds(n int64, q float64, k int64) (sum float64) {
	lg := func(x int64) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	for i := k + 1; i <= n; i++ {
		sum += math.Exp(lg(n) - lg(i) - lg(n-i) + float64(i)*math.Log(q) + float64(n-i)*math.Log1p(-q))
	}
	return sum
}

// TestBinomialAtMost: a draw is larger with no more than the probability that it is said to be,
// and the bound is not much larger than it has to be.
func TestBinomialAtMost(t *testing.T) {
	for _, n := range []int64{1, 30, 2000, 20000} {
		for _, expected := range []float64{0.5, 4, 16, 100} {
			q := expected / float64(n)
			if q >= 1 {
				continue
			}
			for _, chance := range []float64{0.01, 1e-6, DrawChance} {
				k := binomialAtMost(n, q, chance)
				if got := exceeds(n, q, k); got > chance*(1+1e-9) {
					t.Errorf("%d of n = %d, q = %v is exceeded with probability %v, not %v", k, n, q, got, chance)
				}
				// Chernoff's bound gives away a factor of about √k in the probability.
				if less := k - 2 - k/20; less >= 0 && exceeds(n, q, less) < chance/1000 {
					t.Errorf("%d of n = %d, q = %v is exceeded with far less than %v", k, n, q, chance)
				}
			}
		}
	}
	if got := binomialAtMost(7, 1, DrawChance); got != 7 {
		t.Errorf("all of 7 are %d", got)
	}
}

// TestLongest: an answer is allowed the time of a large draw, not of an average one, at every step
// that it has; what prompts cannot hold is not counted.
func TestLongest(t *testing.T) {
	p := Pacing{Shape: Shape{Instruction: 20, Head: 50, Record: 150}, Speed: Speed{Prefill: 1000, Step: 0.01, Each: 0.002}}
	task := prompt.Task{Name: "x", Kind: prompt.Generate, Text: "a", Label: "b", Generate: prompt.Generation{Instruction: "Go."}}.WithDefaults()
	answers := func(s scheme.Scheme) Answers {
		return Answers{
			Task: task, Epsilon: 1, Delta: 1e-6, Answers: 1, Adjacency: privacy.AddRemove, Unit: privacy.Record, Size: 2000, Tokens: 10,
			Write: decode.Settings{Method: &decode.Clipped{Draw: s, Expected: 4, Range: 1, Temperature: 1, Candidates: 10}},
		}
	}
	seconds := func(filled, records float64) time.Duration { // by the formula of the work of a text
		read := 20 + 50 + records*150 + filled*50
		return time.Duration((longestPart*(read/1000+9*(0.01+filled*0.002)) + longestSeconds) * float64(time.Second))
	}
	for name, c := range map[string]struct {
		draw scheme.Scheme
		want time.Duration
	}{
		"poisson": {
			scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.002},
			seconds(float64(binomialAtMost(2000, 0.002, DrawChance)), float64(binomialAtMost(2000, 0.002, DrawChance))),
		},
		"prompts": {scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.02, Prompts: 3, PerPrompt: 4}, seconds(3, 12)},
		"fixed":   {scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 8, Of: 2000}, seconds(8, 8)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answers(c.draw).Longest(p); (got - c.want).Abs() > time.Microsecond {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
	}
	text, token := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.002}, scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.002}
	if one, each := answers(text).Longest(p), answers(token).Longest(p); each < 5*one {
		t.Errorf("draws for each of ten tokens take %v, one draw %v", each, one)
	}
}
