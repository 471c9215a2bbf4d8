package ensemble

import (
	"math"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
)

// fine is the exponent of the grid that counts and vectors are on: steps of 2^-20. Noise
// in whole votes would often leave labels level, and the first of the list would win.
const fine = 20

// votes are how many prompts are for each label, the empty ones included.
func votes(view decode.View) []int64 {
	counts := make([]int64, len(view.Public))
	for _, p := range view.Prompts {
		counts[best(p)]++
	}
	counts[best(view.Public)] += int64(view.Empty)
	return counts
}

// selection is about the counts of votes.
func (v *Vote) selection(view decode.View) mechanism.Selection {
	rate := v.Range
	if v.Draw.Exchanges() {
		rate /= 2
	}
	return mechanism.Selection{Scores: votes(view), Rate: rate}
}

// counts is the look at all counts of votes.
func (v *Vote) counts(view decode.View) mechanism.Query {
	values := votes(view)
	for i := range values {
		values[i] <<= fine
	}
	sensitivity := 1.0
	if v.Draw.Exchanges() {
		sensitivity = mechanism.Root2
	}
	return mechanism.Query{Values: values, Sensitivity: math.Ldexp(sensitivity, fine), Sigma: v.Sigma}
}

// top is the look at the largest count.
func (v *Vote) top(view decode.View) mechanism.Query {
	highest := int64(0)
	for _, n := range votes(view) {
		highest = max(highest, n)
	}
	return mechanism.Query{Values: []int64{highest << fine}, Sensitivity: math.Ldexp(1, fine), Sigma: v.CheckSigma}
}

// best is the index of the largest score, the first of equal ones; what is not a number
// is never the largest.
func best(scores []float64) int {
	at := 0
	for i, x := range scores {
		if x > scores[at] || math.IsNaN(scores[at]) && !math.IsNaN(x) {
			at = i
		}
	}
	return at
}
