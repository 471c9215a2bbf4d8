package measure

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/grader"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Grade is what a record says about a prompt.
type Grade = grader.Utility

// The grades there are: package grader defines them.
const (
	// Right: is the answer the record's?
	Right = grader.Hard
	// Probability that the model gives to the record's answer.
	Probability = grader.Soft
	// Written: the mean probability of the tokens of the record's output.
	Written = grader.Written
	// Rouge: how much of the record's output is in what the model writes, by ROUGE-L.
	Rouge = grader.Rouge
)

// Suits checks that a grade is one for a task.
func Suits(v Grade, t prompt.Task) error { return grader.Suits(v, t) }

// Reads checks that a grade is one for prompts of a form.
func Reads(v Grade, f prompt.Form) error { return grader.Reads(v, f) }

// Default is the grade that people mean by how good a prompt is: right or wrong, and for
// written outputs, of which few come out word for word, their overlap.
func Default(t prompt.Task) Grade {
	if t.Kind == prompt.Generate {
		return Rouge
	}
	return Right
}

// Metric names what a grade measures, as evaluations on public questions call it.
func Metric(v Grade) string {
	switch v {
	case Probability:
		return "probability"
	case Written:
		return "token_probability"
	case Rouge:
		return "rouge_l"
	}
	return "accuracy"
}

// Measure are the settings of a measurement: public values that the cost follows from.
type Measure struct {
	// Draw of the records that are asked: one for all prompts, per text in the words of
	// package draw.
	Draw scheme.Scheme `json:"draw"`
	// Scale of the noise, for a unit that counts once: laplace(Scale).
	Scale float64 `json:"scale"`
	// Prompts that are measured.
	Prompts int `json:"prompts"`
	// Grade of a record on a prompt.
	Grade Grade `json:"grade"`
	// Labels is the length of the task's list of labels, where a table of its own counts records by label, so
	// that it is known how often the commonest one is right; 0 for none.
	Labels int `json:"labels,omitempty"`
}

// MaxPrompts is how many prompts are measured at most.
const MaxPrompts = 64

// maxLabels is how many a task may have.
const maxLabels = 1000

// Check finds what is wrong with the settings.
func (m Measure) Check() error {
	if err := m.Draw.Check(); err != nil {
		return err
	}
	switch {
	case m.Draw.Kind == scheme.Disjoint || m.Draw.Per != scheme.PerText || m.Draw.Prompts != 0:
		return fmt.Errorf("a measurement has one draw, in which each record is by itself: draw poisson or fixed-size per text, onto no prompts")
	case m.Prompts < 1 || m.Prompts > MaxPrompts:
		return fmt.Errorf("from 1 to %d prompts are measured at once, not %d", MaxPrompts, m.Prompts)
	case m.Labels < 0 || m.Labels == 1 || m.Labels > maxLabels:
		return fmt.Errorf("records are counted by from 2 to %d labels, or by none, not by %d", maxLabels, m.Labels)
	case !(m.Scale > 0) || math.IsInf(m.Scale, 1):
		return fmt.Errorf("a measurement needs noise of a positive scale, not %v", m.Scale)
	}
	switch m.Grade {
	case Right, Probability, Written, Rouge:
	default:
		return fmt.Errorf("unknown grade %q: one of %s, %s, %s, %s", m.Grade, Right, Probability, Written, Rouge)
	}
	if _, err := m.noise(); err != nil {
		return err
	}
	return privacy.Validate(m.Event())
}

// Tables is how many tables of counts are released: two prompts share one, and labels have one.
func (m Measure) Tables() int {
	n := m.Prompts
	if n == 2 {
		n = 1
	}
	if m.Labels > 0 {
		n++
	}
	return n
}

// Event is what the measurement costs.
func (m Measure) Event() privacy.Event {
	return privacy.Canonical(m.Draw.Event(privacy.Laplace{B: m.Scale}, int64(m.Tables())))
}

// Proof cites why Event is right, for certificates.
func (Measure) Proof() string {
	return "Laplace mechanism on tables of counts over one draw, to which one unit adds at most one in all, or exchanges it"
}

// Noise is the scale of the noise on each cell: a unit that is exchanged for another moves
// two of them.
func (m Measure) Noise() float64 { return m.Scale * m.sensitivity() }

func (m Measure) sensitivity() float64 {
	if m.Draw.Adjacency() == privacy.ReplaceOne {
		return 2
	}
	return 1
}

// noise is on the grid of grades.
func (m Measure) noise() (*noise.Additive, error) {
	grid, err := noise.NewGrid(grader.Fine)
	if err != nil {
		return nil, err
	}
	return noise.NewLaplace(noise.Options{Multiplier: m.Scale, Sensitivity: m.sensitivity(), Grid: grid})
}
