package grader

import (
	"context"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/evidence/nearest"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/prompt"
)

// place finds the vector of each record, from its input alone, if a prompt gives questions the nearest examples.
func (j *Grader) place(ctx context.Context, prompts []prompt.Prompt, cases []item) (err error) {
	if !slices.ContainsFunc(prompts, func(p prompt.Prompt) bool { return p.Nearest.Used() }) {
		return nil
	}
	if j.encoder == nil {
		if j.encoder, err = nearest.New(j.Encoder); err != nil {
			return err
		}
	}
	inputs := make([]string, len(cases))
	for i, c := range cases {
		inputs[i] = c.input
	}
	vectors, err := j.encoder.Questions(ctx, inputs)
	if err != nil {
		return fmt.Errorf("find the examples nearest to records: %w", err)
	}
	for i := range cases {
		cases[i].vector = vectors[i]
	}
	return nil
}

// own lays out the examples that a record gets of a stem's, before its question.
func (h *batch) own(ctx context.Context, s stem, q *question) (*reply.Conversation, error) {
	if s.near == nil {
		return s.chat, nil
	}
	p := s.prompt.With(s.near.Of(q.vector))
	if s.chat != nil {
		return reply.NewConversation(h.Task, p, h.Model.Tokenizer()), nil
	}
	before, err := reply.Examples(ctx, h.Model.Tokenizer(), h.Task, p.Examples)
	if err != nil {
		return nil, fmt.Errorf("lay out a record: %w", err)
	}
	q.tokens = append(before, q.tokens...)
	q.length += len(before)
	return nil, nil
}
