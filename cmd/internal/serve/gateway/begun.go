package gateway

import (
	"context"
	"errors"
	"slices"

	"github.com/sotto-dp/sotto/internal/sys/machine"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// promptPrefix is what the prompts of a route begin with: its instruction and examples, in turns or as a
// text. It is released, and nothing of a request is in it.
type promptPrefix struct {
	shots *Shots
	chat  bool
}

type prefixKey struct{}

// openingOf is that of a request under way; of routes without examples it is none.
func openingOf(ctx context.Context) promptPrefix {
	o, _ := ctx.Value(prefixKey{}).(promptPrefix)
	return o
}

// opening is what the prompts of any two questions have in common, in tokens: also of conversations
// whose first turn is not laid out as a question is.
func (s *Shots) opening(ctx context.Context, m lm.Scorer, chat bool) ([]lm.Token, error) {
	p := prompt.Prompt{Examples: s.examples, Form: s.form}
	if s.near != nil {
		p.Examples = nil // each question has its own
	}
	const one, other = "The first", "7"
	prompts := []lm.Prompt{{Text: s.text(p.Examples, one)}, {Text: s.text(p.Examples, other)}}
	if chat {
		turns := func(last prompt.Turn) (list []lm.Message) {
			for _, t := range append(p.Turns(s.task), last) {
				list = append(list, lm.Message{Role: lm.Role(t.Role), Content: t.Content})
			}
			return list
		}
		prompts = []lm.Prompt{
			{Messages: turns(p.Question(s.task, one))},
			{Messages: turns(p.Question(s.task, other))},
			{Messages: turns(prompt.Turn{Role: prompt.UserRole, Content: one})},
		}
	}
	var common []lm.Token
	for i, one := range prompts {
		tokens, err := one.Encode(ctx, m)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			common = tokens
		}
		n := 0
		for n < min(len(common), len(tokens)) && common[n] == tokens[n] {
			n++
		}
		common = common[:n]
	}
	return common, nil
}

// prefixCache is what a route's prompts begin with, as far as it is computed.
type prefixCache struct {
	// of is an [promptPrefix], or a [*PromptAnswerer].
	of    any
	bytes int64
	// tokens of an opening, and the sequence that has them; 0 if it is too large to be kept.
	tokens   []lm.Token
	sequence lm.Sequence
	drop     func() error
}

// prefixCaches holds those that were used last, within a bound. They are made of releases alone: what a
// client sends is in none, so that how long an answer takes does not show what others asked. It is for
// anyone who has the turn of the model.
type prefixCaches struct {
	maxBytes, bytes int64
	// all, those used last at the end.
	all []*prefixCache
}

// defaultKeep is a few releases of the largest models that a small machine runs.
const defaultKeep = 1 << 30

// bound is how many bytes to keep.
func bound(want int64) int64 {
	if want > 0 {
		return want
	}
	if free := machine.Free(); free > 0 {
		return min(defaultKeep, free/4)
	}
	return defaultKeep
}

// use returns what was computed for something, nil if there is nothing.
func (b *prefixCaches) use(of any) *prefixCache {
	i := slices.IndexFunc(b.all, func(one *prefixCache) bool { return one.of == of })
	if i < 0 {
		return nil
	}
	one := b.all[i]
	b.all = append(slices.Delete(b.all, i, i+1), one)
	return one
}

// room drops those that were not used for longest until so many bytes more fit; false if they never
// do.
func (b *prefixCaches) room(bytes int64) (bool, error) {
	if bytes > b.maxBytes {
		return false, nil
	}
	for b.bytes+bytes > b.maxBytes {
		if err := b.forget(b.all[0].of); err != nil {
			return false, err
		}
	}
	return true, nil
}

// keep adds one for which there is room.
func (b *prefixCaches) keep(one *prefixCache) {
	b.all = append(b.all, one)
	b.bytes += one.bytes
}

// trim drops the one that was used last if it is too large.
func (b *prefixCaches) trim() {
	if n := len(b.all); n > 0 && b.bytes > b.maxBytes {
		_ = b.forget(b.all[n-1].of) // it is gone all the same
	}
}

// forget drops one, if it is there.
func (b *prefixCaches) forget(of any) error {
	i := slices.IndexFunc(b.all, func(one *prefixCache) bool { return one.of == of })
	if i < 0 {
		return nil
	}
	one := b.all[i]
	b.all = slices.Delete(b.all, i, i+1)
	b.bytes -= one.bytes
	if one.drop == nil {
		return nil
	}
	return one.drop()
}

// tokenBytes is about what a token takes in models of the sizes that run here, for those that do not
// say.
const tokenBytes = 64 << 10

// size is about how many bytes so many tokens take.
func size(m lm.Model, tokens int) int64 {
	if p, is := m.(lm.Predictor); is {
		return p.Predict(lm.Load{Shared: tokens}).Pages
	}
	return int64(tokens) * tokenBytes
}

// begins reports whether it is there, and a prompt resumes from it. A client's own instruction comes before
// the examples, and a template may put other things there: then it does not.
func (b *prefixCache) begins(tokens []lm.Token) bool {
	return b != nil && b.sequence != 0 && len(tokens) > len(b.tokens) && slices.Equal(tokens[:len(b.tokens)], b.tokens)
}

// begin returns the sequence that a prompt resumes from, and notes how many of its tokens that has. What
// all prompts of its route begin with is computed for the first of them.
func (l *Local) begin(ctx context.Context, m lm.Scorer, w *textRequest) (_ lm.Sequence, err error) {
	w.shared = 0
	if w.opening.shots == nil {
		return 0, nil
	}
	one := l.begun.use(w.opening)
	if one == nil {
		if one, err = l.opened(ctx, m, w.opening); err != nil {
			return 0, err
		}
	}
	if !one.begins(w.tokens) {
		return 0, nil
	}
	w.shared = len(one.tokens)
	return one.sequence, nil
}

// opened computes an opening and keeps it, if there is room.
func (l *Local) opened(ctx context.Context, m lm.Scorer, of promptPrefix) (*prefixCache, error) {
	tokens, err := of.shots.opening(ctx, m, of.chat)
	if err != nil {
		return nil, err
	}
	one := &prefixCache{of: of}
	fits, err := l.begun.room(size(m, len(tokens)))
	if err != nil {
		return nil, err
	}
	if fits && len(tokens) > 0 && len(tokens) < m.Info().Context {
		sequence, err := l.session.New()
		if err != nil {
			return nil, err
		}
		one.tokens, one.sequence, one.bytes = tokens, sequence, size(m, len(tokens))
		one.drop = func() error { return l.session.Drop(sequence) }
		if _, err := l.session.Step(ctx, []lm.Step{{Sequence: sequence, Tokens: tokens}}); err != nil {
			return nil, errors.Join(err, one.drop())
		}
	}
	l.begun.keep(one)
	return one, nil
}

// Forget frees what the requests of a route begin with.
func (l *Local) Forget(s *Shots) error {
	if err := l.Turns.Take(context.Background(), ""); err != nil {
		return err
	}
	defer l.Turns.Give()
	return errors.Join(l.begun.forget(promptPrefix{s, true}), l.begun.forget(promptPrefix{s, false}))
}

// reset forgets all that is computed.
func (l *Local) reset() (err error) {
	for len(l.begun.all) > 0 {
		err = errors.Join(err, l.begun.forget(l.begun.all[0].of))
	}
	if l.session != nil {
		err = errors.Join(err, l.session.Close())
	}
	l.session = nil
	return err
}
