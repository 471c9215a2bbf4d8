package lm

import (
	"context"
	"fmt"
	"math"
)

// UnsoundError says that a model gave numbers that no distribution has. It is an error of
// the model or of the program that runs it; nothing is made from such scores.
type UnsoundError struct {
	Backend string
	Why     string
}

func (e *UnsoundError) Error() string {
	return fmt.Sprintf("%s: an error of the model: %s; its weights are damaged, or computed with too little precision: use another file or server", e.Backend, e.Why)
}

// excess is how far above one probabilities may add up, and a log-probability above 0:
// servers add up float32 numbers.
const excess = 1e-3

// CheckScores is an *[UnsoundError] if an answer is no part of a distribution: a score is
// not a number, a log-probability is positive, the probabilities of distinct tokens add up
// to more than one, or to something else than one where all are there.
func CheckScores(info Info, ask Ask, s Scores) error {
	wrong := func(format string, args ...any) error {
		return &UnsoundError{Backend: info.Backend, Why: fmt.Sprintf(format, args...)}
	}
	want := len(ask.Candidates) + ask.Top
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
	switch whole := ask.All || ask.Candidates != nil; {
	case want == 0:
	case sum > 1+excess:
		return wrong("the probabilities of %d tokens add up to %.6g, more than one", want, sum)
	case whole && sum < 1-excess:
		return wrong("the probabilities of all %d tokens add up to %.6g, less than one", want, sum)
	}
	return nil
}

// checked is a session whose answers are looked at before they are used.
type checked struct {
	Session
	info Info
}

func (c checked) Step(ctx context.Context, steps []Step) ([]Scores, error) {
	scores, err := c.Session.Step(ctx, steps)
	if err != nil {
		return nil, err
	}
	if len(scores) != len(steps) {
		return nil, &UnsoundError{Backend: c.info.Backend, Why: fmt.Sprintf("it answered %d of %d steps", len(scores), len(steps))}
	}
	for i, s := range scores {
		if err := CheckScores(c.info, steps[i].Ask, s); err != nil {
			return nil, err
		}
	}
	return scores, nil
}
