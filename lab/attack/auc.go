package attack

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// AUC returns the area under the receiver operating characteristic: the probability that a
// positive item has a higher score than a negative one, ties counting half. It depends on
// no threshold, so a bias of the scores does not matter. It is an error unless there are
// items of both kinds.
func AUC(positive []bool, scores []float64) (float64, error) {
	if len(positive) != len(scores) {
		return 0, fmt.Errorf("there are %d scores of %d answers: give one for each", len(scores), len(positive))
	}
	if slices.ContainsFunc(scores, math.IsNaN) {
		return 0, errors.New("a score is not a number")
	}
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	// Pairs in order: each positive one is above the others before it, and ties with those
	// of its own score.
	above, positives, others := 0., 0., 0.
	for len(order) > 0 {
		n := 1
		for n < len(order) && scores[order[n]] == scores[order[0]] {
			n++
		}
		p := 0.
		for _, i := range order[:n] {
			if positive[i] {
				p++
			}
		}
		o := float64(n) - p
		above += p * (others + o/2)
		positives, others = positives+p, others+o
		order = order[n:]
	}
	if positives == 0 || others == 0 {
		return 0, errors.New("all answers are of one kind: the area is not defined")
	}
	return above / (positives * others), nil
}
