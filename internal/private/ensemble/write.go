package ensemble

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// picker chooses the next token of a text among the best ones.
type picker func(text int, best []lm.Token, logProbs []float64) (lm.Token, error)

// greedy takes the best token.
func greedy(_ int, best []lm.Token, _ []float64) (lm.Token, error) { return best[0], nil }

// sampled draws among the best tokens as the model weighs them. Texts have streams of
// their own.
func (r *round) sampled(purpose string) picker {
	streams := map[int]*noise.Stream{}
	return func(text int, best []lm.Token, logProbs []float64) (lm.Token, error) {
		if streams[text] == nil {
			streams[text] = r.Key.Stream(purpose, r.Index, uint64(text))
		}
		grid, err := noise.NewGrid(fine)
		if err != nil {
			return 0, err
		}
		selector, err := noise.NewSelector(noise.SelectorOptions{Grid: grid})
		if err != nil {
			return 0, err
		}
		scores := make([]int64, len(best))
		for i, lp := range logProbs {
			scores[i] = int64(math.Ldexp(max(lp, -1e4), fine))
		}
		at, err := selector.Softmax(streams[text], scores)
		return best[at], err
	}
}

// text is one in the making.
type text struct {
	at       int
	sequence lm.Sequence
	next     []lm.Token
	tokens   []lm.Token
	// said: there is something in it but white space.
	said bool
}

// eager is how many of the best tokens are looked at where the best one would end a text
// before it says anything, as small models like to.
const eager = 16

// write resumes from a sequence, which stays as it is, once for each of the prompts, and
// writes a text after it. Each is chosen from the scores of its own sequence alone.
func (r *round) write(ctx context.Context, from lm.Sequence, prompts [][]lm.Token, top int, pick picker) ([]string, error) {
	out := make([]string, len(prompts))
	err := r.passes(prompts, r.Tokens, func(first int, some [][]lm.Token) error {
		var active []*text
		defer func() {
			for _, t := range active {
				r.session.Drop(t.sequence) // the session ends with the error that is on its way
			}
		}()
		for i, tokens := range some {
			s, err := r.session.Fork(from)
			if err != nil {
				return err
			}
			active = append(active, &text{at: first + i, sequence: s, next: tokens})
		}
		for len(active) > 0 {
			still, err := r.advance(ctx, active, top, pick, out)
			if err != nil {
				return err
			}
			active = still
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// advance gives every text its next token, and puts those that end into out.
func (r *round) advance(ctx context.Context, active []*text, top int, pick picker, out []string) ([]*text, error) {
	steps := make([]lm.Step, len(active))
	for i, t := range active {
		ask := top
		if !t.said {
			ask = max(top, eager)
		}
		steps[i] = lm.Step{Sequence: t.sequence, Tokens: t.next, Ask: r.ask(ask)}
	}
	scores, err := r.session.Step(ctx, steps)
	if err != nil {
		return nil, err
	}
	var still []*text
	for i, t := range active {
		best, logProbs := ranked(scores[i], max(top, eager))
		if !t.said {
			if best, logProbs, err = r.saying(ctx, best, logProbs); err != nil {
				return nil, err
			}
		}
		best, logProbs = best[:min(top, len(best))], logProbs[:min(top, len(best))]
		token, err := pick(t.at, best, logProbs)
		if err != nil {
			return nil, err
		}
		t.tokens, t.next = append(t.tokens, token), []lm.Token{token}
		ended, err := r.ended(ctx, t, out)
		if err != nil {
			return nil, err
		}
		if !ended {
			still = append(still, t)
			continue
		}
		if err := r.session.Drop(t.sequence); err != nil {
			return nil, err
		}
	}
	return still, nil
}

// saying leaves out tokens that would end a text that says nothing yet, or continue with
// saying nothing, unless all would.
func (r *round) saying(ctx context.Context, best []lm.Token, logProbs []float64) ([]lm.Token, []float64, error) {
	var tokens []lm.Token
	var kept []float64
	for i, t := range best {
		if r.ends[t] || r.tokenizer.Control(t) {
			continue
		}
		spelling, err := r.tokenizer.Decode(ctx, []lm.Token{t})
		if err != nil {
			return nil, nil, fmt.Errorf("spell a token: %w", err)
		}
		if _, stops := r.Task.Cut(spelling); !stops && strings.TrimSpace(spelling) != "" {
			tokens, kept = append(tokens, t), append(kept, logProbs[i])
		}
	}
	if len(tokens) == 0 {
		return best, logProbs, nil
	}
	return tokens, kept, nil
}

// ended reports whether a text is complete, and spells it if so.
func (r *round) ended(ctx context.Context, t *text, out []string) (bool, error) {
	last := t.tokens[len(t.tokens)-1]
	spelling, err := r.tokenizer.Decode(ctx, t.tokens)
	if err != nil {
		return false, fmt.Errorf("spell an answer: %w", err)
	}
	spelling = strings.ToValidUTF8(spelling, "")
	spelling, stopped := r.Task.Cut(spelling)
	t.said = strings.TrimSpace(spelling) != ""
	if !stopped && !r.ends[last] && !r.tokenizer.Control(last) && len(t.tokens) < r.Tokens {
		return false, nil
	}
	out[t.at] = strings.TrimSpace(r.layout.Line(spelling))
	return true, nil
}

// ask is the question for the best tokens.
func (r *round) ask(top int) lm.Ask {
	info := r.Model.Info()
	if !info.Can.Top {
		return lm.Ask{All: true}
	}
	top = min(top, r.tokenizer.Size())
	if info.Top > 0 {
		top = min(top, info.Top)
	}
	return lm.Ask{Top: top}
}

// ranked are the best tokens of an answer.
func ranked(s lm.Scores, top int) ([]lm.Token, []float64) {
	if s.Tokens != nil {
		return s.Tokens, s.LogProbs
	}
	tokens := lm.Best(s.LogProbs, min(top, len(s.LogProbs)))
	logProbs := make([]float64, len(tokens))
	for i, t := range tokens {
		logProbs[i] = s.LogProbs[t]
	}
	return tokens, logProbs
}

// sentences are what the prompts of the answer's draw write, each by itself, and how many
// prompts have no record.
func (r *round) sentences(ctx context.Context) ([]string, int, error) {
	samples, err := r.draws(1)
	if err != nil {
		return nil, 0, err
	}
	prompts, err := r.demonstrations(ctx, samples[0])
	if err != nil {
		return nil, 0, err
	}
	for i := range prompts {
		prompts[i] = append(prompts[i], r.item...)
	}
	out, err := r.write(ctx, r.stem, prompts, 1, greedy)
	return out, samples[0].Empty, err
}

// choices is how many of the best tokens public candidates are drawn from.
const choices = 100

// candidates are public answers: the best one first, then samples, each text once. No
// record is read.
func (r *round) candidates(ctx context.Context, n int) (out []string, err error) {
	public, err := r.session.Fork(r.stem)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.session.Drop(public)) }()
	if _, err := r.session.Step(ctx, []lm.Step{{Sequence: public, Tokens: r.item}}); err != nil {
		return nil, err
	}
	all, err := r.write(ctx, public, make([][]lm.Token, 1), 1, greedy)
	if err != nil {
		return nil, err
	}
	more, err := r.write(ctx, public, make([][]lm.Token, n-1), choices, r.sampled("candidates"))
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, text := range append(all, more...) {
		if seen[text] || text == "" && i > 0 {
			continue
		}
		seen[text] = true
		out = append(out, text)
	}
	return out, nil
}
