package ensemble

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// round is the making of one answer.
type round struct {
	*Answerer
	Job
	session lm.Session
	// stem holds the instruction, which all prompts begin with; opening is its length.
	stem    lm.Sequence
	opening int
	// item are the tokens of the question, after the records of a prompt.
	item []lm.Token
}

// begin opens a session with the instruction and lays out the question. No record is
// read.
func (a *Answerer) begin(ctx context.Context, job Job) (*round, error) {
	opening, err := a.layout.Opening(ctx)
	if err != nil {
		return nil, err
	}
	item, err := a.layout.Head(ctx, job.Input)
	if err != nil {
		return nil, fmt.Errorf("the question: %w", err)
	}
	if limit := a.Model.Info().Context; limit > 0 && len(opening)+len(item)+a.Tokens > limit {
		return nil, fmt.Errorf("the question needs %d tokens with its instruction, and its answer up to %d, which is more than the model's %d: ask a shorter one, or use a model with a longer context",
			len(opening)+len(item), a.Tokens, limit)
	}
	r := &round{Answerer: a, Job: job, opening: len(opening), item: item}
	if r.session, err = a.Model.Open(ctx); err != nil {
		return nil, err
	}
	if r.stem, err = r.session.New(); err == nil && len(opening) > 0 {
		_, err = r.session.Step(ctx, []lm.Step{{Sequence: r.stem, Tokens: opening}})
	}
	if err != nil {
		r.close() // the error that matters is err
		return nil, err
	}
	return r, nil
}

func (r *round) close() error {
	r.mu.Lock()
	r.usage = r.usage.Plus(r.session.Usage())
	usage := r.usage
	r.mu.Unlock()
	if r.Observe != nil {
		r.Observe(Progress{Text: r.Index, Ended: true, Usage: usage})
	}
	return r.session.Close()
}

// draws makes so many draws for the answer. No record is read.
func (r *round) draws(n int) ([]draw.Sample, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drawer.Draw(r.Method.Scheme(), r.Text, n)
}

// noise is the randomness of a look at what prompts answered. No two looks share any, of
// whichever answers of a key they are.
func (r *round) noise(look int) *noise.Stream {
	return r.Key.Stream("noise", r.Index, uint64(look))
}

// demonstrations reads the records of a draw and lays them out: the tokens of each
// prompt that has records, without the instruction and the question.
// What does not fit the model beside the question is left out, prompt by prompt.
func (r *round) demonstrations(ctx context.Context, s draw.Sample) ([][]lm.Token, error) {
	var refs []seal.Ref
	for _, p := range s.Prompts {
		refs = append(refs, p...)
	}
	records, err := r.drawer.Fetch(ctx, refs)
	if err != nil {
		return nil, err
	}
	room := decode.Room(r.Model.Info().Context, r.opening+len(r.item)+r.Tokens)
	out := make([][]lm.Token, len(s.Prompts))
	for i, p := range s.Prompts {
		if out[i], err = r.layout.Demonstrations(ctx, records[:len(p)], room); err != nil {
			return nil, err
		}
		records = records[len(p):]
	}
	return out, nil
}

// passes hands out prompts in their order, as many at once as the model takes and memory
// is meant to hold; each has so many tokens to come.
func (r *round) passes(prompts [][]lm.Token, more int, do func(from int, some [][]lm.Token) error) error {
	atOnce := len(prompts)
	if limit := r.Model.Info().Sequences; limit > 0 {
		atOnce = min(atOnce, limit)
	}
	for from := 0; from < len(prompts); {
		to, total := from, 0
		for to < len(prompts) && to-from < atOnce {
			total += len(prompts[to]) + more
			if to > from && total > r.PassTokens {
				break
			}
			to++
		}
		if err := do(from, prompts[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}
