package jury

import (
	"context"
	"errors"
	"slices"

	"github.com/sotto-dp/sotto/eval/rouge"
	"github.com/sotto-dp/sotto/lm"
)

// line is an answer in the making.
type line struct {
	question
	sequence lm.Sequence
	next     []lm.Token // to extend the sequence with
	written  []lm.Token
	text     string
}

// wrote hears records about what the model writes, its best token at each step, as it will
// answer.
func (h *hearing) wrote(ctx context.Context, stems []stem, open []lm.Sequence, out []heard) error {
	return h.passes(stems, h.sequences(), func(list []question) error {
		lines, err := h.write(ctx, list, open)
		if err != nil {
			return err
		}
		for _, l := range lines {
			text, _ := h.Task.Cut(l.text)
			out[l.stem].raw[l.record] = fixed(rouge.Options{}.L(l.answer, text).F1)
		}
		return nil
	})
}

// write has the model answer questions side by side.
func (h *hearing) write(ctx context.Context, list []question, open []lm.Sequence) (lines []*line, err error) {
	defer func() {
		for _, l := range lines {
			err = errors.Join(err, h.session.Drop(l.sequence))
		}
	}()
	for _, q := range list {
		s, err := h.session.Fork(open[q.stem])
		if err != nil {
			return lines, err
		}
		lines = append(lines, &line{question: q, sequence: s, next: q.tokens})
	}
	for active := slices.Clone(lines); len(active) > 0; {
		if active, err = h.token(ctx, active); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// token writes one of each line, and returns those that go on.
func (h *hearing) token(ctx context.Context, active []*line) ([]*line, error) {
	steps := make([]lm.Step, len(active))
	for i, l := range active {
		steps[i] = lm.Step{Sequence: l.sequence, Tokens: l.next, Ask: lm.Ask{Top: 1}}
	}
	scores, err := h.session.Step(ctx, steps)
	if err != nil {
		return nil, err
	}
	tokenizer := h.Model.Tokenizer()
	var left []*line
	for i, l := range active {
		token := scores[i].Tokens[0]
		if slices.Contains(tokenizer.Ends(), token) {
			continue
		}
		l.written, l.next = append(l.written, token), []lm.Token{token}
		if l.text, err = tokenizer.Decode(ctx, l.written); err != nil {
			return nil, err
		}
		if _, stopped := h.Task.Cut(l.text); !stopped && len(l.written) < h.Task.Limits.AnswerTokens {
			left = append(left, l)
		}
	}
	return left, nil
}
