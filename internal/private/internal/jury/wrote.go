package jury

import (
	"context"
	"errors"

	"github.com/sotto-dp/sotto/eval/rouge"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
)

// writes reports whether verdicts are about what the model writes.
func (j *Jury) writes() bool {
	return j.labels == nil && (j.Utility == Hard || j.Utility == Rouge)
}

// wrote hears records about what the model writes, as it will answer.
func (h *hearing) wrote(ctx context.Context, stems []stem, open []lm.Sequence, out []heard) error {
	return h.passes(stems, h.sequences(), func(list []question) error {
		return h.write(ctx, list, open, func(q question, text string) {
			out[q.stem].raw[q.record] = h.compare(q.answer, text)
		})
	})
}

// compare is the verdict on a prompt with which the model writes this.
func (h *hearing) compare(answer, text string) int64 {
	switch {
	case h.Utility == Rouge:
		return fixed(rouge.Options{}.L(answer, text).F1)
	case reply.Same(answer, text):
		return One
	}
	return 0
}

// write has the model answer questions side by side.
func (h *hearing) write(ctx context.Context, list []question, open []lm.Sequence, done func(question, string)) (err error) {
	w := &reply.Writer{Session: h.session, Tokenizer: h.Model.Tokenizer(), Task: h.Task}
	var active []*reply.Line
	defer func() { err = errors.Join(err, w.Drop(active)) }()
	for i, q := range list {
		l := &reply.Line{ID: i}
		if h.Utility == Hard {
			l.Want = q.answer
		}
		if err := w.Begin(l, open[q.stem], q.tokens); err != nil {
			return err
		}
		active = append(active, l)
	}
	for len(active) > 0 {
		active, err = w.Step(ctx, active, func(l *reply.Line) { done(list[l.ID], l.Text(h.Task)) })
		if err != nil {
			return err
		}
	}
	return nil
}
