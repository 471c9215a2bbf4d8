package reply

import (
	"math"

	"github.com/sotto-dp/sotto/lm"
)

// Probabilities of labels with these log-probabilities, up to a constant. They sum to one.
func Probabilities(logs []float64) []float64 {
	p := lm.LogSoftmax(logs)
	for i := range p {
		p[i] = math.Exp(p[i])
	}
	return p
}

// Weights are the mean probabilities of labels after questions without content (Zhao et al. 2021).
func Weights(free [][]float64) []float64 {
	out := make([]float64, len(free[0]))
	for _, p := range free {
		for i := range p {
			out[i] += p[i] / float64(len(free))
		}
	}
	return out
}

// minWeight keeps quotients finite where a label is never expected.
const minWeight = 1e-300

// Calibrated are proportional to p/w and sum to one.
func Calibrated(p, w []float64) []float64 {
	q := make([]float64, len(p))
	var sum float64
	for i := range p {
		q[i] = p[i] / max(w[i], minWeight)
		sum += q[i]
	}
	for i := range q {
		q[i] /= sum
	}
	return q
}

// Best is the label with the largest probability; of equal ones, the first.
func Best(p []float64) int {
	best := 0
	for i := range p {
		if p[i] > p[best] {
			best = i
		}
	}
	return best
}
