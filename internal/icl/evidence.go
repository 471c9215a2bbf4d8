package icl

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// checkUse finds what keeps questions of a task from being answered with evidence in the way that the
// options say.
func (o Options) checkUse(t prompt.Task) error {
	if err := (prompt.Prompt{Form: o.Form, Calibrated: o.Calibrate, Evidence: o.Use}).Check(t); o.Use.Used() && err != nil {
		return err
	}
	if !o.Use.Used() {
		return nil
	}
	if o.Evidence == nil {
		return fmt.Errorf("the prompt uses evidence (%s), and there is none: give the release's %s", o.Use.How, evidence.File)
	}
	return o.Evidence.Suits(t.Labels)
}

// written refuses evidence where a model writes answers, which have no scores.
func (o Options) written() error {
	if o.Use.How == prompt.Combined || o.Use.How == prompt.Alone {
		return fmt.Errorf("evidence is used %s where labels are chosen by their probabilities, and here the model writes: use it %s", o.Use.How, prompt.Hinted)
	}
	return nil
}

// hints tell a model what evidence says, in questions and demonstrations. A nil one has none.
type hints struct {
	*evidence.Reader
	wording int
	task    prompt.Task
	// tokenizer cuts questions so that hints fit; without one they are whole.
	tokenizer lm.Tokenizer
}

// hints are nil if questions have none.
func (o Options) hints(t prompt.Task, tok lm.Tokenizer) *hints {
	if o.Use.How != prompt.Hinted {
		return nil
	}
	return &hints{o.Evidence, o.Use.Wording, t, tok}
}

// demos returns demonstrations with hints.
func (h *hints) demos(ctx context.Context, demos []prompt.Example) ([]prompt.Example, error) {
	if h == nil || len(demos) == 0 {
		return demos, nil
	}
	return h.Examples(ctx, h.wording, demos)
}

// questions returns questions with hints.
func (h *hints) questions(ctx context.Context, inputs []string) ([]string, error) {
	if h == nil || len(inputs) == 0 {
		return inputs, nil
	}
	all, err := h.Texts(ctx, inputs)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(inputs))
	for i, logs := range all {
		if out[i], err = reply.Hinted(ctx, h.tokenizer, h.task, h.wording, inputs[i], h.Said(logs)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// describe adds to how answers are found that the model is told.
func (h *hints) describe(how string) string {
	if h == nil {
		return how
	}
	return how + ", with hints of the evidence"
}

// evident are the log-probabilities of labels for questions, none where they are not combined with scores.
func (o Options) evident(ctx context.Context, inputs []string) ([][]float64, error) {
	if o.Use.How != prompt.Combined || len(inputs) == 0 {
		return make([][]float64, len(inputs)), nil
	}
	return o.Evidence.Texts(ctx, inputs)
}

// Alone answers by evidence alone. No language model is asked.
type Alone struct {
	reader *evidence.Reader
}

var _ Answerer = (*Alone)(nil)

func newAlone(t prompt.Task, demos []prompt.Example, o Options) (Answerer, error) {
	if err := o.checkUse(t); err != nil {
		return nil, err
	}
	if o.Normalise || len(demos) > 0 {
		return nil, errors.New("evidence alone has no demonstrations and nothing to normalise: no model reads them")
	}
	return &Alone{o.Evidence}, nil
}

// Answer returns the label with the most evidence for each question.
func (a *Alone) Answer(ctx context.Context, inputs []string) ([]string, error) {
	predictions, err := a.Classify(ctx, inputs)
	if err != nil {
		return nil, err
	}
	answers := make([]string, len(predictions))
	for i, p := range predictions {
		answers[i] = p.Label
	}
	return answers, nil
}

// Classify answers questions with the probabilities of all labels.
func (a *Alone) Classify(ctx context.Context, inputs []string) ([]Prediction, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	all, err := a.reader.Texts(ctx, inputs)
	if err != nil {
		return nil, err
	}
	out := make([]Prediction, len(all))
	for i, logs := range all {
		p := reply.Alone(logs)
		c := Classification{a.reader.Labels[reply.Best(p)], p}
		out[i] = Prediction{c, c}
	}
	return out, nil
}

// Describe implements [Answerer].
func (a *Alone) Describe() string { return howAlone }

// Usage is nothing: no language model is asked.
func (a *Alone) Usage() lm.Usage { return lm.Usage{} }

// Close does nothing. The encoder stays open.
func (a *Alone) Close() error { return nil }
