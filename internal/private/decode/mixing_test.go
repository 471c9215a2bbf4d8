package decode

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/method/scheme"
)

// decent are views such as models give: log-probabilities of a few candidates.
func decent() *rapid.Generator[View] {
	return rapid.Custom(func(t *rapid.T) View {
		k := rapid.IntRange(2, 6).Draw(t, "candidates")
		one := func(label string) []float64 {
			return normalised(rapid.SliceOfN(rapid.Float64Range(-9, 0), k, k).Draw(t, label))
		}
		v := View{Public: one("public")}
		v.Base = v.Public
		for range rapid.IntRange(1, 5).Draw(t, "prompts") {
			v.Prompts = append(v.Prompts, one("prompt"))
		}
		return v
	})
}

// TestMixingIsTheProduct: as long as λ is what it is in the formula, the choice at the
// temperature 1/n is from the product of the n mixed densities, and at 1 from their
// geometric mean, up to the grid.
func TestMixingIsTheProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := decent().Draw(t, "view")
		n := float64(len(v.Prompts))
		power := rapid.SampledFrom([]float64{1 / n, 1}).Draw(t, "power")
		m := &Mixing{
			Draw: perText(0.5), Expected: n, Temperature: 1 / (n * power), Candidates: 2,
			Range: rapid.Float64Range(0.01, 4).Draw(t, "range"), MaxLambda: rapid.SampledFrom([]float64{0, 0.5, 1, 40}).Draw(t, "max_lambda"),
		}
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		// range·(Expected·Temperature) nats is what a prompt may say.
		width := m.Range / power
		logs := make([]float64, len(v.Public))
		for _, p := range v.Prompts {
			d := make([]float64, len(p))
			for i := range p {
				d[i] = p[i] - v.Public[i]
			}
			lambda := min(maxOf(m.MaxLambda), width/(slices.Max(d)-slices.Min(d)))
			for i := range p {
				logs[i] += power * (lambda*p[i] + (1-lambda)*v.Public[i])
			}
		}
		want := normalised(logs)
		for i, got := range softmaxOf(m.selection(v)) {
			if math.Abs(got-math.Exp(want[i])) > 1e-4 {
				t.Fatalf("token %d has probability %v, and the formula says %v", i, got, math.Exp(want[i]))
			}
		}
	})
}

// TestMixingWidth: the width is the largest that the range allows, half of it where a
// unit exchanges a vector.
func TestMixingWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &Mixing{
			Draw: perText(0.5), Expected: rapid.Float64Range(0.5, 500).Draw(t, "expected"), Candidates: 2,
			Temperature: rapid.Float64Range(0.05, 3).Draw(t, "temperature"), Range: rapid.Float64Range(1e-3, 20).Draw(t, "range"),
		}
		for _, c := range []struct {
			sampling scheme.Scheme
			spans    int64
		}{
			{m.Draw, 1},
			{scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 2, Of: 3}, 2},
			{scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.5, Prompts: 2, PerPrompt: 1}, 2},
			{scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 2}, 1},
		} {
			m.Draw = c.sampling
			cost := func(width int64) *big.Rat {
				return new(big.Rat).Mul(rat(m.rate()), big.NewRat(c.spans*width, 1<<nats))
			}
			if w := m.width(); cost(w).Cmp(rat(m.Range)) > 0 || w < farthest<<nats && cost(w+1).Cmp(rat(m.Range)) <= 0 {
				t.Fatalf("%+v: %d steps are not the most that a range of %v allows", m, w, m.Range)
			}
		}
	})
}

// TestMixingIgnoresTheCount: two prompts that say what the public one does change
// nothing, as they would if the mean were over those that are there.
func TestMixingIgnoresTheCount(t *testing.T) {
	m := &Mixing{Draw: perText(0.5), Expected: 2, Range: 1, Temperature: 0.7, Candidates: 2}
	rapid.Check(t, func(t *rapid.T) {
		v := decent().Draw(t, "view")
		more := v
		more.Prompts = append(slices.Clone(v.Prompts), v.Public, v.Public)
		if a, b := m.selection(v), m.selection(more); !slices.Equal(a.Scores, b.Scores) || a.Rate != b.Rate {
			t.Fatalf("prompts without an opinion change %v to %v", a, b)
		}
	})
}
