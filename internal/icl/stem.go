package icl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/evidence/nearest"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// stem is the common prefix of all questions, computed once: the instruction and the
// demonstrations. Each question is a fork of it.
type stem struct {
	model   lm.Scorer
	task    prompt.Task
	options Options
	session lm.Session
	root    lm.Sequence
	length  int // of root, in tokens
	// named resumes from root with lead, the name that questions have in the layout.
	named lm.Sequence
	lead  []lm.Token
	// chat, if there is one, lays questions out as turns. Then root is what conversations
	// begin with, and bare is empty, for one that begins otherwise.
	chat *reply.Conversation
	bare lm.Sequence
	// hints of demonstrations and questions.
	hints *hints
	// near, if set, picks the demonstrations of each question. Then root has none.
	near *nearest.Picker
}

// question is what to extend a fork with.
type question struct {
	from   lm.Sequence
	tokens []lm.Token
}

// newStem starts a session. after is how many tokens may come after a question.
func newStem(ctx context.Context, m lm.Scorer, t prompt.Task, demos []prompt.Example, o Options, after int) (*stem, error) {
	s := &stem{model: m, task: t, options: o, hints: o.hints(t, m.Tokenizer())}
	demos, err := s.hints.demos(ctx, demos)
	if err != nil {
		return nil, err
	}
	own := 0
	if s.near, err = o.near(ctx, demos); err != nil {
		return nil, err
	}
	if s.near != nil {
		if own, err = reply.LongestExamples(ctx, m, t, prompt.Prompt{Examples: demos, Form: o.Form, Nearest: o.Nearest}); err != nil {
			return nil, err
		}
		demos = nil
	}
	tokens, layout, err := s.layOut(ctx, demos)
	if err != nil {
		return nil, err
	}
	longest := len(tokens) + own + layout + t.Limits.InputTokens + seamTokens + after
	if limit := m.Info().Context; limit > 0 && longest > limit {
		return nil, fmt.Errorf("%d demonstrations make a prompt of %d tokens, which with a question of up to %d and its answer is more than the model's %d: use fewer or shorter demonstrations, shorter questions, or a model with a longer context",
			max(len(demos), o.Nearest.Examples), len(tokens)+own, t.Limits.InputTokens, limit)
	}
	s.length = len(tokens)
	if s.session, err = m.Open(ctx); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, tokens); err != nil {
		return nil, errors.Join(err, s.session.Close())
	}
	return s, nil
}

// layOut returns what all questions come after, and the number of tokens of the layout
// around a question.
func (s *stem) layOut(ctx context.Context, demos []prompt.Example) (tokens []lm.Token, layout int, err error) {
	if s.options.Form.Turns() {
		if s.chat, err = conversationOf(s.model, s.task, demos, s.options.Form); err != nil {
			return nil, 0, err
		}
		return s.chat.Common(ctx, s.model)
	}
	if tokens, err = reply.Prefix(ctx, s.model.Tokenizer(), s.task, prompt.Prompt{Examples: demos}); err != nil {
		return nil, 0, err
	}
	s.lead, layout, err = leadTokens(ctx, s.model.Tokenizer(), s.task)
	return tokens, layout, err
}

// begin computes the sequences that questions are forks of.
func (s *stem) begin(ctx context.Context, tokens []lm.Token) (err error) {
	if s.root, err = s.session.New(); err != nil {
		return err
	}
	if len(tokens) > 0 {
		if _, err = s.session.Step(ctx, []lm.Step{{Sequence: s.root, Tokens: tokens}}); err != nil {
			return err
		}
	}
	if s.chat != nil {
		s.lead = tokens
		s.named = s.root
		s.bare, err = s.session.New()
		return err
	}
	if s.named, err = s.session.Fork(s.root); err != nil || len(s.lead) == 0 {
		return err
	}
	_, err = s.session.Step(ctx, []lm.Step{{Sequence: s.named, Tokens: s.lead}})
	return err
}

// leadTokens returns what two very different questions begin with, and the number of tokens
// of the layout around a question.
func leadTokens(ctx context.Context, tok lm.Tokenizer, t prompt.Task) (lead []lm.Token, layout int, err error) {
	var lists [3][]lm.Token
	for i, input := range []string{"", "The first", "7"} {
		if lists[i], err = tok.Encode(ctx, t.AnswerItem(input)); err != nil {
			return nil, 0, err
		}
	}
	return lists[1][:common(lists[1], lists[2])], len(lists[0]), nil
}

// common returns how many tokens two lists begin with alike.
func common(a, b []lm.Token) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// seamTokens is room for tokens that a question has more of within its layout than
// alone.
const seamTokens = 8

// Tokens returns the length of the instruction and the demonstrations.
func (s *stem) Tokens() int { return s.length }

// Usage returns what the session has cost so far, the demonstrations included.
func (s *stem) Usage() lm.Usage { return s.session.Usage() }

// Close drops the demonstrations. The model stays open.
func (s *stem) Close() error { return s.session.Close() }

// question turns a text into tokens, after demonstrations of its own.
func (s *stem) question(ctx context.Context, input string, own []prompt.Example) (_ question, err error) {
	var tokens []lm.Token
	from := s.root
	if s.chat != nil {
		chat := s.chat
		if own != nil {
			chat = reply.NewConversation(s.task, prompt.Prompt{Examples: own, Form: s.options.Form}, s.model.Tokenizer())
		}
		from = s.bare
		tokens, err = chat.Tokens(ctx, s.model, input)
	} else {
		tokens, err = reply.Item(ctx, s.model.Tokenizer(), s.task, input)
		if own != nil && err == nil {
			var before []lm.Token
			before, err = reply.Examples(ctx, s.model.Tokenizer(), s.task, own)
			tokens = append(before, tokens...)
		}
	}
	if n := len(s.lead); len(tokens) > n && slices.Equal(tokens[:n], s.lead) {
		return question{s.named, tokens[n:]}, err
	}
	return question{from, tokens}, err
}

// passes hands out questions in their order, as many at once as a pass takes.
func (s *stem) passes(ctx context.Context, inputs []string, do func([]question) error) error {
	sequences := s.options.sequences(s.model.Info())
	var list []question
	total := 0
	own, err := picks(ctx, s.near, inputs)
	if err != nil {
		return err
	}
	for i, input := range inputs {
		q, err := s.question(ctx, input, own[i])
		if err != nil {
			return err
		}
		if len(list) == sequences || len(list) > 0 && total+len(q.tokens) > s.options.PassTokens {
			if err := do(list); err != nil {
				return err
			}
			list, total = list[:0], 0
		}
		list = append(list, q)
		total += len(q.tokens)
	}
	if len(list) == 0 {
		return nil
	}
	return do(list)
}
