package demo

import (
	"testing"

	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/prompt"
)

// TestLongDemonstrationsHelp is why the task was chosen: with the default model, one real
// message for each desk lifts accuracy on development data well above zero-shot. The
// engine repeats itself bit for bit, so this either holds or does not.
func TestLongDemonstrationsHelp(t *testing.T) {
	if testing.Short() {
		t.Skip("the model answers many times")
	}
	m, err := backend.Scorer(t.Context(), backend.Spec{})
	if err != nil {
		t.Fatalf("%v\nrun: go run ./cmd/sotto model pull", err)
	}
	defer m.Close()
	task, err := Helpline().Task()
	if err != nil {
		t.Fatal(err)
	}
	var demos []prompt.Example
	for _, k := range Helpline().Tickets(len(task.Labels)) {
		demos = append(demos, prompt.Example{Input: k.Text, Output: k.Label})
	}
	messages := Helpline().Development(60)
	zero, shown := accuracy(t, m, task, nil, messages), accuracy(t, m, task, demos, messages)
	t.Logf("zero-shot %.3f, with %d real messages %.3f", zero, len(demos), shown)
	if shown < zero+0.1 || shown < 0.6 {
		t.Errorf("real messages lift accuracy from %.3f to %.3f only", zero, shown)
	}
}

func accuracy(t *testing.T, m lm.Scorer, task prompt.Task, demos []prompt.Example, messages []Ticket) float64 {
	t.Helper()
	c, err := icl.NewClassifier(t.Context(), m, task, demos, icl.Options{Calibrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var inputs []string
	for _, k := range messages {
		inputs = append(inputs, k.Text)
	}
	answers, err := c.Classify(t.Context(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, a := range answers {
		if a.Label == messages[i].Label {
			right++
		}
	}
	return float64(right) / float64(len(messages))
}
