package openai

import (
	"context"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// prefixes remembers what prompts began with, so that it is computed once.
//
// A beginning is kept when two prompts share it: that of a program's examples, say, once a
// second question comes. A prompt is compared with the latest ones that went on from the same
// beginning, which is quick: most differ from each other soon after.
type prefixes struct {
	session lm.Session
	kept    []*prefix // the latest used last
	latest  []prompt
}

// prompt that came, and the beginning that was known of it, nil for none.
type prompt struct {
	tokens []lm.Token
	from   *prefix
}

type prefix struct {
	tokens   []lm.Token
	sequence lm.Sequence
}

const (
	// worthwhile is the number of additional tokens that a prefix has to share to be kept.
	worthwhile = 48
	// recent is the number of prompts that are remembered, many the number of prefixes.
	recent = 2048
	many   = 256
)

// begin makes a sequence for each prompt and gives what is left of it to compute. Beginnings
// may hold so many tokens together afterwards.
func (p *prefixes) begin(ctx context.Context, prompts [][]lm.Token, room int) ([]lm.Sequence, [][]lm.Token, error) {
	if err := p.learn(ctx, prompts, room); err != nil {
		return nil, nil, err
	}
	sequences, rest := make([]lm.Sequence, len(prompts)), make([][]lm.Token, len(prompts))
	for i, tokens := range prompts {
		var err error
		if known := p.find(tokens); known != nil {
			sequences[i], err = p.session.Fork(known.sequence)
			rest[i] = tokens[len(known.tokens):]
		} else {
			sequences[i], err = p.session.New()
			rest[i] = tokens
		}
		if err != nil {
			for _, s := range sequences[:i] {
				_ = p.session.Drop(s)
			}
			return nil, nil, err
		}
	}
	return sequences, rest, nil
}

// find returns the longest beginning that is known of a prompt, and marks it as used.
func (p *prefixes) find(tokens []lm.Token) *prefix {
	at := -1
	for i, k := range p.kept {
		if len(k.tokens) < len(tokens) && (at < 0 || len(k.tokens) > len(p.kept[at].tokens)) && slices.Equal(k.tokens, tokens[:len(k.tokens)]) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	known := p.kept[at]
	p.kept = append(slices.Delete(p.kept, at, at+1), known)
	return known
}

// learn computes the beginnings that prompts share with others, shorter ones first since
// longer ones may go on from them.
func (p *prefixes) learn(ctx context.Context, prompts [][]lm.Token, room int) error {
	var fresh [][]lm.Token
	for _, tokens := range prompts {
		known, have := p.find(tokens), 0
		if known != nil {
			have = len(known.tokens)
		}
		best := have
		for _, other := range p.latest {
			if other.from == known {
				best = max(best, have+common(tokens[have:], other.tokens[have:]))
			}
		}
		best = min(best, len(tokens)-1) // a prompt has something of its own
		beginning := tokens[:best]
		if best >= have+worthwhile && !slices.ContainsFunc(fresh, func(f []lm.Token) bool { return slices.Equal(f, beginning) }) {
			fresh = append(fresh, beginning)
		}
		p.latest = append(p.latest, prompt{tokens, known})
	}
	p.latest = p.latest[max(0, len(p.latest)-recent):]
	slices.SortFunc(fresh, func(a, b []lm.Token) int { return len(a) - len(b) })
	for len(fresh) > 0 {
		var err error
		if fresh, err = p.compute(ctx, fresh, room); err != nil {
			return err
		}
	}
	return p.trim(room)
}

// compute makes beginnings in one pass and gives back those that go on from one of these.
func (p *prefixes) compute(ctx context.Context, fresh [][]lm.Token, room int) (later [][]lm.Token, err error) {
	var now []*prefix
	var steps []lm.Step
	for _, tokens := range fresh {
		if slices.ContainsFunc(now, func(n *prefix) bool { return common(n.tokens, tokens) == len(n.tokens) }) {
			later = append(later, tokens)
			continue
		}
		from, rest := lm.Sequence(0), tokens
		if known := p.find(tokens); known != nil {
			if len(known.tokens)+worthwhile > len(tokens) {
				continue // meanwhile there is one that is as good
			}
			from, err = p.session.Fork(known.sequence)
			rest = tokens[len(known.tokens):]
		} else {
			from, err = p.session.New()
		}
		if err != nil {
			break
		}
		now = append(now, &prefix{slices.Clone(tokens), from})
		steps = append(steps, lm.Step{Sequence: from, Tokens: rest})
	}
	if err == nil && len(steps) > 0 {
		p.kept = append(p.kept, now...)
		if err = p.trim(room); err == nil {
			steps = slices.DeleteFunc(steps, func(s lm.Step) bool {
				return !slices.ContainsFunc(p.kept, func(k *prefix) bool { return k.sequence == s.Sequence })
			})
			_, err = p.session.Step(ctx, steps)
		}
	}
	if err != nil {
		p.kept = slices.DeleteFunc(p.kept, func(k *prefix) bool { return slices.Contains(now, k) })
		for _, n := range now {
			_ = p.session.Drop(n.sequence)
		}
	}
	return later, err
}

// trim forgets beginnings that were not used for long, until the rest fit and are few.
func (p *prefixes) trim(room int) error {
	held := 0
	for _, k := range p.kept {
		held += len(k.tokens)
	}
	for (held > room || len(p.kept) > many) && len(p.kept) > 0 {
		held -= len(p.kept[0].tokens)
		if err := p.session.Drop(p.kept[0].sequence); err != nil {
			return err
		}
		p.kept = p.kept[1:]
	}
	return nil
}

// common returns how many tokens two lists begin with alike.
func common(a, b []lm.Token) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
