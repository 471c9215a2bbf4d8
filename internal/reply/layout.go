package reply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Prefix returns the tokens that all questions come after: the instruction and the examples of a
// prompt.
func Prefix(ctx context.Context, tok lm.Tokenizer, t prompt.Task, p prompt.Prompt) ([]lm.Token, error) {
	var tokens []lm.Token
	if first, ok := tok.Beginning(); ok {
		tokens = append(tokens, first)
	}
	return encode(ctx, tok, tokens, p.Segments(t))
}

// Examples returns the tokens of examples that follow others.
func Examples(ctx context.Context, tok lm.Tokenizer, t prompt.Task, examples []prompt.Example) ([]lm.Token, error) {
	segments := prompt.Prompt{Examples: examples}.Segments(t)
	return encode(ctx, tok, nil, segments[len(segments)-len(examples):])
}

// Output returns the tokens of an answer as it follows a question in a text, cut to the task's limit; none
// if it is empty. What ends it is not part of it: that depends on the model's vocabulary.
func Output(ctx context.Context, tok lm.Tokenizer, t prompt.Task, answer string) ([]lm.Token, error) {
	if t.OneLine() {
		answer = strings.Join(strings.Fields(answer), " ")
	}
	if answer = strings.TrimSpace(answer); answer == "" {
		return nil, nil
	}
	tokens, err := tok.Encode(ctx, " "+answer)
	if err != nil {
		return nil, err
	}
	return tokens[:min(len(tokens), t.Limits.AnswerTokens)], nil
}

// encode appends the tokens of segments, which are encoded one by one: see package prompt.
func encode(ctx context.Context, tok lm.Tokenizer, tokens []lm.Token, segments []string) ([]lm.Token, error) {
	for _, s := range segments {
		more, err := tok.Encode(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("lay out a prompt: %w", err)
		}
		tokens = append(tokens, more...)
	}
	return tokens, nil
}

// Item returns the tokens of a question, cut to the task's limit. One that is short enough with
// the names around it is not encoded a second time.
func Item(ctx context.Context, tok lm.Tokenizer, t prompt.Task, input string) ([]lm.Token, error) {
	input, limit := Input(t, input), t.Limits.InputTokens
	// What is sure to be cut is not laid out whole.
	if len(input) <= 16*limit {
		tokens, err := tok.Encode(ctx, t.AnswerItem(input))
		if err != nil || len(tokens) <= limit {
			return tokens, err
		}
	}
	input, err := Cut(ctx, tok, input, limit)
	if err != nil {
		return nil, err
	}
	return tok.Encode(ctx, t.AnswerItem(input))
}

// seam is room for tokens that a question has more of within its layout than alone.
const seam = 8

// Asks is a model that is asked.
type Asks interface {
	Chatter
	Tokenizer() lm.Tokenizer
}

// LongestExamples is how many tokens the examples take at most that a question gets of a prompt.
func LongestExamples(ctx context.Context, m Asks, t prompt.Task, p prompt.Prompt) (int, error) {
	long, err := longestShown(ctx, m.Tokenizer(), t, p)
	if err != nil {
		return 0, err
	}
	with, err := Longest(ctx, m, t, p.With(long))
	if err != nil {
		return 0, err
	}
	without, err := Longest(ctx, m, t, p.With(nil))
	return with - without, err
}

// longestShown are the longest of a prompt's examples, as many as a question gets.
func longestShown(ctx context.Context, tok lm.Tokenizer, t prompt.Task, p prompt.Prompt) ([]prompt.Example, error) {
	if !p.Nearest.Used() {
		return p.Examples, nil
	}
	length := make([]int, len(p.Examples))
	order := make([]int, len(p.Examples))
	for i, e := range p.Examples {
		tokens, err := Examples(ctx, tok, t, []prompt.Example{e})
		if err != nil {
			return nil, err
		}
		length[i], order[i] = len(tokens), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return length[b] - length[a] })
	var out []prompt.Example
	for _, i := range order[:min(len(order), p.Nearest.Examples)] {
		out = append(out, p.Examples[i])
	}
	return out, nil
}

// Longest is how many tokens a prompt with the longest question and answer takes at most, in its form.
func Longest(ctx context.Context, m Asks, t prompt.Task, p prompt.Prompt) (int, error) {
	long, err := longestShown(ctx, m.Tokenizer(), p.For(t), p)
	if err != nil {
		return 0, err
	}
	t, p = p.For(t), p.With(long)
	p = longestHints(t, p)
	answer, err := Limit(ctx, m.Tokenizer(), t)
	if err != nil {
		return 0, err
	}
	var before []lm.Token
	var layout int
	if p.Form.Turns() {
		before, layout, err = NewConversation(t, p, m.Tokenizer()).Common(ctx, m)
	} else if before, err = Prefix(ctx, m.Tokenizer(), t, p); err == nil {
		var item []lm.Token
		item, err = m.Tokenizer().Encode(ctx, t.AnswerItem(""))
		layout = len(item)
	}
	return len(before) + layout + t.Limits.InputTokens + seam + answer, err
}

// Input makes white space in the text of a classification or extraction task single spaces, as it
// is in examples. The input of a generation task may have lines.
func Input(t prompt.Task, s string) string {
	if t.Kind == prompt.Generate {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// Cut returns the beginning of a text, of so many tokens.
func Cut(ctx context.Context, tok lm.Tokenizer, s string, limit int) (string, error) {
	tokens, err := tok.Encode(ctx, s)
	if err != nil || len(tokens) <= limit {
		return s, err
	}
	s, err = tok.Decode(ctx, tokens[:limit])
	return strings.ToValidUTF8(s, ""), err // the last token may end within a character
}
