package icl

import (
	"context"
	"errors"

	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Writer generates answers greedily, to the end of the line or another end of the task's
// texts; labels too, in turns of a conversation. The common prefix is computed once, and answers are generated in one batch. It is
// for one goroutine at a time.
type Writer struct {
	*stem
	limit int // of tokens
}

var _ Answerer = (*Writer)(nil)

// NewWriter computes the common prefix of all questions. Close it when it is no longer
// needed; the model stays open.
func NewWriter(ctx context.Context, m lm.Scorer, t prompt.Task, demos []prompt.Example, o Options) (*Writer, error) {
	t = t.WithDefaults()
	o, err := o.filled(t)
	if err != nil {
		return nil, err
	}
	if err := o.written(); err != nil {
		return nil, err
	}
	if !m.Info().Can.Top {
		return nil, &lm.UnsupportedError{Backend: m.Info().Backend, What: "write over a shared beginning", Missing: "it does not return its best token; let it write by itself, with icl.Open"}
	}
	w := &Writer{}
	if w.limit, err = reply.Limit(ctx, m.Tokenizer(), t); err != nil {
		return nil, err
	}
	if w.stem, err = newStem(ctx, m, t, demos, o, w.limit); err != nil {
		return nil, err
	}
	return w, nil
}

// Describe implements [Answerer].
func (w *Writer) Describe() string {
	return w.options.describeNear(w.hints.describe(howWritten(w.task)))
}

// Answer generates an answer to each question. A new question replaces one that is
// answered, so that batches stay full.
func (w *Writer) Answer(ctx context.Context, inputs []string) (answers []string, err error) {
	if inputs, err = w.hints.questions(ctx, inputs); err != nil {
		return nil, err
	}
	writer := &reply.Writer{Session: w.session, Tokenizer: w.model.Tokenizer(), Task: w.task, Turn: w.chat != nil, Limit: w.limit}
	var active []*reply.Line
	defer func() {
		if err = errors.Join(err, writer.Drop(active)); err != nil {
			answers = nil
		}
	}()
	answers = make([]string, len(inputs))
	done := func(l *reply.Line) { answers[l.ID] = writer.Answer(l) }
	sequences := w.options.sequences(w.model.Info())
	own, err := picks(ctx, w.near, inputs)
	if err != nil {
		return nil, err
	}
	var waiting question // the first that is not among the active ones
	for next := 0; next < len(inputs) || len(active) > 0; {
		for total := len(active); next < len(inputs) && len(active) < sequences; next++ {
			if waiting.tokens == nil {
				if waiting, err = w.question(ctx, inputs[next], own[next]); err != nil {
					return nil, err
				}
			}
			if total += len(waiting.tokens); total > w.options.PassTokens && len(active) > 0 {
				break
			}
			l := &reply.Line{ID: next}
			if err := writer.Begin(l, waiting.from, waiting.tokens); err != nil {
				return nil, err
			}
			active = append(active, l)
			waiting = question{}
		}
		if active, err = writer.Step(ctx, active, done); err != nil {
			return nil, err
		}
	}
	return answers, nil
}
