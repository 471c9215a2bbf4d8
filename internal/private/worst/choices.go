package worst

import (
	"context"
	"strings"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// choices are rounds in which records choose between two prompts. The record is for the first one,
// the others are for the second.
func choices() ([]Game, error) {
	next := func(text string) []float64 {
		if !strings.HasSuffix(text, "A: ") {
			return letters(0, 0)
		}
		first := strings.Contains(text, "way 1")
		if record := strings.LastIndex(text, "Q:"); strings.Contains(text[record:], mark) == first {
			return letters(shout, 0) // all records have the label a
		}
		return letters(0, shout)
	}
	candidates := []prompt.Prompt{{Instruction: "way 1"}, {Instruction: "way 2"}}
	game := func(name, inputs string, c choose.Choice, tight bool, others ...string) (Game, error) {
		if err := c.Check(); err != nil {
			return Game{}, err
		}
		play := func(ctx context.Context, model lm.TrustedScorer, key noise.Key, with bool) (float64, error) {
			chooser, err := choose.New(ctx, choose.Options{Model: model, Task: task, Pool: among(with, "a", mark, others...), Key: key, Choice: c})
			if err != nil {
				return 0, err
			}
			score := 0.
			for round := range c.Rounds {
				out, err := chooser.Round(ctx, round, candidates)
				if err != nil {
					return 0, err
				}
				if out.Winner == 0 {
					score++
				}
			}
			return score, nil
		}
		g := Game{Name: name, Inputs: inputs, Claim: c.Event(), Adjacency: privacy.AddRemove, Tight: tight, Whole: true, player: with(next, play)}
		if c.Rounds > 1 {
			g.Delta = 1e-5
		}
		return g, nil
	}
	each := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 1}
	one, err := game("choose", "one round between two prompts; a record is for one of them, and the record that comes and goes for the other",
		choose.Choice{Draw: each, Rounds: 1, Range: 1, Utility: choose.Hard}, true, "1")
	if err != nil {
		return nil, err
	}
	each.Rate = 0.5
	more, err := game("choose rounds", "six rounds between two prompts, each drawn with probability 0.5, and no other record",
		choose.Choice{Draw: each, Rounds: 6, Range: 1, Utility: choose.Hard}, true)
	return []Game{one, more}, err
}

// votes are answers by a list of labels. The record's prompt is for one, the others' for another,
// and that without a record for none.
func votes() ([]Game, error) {
	next := func(text string) []float64 {
		switch {
		case strings.Contains(text, mark):
			return letters(shout, 0)
		case strings.Contains(text, "1"):
			return letters(0, shout)
		}
		return letters(0, 0)
	}
	each := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 1}
	game := func(name, inputs string, m ensemble.Method, delta float64, tight bool, others ...string) (Game, error) {
		if err := m.Check(); err != nil {
			return Game{}, err
		}
		play := func(ctx context.Context, model lm.TrustedScorer, key noise.Key, with bool) (float64, error) {
			a, err := ensemble.NewAnswerer(ensemble.Options{Model: model, Task: task, Pool: among(with, "a", mark, others...), Key: key})
			if err != nil {
				return 0, err
			}
			out, err := a.Answer(ctx, ensemble.Job{Text: draw.Text{}, Input: "which", Method: m})
			if err != nil || out.Text() != "a" {
				return 0, err
			}
			return 1, nil
		}
		return Game{Name: name, Inputs: inputs, Claim: m.Event(), Adjacency: privacy.AddRemove, Delta: delta, Tight: tight, Whole: true, player: with(next, play)}, nil
	}
	exponential, err := game("vote", "one answer of two; a record votes for one of them, and the record that comes and goes for the other",
		&ensemble.Vote{Draw: each, Ballot: ensemble.Hard, Noise: ensemble.Exponential, Range: 1}, 0, true, "1")
	if err != nil {
		return nil, err
	}
	gaussian, err := game("vote, gaussian", "one answer of two; one record votes for one of them, and the record for the other",
		&ensemble.Vote{Draw: each, Ballot: ensemble.Hard, Noise: ensemble.Gaussian, Sigma: 1}, 1e-5, false, "1")
	if err != nil {
		return nil, err
	}
	product, err := game("product", "one answer of two; a record rules out one of them, and the record that comes and goes the other",
		&ensemble.Product{Draw: each, Range: 1, Clip: 2}, 0, true, "1")
	return []Game{exponential, gaussian, product}, err
}
