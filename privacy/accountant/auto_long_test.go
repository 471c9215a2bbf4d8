package accountant

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// TestPlainLongListsAreNotComposedNumerically: a list of thousands of different events is bounded
// by an accountant that adds up, and one that none covers is refused.
func TestPlainLongListsAreNotComposedNumerically(t *testing.T) {
	var list, approx privacy.Compose
	for i := range 3000 {
		list.Events = append(list.Events, privacy.Poisson{Q: 0.001 + 1e-8*float64(i), Event: privacy.Gaussian{Sigma: 2}})
	}
	for i := range maxTerms + 1 {
		approx.Events = append(approx.Events, privacy.Poisson{Q: 0.1, Event: privacy.Approx{Epsilon: 0.1 + 1e-6*float64(i), Delta: 1e-9}})
	}
	r, err := Auto{}.Explain(list, privacy.AddRemove, 1e-6)
	expect.NoError(t, err)
	expect.True(t, "r.Accountant != \"pld\"", r.Accountant != "pld")
	expect.True(t, "r.Upper > 0 && r.Upper < 2", r.Upper > 0 && r.Upper < 2)
	// Asked by name, and within a sample, it is refused at once too.
	inner := privacy.Poisson{Q: 0.01, Event: list}
	for _, e := range []privacy.Event{list, inner} {
		if _, err := (PLD{}).Epsilon(e, privacy.AddRemove, 1e-6); err == nil || !strings.Contains(err.Error(), "3000 different events") {
			t.Errorf("%v", err)
		}
	}
	if _, err := (Auto{}).Explain(approx, privacy.AddRemove, 1e-6); err == nil {
		t.Error("no bound adds up approx leaves below a sample, and an answer came")
	}
}
