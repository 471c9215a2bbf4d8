package icl

import (
	"context"

	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// chat lays questions out as conversations: instruction and demonstrations as turns, and
// the question as the last of them.
type chat struct {
	scorer lm.Scorer // nil for a model without scores
	task   prompt.Task
	turns  []lm.Message
}

func newChat(m lm.Model, t prompt.Task, demos []Demo) (*chat, error) {
	if !m.Info().Can.Chat {
		return nil, &lm.UnsupportedError{Backend: m.Info().Backend, What: "answer turns of a chat", Missing: "the model has no chat template; ask it in one text"}
	}
	c := &chat{task: t}
	c.scorer, _ = m.(lm.Scorer)
	for _, turn := range (prompt.Prompt{Examples: demos}).Turns(t) {
		c.turns = append(c.turns, message(turn))
	}
	return c, nil
}

func message(t prompt.Turn) lm.Message {
	return lm.Message{Role: lm.Role(t.Role), Content: t.Content}
}

// asked returns a conversation that ends with a question, cut to the task's limit.
func (c *chat) asked(ctx context.Context, input string) ([]lm.Message, error) {
	turn := c.task.Question(input)
	// A token is a byte or more.
	if most := c.task.Limits.InputTokens; c.scorer != nil && len(turn.Content) > most {
		short, err := reply.Cut(ctx, c.scorer.Tokenizer(), input, most)
		if err != nil {
			return nil, err
		}
		turn = c.task.Question(short)
	}
	return append(c.turns[:len(c.turns):len(c.turns)], message(turn)), nil
}

// tokens returns a whole conversation that ends with a question.
func (c *chat) tokens(ctx context.Context, input string) ([]lm.Token, error) {
	turns, err := c.asked(ctx, input)
	if err != nil {
		return nil, err
	}
	return c.scorer.Chat(ctx, turns)
}

// common returns what the conversations of two very different questions begin with, and the
// number of tokens that the layout has after that. A template may put the instruction into
// the last question: then it is not part of it.
func (c *chat) common(ctx context.Context) (tokens []lm.Token, layout int, err error) {
	var lists [3][]lm.Token
	for i, input := range []string{"", "The first", "7"} {
		if lists[i], err = c.tokens(ctx, input); err != nil {
			return nil, 0, err
		}
	}
	n := common(lists[1], lists[2])
	return lists[1][:n], max(0, len(lists[0])-n), nil
}
