package stat

import (
	"cmp"
	"fmt"
	"slices"
)

// Holm adjusts the P-values of several comparisons, in their order: one that is at most
// α afterwards is a finding, and the probability of any false finding is at most α.
func Holm(p []float64) ([]float64, error) {
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("the P-value of comparison %d is %v: give probabilities", i, v)
		}
	}
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = highest
	}
	return adjusted, nil
}
