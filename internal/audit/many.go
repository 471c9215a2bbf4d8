package audit

import (
	"errors"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/stat"
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
	n, m := len(with)/2, len(without)/2
	b.FalseAlarms, b.Misses = choose(with[:n], without[:m], delta, confidence, epsilon).errors(with[n:], without[m:], confidence)
	b.Epsilon = epsilon(b.FalseAlarms.High, b.Misses.High, delta)
	return b, nil
}

// errors counts those of a decision. Two intervals of which one end each matters share what may go
// wrong.
func (d decision) errors(with, without []float64, confidence float64) (alarms, misses stat.Interval) {
	miss := (1 - confidence) / 2
	n, m := int64(len(with)), int64(len(without))
	return stat.ClopperPearson(d.count(without), m, miss), stat.ClopperPearson(n-d.count(with), n, miss)
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
		below, _ := slices.BinarySearch(sortedWith, t) // scores below t
		belowOut, _ := slices.BinarySearch(sortedWithout, t)
		above, aboveOut := n-int64(below), m-int64(belowOut)
		if e := of(rough(aboveOut, m), rough(n-above, n), delta); e > best {
			best, chosen = e, decision{threshold: t}
		}
		within, _ := slices.BinarySearchFunc(sortedWith, t, upTo)
		withinOut, _ := slices.BinarySearchFunc(sortedWithout, t, upTo)
		if e := of(rough(int64(withinOut), m), rough(n-int64(within), n), delta); e > best {
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
