package grader

import (
	"context"
	"errors"

	"github.com/sotto-dp/sotto/internal/metric/rouge"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
)

// wrote asks records about what the model writes, as it will answer.
func (h *batch) wrote(ctx context.Context, stems []stem, open []lm.Sequence, out []gradesOf) error {
	return h.passes(ctx, stems, h.sequences(), func(list []question) error {
		return h.write(ctx, list, open, func(q question, text string) {
			out[q.stem][reading{}][q.record] = h.compare(q.answer, text)
		})
	})
}

// generated asks records about what the model writes by itself.
func (h *batch) generated(ctx context.Context, stems []stem, out []gradesOf) error {
	options := reply.Writing(h.Task, h.turns, h.limit)
	return h.passes(ctx, stems, h.sequences(), func(list []question) error {
		prompts := make([]lm.Prompt, len(list))
		for i, q := range list {
			if prompts[i].Messages = q.turns; q.turns == nil {
				stem := stems[q.stem].tokens
				prompts[i].Tokens = append(stem[:len(stem):len(stem)], q.tokens...)
			}
		}
		texts, err := h.Model.Write(ctx, prompts, options)
		if err != nil {
			return err
		}
		for i, q := range list {
			if texts[i].Finish != lm.FinishRefused {
				out[q.stem][reading{}][q.record] = h.compare(q.answer, reply.Written(h.Task, h.turns, texts[i].Text))
			}
		}
		return nil
	})
}

// compare is the grade on a prompt with which the model writes this.
func (h *batch) compare(answer, text string) int64 {
	switch {
	case h.Utility == Rouge:
		return fixed(rouge.Options{}.L(answer, text).F1)
	case reply.Listed(h.Task):
		if answer == text {
			return One
		}
	case reply.Same(answer, text):
		return One
	}
	return 0
}

// write has the model answer questions side by side.
func (h *batch) write(ctx context.Context, list []question, open []lm.Sequence, done func(question, string)) (err error) {
	w := &reply.Writer{Session: h.session, Tokenizer: h.Model.Tokenizer(), Task: h.Task, Turn: h.turns, Limit: h.limit}
	var active []*reply.Line
	defer func() { err = errors.Join(err, w.Drop(active)) }()
	for i, q := range list {
		l := &reply.Line{ID: i}
		if h.Utility == Hard {
			l.Want = q.answer
		}
		from := open[q.stem]
		if q.whole {
			if from, err = h.session.New(); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, h.session.Drop(from)) }()
		}
		if err := w.Begin(l, from, q.tokens); err != nil {
			return err
		}
		active = append(active, l)
	}
	for len(active) > 0 {
		active, err = w.Step(ctx, active, func(l *reply.Line) { done(list[l.ID], w.Answer(l)) })
		if err != nil {
			return err
		}
	}
	return nil
}
