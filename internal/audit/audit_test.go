package audit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// sure is the confidence of tests that should not fail by chance: they reject what is right with a
// probability of 1e-9 at most.
const sure = 1 - 1e-9

// gaussian are runs of a mechanism that adds noise to 1 with the record, and to 0 without it.
func gaussian(seed uint64, n int, sigma float64) (with, without []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	with, without = make([]float64, n), make([]float64, n)
	for i := range n {
		with[i], without[i] = 1+sigma*r.NormFloat64(), sigma*r.NormFloat64()
	}
	return with, without
}

// TestManyGaussian: the bound is below ε, near it, and above the ε of a claim whose noise is twice
// what was added.
func TestManyGaussian(t *testing.T) {
	const delta = 1e-5
	for _, sigma := range []float64{0.5, 1, 2} {
		with, without := gaussian(3, 400_000, sigma)
		b, err := Many(with, without, delta, sure)
		if err != nil {
			t.Fatal(err)
		}
		event := func(sigma float64) float64 {
			e, err := accountant.Auto{}.Epsilon(privacy.Gaussian{Sigma: sigma}, privacy.AddRemove, delta)
			if err != nil {
				t.Fatal(err)
			}
			return e.Upper
		}
		exact, doubled := event(sigma), event(2*sigma)
		t.Logf("σ = %v: ε = %.3f, at least %.3f", sigma, exact, b.Epsilon)
		if b.Epsilon > exact {
			t.Errorf("σ = %v: ε is at least %.3f, and is %.3f", sigma, b.Epsilon, exact)
		}
		if sigma <= 1 && b.Epsilon <= doubled {
			t.Errorf("σ = %v: noise that was halved is not found: %.3f, and %.3f is claimed", sigma, b.Epsilon, doubled)
		}
	}
}

// TestManyResponse: randomised response is its own best adversary, so that the bound is tight.
func TestManyResponse(t *testing.T) {
	for _, e := range []float64{0.5, 1, 2, 4} {
		r := rand.New(rand.NewPCG(5, 2))
		q := 1 / (1 + math.Exp(-e))
		const n = 200_000
		with, without := make([]float64, n), make([]float64, n)
		for i := range n {
			if r.Float64() < q {
				with[i] = 1
			}
			if r.Float64() >= q {
				without[i] = 1
			}
		}
		b, err := Many(with, without, 0, sure)
		at := expect.At(t, "ε = %v", e)
		expect.NoError(at, err)
		expect.Within(at, "b.Epsilon", b.Epsilon, 0.85*e, e)
		// The other way round it is as good.
		turned, err := Many(without, with, 0, sure)
		at = expect.At(t, "ε = %v, turned", e)
		expect.NoError(at, err)
		expect.Within(at, "turned.Epsilon", turned.Epsilon, 0.85*e, e)
	}
}

// TestManySays: scores that say nothing bound nothing, and what is no score is refused.
func TestManySays(t *testing.T) {
	same := make([]float64, 1000)
	if b, err := Many(same, same, 0, 0.95); err != nil || b.Epsilon != 0 {
		t.Errorf("%+v, %v", b, err)
	}
	for name, call := range map[string]func() (Bound, error){
		"few runs":   func() (Bound, error) { return Many(same[:3], same, 0, 0.95) },
		"no number":  func() (Bound, error) { return Many([]float64{1, 2, 3, math.NaN()}, same, 0, 0.95) },
		"delta":      func() (Bound, error) { return Many(same, same, 1, 0.95) },
		"confidence": func() (Bound, error) { return Many(same, same, 0, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := call(); err == nil {
				t.Error("accepted")
			}
		})
	}
}

// TestClopperPearsonCovers: over all outcomes the interval misses no oftener than it says, on
// either side; computed, not drawn.
func TestClopperPearsonCovers(t *testing.T) {
	for _, n := range []int64{1, 7, 50} {
		for _, miss := range []float64{0.2, 0.025, 1e-4} {
			for p := 0.01; p < 1; p += 0.01 {
				var low, high float64
				for k := range n + 1 {
					i, weight := stat.ClopperPearson(k, n, miss), stat.UpperTail(k, n, p)-stat.UpperTail(k+1, n, p)
					if i.Low > p {
						low += weight
					}
					if i.High < p {
						high += weight
					}
				}
				if low > miss+1e-12 || high > miss+1e-12 {
					t.Fatalf("n = %d, p = %v: misses %v and %v, and may %v", n, p, low, high, miss)
				}
			}
		}
	}
}
