package accountant

import (
	"cmp"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// ExceededError reports that a step would pass a filter's bound. Nothing was charged, and
// the step must not run.
type ExceededError struct {
	// Event is the step that was refused.
	Event privacy.Event
	// Measure names the quantity: a divergence and its order.
	Measure string
	// Spent, Charge and Budget are in that measure.
	Spent, Charge, Budget float64
}

// Error states what was requested and what is left.
func (e *ExceededError) Error() string {
	return fmt.Sprintf("%s costs %.6g of %s, but %.6g of %.6g is spent: take fewer or noisier steps, or a larger budget",
		e.Event, e.Charge, e.Measure, e.Spent, e.Budget)
}

func filterCheck(epsilon, delta float64) error {
	if err := cmp.Or(privacy.CheckEpsilon(epsilon), privacy.CheckDelta(delta)); err != nil {
		return err
	}
	if delta == 0 {
		return fmt.Errorf("δ is 0, but only δ > 0 leaves a concentrated guarantee anything to spend (a common choice is 1e-6)")
	}
	return nil
}

// filterRho returns the largest ρ whose ε at δ is at most epsilon, rounded down.
func filterRho(epsilon, delta float64) float64 {
	within := func(rho float64) bool {
		got, _ := rdpEpsilon(rdpZCDP{rho}, delta)
		return got <= epsilon
	}
	low, high := 0.0, math.SmallestNonzeroFloat64
	for high = 1e-300; within(high) && high < 1e300; high *= 16 {
		low = high
	}
	low, _ = bisect(low, high, 80, within)
	return low
}

// bisect halves an interval so many times, or to rounding, at whose low end a condition holds and
// at whose high end it does not.
func bisect(low, high float64, steps int, holds func(float64) bool) (float64, float64) {
	for range steps {
		mid := low + (high-low)/2
		if mid == low || mid == high {
			break
		}
		if holds(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low, high
}

// filterAdjacency settles the adjacency of a filter with the first step.
func filterAdjacency(settled, asked privacy.Adjacency) (privacy.Adjacency, error) {
	asked, err := privacy.ParseAdjacency(string(asked))
	switch {
	case err != nil:
		return settled, err
	case settled != "" && settled != asked:
		return settled, fmt.Errorf("a step under %s cannot join steps under %s: use one adjacency for one budget", asked, settled)
	}
	return asked, nil
}
