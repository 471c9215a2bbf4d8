package decode

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
)

// start draws and reads a text's records and opens its public sequence.
func (l *loop) start(ctx context.Context, job Job, m Method) (*text, error) {
	head, err := l.layout().Head(ctx, job.Condition)
	if err != nil {
		return nil, fmt.Errorf("the head of a prompt: %w", err)
	}
	t := &text{Job: job, method: m, sampling: m.Scheme(), head: head}
	if t.phrase, err = l.phrase(ctx, job.Condition); err != nil {
		return nil, err
	}
	t.after = l.after(job.Index)
	if t.public, err = l.open(head); err != nil {
		return nil, err
	}
	if t.sampling.Kind == "" {
		t.records, t.empty = [][][]seal.Record{nil}, []int{0}
		return t, nil
	}
	return t, l.fetch(ctx, t)
}

// fetch makes all draws of a text and reads the drawn records at once: a source that
// cannot be read at random is read through once.
func (l *loop) fetch(ctx context.Context, t *text) error {
	samples, err := l.drawer.Draw(t.sampling, t.Text, l.Tokens)
	if err != nil {
		return err
	}
	var refs []seal.Ref
	for _, s := range samples {
		for _, prompt := range s.Prompts {
			refs = append(refs, prompt...)
		}
	}
	records, err := l.drawer.Fetch(ctx, refs)
	if err != nil {
		return err
	}
	for _, s := range samples {
		prompts := make([][]seal.Record, len(s.Prompts))
		for i, prompt := range s.Prompts {
			prompts[i], records = records[:len(prompt)], records[len(prompt):]
		}
		t.records, t.empty = append(t.records, prompts), append(t.empty, s.Empty)
	}
	return nil
}

// open makes a sequence that has the instruction and is to be extended by tokens.
func (l *loop) open(tokens []lm.Token) (sequence, error) {
	if l.prefix == 0 {
		id, err := l.session.New()
		return sequence{id, append(append([]lm.Token(nil), l.opening...), tokens...)}, err
	}
	id, err := l.session.Fork(l.prefix)
	return sequence{id, tokens}, err
}

// prompts opens the private sequences that the next token of a text needs.
func (l *loop) prompts(ctx context.Context, t *text) error {
	step := t.draw()
	prompts := t.records[step]
	t.records[step] = nil // each draw is laid out once
	tail := append(append([]lm.Token(nil), t.head...), t.tokens...)
	room := Room(l.Model.Info().Context, len(l.opening)+len(t.head)+l.Tokens)
	for _, records := range prompts {
		tokens, err := l.layout().Demonstrations(ctx, records, room)
		if err != nil {
			return err
		}
		q, err := l.open(append(tokens, tail...))
		if err != nil {
			return err
		}
		t.private = append(t.private, q)
	}
	return nil
}
