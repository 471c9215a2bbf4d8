package privacytest

import "math"

// FalseReject bounds the probability that a test of a law rejects a right sampler.
const FalseReject = 1e-9

// Misfit returns the largest n·KL(f‖p) of events that were hit so often in n draws, over its
// threshold. By Chernoff's bound n·KL exceeds T with probability at most 2·exp(-T) for each
// event; a result above 1 rejects that their probabilities are p.
func Misfit(n int, hits []int, p []float64) (worst float64) {
	limit := math.Log(2 * float64(len(hits)) / FalseReject)
	for i, h := range hits {
		worst = max(worst, float64(n)*KL(float64(h)/float64(n), p[i])/limit)
	}
	return worst
}

// KL is the divergence of a coin with probability f from one with probability p.
func KL(f, p float64) float64 {
	term := func(a, b float64) float64 {
		switch {
		case a <= 0:
			return 0
		case b <= 0:
			return math.Inf(1)
		}
		return a * math.Log(a/b)
	}
	return max(0, term(f, p)+term(1-f, 1-p))
}
