package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/sotto-dp/sotto/lab/bench/gpu/torch"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/llama"
)

// gap collects differences.
type gap struct {
	largest, sum float64
	n            int
}

func (g *gap) add(a, b float64) {
	d := math.Abs(a - b)
	g.largest, g.sum, g.n = max(g.largest, d), g.sum+d, g.n+1
}

func (g *gap) String() string {
	return fmt.Sprintf("mean %.5f, most %.5f of %d", g.sum/float64(g.n), g.largest, g.n)
}

// compare prints how far log-probabilities are from the embedded engine's.
func compare(ctx context.Context, s settings) error {
	embedded, err := llama.Open(s.model, llama.Options{})
	if err != nil {
		return err
	}
	defer embedded.Close()
	worker, err := torch.Open(s.model, s.options)
	if err != nil {
		return err
	}
	defer worker.Close()
	prompts, err := cutPrompts(ctx, embedded, s.text, s.prompts)
	if err != nil {
		return err
	}
	want, err := ask(ctx, embedded, prompts)
	if err != nil {
		return err
	}
	got, err := ask(ctx, worker, prompts)
	if err != nil {
		return err
	}
	var candidates, all gap
	same := 0
	for i := range prompts {
		best := lm.Best(want[i], 100)
		a, b := among(want[i], best), among(got[i], best)
		for j := range a {
			candidates.add(a[j], b[j])
		}
		for j := range want[i] {
			all.add(want[i][j], got[i][j])
		}
		if lm.Best(got[i], 1)[0] == best[0] {
			same++
		}
	}
	fmt.Printf("%s\n%d prompts, |Δ log p| from the embedded engine\n", worker.Info().Version, len(prompts))
	fmt.Printf("  100 best candidates: %v\n  whole vocabulary:    %v\n  same best token:     %d\n", &candidates, &all, same)
	return nil
}

// among restricts log-probabilities to candidates.
func among(all []float64, candidates []lm.Token) []float64 {
	part := make([]float64, len(candidates))
	for i, t := range candidates {
		part[i] = all[t]
	}
	return lm.LogSoftmax(part)
}

// cutPrompts cuts a text into prompts of 16 to 300 tokens.
func cutPrompts(ctx context.Context, m lm.Scorer, path string, n int) ([][]lm.Token, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: name a text with -text", err)
	}
	tokens, err := m.Tokenizer().Encode(ctx, string(text))
	if err != nil {
		return nil, err
	}
	var prompts [][]lm.Token
	for i := range n {
		length := 16 + i*284/max(1, n-1)
		if length > len(tokens) {
			return nil, fmt.Errorf("the text has %d tokens: name a longer one with -text", len(tokens))
		}
		from := i * 997 % (len(tokens) - length + 1)
		prompts = append(prompts, tokens[from:from+length])
	}
	return prompts, nil
}

// ask gets the whole distribution after each prompt, half of it computed first.
func ask(ctx context.Context, m lm.Scorer, prompts [][]lm.Token) ([][]float64, error) {
	session, err := m.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	first, second := make([]lm.Step, len(prompts)), make([]lm.Step, len(prompts))
	for i, p := range prompts {
		q, err := session.New()
		if err != nil {
			return nil, err
		}
		first[i] = lm.Step{Sequence: q, Tokens: p[:len(p)/2]}
		second[i] = lm.Step{Sequence: q, Tokens: p[len(p)/2:], Ask: lm.Ask{All: true}}
	}
	if _, err := session.Step(ctx, first); err != nil {
		return nil, err
	}
	scores, err := session.Step(ctx, second)
	if err != nil {
		return nil, err
	}
	logs := make([][]float64, len(scores))
	for i, s := range scores {
		logs[i] = s.LogProbs
	}
	return logs, nil
}
