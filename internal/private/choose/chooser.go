package choose

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/grader"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Options of a [Chooser].
type Options struct {
	// Model, Task, Pool, Key and Choice are required. Parts is the number of parts of the
	// pool, 1 by default; records are drawn from all of them alike.
	Model  lm.TrustedScorer
	Task   prompt.Task
	Pool   draw.Pool
	Parts  int
	Key    noise.Key
	Choice Choice
	// Forms that candidates may have, a text if none is named: a model that cannot judge one is refused
	// before anything is asked.
	Forms []prompt.Form
	// Isolation is how the model keeps records apart, if it does not by construction.
	Isolation lm.Isolation
	// PassTokens and Prompts are as in package grader; 0 takes the default.
	PassTokens, Prompts int
	// Evidence, if there is any, is what prompts may use. Encoder, which is required then, turns records
	// into its vectors.
	Evidence *evidence.Evidence
	Encoder  lm.TrustedEmbedder
	// Usage, if set, receives what the model has done so far in a round. It depends on the
	// records that were drawn: it is not to be published.
	Usage func(lm.Usage)
}

// Chooser holds the rounds of a choice. It is for one goroutine at a time.
type Chooser struct {
	Options
	sampler *grader.Sampler
}

// Outcome of a round.
type Outcome struct {
	// Winner is the index of the chosen candidate.
	Winner int
	// Event is what the round cost at most.
	Event privacy.Event
}

// Loads bounds what a round holds at once, as [grader.Loads] says.
func Loads(passTokens, prompts, stem, question int) []lm.Load {
	return grader.Loads(passTokens, prompts, stem, question)
}

// New checks the options. No record is read.
func New(ctx context.Context, o Options) (*Chooser, error) {
	if err := o.Choice.Check(); err != nil {
		return nil, err
	}
	sampler, err := grader.NewSampler(ctx,
		grader.Source{Pool: o.Pool, Parts: o.Parts, Key: o.Key.Derive("choose"), Scheme: o.Choice.Draw},
		grader.Options{Model: o.Model, Task: o.Task, Utility: o.Choice.Utility, Forms: o.Forms, Isolation: o.Isolation, PassTokens: o.PassTokens, Prompts: o.Prompts, Evidence: o.Evidence, Encoder: o.Encoder, Usage: o.Usage})
	return &Chooser{o, sampler}, err
}

// Round chooses one of the candidates, all of which are public or follow from earlier
// winners. Rounds are counted from 0 and have a draw each. Asked again for a round, after
// an error or for the same candidates, it gives the same outcome where the model repeats
// itself; other candidates are refused.
func (c *Chooser) Round(ctx context.Context, round int64, candidates []prompt.Prompt) (Outcome, error) {
	if round < 0 || round >= c.Choice.Rounds {
		return Outcome{}, fmt.Errorf("round %d is not one of the %d that are paid for", round+1, c.Choice.Rounds)
	}
	if len(candidates) == 0 {
		return Outcome{}, errors.New("there are no candidates to choose from")
	}
	grades, err := c.sampler.Grades(ctx, round, candidates)
	if err != nil {
		return Outcome{}, err
	}
	choice := mechanism.Selection{Scores: sums(grades), Exponent: grader.Fine, Rate: c.Choice.rate()}
	winner, err := choice.Softmax(c.Key.Stream("choice", uint64(round)))
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{winner, privacy.Canonical(c.Choice.Draw.Event(c.Choice.Step(), 1))}, nil
}

// sums adds up what records said about each candidate. Nothing is divided by their number,
// which is private.
func sums(grades [][]int64) []int64 {
	out := make([]int64, len(grades))
	for i, of := range grades {
		for _, g := range of {
			out[i] += g
		}
	}
	return out
}
