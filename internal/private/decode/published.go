package decode

import (
	"context"

	"github.com/sotto-dp/sotto/lm"
)

// idle computes the prompts of a text that have no record, as programs do that do not
// know their scores already.
func (l *loop) idle(ctx context.Context, t *text) error {
	for range t.empty[t.draw()] {
		q, err := l.open(append(append([]lm.Token(nil), t.head...), t.tokens...))
		if err != nil {
			return err
		}
		if _, err := l.step(ctx, []lm.Step{{Sequence: q.id, Tokens: q.next}}); err != nil {
			return err
		}
		if err := l.session.Drop(q.id); err != nil {
			return err
		}
	}
	return nil
}

// afresh makes the public sequence anew, as programs do that keep no cache.
func (l *loop) afresh(t *text) error {
	if err := l.session.Drop(t.public.id); err != nil {
		return err
	}
	var err error
	t.public, err = l.open(append(append([]lm.Token(nil), t.head...), t.tokens...))
	return err
}
