package icl

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/evidence/nearest"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Options configure answering. The zero value is useful.
type Options struct {
	// Form is how instruction, demonstrations and question are laid out: one text by default. As
	// turns of a conversation they are in the model's chat template, and the answer is what the
	// model writes, whether it is of a list or not.
	Form prompt.Form
	// Calibrate divides the probability of labels by their probability after content-free
	// questions. Tasks without a list of labels have nothing to calibrate, nor have turns.
	Calibrate bool
	// Normalise divides a label's log-probability by its number of tokens, so that
	// long labels are not at a disadvantage.
	Normalise bool
	// PassTokens is about the number of question tokens that go through the model at once;
	// it bounds memory. Default 2048, which suits a processor; a GPU wants more.
	PassTokens int
	// Use is how the prompt uses evidence, if it does, and Evidence what it uses.
	Use      prompt.Use
	Evidence *evidence.Reader
	// Nearest gives each question only the demonstrations that are most similar to it, by Encoder: the one that
	// it names.
	Nearest prompt.Nearest
	Encoder nearest.Encodes
}

// defaultPass is enough for the embedded engine to run at its best.
const defaultPass = 2048

// filled checks the options for a task and fills in defaults.
func (o Options) filled(t prompt.Task) (Options, error) {
	if o.PassTokens < 0 {
		return o, fmt.Errorf("%d tokens cannot go through the model at once: give a positive number, or 0 for the default", o.PassTokens)
	}
	o.PassTokens = cmp.Or(o.PassTokens, defaultPass)
	if o.Nearest.Used() && o.Calibrate {
		return o, errors.New("answers with demonstrations for each question are not calibrated: turn calibration off")
	}
	return o, o.checkUse(t)
}

// sequences of a pass: with short questions too, it is the model that bounds speed.
func (o Options) sequences(info lm.Info) int {
	n := max(1, o.PassTokens/32)
	if info.Sequences > 0 {
		n = min(n, info.Sequences)
	}
	return n
}

// Answerer answers questions of a task with demonstrations. It is for one goroutine at
// a time.
type Answerer interface {
	// Answer returns an answer to each question, in their order: a label of the task's
	// list, or what the model wrote. It is empty where the model wrote nothing, or nothing
	// that is on the list. On an error there are no answers, and the call may be repeated.
	Answer(ctx context.Context, inputs []string) ([]string, error)
	// Describe describes how answers are found.
	Describe() string
	// Usage returns the cost of answering, including the common prefix.
	Usage() lm.Usage
	// Close drops what was computed. The model stays open.
	Close() error
}

// The answers of [Answerer.Describe].
const (
	howScores  = "the label with the best score"
	howWriting = "what the model writes, its best token at each step"
	howMatch   = "the label that what the model writes begins with"
	howAlone   = "the label with the most evidence, without a language model"
)

// scorerSource is a model that may have scores: a server that has to be asked, such as
// [lm/remote.Client].
type scorerSource interface {
	Scorer(ctx context.Context) (lm.Scorer, error)
}

// Open answers with any model, in the best way it offers. Labels of a list are chosen by
// their scores where the prompt is one text; without scores, and in turns, the model generates
// a text that has to begin with a label. Free-form answers are generated. The model need not be
// trusted. Where evidence answers alone, there need not be a model.
//
// A server is queried each time for its vocabulary. To open often, pass an [lm.Scorer], if
// there is one.
func Open(ctx context.Context, m lm.Model, t prompt.Task, demos []prompt.Example, o Options) (Answerer, error) {
	t = t.WithDefaults()
	if o.Use.How == prompt.Alone {
		return newAlone(t, demos, o)
	}
	scored := reply.Listed(t) && !o.Form.Turns()
	if o.Form.Turns() && (o.Calibrate || o.Normalise) {
		return nil, errors.New("answers in turns are what the model writes, which has nothing to calibrate or normalise: turn both off, or lay the prompt out as one text")
	}
	scorer, err := scorerOf(ctx, m, scored)
	lacking := &lm.UnsupportedError{}
	if err != nil && !errors.As(err, &lacking) {
		return nil, err
	}
	if scored {
		if err == nil {
			var c *Classifier
			if c, err = NewClassifier(ctx, scorer, t, demos, o); err == nil {
				return c, nil
			}
			if !errors.As(err, &lacking) {
				return nil, err
			}
		}
		if o.Use.How == prompt.Combined {
			return nil, fmt.Errorf("evidence cannot be combined with the scores of labels without them: use a model that gives scores, such as the embedded one, or a prompt that uses evidence as a hint or alone: %w", err)
		}
		if o.Calibrate || o.Normalise {
			return nil, fmt.Errorf("labels cannot be calibrated or normalised without their scores: turn both off, or use a model that gives scores, such as the embedded one: %w", err)
		}
	} else if err == nil && scorer.Info().Can.SharedPrefix && scorer.Info().Can.Top {
		w, err := NewWriter(ctx, scorer, t, demos, o)
		if err != nil {
			return nil, err
		}
		return w, nil
	}
	if err == nil {
		m = scorer
	}
	w, err := newTextAnswerer(ctx, m, t, demos, o)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// scorerOf returns the scorer of a model. It queries a server only if scores matter.
func scorerOf(ctx context.Context, m lm.Model, matter bool) (lm.Scorer, error) {
	if s, ok := m.(lm.Scorer); ok {
		return s, nil
	}
	if s, ok := m.(scorerSource); ok && matter {
		return s.Scorer(ctx)
	}
	return nil, &lm.UnsupportedError{Backend: m.Info().Backend, What: "score labels", Missing: "it only writes text"}
}
