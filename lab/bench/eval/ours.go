package main

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// work is what every side does: give each question the label with the best score.
type work struct {
	task  prompt.Task
	demos []prompt.Example
	items []prompt.Example
	// The same as tokens: what all prompts begin with, the questions, and the first
	// (here the only) token of each label.
	prefix    []lm.Token
	questions [][]lm.Token
	labels    []lm.Token
}

// sideResult is what a side did.
type sideResult struct {
	seconds float64
	tokens  int64 // computed, as the side counts them
	// scores are the labels' probabilities after each question.
	scores [][]float64
}

func (d sideResult) labels() []int {
	best := make([]int, len(d.scores))
	for i, s := range d.scores {
		best[i] = slices.Index(s, slices.Max(s))
	}
	return best
}

// shared is Sotto as it is: what all questions begin with is computed once. That one
// time counts.
func (w *work) shared(ctx context.Context, m lm.Scorer) (sideResult, error) {
	inputs := make([]string, len(w.items))
	for i, item := range w.items {
		inputs[i] = item.Input
	}
	start := time.Now()
	c, err := icl.NewClassifier(ctx, m, w.task, w.demos, icl.Options{})
	if err != nil {
		return sideResult{}, err
	}
	defer c.Close()
	predictions, err := c.Classify(ctx, inputs)
	d := sideResult{seconds: time.Since(start).Seconds(), tokens: c.Usage().Computed}
	for _, p := range predictions {
		d.scores = append(d.scores, p.Scores)
	}
	return d, err
}

// inFull computes every prompt from its first token on, as many at once as is good for
// the engine, and asks for the labels' rows of the head as well.
func (w *work) inFull(ctx context.Context, m lm.Scorer) (d sideResult, err error) {
	start := time.Now()
	session, err := m.Open(ctx)
	if err != nil {
		return d, err
	}
	defer session.Close()
	for part := range slices.Chunk(w.questions, 8) {
		steps := make([]lm.Step, len(part))
		for i, q := range part {
			s, err := session.New()
			if err != nil {
				return d, err
			}
			steps[i] = lm.Step{Sequence: s, Tokens: slices.Concat(w.prefix, q), Ask: lm.Ask{Candidates: w.labels}}
		}
		answers, err := session.Step(ctx, steps)
		if err != nil {
			return d, err
		}
		for i, a := range answers {
			d.scores = append(d.scores, exps(a.LogProbs))
			if err := session.Drop(steps[i].Sequence); err != nil {
				return d, err
			}
		}
	}
	d.seconds, d.tokens = time.Since(start).Seconds(), session.Usage().Computed
	return d, nil
}

func exps(logs []float64) []float64 {
	p := make([]float64, len(logs))
	for j, l := range logs {
		p[j] = math.Exp(l)
	}
	return p
}
