// Package mechanism holds the looks that methods take at private numbers: through Gaussian
// noise, or by a choice that is all that is learnt.
//
// A method says which whole numbers it looks at and how far one unit moves
// them; here the noise follows from that, once for all methods.
package mechanism

import (
	"math"
	"slices"

	"github.com/sotto-dp/sotto/privacy/noise"
)

// Root2 is the least float64 that is not below √2.
var Root2 = math.Nextafter(math.Sqrt2, 2)

// Query is a look through Gaussian noise: whole numbers that one unit moves by at most
// Sensitivity in ℓ2.
type Query struct {
	Values      []int64
	Sensitivity float64
	Sigma       float64
}

// Ask adds noise of Sigma times Sensitivity to each value, in place, which is
// gaussian(Sigma) ([noise.RoundedGaussian]).
func (q Query) Ask(s *noise.Stream) error {
	mechanism, err := noise.NewGaussian(noise.Options{Multiplier: q.Sigma, Sensitivity: q.Sensitivity})
	if err != nil {
		return err
	}
	return mechanism.AddTo(s, q.Values)
}

// Selection is a choice among candidates by scores in steps of 2^-Exponent, each times
// Rate. The choice is all that is learnt.
type Selection struct {
	Scores   []int64
	Exponent int
	Rate     float64
}

// Softmax draws a candidate with probability ∝ exp(rate·score).
func (c Selection) Softmax(s *noise.Stream) (int, error) {
	selector, err := c.selector()
	if err != nil {
		return 0, err
	}
	return selector.Softmax(s, c.Scores)
}

// NoisyMax takes the largest of rate·score with exponential noise of mean 1 on each.
func (c Selection) NoisyMax(s *noise.Stream) (int, error) {
	selector, err := c.selector()
	if err != nil {
		return 0, err
	}
	return selector.PermuteAndFlip(s, c.Scores)
}

func (c Selection) selector() (*noise.Selector, error) {
	grid, err := noise.NewGrid(c.Exponent)
	if err != nil {
		return nil, err
	}
	return noise.NewSelector(noise.SelectorOptions{Grid: grid, Rate: c.Rate})
}

// Largest returns the index of the largest value, the first of equal ones.
func Largest(values []int64) int { return slices.Index(values, slices.Max(values)) }
