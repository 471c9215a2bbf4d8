package accountant

import (
	"testing"

	"github.com/sotto-dp/sotto/privacy"
)

// TestReplaceOneCoversMixedDirections: anyone who is exchanged for another may be as if removed in
// one sampled step and as if added in the next, which costs more than the same twice. The exact
// δ of such mixtures is at most what is computed under replace-one.
func TestReplaceOneCoversMixedDirections(t *testing.T) {
	more := 0 // mixtures that cost more than being removed twice
	for _, q := range []float64{0.2, 0.5, 0.8} {
		for _, epsilon := range []float64{0.5, 1, 2} {
			once := sampled(q, twoPoint(epsilon))
			twice, mixed := product(once, once), product(once, swapped(once))
			e := privacy.Repeat{N: 2, Event: privacy.Poisson{Q: q, Event: privacy.Pure{Epsilon: epsilon}}}
			for _, at := range []float64{0, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2} {
				got, err := PLD{}.Delta(e, privacy.ReplaceOne, at)
				if err != nil {
					t.Fatal(err)
				}
				want := max(hockeyStick(twice, at), hockeyStick(mixed, at))
				if got.Upper < want*(1-1e-9) {
					t.Errorf("%s under replace-one: δ(%v) ≤ %v, and there are data sets with %v", e, at, got.Upper, want)
				}
				if hockeyStick(mixed, at) > hockeyStick(twice, at)*1.01 {
					more++
				}
			}
		}
	}
	if more == 0 {
		t.Error("no mixture costs more: nothing was tested")
	}
}
