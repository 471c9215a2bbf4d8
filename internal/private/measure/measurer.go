package measure

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/grader"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Options of a [Measurer].
type Options struct {
	// Model, Task, Pool, Key and Measure are required, the model unless all prompts are evidence alone. Parts is the number of parts of the
	// pool, 1 by default; records are drawn from all of them alike.
	Model   lm.TrustedScorer
	Task    prompt.Task
	Pool    draw.Pool
	Parts   int
	Key     noise.Key
	Measure Measure
	// Forms of the prompts that the model is asked with, a text if nil: a model that cannot judge one is refused
	// before anything is asked. An empty list says that all are evidence alone.
	Forms []prompt.Form
	// Isolation is how the model keeps records apart, if it does not by construction.
	Isolation lm.Isolation
	// PassTokens and Held are as PassTokens and Prompts in package grader; 0 takes the default.
	PassTokens, Held int
	// Evidence, if there is any, is what prompts may use. Encoder, which is required then, turns records
	// into its vectors.
	Evidence *evidence.Evidence
	Encoder  lm.TrustedEmbedder
	// Usage, if set, receives what the model has done so far. It depends on the records that
	// were drawn: it is not to be published.
	Usage func(lm.Usage)
}

// Measurer makes one measurement. It is for one goroutine at a time.
type Measurer struct {
	Options
	sampler *grader.Sampler
	key     noise.Key
}

// Outcome of a measurement.
type Outcome struct {
	// Counts of each prompt.
	Counts []Count `json:"counts"`
	// Pair compares two prompts. Their Counts follow from it.
	Pair *Pair `json:"pair,omitempty"`
	// Labels is how many of the drawn records have each label of the task's list, with noise: any may be below 0.
	Labels []int64 `json:"labels,omitempty"`
	// Event is what it cost.
	Event privacy.Event `json:"-"`
}

// Loads bounds what a measurement holds at once, as [grader.Loads] says.
func Loads(passTokens, prompts, stem, question int) []lm.Load {
	return grader.Loads(passTokens, prompts, stem, question)
}

// New checks the options. No record is read.
func New(ctx context.Context, o Options) (*Measurer, error) {
	if err := o.Measure.Check(); err != nil {
		return nil, err
	}
	if n := o.Measure.Labels; n > 0 && (!reply.Listed(o.Task) || n != len(o.Task.Labels)) {
		return nil, fmt.Errorf("records are to be counted by %d labels, and the task %q has no such list", n, o.Task.Name)
	}
	key := o.Key.Derive("measure")
	sampler, err := grader.NewSampler(ctx,
		grader.Source{Pool: o.Pool, Parts: o.Parts, Key: key, Scheme: o.Measure.Draw},
		grader.Options{Model: o.Model, Task: o.Task, Utility: o.Measure.Grade, Forms: o.Forms, Isolation: o.Isolation, PassTokens: o.PassTokens, Prompts: o.Held, Evidence: o.Evidence, Encoder: o.Encoder, Usage: o.Usage})
	return &Measurer{o, sampler, key}, err
}

// Counts draws records and counts for how many of them each prompt is right, with noise. The
// prompts are public. Asked again, after an error or for the same prompts, it gives the same
// outcome where the model repeats itself; other prompts are refused.
func (m *Measurer) Counts(ctx context.Context, prompts []prompt.Prompt) (Outcome, error) {
	if len(prompts) != m.Measure.Prompts {
		return Outcome{}, fmt.Errorf("%d prompts are to be measured, and %d are paid for", len(prompts), m.Measure.Prompts)
	}
	noise, err := m.Measure.noise()
	if err != nil {
		return Outcome{}, err
	}
	grades, err := m.sampler.Grades(ctx, 0, prompts)
	if err != nil {
		return Outcome{}, err
	}
	tables := tables(grades)
	if n := m.Measure.Labels; n > 0 {
		labels, err := m.sampler.Labels(ctx, 0)
		if err != nil {
			return Outcome{}, err
		}
		tables = append(tables, byLabel(labels, n))
	}
	for i := range tables {
		if err := noise.AddTo(m.key.Stream("noise", uint64(i)), tables[i]); err != nil {
			return Outcome{}, err
		}
	}
	out, err := read(tables, len(prompts), m.Measure.Labels)
	out.Event = m.Measure.Event()
	return out, err
}
