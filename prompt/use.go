package prompt

import (
	"fmt"
	"math"
)

// Use is how a prompt uses evidence: what all records together say about a question's label (package
// internal/evidence). The zero value does not use it. It is for tasks with a closed list of labels.
type Use struct {
	// How is one of the ways.
	How How `json:"use,omitempty"`
	// Weight of the evidence beside the model's own scores, where they are combined.
	Weight float64 `json:"weight,omitempty"`
	// Wording is the number of a hint's wording, from 0.
	Wording int `json:"wording,omitempty"`
}

// How is a way to use evidence.
type How string

// The ways.
const (
	// Combined adds Weight times the evidence to the model's log-probabilities of labels. It needs
	// their scores, and so a prompt that is one text.
	Combined How = "combined"
	// Hinted tells the model in a line, with the question and with each example.
	Hinted How = "hinted"
	// Alone answers by the evidence. No language model is asked.
	Alone How = "alone"
)

// Used reports whether a prompt uses evidence.
func (u Use) Used() bool { return u.How != "" }

// check finds what keeps a prompt of a task from using evidence in this way.
func (u Use) check(t Task, p Prompt) error {
	if !u.Used() {
		if u != (Use{}) {
			return fmt.Errorf("a prompt has a weight or a wording of evidence, and does not use it")
		}
		return nil
	}
	if t.Open() || t.Kind == Generate {
		return fmt.Errorf("task %q has no closed list of labels, so that there is no evidence for them", t.Name)
	}
	switch {
	case u.How == Combined && p.Form.Turns():
		return fmt.Errorf("evidence is combined with the scores of labels, and a prompt of the form %s is read off what the model writes: use it as a hint, or the form %s", p.Form, TextForm)
	case u.How == Combined && (!(u.Weight > 0) || math.IsInf(u.Weight, 1) || u.Wording != 0):
		return fmt.Errorf("evidence is combined with a positive weight and without a wording, not with a weight of %v and wording %d", u.Weight, u.Wording)
	case u.How == Hinted && (u.Weight != 0 || u.Wording < 0 || u.Wording >= len(hints)):
		return fmt.Errorf("a hint has a wording from 0 to %d, and no weight", len(hints)-1)
	case u.How == Alone && (u.Weight != 0 || u.Wording != 0 || len(p.Examples) > 0 || p.Instruction != "" || p.Calibrated):
		return fmt.Errorf("evidence alone has no examples, no instruction and no weight: no model reads them")
	case u.How != Combined && u.How != Hinted && u.How != Alone:
		return fmt.Errorf("evidence is used %s, %s or %s, not %q", Combined, Hinted, Alone, string(u.How))
	}
	return nil
}

// hints are the wordings, the same for all data, around what is said.
var hints = []string{
	"(similar texts: %s)",
	"[probably %s]",
}

// Hints is the number of wordings of hints.
func Hints() int { return len(hints) }

// Hint returns an input with a hint, which says labels in words: the best one and its share first.
func Hint(wording int, input, said string) string {
	return input + " " + fmt.Sprintf(hints[wording], said)
}
