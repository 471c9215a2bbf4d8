package reply

import (
	"context"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Conversation lays a prompt and questions out as turns.
type Conversation struct {
	task   prompt.Task
	prompt prompt.Prompt
	turns  []lm.Message
	// tokenizer cuts questions to the task's limit; without one they are whole.
	tokenizer lm.Tokenizer
}

// NewConversation begins conversations with a prompt of a task. The tokenizer may be nil.
func NewConversation(t prompt.Task, p prompt.Prompt, tok lm.Tokenizer) *Conversation {
	c := &Conversation{task: t.WithDefaults(), prompt: p, tokenizer: tok}
	for _, turn := range p.Turns(t) {
		c.turns = append(c.turns, message(turn))
	}
	return c
}

func message(t prompt.Turn) lm.Message {
	return lm.Message{Role: lm.Role(t.Role), Content: t.Content}
}

// Asked returns a conversation that ends with a question, cut to the task's limit.
func (c *Conversation) Asked(ctx context.Context, input string) ([]lm.Message, error) {
	// A token is a byte or more.
	if limit := c.task.Limits.InputTokens; c.tokenizer != nil && len(input) > limit {
		var err error
		if input, err = Cut(ctx, c.tokenizer, input, limit); err != nil {
			return nil, err
		}
	}
	return append(c.turns[:len(c.turns):len(c.turns)], message(c.prompt.Question(c.task, input))), nil
}

// Chatter lays out turns in the chat template of a model.
type Chatter interface {
	Chat(ctx context.Context, messages []lm.Message) ([]lm.Token, error)
}

// Tokens returns a conversation that ends with a question, as a model's chat template lays it out.
func (c *Conversation) Tokens(ctx context.Context, m Chatter, input string) ([]lm.Token, error) {
	turns, err := c.Asked(ctx, input)
	if err != nil {
		return nil, err
	}
	return m.Chat(ctx, turns)
}

// Common returns what the conversations of two very different questions begin with, and the
// number of tokens that the layout has after that. A template may put the instruction into
// the last question: then it is not part of it.
func (c *Conversation) Common(ctx context.Context, m Chatter) (tokens []lm.Token, layout int, err error) {
	var lists [3][]lm.Token
	for i, input := range []string{"", "The first", "7"} {
		if lists[i], err = c.Tokens(ctx, m, input); err != nil {
			return nil, 0, err
		}
	}
	n := common(lists[1], lists[2])
	return lists[1][:n], max(0, len(lists[0])-n), nil
}

// common returns how many tokens two lists begin with alike.
func common(a, b []lm.Token) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
