package remote

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/sotto-dp/sotto/lm"
)

// layouts lay out chats with the server's template, so that no message can forge a
// turn: the template is rendered around placeholders, its own parts are encoded
// with marks, and the messages without.
type layouts struct {
	client  *Client
	encoder encoder
	text    lm.Tokenizer

	mu   sync.Mutex
	made map[string]layout // by the sequence of roles
	// known are the tokens of messages: examples come again with every question.
	known map[string][]lm.Token
}

// layout is what stands before, between and after messages.
type layout struct {
	parts [][]lm.Token
	// trim: the template cuts space off the ends of messages.
	trim bool
}

const (
	// maxLayouts bounds the memory that strange sequences of roles can take.
	maxLayouts = 64
	// maxKnown and knownBytes bound that of messages.
	maxKnown, knownBytes = 4096, 4096
)

func newLayouts(c *Client, e encoder, text lm.Tokenizer) *layouts {
	return &layouts{client: c, encoder: e, text: text, made: map[string]layout{}, known: map[string][]lm.Token{}}
}

func (l *layouts) chat(ctx context.Context, messages []lm.Message) ([]lm.Token, error) {
	made, err := l.of(ctx, messages)
	if err != nil {
		return nil, err
	}
	tokens := append([]lm.Token(nil), made.parts[0]...)
	for i, m := range messages {
		content := m.Content
		if made.trim {
			content = strings.TrimSpace(content)
		}
		more, err := l.encode(ctx, content)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		tokens = append(append(tokens, more...), made.parts[i+1]...)
	}
	return tokens, nil
}

// encode returns the tokens of a message, which depend on nothing else.
func (l *layouts) encode(ctx context.Context, content string) ([]lm.Token, error) {
	l.mu.Lock()
	tokens, ok := l.known[content]
	l.mu.Unlock()
	if ok {
		return tokens, nil
	}
	tokens, err := l.text.Encode(ctx, content)
	if err != nil || len(content) > knownBytes {
		return tokens, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= maxKnown {
		clear(l.known)
	}
	l.known[content] = tokens
	return tokens, nil
}

// of finds or makes the layout for the roles of messages.
func (l *layouts) of(ctx context.Context, messages []lm.Message) (layout, error) {
	var key strings.Builder
	for i, m := range messages {
		switch m.Role {
		case lm.System, lm.User, lm.Assistant:
		default:
			return layout{}, fmt.Errorf("message %d: the roles are %s, %s and %s", i, lm.System, lm.User, lm.Assistant)
		}
		key.WriteString(string(m.Role) + " ")
	}
	l.mu.Lock()
	made, ok := l.made[key.String()]
	l.mu.Unlock()
	if ok {
		return made, nil
	}
	made, err := l.make(ctx, messages)
	if err != nil {
		return layout{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.made) < maxLayouts {
		l.made[key.String()] = made
	}
	return made, nil
}

// placeholder stands for a message. No template holds such words.
func placeholder(i int) string { return fmt.Sprintf("sotto%dplaceholder", i) }

// space goes around placeholders to see whether the template cuts it off.
const space = "\n "

func (l *layouts) make(ctx context.Context, messages []lm.Message) (layout, error) {
	asked := make([]lm.Message, len(messages))
	for i, m := range messages {
		asked[i] = lm.Message{Role: m.Role, Content: space + placeholder(i) + space}
	}
	text, err := l.encoder.render(ctx, l.client, asked)
	if err != nil {
		return layout{}, fmt.Errorf("the server's chat template does not take these roles in this order: %w", err)
	}
	made := layout{trim: !strings.Contains(text, asked[0].Content)}
	if first, ok := l.text.Beginning(); ok && l.encoder.leavesOut() {
		made.parts = append(made.parts, []lm.Token{first})
	} else {
		made.parts = append(made.parts, nil)
	}
	for i := range messages {
		mark := asked[i].Content
		if made.trim {
			mark = placeholder(i)
		}
		before, after, ok := strings.Cut(text, mark)
		if !ok || strings.Contains(after, mark) {
			return layout{}, &lm.UnsupportedError{Backend: l.client.info.Backend, What: "lay out messages", Missing: "its chat template does not show each message once and unchanged; give plain text"}
		}
		if err := l.fixed(ctx, &made, before); err != nil {
			return layout{}, err
		}
		made.parts = append(made.parts, nil)
		text = after
	}
	return made, l.fixed(ctx, &made, text)
}

// fixed appends a part of the template itself.
func (l *layouts) fixed(ctx context.Context, made *layout, text string) error {
	if text == "" {
		return nil
	}
	tokens, err := l.encoder.encode(ctx, l.client, text, true)
	last := len(made.parts) - 1
	made.parts[last] = append(made.parts[last], tokens...)
	return err
}
