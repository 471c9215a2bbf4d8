package audit

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/lm"
)

// Reading is a text after a prompt.
type Reading struct{ Prompt, Text string }

// Likelihoods returns how likely a model finds texts after their prompts, as logarithms. Whoever
// attacks what the same model wrote has nothing better. Observe, if set, hears how many are done.
func Likelihoods(ctx context.Context, m lm.Scorer, of []Reading, observe func(done int)) ([]float64, error) {
	if !m.Info().Can.Given {
		return nil, &lm.UnsupportedError{Backend: m.Info().Backend, What: "attack texts by their likelihood", Missing: "it does not score texts that are given; use the embedded engine"}
	}
	session, err := m.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	out := make([]float64, len(of))
	tokenizer := m.Tokenizer()
	const together = 8
	for first := 0; first < len(of); first += together {
		some := of[first:min(first+together, len(of))]
		steps := make([]lm.Step, len(some))
		for i, r := range some {
			tokens, given, err := tokensOf(ctx, tokenizer, r)
			if err != nil {
				return nil, err
			}
			if limit := m.Info().Context; limit > 0 && len(tokens) > limit {
				return nil, fmt.Errorf("a prompt has %d tokens, and the model reads %d", len(tokens), limit)
			}
			q, err := session.New()
			if err != nil {
				return nil, err
			}
			steps[i] = lm.Step{Sequence: q, Tokens: tokens, Ask: lm.Ask{Given: given}}
		}
		scores, err := session.Step(ctx, steps)
		if err != nil {
			return nil, err
		}
		for i, s := range scores {
			for _, lp := range s.LogProbs {
				out[first+i] += lp
			}
			if err := session.Drop(steps[i].Sequence); err != nil {
				return nil, err
			}
		}
		if observe != nil {
			observe(first + len(some))
		}
	}
	return out, nil
}

// tokensOf a prompt and its text, and how many are the text's.
func tokensOf(ctx context.Context, t lm.Tokenizer, r Reading) ([]lm.Token, int, error) {
	var all []lm.Token
	if first, ok := t.Beginning(); ok {
		all = append(all, first)
	}
	before, err := t.Encode(ctx, r.Prompt)
	if err != nil {
		return nil, 0, err
	}
	text, err := t.Encode(ctx, r.Text)
	return append(append(all, before...), text...), len(text), err
}
