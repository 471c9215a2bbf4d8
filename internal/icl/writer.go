package icl

import (
	"context"
	"errors"
	"slices"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Writer generates answers greedily, to the end of the line or another end of the task's
// texts. The common prefix is computed once, and answers are generated in one batch. It is
// for one goroutine at a time.
type Writer struct {
	*stem
	ends []lm.Token
}

var _ Answerer = (*Writer)(nil)

// NewWriter computes the common prefix of all questions. Close it when it is no longer
// needed; the model stays open.
func NewWriter(ctx context.Context, m lm.Scorer, t prompt.Task, demos []Demo, o Options) (*Writer, error) {
	t = t.WithDefaults()
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	if !m.Info().Can.Top {
		return nil, &lm.UnsupportedError{Backend: m.Info().Backend, What: "write over a shared beginning", Missing: "it does not return its best token; let it write by itself, with icl.Open"}
	}
	w := &Writer{ends: m.Tokenizer().Ends()}
	if w.stem, err = newStem(ctx, m, t, demos, o, t.Limits.AnswerTokens); err != nil {
		return nil, err
	}
	return w, nil
}

// Describe implements [Answerer].
func (w *Writer) Describe() string { return howWriting }

// line is an unfinished answer.
type line struct {
	question int
	sequence lm.Sequence
	next     []lm.Token // to extend the sequence with
	written  []lm.Token
	text     string
}

// Answer generates an answer to each question. A new question replaces one that is
// answered, so that batches stay full.
func (w *Writer) Answer(ctx context.Context, inputs []string) (answers []string, err error) {
	var active []*line
	defer func() {
		for _, l := range active {
			err = errors.Join(err, w.session.Drop(l.sequence))
		}
		if err != nil {
			answers = nil
		}
	}()
	answers = make([]string, len(inputs))
	sequences := w.options.sequences(w.model.Info())
	var waiting question // the first that is not among the active ones
	for next := 0; next < len(inputs) || len(active) > 0; {
		for total := len(active); next < len(inputs) && len(active) < sequences; next++ {
			if waiting.tokens == nil {
				if waiting, err = w.question(ctx, inputs[next]); err != nil {
					return nil, err
				}
			}
			if total += len(waiting.tokens); total > w.options.PassTokens && len(active) > 0 {
				break
			}
			s, err := w.session.Fork(waiting.from)
			if err != nil {
				return nil, err
			}
			active = append(active, &line{question: next, sequence: s, next: waiting.tokens})
			waiting = question{}
		}
		if active, err = w.extend(ctx, active, answers); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// extend writes a token of each line. Those that end become answers; the others are
// returned, also beside an error.
func (w *Writer) extend(ctx context.Context, active []*line, answers []string) ([]*line, error) {
	steps := make([]lm.Step, len(active))
	for i, l := range active {
		steps[i] = lm.Step{Sequence: l.sequence, Tokens: l.next, Ask: lm.Ask{Top: 1}}
	}
	scores, err := w.session.Step(ctx, steps)
	if err != nil {
		return active, err
	}
	left := make([]*line, 0, len(active))
	for i, l := range active {
		ended, err := w.take(ctx, l, scores[i].Tokens[0])
		if err != nil {
			return append(left, active[i:]...), err
		}
		if !ended {
			left = append(left, l)
			continue
		}
		answers[l.question], _ = w.task.Cut(l.text)
		if err := w.session.Drop(l.sequence); err != nil {
			return append(left, active[i+1:]...), err
		}
	}
	return left, nil
}

// take appends a token, and reports whether the line has come to its end.
func (w *Writer) take(ctx context.Context, l *line, token lm.Token) (bool, error) {
	if slices.Contains(w.ends, token) {
		return true, nil
	}
	l.written = append(l.written, token)
	l.next = []lm.Token{token}
	var err error
	if l.text, err = w.model.Tokenizer().Decode(ctx, l.written); err != nil {
		return false, err
	}
	_, stopped := w.task.Cut(l.text)
	return stopped || len(l.written) >= w.task.Limits.AnswerTokens, nil
}
