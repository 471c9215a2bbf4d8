package forecast

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/sums"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// evident is a plan with evidence, of as many records as that of one label with noise of scale 1.
func evident(records int64, n int64, sigma float64) plan.Plan {
	task := prompt.Task{Name: "mine", Kind: prompt.Classify, Labels: []string{"a", "b"}}
	return plan.Plan{
		Task: task, Shots: 4, Choose: &plan.Choose{}, Parts: []plan.Part{{Size: records}},
		Evidence: &plan.Evidence{Sums: sums.Sums{Sums: n, Sigma: sigma}},
	}
}

// TestEvidenceIsNotForecast: curves are of prompts without evidence; what classifiers were worth is said, between those
// with less and with more signal.
func TestEvidenceIsNotForecast(t *testing.T) {
	table := Table{Learned: []ClassifierResult{
		{Task: "one", Labels: 4, Records: 400, Noise: 1, Score: 60},    // 100
		{Task: "one", Labels: 4, Records: 40_000, Noise: 1, Score: 80}, // 10,000
		{Task: "two", Labels: 10, Records: 4000, Noise: 4, Score: 90},  // 100
		{Task: "two", Labels: 10, Records: 4000, Noise: 0.4, Score: 95},
	}}
	for name, c := range map[string]struct {
		plan plan.Plan
		want EvidenceError
	}{
		"too little":   {evident(100, 1, 1), EvidenceError{Low: 100}},
		"least":        {evident(200, 1, 1), EvidenceError{60, 90, 2}},
		"between":      {evident(2000, 1, 1), EvidenceError{70, 95, 2}},
		"several sums": {evident(2000, 16, 4), EvidenceError{70, 95, 2}},
		"most":         {evident(1e9, 1, 1), EvidenceError{80, 95, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := table.Of(c.plan, "m")
			e, ok := errors.AsType[*EvidenceError](err)
			if !ok {
				t.Fatalf("a forecast, or another error: %v", err)
			}
			expect.Max(t, "math.Abs(e.Low-c.want.Low)", math.Abs(e.Low-c.want.Low), 1e-9)
			expect.Max(t, "math.Abs(e.High-c.want.High)", math.Abs(e.High-c.want.High), 1e-9)
			expect.Equal(t, "e.DataSets", e.DataSets, c.want.DataSets)
			if got, want := strings.Contains(err.Error(), "of 100"), c.want.DataSets > 0; got != want {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestLearnedIsMeasured: the table has classifiers of several data sets and sizes, each better with more signal, up to
// their noise.
func TestLearnedIsMeasured(t *testing.T) {
	by := map[string][]ClassifierResult{}
	for _, l := range Measured().Learned {
		by[l.Task] = append(by[l.Task], l)
	}
	if len(by) < 3 {
		t.Fatalf("%d data sets", len(by))
	}
	for task, list := range by {
		lowest, _ := between(list, list[0].signal())
		highest, ok := between(list, math.Inf(1))
		if !ok || highest < lowest+5 {
			t.Errorf("%s: %v with the least signal, %v with the most", task, lowest, highest)
		}
	}
}
