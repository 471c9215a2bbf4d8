package suite

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// answers to all test items, as they are kept. Metrics are not: they are computed anew.
type answers struct {
	// Raw are without calibration, Calibrated with, if it was asked for.
	Raw        []string `json:"raw"`
	Calibrated []string `json:"calibrated,omitempty"`
	// RawScores and CalibratedScores are how probable Yes is of each, for tables that ask
	// for Yes or No.
	RawScores        []float64 `json:"raw_scores,omitempty"`
	CalibratedScores []float64 `json:"calibrated_scores,omitempty"`
	// How they were found.
	How     string   `json:"how"`
	Usage   lm.Usage `json:"usage"`
	Seconds float64  `json:"seconds"`

	key string
}

// answers returns those to the test items with a demonstration set, from the cache if they
// are there.
func (r *runner) answers(ctx context.Context, e *entry) (*answers, error) {
	c := e.cell
	calibrate := slices.Contains(c.Calibrate, true)
	if p := e.set.Prompt; p != nil {
		// The records chose how to ask, and how to read labels off.
		c.Task, e.cell.Task = p.For(c.Task), p.For(c.Task)
		calibrate = calibrate || p.Calibrated
	}
	parts := []any{string(c.Task.Canonical()), e.set.Demos, e.answerer.id, e.data.inputs, calibrate}
	if e.set.each != nil {
		parts = append(parts, e.set.each)
	}
	if e.set.Prompt != nil {
		parts = append(parts, e.set.Prompt)
	}
	if e.set.Evidence != nil {
		parts = append(parts, e.set.Evidence)
	}
	if f := e.form(); f.Turns() {
		parts = append(parts, f)
	}
	key, err := keyOf("answers", parts...)
	if err != nil {
		return nil, err
	}
	out, there, err := keep(r.store, "answers", key, nil, func() (*answers, error) { return r.ask(ctx, e, calibrate) })
	if err != nil {
		return nil, err
	}
	out.key = key
	r.report(Progress{Kind: Answered, Cell: c}.by(out.Usage, there))
	return out, nil
}

// ask answers all questions in one go, with calibration and without.
func (r *runner) ask(ctx context.Context, e *entry, calibrate bool) (out *answers, err error) {
	began := time.Now()
	m, inputs := e.answerer, e.data.inputs
	o := icl.Options{Form: e.form(), Calibrate: calibrate && e.calibrates(), PassTokens: r.PassTokens}
	if e.set.Evidence != nil {
		var encoder evidence.Encodes = r.Sentences
		if e.set.Evidence.Rows() {
			encoder = nil // its own
		}
		if o.Evidence, err = evidence.Open(e.set.Evidence, encoder); err != nil {
			return nil, err
		}
		o.Use = e.set.Prompt.Evidence
	}
	if p := e.set.Prompt; p != nil && p.Nearest.Used() {
		o.Nearest, o.Encoder = p.Nearest, r.Sentences
	}
	a, err := icl.Open(ctx, m.answers, e.cell.Task, e.set.Demos, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	out = &answers{How: a.Describe()}
	switch a := a.(type) {
	case *icl.Classifier:
		predictions, used, err := r.classify(ctx, a, e, o)
		if err != nil {
			return nil, err
		}
		out.Usage = used
		yes := e.yes()
		for _, p := range predictions {
			out.Raw = append(out.Raw, p.Raw.Label)
			if o.Calibrate {
				out.Calibrated = append(out.Calibrated, p.Label)
			}
			if yes >= 0 {
				out.RawScores, out.CalibratedScores = append(out.RawScores, p.Raw.Scores[yes]), append(out.CalibratedScores, p.Scores[yes])
			}
		}
	case *icl.Alone, *icl.Writer:
		out.Raw, err = a.Answer(ctx, inputs)
	default:
		if e.set.each != nil {
			return nil, errors.New("questions with demonstrations of their own need a model that gives scores: use one, such as the embedded one")
		}
		// Without sessions, what one call costs is the difference of what the model has cost: one
		// at a time.
		m.turn.Lock()
		defer m.turn.Unlock()
		out.Raw, err = a.Answer(ctx, inputs)
	}
	if err != nil {
		return nil, err
	}
	if p := e.set.Prompt; p != nil && calibrate {
		// There is one way that belongs to the prompt, whichever a table asks for.
		if p.Calibrated {
			out.Raw, out.RawScores = out.Calibrated, out.CalibratedScores
		} else {
			out.Calibrated, out.CalibratedScores = out.Raw, out.RawScores
		}
	}
	out.Usage, out.Seconds = out.Usage.Plus(a.Usage()), time.Since(began).Seconds()
	return out, nil
}

// calibrates reports whether labels could be read off calibrated: what a model writes in its turn cannot, nor
// what evidence says alone.
func (e *entry) calibrates() bool {
	return !e.form().Turns() && (e.set.Prompt == nil || e.set.Prompt.Evidence.How != prompt.Alone)
}

// form in which questions are asked: that in which the prompt was chosen, or the suite's.
func (e *entry) form() prompt.Form {
	if p := e.set.Prompt; p != nil {
		return p.Form
	}
	return e.cell.Form
}

// classify asks all questions at once; one that has demonstrations of its own has a classifier to itself, and the usage
// is of these.
func (r *runner) classify(ctx context.Context, c *icl.Classifier, e *entry, o icl.Options) (out []icl.Prediction, used lm.Usage, err error) {
	if e.set.each == nil {
		out, err = c.Classify(ctx, e.data.inputs)
		return out, used, err
	}
	for i, input := range e.data.inputs {
		own, err := icl.Open(ctx, e.answerer.answers, e.cell.Task, slices.Concat(e.set.Demos, e.set.each[i]), o)
		if err != nil {
			return nil, used, err
		}
		found, err := own.(*icl.Classifier).Classify(ctx, []string{input})
		used = used.Plus(own.Usage())
		if err = errors.Join(err, own.Close()); err != nil {
			return nil, used, err
		}
		out = append(out, found...)
	}
	return out, used, nil
}
