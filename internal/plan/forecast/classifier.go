package forecast

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/plan"
)

// ClassifierResult is how often a private classifier without a language model was right, on one data set with some of
// its records, over some seeds.
type ClassifierResult struct {
	Task    string `json:"task"`
	Labels  int    `json:"labels"`
	Records int64  `json:"records"`
	// Noise is the scale of that of one sum: of several, theirs divided by the square root of their number.
	Noise float64 `json:"noise"`
	// Score is the mean over Seeds, and Deviation their standard deviation.
	Score     float64 `json:"score"`
	Deviation float64 `json:"deviation"`
	Seeds     int     `json:"seeds"`
}

// signal is how much records say of each label against the noise.
func (l ClassifierResult) signal() float64 { return signal(l.Records, l.Labels, l.Noise) }

func signal(records int64, labels int, noise float64) float64 {
	return float64(records) / (float64(labels) * noise)
}

// EvidenceError: the plan adds all records up as evidence, and curves are of prompts without. It has what the private
// classifier alone was right for, from Low to High in 100, on the DataSets where suites had as much signal; none if they
// always had more.
type EvidenceError struct {
	Low, High float64
	DataSets  int
}

// Error says what was measured instead.
func (e *EvidenceError) Error() string {
	said := "suites always had more records for each label, or a larger ε"
	if e.DataSets > 0 {
		said = fmt.Sprintf("with as much signal of each label the private classifier alone was right for %.0f to %.0f of 100 questions, on %d public data sets (lab/results/learn-sizes), a prompt with it for 1 to 6 fewer with a small model, and for 2 fewer to 2 more with a larger one (lab/results/choose-text, choose-qwen)",
			math.Floor(e.Low), math.Ceil(e.High), e.DataSets)
	}
	return "there is no forecast of what a prompt with evidence is worth on your records: " + said + "; sotto rehearse tries it out"
}

// evident is what is known of a plan with evidence.
func (t Table) evident(p plan.Plan) *EvidenceError {
	e := &EvidenceError{Low: 100}
	at := signal(p.Units(), len(p.Task.Labels), p.Evidence.Sigma/math.Sqrt(float64(max(1, p.Evidence.Sums.Sums))))
	by := map[string][]ClassifierResult{}
	for _, l := range t.Learned {
		by[l.Task] = append(by[l.Task], l)
	}
	for _, list := range by {
		score, ok := between(list, at)
		if !ok {
			continue
		}
		e.Low, e.High = math.Min(e.Low, score), math.Max(e.High, score)
		e.DataSets++
	}
	return e
}

// between is the score at a signal, on a line through those at the next smaller and the next larger one, or at the
// largest that was measured. There is none below the smallest.
func between(list []ClassifierResult, at float64) (float64, bool) {
	list = slices.SortedFunc(slices.Values(list), func(a, b ClassifierResult) int { return cmp.Compare(a.signal(), b.signal()) })
	i := slices.IndexFunc(list, func(l ClassifierResult) bool { return l.signal() >= at })
	switch {
	case math.IsNaN(at) || i == 0 && list[0].signal() > at:
		return 0, false
	case i < 0:
		return list[len(list)-1].Score, true
	case i == 0:
		return list[0].Score, true
	}
	low, high := list[i-1], list[i]
	part := math.Log(at/low.signal()) / math.Log(high.signal()/low.signal())
	return low.Score + part*(high.Score-low.Score), true
}
