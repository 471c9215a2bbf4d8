package sotto

import (
	"errors"
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
		client, err := Open(t.TempDir(), &Options{Model: backend.Spec{URL: url}})
		if err != nil {
			t.Fatal(err)
		}
		o := SynthesizeOptions{Out: t.TempDir(), Request: plan.Request{Task: task, Size: 500, Epsilon: 1, Choosing: &plan.Choosing{Form: prompt.TextForm, Writing: -1, Rounds: 1, Records: 8, Measuring: -1}}}
		o.Source.Location = "records.jsonl"
		r := &rehearsing{RehearseOptions: RehearseOptions{Request: o.Request}, call: client.call(Use{}), key: noise.KeyFromSeed(1), dir: t.TempDir()}
		if err := r.settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		real := &synthesis{SynthesizeOptions: o, call: client.call(Use{})}
		if err := errors.Join(real.suit(t.Context()), real.settle(t.Context())); err != nil {
			t.Fatal(err)
		}
		if got := r.real.Choose.Work; got != want || real.plan.Choose.Work != want {
			t.Errorf("%q: work of %v, the real run's %v, not %v", url, got, real.plan.Choose.Work, want)
		}
	}
}
