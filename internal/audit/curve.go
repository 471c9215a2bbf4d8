package audit

import (
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/stat"
)

// Curve is what an adversary gets at rates of false alarms, and what it may get.
type Curve struct {
	// Allowed is the most that any adversary finds under the claim.
	Allowed []Point `json:"allowed"`
	// Found is what was found in these runs.
	Found []FoundPoint `json:"found"`
}

// Point of a curve.
type Point struct {
	FalsePositives float64 `json:"false_positives"`
	TruePositives  float64 `json:"true_positives"`
}

// FoundPoint is the share of runs with the record that were found at a rate of false alarms, in these
// runs and with an interval.
type FoundPoint struct {
	FalseAlarms float64       `json:"false_alarms"`
	Share       float64       `json:"share"`
	Interval    stat.Interval `json:"interval"`
}

// Against compares the second half of the runs with the curve of the claim, at rates of false alarms from
// one in ten thousand on. The direction of scores is chosen on the first half.
func Against(with, without []float64, c Claim, confidence float64) (Curve, error) {
	out := Curve{Found: []FoundPoint{}}
	allowed, err := c.allowed()
	if err != nil {
		return out, err
	}
	n, m := len(with)/2, len(without)/2
	sign := 1.
	if apartSigned(with[:n], without[:m]) < 0 {
		sign = -1
	}
	in, others := slices.Clone(with[n:]), slices.Clone(without[m:])
	for _, scores := range [][]float64{in, others} {
		for i := range scores {
			scores[i] *= sign
		}
		slices.Sort(scores)
	}
	above := func(sorted []float64, t float64) int64 {
		at, _ := slices.BinarySearchFunc(sorted, t, upTo)
		return int64(len(sorted) - at)
	}
	for e := rarest; e <= -0.05; e += 0.1 {
		rate := math.Pow(10, e)
		out.Allowed = append(out.Allowed, Point{rate, allowed(rate)})
	}
	last := int64(-1)
	for e := rarest; e <= -0.05; e += 0.2 {
		k := int(math.Pow(10, e) * float64(len(others)))
		t := others[len(others)-1-k]
		alarms, hits := above(others, t), above(in, t)
		if alarms < minAlarms || alarms == last {
			continue
		}
		last = alarms
		out.Found = append(out.Found, FoundPoint{
			float64(alarms) / float64(len(others)), float64(hits) / float64(len(in)), stat.ClopperPearson(hits, int64(len(in)), (1-confidence)/2),
		})
	}
	return out, nil
}

// minAlarms is how many false alarms a rate is read off: fewer say too little about it.
const minAlarms = 20

// rarest rate of false alarms that is drawn, as a power of ten.
const rarest = -4.

func apartSigned(a, b []float64) float64 {
	sum := func(x []float64) (s float64) {
		for _, v := range x {
			s += v
		}
		return s / float64(len(x))
	}
	return sum(a) - sum(b)
}

// allowed is the most that any adversary finds at a rate of false alarms under the claim: the least
// over many ε.
func (c Claim) allowed() (func(rate float64) float64, error) {
	type pair struct{ epsilon, delta float64 }
	var pairs []pair
	largest, err := quick.Epsilon(c.Event, c.Adjacency, max(c.Delta, 1e-9))
	if err != nil {
		return nil, err
	}
	const parts = 24
	for i := range parts + 1 {
		e := largest.Upper * float64(i) / parts
		if math.IsInf(e, 1) || math.IsNaN(e) {
			break
		}
		d, err := quick.Delta(c.Event, c.Adjacency, e)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pair{e, d.Upper})
	}
	return func(rate float64) float64 {
		found := 1.
		for _, p := range pairs {
			found = min(found, MaxFound(rate, p.epsilon, p.delta))
		}
		return found
	}, nil
}

// MaxFound is the largest share of members that any attack finds at a rate of false positives, if the
// guarantee is (ε, δ).
func MaxFound(rate, epsilon, delta float64) float64 {
	return max(0, min(1, math.Exp(epsilon)*rate+delta, 1-math.Exp(-epsilon)*(1-delta-rate)))
}
