//go:build example

// This file is the example of docs/methods/own.md: all of a method in one file. It is real, and the
// program has it if it is built with -tags example.

package decode

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

func init() {
	register[Ballot](method.Spec{
		Name: "ballot", Guarantee: method.Proven,
		Summary: "take the token that most prompts vote for, with noise",
		Idea: "Each prompt votes for the one token that it finds most likely. The votes are counted, and the token with the most " +
			"is taken under exponential noise; nothing but the winner is released.",
		Cost:  "As noisymax: all prompts are read anew for each token.",
		When:  "As an example of a method in one file.",
		Cites: "McKenna and Sheldon 2020 (permute-and-flip)",
		Draws: "records for each token, spread over the prompts", Calibrates: "epsilon",
		Steps: []string{
			"For each token, draw records and put each into one of M prompts, at random.",
			"Each prompt votes for its most likely token.",
			"Release the token with the most votes under exponential noise of rate ε_t/2, append it, and draw anew.",
		},
		Not:   "For anything but reading how a method is made.",
		Event: "repeat(T, poisson(q, pure(ε_t)))", Theorem: "P32",
		Needs:    "scores of the most likely tokens",
		Settings: append(promptSettings(), method.Candidates()),
	}, func(a method.Ask) (*Ballot, error) {
		sampling, err := prompts(a)
		if err != nil {
			return nil, err
		}
		return method.Calibrate(a, func(x float64) *Ballot {
			return &Ballot{Draw: sampling, Candidates: a.Values.Tokens(), Epsilon: x}
		})
	})
}

// Ballot counts for how many prompts a token is the most likely one, and takes the largest count
// under exponential noise. Nothing but the winner is released.
//
// Precondition: one unit changes the records of one of the Draw.Prompts prompts.
// Postcondition: pure(Epsilon) on the drawn records. Proof: a prompt, empty or not, has one vote
// ([vote]); exchanging one prompt for another takes a vote from one token and gives one to
// another, so that every count moves by at most 1. The maximum under exponential noise of rate
// Epsilon/2 is then (2·Epsilon/2)-DP ([noise.Selector.PermuteAndFlip]).
type Ballot struct {
	// Draw: per token, onto a fixed number of prompts.
	Draw scheme.Scheme `json:"draw"`
	// Candidates is the number of best public tokens to choose among; 0 takes the
	// whole vocabulary.
	Candidates int `json:"candidates"`
	// Epsilon is what a step costs: more of it is less noise.
	Epsilon float64 `json:"epsilon"`
}

// Name implements [Method].
func (*Ballot) Name() string { return "ballot" }

// Proof implements [Method].
func (*Ballot) Proof() string {
	return "report-noisy-max with exponential noise on counts of votes, one of which one unit exchanges: permute-and-flip of McKenna and Sheldon 2020"
}

// Check implements [Method].
func (b *Ballot) Check() error {
	if err := checkPrompts(b.Draw); err != nil {
		return err
	}
	if !(b.Epsilon >= minRate) || math.IsInf(b.Epsilon, 1) {
		return fmt.Errorf("ballot needs an ε for a step of at least %v, not %v", minRate, b.Epsilon)
	}
	if b.Candidates < 0 {
		return fmt.Errorf("ballot cannot choose among %d candidates: 0 takes all", b.Candidates)
	}
	return nil
}

// Scheme implements [Method].
func (b *Ballot) Scheme() scheme.Scheme { return b.Draw }

// draw implements [Method].
func (b *Ballot) draw(s scheme.Scheme) Method { out := *b; out.Draw = s; return &out }

// Amounts implements [Method].
func (b *Ballot) Amounts() []method.Amount {
	return []method.Amount{{Symbol: "ε", Value: b.Epsilon, After: " a token"}}
}

// Step implements [Method].
func (b *Ballot) Step() privacy.Event { return privacy.Pure{Epsilon: b.Epsilon} }

// Shortlist implements [Method].
func (b *Ballot) Shortlist() Shortlist { return Shortlist{Best: b.Candidates} }

// selection is about the counts of votes, which are whole numbers.
func (b *Ballot) selection(v View) mechanism.Selection {
	return mechanism.Selection{Scores: sumOf(v, vote), Exponent: 0, Rate: b.Epsilon / 2}
}

// Select implements [Method].
func (b *Ballot) Select(v View, s *noise.Stream) (int, error) { return b.selection(v).NoisyMax(s) }

// vote is one for the first of the largest scores, and nothing for the others; a prompt whose scores
// are no numbers votes for nobody.
func vote(logProbs []float64, dst []int64) []int64 {
	dst = dst[:0]
	at, top := -1, math.Inf(-1)
	for i, lp := range logProbs {
		if lp > top { // not NaN
			at, top = i, lp
		}
		dst = append(dst, 0)
	}
	if at >= 0 {
		dst[at] = 1
	}
	return dst
}
