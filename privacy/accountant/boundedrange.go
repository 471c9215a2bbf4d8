package accountant

import "github.com/sotto-dp/sotto/privacy"

// Repeated bounded-range steps (the exponential mechanism and its kin) are composed by
// optimal adaptive composition: the adversary may choose each step after seeing the ones
// before, and the bounds hold for the worst choice, from both sides.
//
// The theory is by Dong, Durfee and Rogers, "Optimal differential privacy composition for
// exponential mechanisms" (2020): of all c-bounded-range mechanisms those with two outcomes
// are worst, and δ follows from a backward recursion over the remaining steps. How the
// recursion is bounded from both sides is said at brTable; boundedrange(c) means the same
// under add-remove and replace-one adjacency, so both get the same answer.

// rangeAnswer answers for equal steps.
func rangeAnswer(k brKey, a ask) (privacy.Interval, error) {
	p, err := brCached(k)
	if err != nil {
		return privacy.Interval{}, err
	}
	if a.forDelta {
		return privacy.Interval{Lower: p.lowerDelta(a.high), Upper: p.upperDelta(a.low)}, nil
	}
	lower, _ := p.epsilon(a.high)
	_, upper := p.epsilon(a.low)
	return privacy.Interval{Lower: lower, Upper: upper}, nil
}

type brKey struct {
	c     float64
	steps int64
	tol   float64
}

// brProfiles keeps profiles: a calibration or a plot asks many times about few of them.
var brProfiles = memo[brKey, *brProfile]{size: 16}

func brCached(k brKey) (*brProfile, error) {
	return brProfiles.get(k, func() (*brProfile, error) { return newBRProfile(k.c, k.steps, k.tol) })
}
