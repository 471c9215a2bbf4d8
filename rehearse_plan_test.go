package sotto

import (
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// TestRehearseServed: with a model on a server a rehearsal plans the work that the real run
// has there.
func TestRehearseServed(t *testing.T) {
	task := prompt.Task{Name: "t", Kind: prompt.Classify, Text: "text", Label: "label", Labels: []string{"a", "b"}}.WithDefaults()
	for url, want := range map[string]float64{"": plan.DefaultWork, "http://localhost:1": plan.ServedWork} {
		o := SynthesizeOptions{Model: backend.Spec{URL: url}, Request: plan.Request{Task: task, Size: 500, Epsilon: 1, Choosing: &plan.Choosing{Writing: -1, Rounds: 1, Records: 8, Measuring: -1}}}
		r := &rehearsing{RehearseOptions: RehearseOptions{Request: o.Request, Model: o.Model}, key: noise.KeyFromSeed(1), dir: t.TempDir()}
		if err := r.settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := o.budgetTime(t.Context()); err != nil {
			t.Fatal(err)
		}
		real, err := o.plan()
		if err != nil {
			t.Fatal(err)
		}
		if got := r.real.Choose.Work; got != want || real.Choose.Work != want {
			t.Errorf("%q: work of %v, the real run's %v, not %v", url, got, real.Choose.Work, want)
		}
	}
}
