package icl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sotto/lm"
	"sotto/prompt"
)

// stem is what all questions begin with, computed once: the instruction and the
// demonstrations. Each question is a fork of it.
type stem struct {
	model   lm.Scorer
	task    prompt.Task
	options Options
	session lm.Session
	root    lm.Sequence
	length  int // of root, in tokens
}

// newStem starts a session. after is how many tokens may come after a question.
func newStem(ctx context.Context, m lm.Scorer, t prompt.Task, demos []Demo, o Options, after int) (*stem, error) {
	s := &stem{model: m, task: t, options: o}
	tokens, err := prefixTokens(ctx, m.Tokenizer(), t, demos)
	if err != nil {
		return nil, err
	}
	layout, err := m.Tokenizer().Encode(ctx, t.AnswerItem(""))
	if err != nil {
		return nil, err
	}
	longest := len(tokens) + len(layout) + o.MaxInputTokens + seamTokens + after
	if limit := m.Info().Context; limit > 0 && longest > limit {
		return nil, fmt.Errorf("%d demonstrations make a prompt of %d tokens, which with a question of up to %d and its answer is more than the model's %d: use fewer or shorter demonstrations, shorter questions, or a model with a longer context",
			len(demos), len(tokens), o.MaxInputTokens, limit)
	}
	if s.session, err = m.Open(ctx); err != nil {
		return nil, err
	}
	if s.root, err = s.session.New(); err == nil && len(tokens) > 0 {
		_, err = s.session.Step(ctx, []lm.Step{{Sequence: s.root, Tokens: tokens}})
	}
	if err != nil {
		return nil, errors.Join(err, s.session.Close())
	}
	s.length = len(tokens)
	return s, nil
}

// seamTokens is room for tokens that a question has more of within its layout than
// alone.
const seamTokens = 8

// prefixTokens are the instruction and the demonstrations. Segments are encoded one by
// one, see package prompt.
func prefixTokens(ctx context.Context, tok lm.Tokenizer, t prompt.Task, demos []Demo) ([]lm.Token, error) {
	var tokens []lm.Token
	if first, ok := tok.Beginning(); ok {
		tokens = append(tokens, first)
	}
	for _, s := range prefixSegments(t, demos) {
		part, err := tok.Encode(ctx, s)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, part...)
	}
	return tokens, nil
}

func prefixSegments(t prompt.Task, demos []Demo) []string {
	segments := []string{t.AnswerPrefix()}
	for _, d := range demos {
		output := d.Output
		if t.OneLine() {
			output = oneLine(output)
		}
		segments = append(segments, t.AnswerDemo(inputText(t, d.Input), output))
	}
	return segments
}

// inputText makes white space in the text of a classification task single spaces, as
// it is in the demonstrations. The input of a generation task may have lines.
func inputText(t prompt.Task, s string) string {
	if t.Kind == prompt.Generate {
		return s
	}
	return oneLine(s)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Tokens is the length of the instruction and the demonstrations.
func (s *stem) Tokens() int { return s.length }

// Usage is what the session has cost so far, the demonstrations included.
func (s *stem) Usage() lm.Usage { return s.session.Usage() }

// Close forgets the demonstrations. The model stays open.
func (s *stem) Close() error { return s.session.Close() }

// item is a question as tokens.
func (s *stem) item(ctx context.Context, input string) ([]lm.Token, error) {
	return itemTokens(ctx, s.model.Tokenizer(), s.task, input, s.options.MaxInputTokens)
}

// itemTokens are the tokens of a question, cut to a number of tokens. A question that
// is short enough with the names around it is not counted a second time.
func itemTokens(ctx context.Context, tok lm.Tokenizer, t prompt.Task, input string, most int) ([]lm.Token, error) {
	input = inputText(t, input)
	// What is sure to be cut is not laid out whole.
	if len(input) <= 16*most {
		tokens, err := tok.Encode(ctx, t.AnswerItem(input))
		if err != nil || len(tokens) <= most {
			return tokens, err
		}
	}
	input, err := cut(ctx, tok, input, most)
	if err != nil {
		return nil, err
	}
	return tok.Encode(ctx, t.AnswerItem(input))
}

// cut leaves the first tokens of a text.
func cut(ctx context.Context, tok lm.Tokenizer, s string, most int) (string, error) {
	tokens, err := tok.Encode(ctx, s)
	if err != nil || len(tokens) <= most {
		return s, err
	}
	s, err = tok.Decode(ctx, tokens[:most])
	return strings.ToValidUTF8(s, ""), err // the last token may end within a character
}

// passes hands out questions in their order, as many at once as a pass takes.
func (s *stem) passes(ctx context.Context, inputs []string, do func(items [][]lm.Token) error) error {
	sequences := s.options.sequences(s.model.Info())
	var items [][]lm.Token
	total := 0
	for _, input := range inputs {
		tokens, err := s.item(ctx, input)
		if err != nil {
			return err
		}
		if len(items) == sequences || len(items) > 0 && total+len(tokens) > s.options.PassTokens {
			if err := do(items); err != nil {
				return err
			}
			items, total = items[:0], 0
		}
		items = append(items, tokens)
		total += len(tokens)
	}
	if len(items) == 0 {
		return nil
	}
	return do(items)
}
