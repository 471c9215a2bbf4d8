package ensemble

import (
	"math"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// fine is the exponent of the grid that counts and vectors are on: steps of 2^-20. Noise
// in whole votes would often leave labels level, and the first of the list would win.
const fine = 20

// query is a look through Gaussian noise: whole numbers that one unit moves by at most
// sensitivity in ℓ2. To ask it is to add noise of sigma times that to each, which is
// gaussian(sigma) ([noise.RoundedGaussian]).
type query struct {
	values      []int64
	sensitivity float64
	sigma       float64
}

func (q query) ask(s *noise.Stream) error {
	mechanism, err := noise.NewGaussian(noise.Options{Multiplier: q.sigma, Sensitivity: q.sensitivity})
	if err != nil {
		return err
	}
	return mechanism.AddTo(s, q.values)
}

// selection draws an index with probability ∝ exp(rate·score).
type selection struct {
	scores []int64
	rate   float64
}

func (c selection) softmax(s *noise.Stream) (int, error) {
	selector, err := noise.NewSelector(noise.SelectorOptions{Rate: c.rate})
	if err != nil {
		return 0, err
	}
	return selector.Softmax(s, c.scores)
}

// root2 is the least float64 that is not below √2.
var root2 = math.Nextafter(math.Sqrt2, 2)

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
func (v *Vote) selection(view decode.View) selection {
	rate := v.Range
	if v.Draw.Exchanges() {
		rate /= 2
	}
	return selection{votes(view), rate}
}

// counts is the look at all counts of votes.
func (v *Vote) counts(view decode.View) query {
	values := votes(view)
	for i := range values {
		values[i] <<= fine
	}
	sensitivity := 1.0
	if v.Draw.Exchanges() {
		sensitivity = root2
	}
	return query{values, math.Ldexp(sensitivity, fine), v.Sigma}
}

// top is the look at the largest count.
func (v *Vote) top(view decode.View) query {
	most := int64(0)
	for _, n := range votes(view) {
		most = max(most, n)
	}
	return query{[]int64{most << fine}, math.Ldexp(1, fine), v.CheckSigma}
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

// largest is the index of the largest number, the first of equal ones.
func largest(values []int64) int {
	at := 0
	for i, x := range values {
		if x > values[at] {
			at = i
		}
	}
	return at
}
