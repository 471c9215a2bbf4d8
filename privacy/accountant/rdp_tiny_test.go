package accountant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sotto-dp/sotto/privacy"
)

// TestRDPTinyLosses: where ε is tiny the best orders are huge, and the terms of the
// conversion nearly cancel. The bound must stay above closed forms to all digits: with
// log(α−1) − log α taken as a difference it was below, by 2e-7 of ε.
func TestRDPTinyLosses(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 400 {
		loss, q := math.Exp(-25+22*r.Float64()), math.Exp(-6*r.Float64())
		share := 0.45 * r.Float64() // of the total variation
		for _, k := range []struct {
			event   privacy.Event
			delta   float64
			epsilon func(delta float64) float64
		}{
			// ε = 1/b + 2·ln(1−δ), and for a sample ln(1+q(e^ε'−1)) of that at δ/q.
			{privacy.Laplace{B: 1 / loss}, share * loss / 2, func(d float64) float64 {
				return loss + 2*math.Log1p(-d)
			}},
			{privacy.Poisson{Q: q, Event: privacy.Pure{Epsilon: loss}}, q * share * loss / 2, func(d float64) float64 {
				return math.Log1p(q * (math.Expm1(loss) - d/q*(2+math.Expm1(loss))))
			}},
		} {
			truth := k.epsilon(k.delta)
			got, err := RDP{}.Epsilon(k.event, privacy.AddRemove, k.delta)
			if err != nil {
				t.Fatal(err)
			}
			if got.Upper < truth*(1-4e-15) {
				t.Errorf("%v at δ = %v: ε ≤ %v, the closed form has %v (%.2g less)", k.event, k.delta, got.Upper, truth, 1-got.Upper/truth)
			}
		}
	}
}
