package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// McNemar is the exact two-sided P-value for two methods that are right (true) or wrong
// on the same items, one answer each: among items where just one is right, either is as
// likely if the methods are alike.
func McNemar(a, b []bool) (float64, error) {
	if len(a) != len(b) {
		return 0, fmt.Errorf("one method has %d answers and the other %d: compare the same items", len(a), len(b))
	}
	if len(a) == 0 {
		return 0, errNoValues
	}
	var onlyA, onlyB int
	for i := range a {
		switch {
		case a[i] && !b[i]:
			onlyA++
		case b[i] && !a[i]:
			onlyB++
		}
	}
	return min(1, 2*binomialTail(onlyA+onlyB, min(onlyA, onlyB), 0.5)), nil
}

// binomialTail is the probability of at most k successes in n trials.
func binomialTail(n, k int, p float64) float64 {
	sum := 0.0
	for i := range k + 1 {
		sum += math.Exp(logGamma(float64(n+1)) - logGamma(float64(i+1)) - logGamma(float64(n-i+1)) +
			float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(1, sum)
}

// exactRanks is up to how many differences Wilcoxon's distribution is computed.
const exactRanks = 200

// Wilcoxon is the two-sided P-value of the signed-rank test for paired differences, such
// as one of each data set. Differences of zero are left out, equal ones share their mean
// rank; the distribution is that given these ranks, exact up to 200 differences, and
// the normal one with the correction for ties beyond.
func Wilcoxon(differences []float64) (float64, error) {
	if len(differences) == 0 {
		return 0, errNoValues
	}
	if err := finite(differences); err != nil {
		return 0, err
	}
	ranks, positive := doubledRanks(differences)
	if len(ranks) == 0 {
		return 1, nil
	}
	total := 0
	for _, r := range ranks {
		total += r
	}
	least := min(positive, total-positive)
	if len(ranks) > exactRanks {
		squares := 0.0
		for _, r := range ranks {
			squares += float64(r) * float64(r)
		}
		// The sum of ranks with random signs has the sum of their squares as variance.
		return min(1, 2*normal(float64(2*least-total)/math.Sqrt(squares))), nil
	}
	// below[s] is the probability that the ranks of positive differences add up to s.
	below := make([]float64, total+1)
	below[0] = 1
	reached := 0
	for _, r := range ranks {
		reached += r
		for s := reached; s >= 0; s-- {
			below[s] /= 2
			if s >= r {
				below[s] += below[s-r] / 2
			}
		}
	}
	p := 0.0
	for _, v := range below[:least+1] {
		p += v
	}
	return min(1, 2*p), nil
}

// doubledRanks of the sizes of differences, twice each so that they are integers, and
// their sum over positive differences.
func doubledRanks(differences []float64) (ranks []int, positive int) {
	var d []float64
	for _, v := range differences {
		if v != 0 {
			d = append(d, v)
		}
	}
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	for from := 0; from < len(d); {
		to := from + 1
		for to < len(d) && math.Abs(d[to]) == math.Abs(d[from]) {
			to++
		}
		// Places from+1 to to, of which the mean doubled is their sum.
		for _, v := range d[from:to] {
			ranks = append(ranks, from+1+to)
			if v > 0 {
				positive += from + 1 + to
			}
		}
		from = to
	}
	return ranks, positive
}

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
