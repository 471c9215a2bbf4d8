package lm

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// UnsoundError reports numbers that cannot come from a distribution. It is an error of the
// model or of the program that runs it; such scores are never used.
type UnsoundError struct {
	Backend string
	Why     string
}

func (e *UnsoundError) Error() string {
	return fmt.Sprintf("%s: an error of the model: %s; its weights are damaged, or computed with too little precision: use another file or server", e.Backend, e.Why)
}

// excess is the tolerance by which probabilities may sum to more than one, and a
// log-probability exceed 0: servers sum float32 numbers.
const excess = 1e-3

// CheckScores returns an *[UnsoundError] if scores cannot be part of a distribution: a
// score is not a number, a log-probability is positive, the probabilities of distinct
// tokens sum to more than one, or not to one where all are there. For given tokens, each of
// which has its own distribution, it checks whether their probabilities fit the best tokens
// beside them.
func CheckScores(info Info, ask Ask, s Scores) error {
	wrong := func(format string, args ...any) error {
		return &UnsoundError{Backend: info.Backend, Why: fmt.Sprintf(format, args...)}
	}
	want := len(ask.Candidates) + ask.Top + ask.Given
	if ask.All {
		want = info.Vocabulary
	}
	if len(s.LogProbs) != want || !ask.All && len(s.Tokens) != want {
		return wrong("it was asked for %d scores and gave %d", want, len(s.LogProbs))
	}
	sum := 0.0
	for _, l := range s.LogProbs {
		if math.IsNaN(l) {
			return wrong("a score is not a number (NaN)")
		}
		if l > excess {
			return wrong("a log-probability is positive, %.3g", l)
		}
		sum += math.Exp(l)
	}
	if ask.Given > 0 {
		return checkBest(info, s)
	}
	switch whole := ask.All || ask.Candidates != nil; {
	case want == 0:
	case sum > 1+excess:
		return wrong("the probabilities of %d tokens add up to %.6g, more than one", want, sum)
	case whole && sum < 1-excess:
		return wrong("the probabilities of all %d tokens add up to %.6g, less than one", want, sum)
	}
	return nil
}

// checkBest finds impossible best tokens: one beside a given token that has more than half
// of the probability, or one that is the given token and has less than an equal share.
func checkBest(info Info, s Scores) error {
	wrong := func(why string) error { return &UnsoundError{Backend: info.Backend, Why: why} }
	if len(s.Best) != len(s.Tokens) {
		return wrong(fmt.Sprintf("it was asked for the best token at %d places and gave %d", len(s.Tokens), len(s.Best)))
	}
	for i, l := range s.LogProbs {
		switch best := s.Best[i]; {
		case best < 0 || int(best) >= info.Vocabulary:
			return wrong("a best token is outside the vocabulary")
		case best != s.Tokens[i] && l > excess-math.Ln2:
			return wrong(fmt.Sprintf("a token of probability %.3g is not the best one", math.Exp(l)))
		case best == s.Tokens[i] && l < -excess-math.Log(float64(info.Vocabulary)):
			return wrong(fmt.Sprintf("the best token has the probability %.3g, less than an equal share", math.Exp(l)))
		}
	}
	return nil
}

// checkedSession is a session that validates scores before they are used.
type checkedSession struct {
	Session
	info Info
}

func (c checkedSession) Step(ctx context.Context, steps []Step) ([]Scores, error) {
	scores, err := c.Session.Step(ctx, steps)
	if err != nil {
		return nil, err
	}
	if len(scores) != len(steps) {
		return nil, &UnsoundError{Backend: c.info.Backend, Why: fmt.Sprintf("it answered %d of %d steps", len(scores), len(steps))}
	}
	for i, s := range scores {
		step := steps[i]
		if err := CheckScores(c.info, step.Ask, s); err != nil {
			return nil, err
		}
		if n := step.Ask.Given; n > 0 && !slices.Equal(s.Tokens, step.Tokens[len(step.Tokens)-n:]) {
			return nil, &UnsoundError{Backend: c.info.Backend, Why: "it scored other tokens than the given ones"}
		}
	}
	return scores, nil
}
