package audit

import (
	"errors"
	"math"

	"github.com/sotto-dp/sotto/internal/stat"
)

// OneRun bounds ε from one run on data that had each of some canaries or not, by a fair coin of its
// own: the adversary guessed about some of them, whichever it liked, and so many guesses are right.
// A mechanism with (ε, δ) makes them right no oftener than coins that land so with probability
// e^ε/(1+e^ε), apart from what δ allows (theorem 5.2 of the paper that the package names, in the
// form that its appendix D computes). The
// bound holds with the confidence.
func OneRun(canaries, guesses, right int64, delta, confidence float64) (float64, error) {
	switch {
	case right < 0 || guesses < right || canaries < guesses || canaries == 0:
		return 0, errors.New("there should be no more right guesses than guesses, and no more guesses than canaries")
	case !(delta >= 0 && delta < 1) || !(confidence > 0 && confidence < 1):
		return 0, errors.New("δ should be at least 0 and below 1, and the confidence between 0 and 1")
	}
	refuted := func(e float64) bool { return chance(canaries, guesses, right, e, delta) <= 1-confidence }
	if !refuted(0) {
		return 0, nil
	}
	low, high := 0., 1.
	for refuted(high) {
		if low, high = high, 2*high; high > 1e4 {
			return low, nil
		}
	}
	low, _ = stat.Bisect(low, high, 60, refuted)
	return low, nil
}

// chance bounds the probability that as many guesses are right under (ε, δ).
func chance(canaries, guesses, right int64, e, delta float64) float64 {
	q := 1 / (1 + math.Exp(-e))
	tail := stat.UpperTail(right, guesses, q)
	if delta == 0 {
		return tail
	}
	// What δ can move: the most that right guesses become likelier, for each that is given up.
	largest := 0.
	for i := int64(1); i <= right; i++ {
		gain := (stat.UpperTail(right-i, guesses, q) - tail) / float64(i)
		if gain > largest {
			largest = gain
		} else if float64(i)*largest > 1 {
			break // no later one is larger: a gain is at most 1/i
		}
	}
	return min(1, tail+2*delta*float64(canaries)*largest)
}
