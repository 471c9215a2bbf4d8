package audit

import (
	"errors"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/eval/stat"
)

// Bound is a lower bound on ε at a δ.
type Bound struct {
	Epsilon    float64 `json:"epsilon"`
	Delta      float64 `json:"delta"`
	Confidence float64 `json:"confidence"`
	// FalseAlarms and Misses are the errors of the adversary that it rests on, as intervals.
	FalseAlarms stat.Interval `json:"false_alarms"`
	Misses      stat.Interval `json:"misses"`
}

// objective turns errors of at most alpha and beta into a bound.
type objective func(alpha, beta, delta float64) float64

// decision says that the record is in: scores of at least, or at most, a threshold.
type decision struct {
	threshold float64
	below     bool
}

func (d decision) in(score float64) bool {
	if d.below {
		return score <= d.threshold
	}
	return score >= d.threshold
}

// count is how many scores a decision takes for runs with the record.
func (d decision) count(scores []float64) (n int64) {
	for _, s := range scores {
		if d.in(s) {
			n++
		}
	}
	return n
}

// Many bounds ε from scores of runs with the record and without it, higher or lower with it. The
// first half of each chooses the decision, the second half counts its errors: so the bound holds
// with the confidence, whatever the scores are.
func Many(with, without []float64, delta, confidence float64) (Bound, error) {
	return many(with, without, delta, confidence, epsilon, epsilon)
}

// Gaussian does that for mechanisms that are known to be no better than Gaussian noise at hiding a
// record, whichever errors an adversary makes (μ-GDP; Dong, Roth and Su, 2022): then errors at one
// threshold bound μ, and that ε at any δ. It is tighter, and means nothing for other mechanisms.
func Gaussian(with, without []float64, delta, confidence float64) (Bound, error) {
	mu := func(alpha, beta, _ float64) float64 { return normalQuantile(1-alpha) - normalQuantile(beta) }
	return many(with, without, delta, confidence, mu, func(alpha, beta, delta float64) float64 {
		return gaussianEpsilon(mu(alpha, beta, delta), delta)
	})
}

// many chooses a decision by one objective, and bounds ε by another that grows with it.
func many(with, without []float64, delta, confidence float64, rank, of objective) (Bound, error) {
	b := Bound{Delta: delta, Confidence: confidence}
	if len(with) < 4 || len(without) < 4 {
		return b, errors.New("a bound needs four runs with the record and four without it, or more")
	}
	if !(delta >= 0 && delta < 1) || !(confidence > 0 && confidence < 1) {
		return b, errors.New("δ should be at least 0 and below 1, and the confidence between 0 and 1")
	}
	if slices.ContainsFunc(slices.Concat(with, without), math.IsNaN) {
		return b, errors.New("a score is not a number")
	}
	chosen := choose(with[:len(with)/2], without[:len(without)/2], delta, confidence, rank)
	b.measure(chosen, of, with[len(with)/2:], without[len(without)/2:])
	return b, nil
}

// measure counts the errors of a decision. Two intervals of which one end each matters share what
// may go wrong.
func (b *Bound) measure(d decision, of objective, with, without []float64) {
	miss := (1 - b.Confidence) / 2
	n, m := int64(len(with)), int64(len(without))
	b.FalseAlarms = stat.ClopperPearson(d.count(without), m, miss)
	b.Misses = stat.ClopperPearson(n-d.count(with), n, miss)
	b.Epsilon = of(b.FalseAlarms.High, b.Misses.High, b.Delta)
}

// epsilon is the least one that errors of at most alpha and beta leave possible.
func epsilon(alpha, beta, delta float64) float64 {
	best := 0.
	for _, e := range [][2]float64{{alpha, beta}, {beta, alpha}} {
		if hit := 1 - e[1] - delta; hit > 0 && e[0] > 0 {
			best = max(best, math.Log(hit/e[0]))
		}
	}
	return best
}

// gaussianEpsilon is the ε of μ-GDP at δ; +Inf at δ = 0, and 0 for what hides nothing less than all.
func gaussianEpsilon(mu, delta float64) float64 {
	switch {
	case !(mu > 0):
		return 0
	case delta == 0 || math.IsInf(mu, 1):
		return math.Inf(1)
	}
	at := func(e float64) float64 { return normal(mu/2-e/mu) - math.Exp(e)*normal(-mu/2-e/mu) }
	low, high := 0., 1.
	for at(high) > delta {
		low, high = high, 2*high
	}
	if at(0) <= delta {
		return 0
	}
	for range 60 {
		if middle := (low + high) / 2; at(middle) > delta {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

func normal(z float64) float64         { return math.Erfc(-z/math.Sqrt2) / 2 }
func normalQuantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }

// choose finds the decision that bounds ε best on runs that are not used again.
func choose(with, without []float64, delta, confidence float64, of objective) decision {
	thresholds := slices.Concat(with, without)
	slices.Sort(thresholds)
	thresholds = slices.Compact(thresholds)
	sortedWith, sortedWithout := slices.Sorted(slices.Values(with)), slices.Sorted(slices.Values(without))
	n, m := int64(len(with)), int64(len(without))
	miss := (1 - confidence) / 2
	// A cheap bound orders thresholds: exact intervals of thousands of them would take long.
	rough := func(k, runs int64) float64 {
		p, often := (float64(k)+0.5)/(float64(runs)+1), math.Log(1/miss)/float64(runs)
		return min(1, p+math.Sqrt(2*p*(1-p)*often)+often)
	}
	best, chosen := math.Inf(-1), decision{}
	for _, t := range thresholds {
		least, _ := slices.BinarySearch(sortedWith, t) // scores below t
		leastOut, _ := slices.BinarySearch(sortedWithout, t)
		above, aboveOut := n-int64(least), m-int64(leastOut)
		if e := of(rough(aboveOut, m), rough(n-above, n), delta); e > best {
			best, chosen = e, decision{threshold: t}
		}
		most, _ := slices.BinarySearchFunc(sortedWith, t, upTo)
		mostOut, _ := slices.BinarySearchFunc(sortedWithout, t, upTo)
		if e := of(rough(int64(mostOut), m), rough(n-int64(most), n), delta); e > best {
			best, chosen = e, decision{threshold: t, below: true}
		}
	}
	return chosen
}

// upTo finds the first score above a threshold.
func upTo(score, threshold float64) int {
	if score <= threshold {
		return -1
	}
	return 1
}
