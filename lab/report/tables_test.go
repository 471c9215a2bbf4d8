package report

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
)

// tableRow returns a made-up row of a method for tables on two items.
func tableRow(dataset, name string, e *float64, shots int, seed uint64, calibrated bool, first, second float64) result.Row {
	r := result.Row{
		Dataset: dataset, Method: name, Name: name, Epsilon: e, Shots: shots, Seed: seed, Model: "m", Answerer: "m", Calibrated: calibrated,
		Metric: "accuracy", N: 2, Items: []float64{first, second}, Value: (first + second) / 2, AnswerTokens: 500,
		Metrics: map[string]float64{"balanced_accuracy": first * 0.7, "mcc": -0.25, "macro_f1": 0.123, "share_yes": 0.875},
	}
	if e != nil && *e > 0 {
		r.EpsilonUpper = *e
		if name == "global-published" {
			r.EpsilonUpper = *e / 4
		}
	}
	if suite.Learned(name) {
		r.Model, r.Answerer, r.AnswerTokens = "", "", 0
	}
	return r
}

// tableRows are of methods with two numbers of shots, three values of ε and none, on two
// data sets.
func tableRows() []result.Row {
	var rows []result.Row
	for _, dataset := range []string{"adult", "heart"} {
		for _, calibrated := range []bool{true, false} {
			rows = append(rows, tableRow(dataset, "zero", epsilon(0), 0, 0, calibrated, 0, 0))
			for seed := range uint64(2) {
				for _, shots := range []int{1, 4} {
					for _, e := range []*float64{epsilon(1), epsilon(5), epsilon(10), nil} {
						value := 0.5
						if shots == 4 && calibrated {
							value = 1
						}
						rows = append(rows, tableRow(dataset, "local", e, shots, seed, calibrated, value, value))
						rows = append(rows, tableRow(dataset, "global-published", e, shots, seed, calibrated, 0.25, 0.25))
					}
				}
			}
		}
		rows = append(rows, tableRow(dataset, "majority", nil, 0, 0, false, 1, 0))
		for seed := range uint64(2) {
			for _, e := range []float64{1, 5, 10} {
				rows = append(rows, tableRow(dataset, "lr-local", &e, 0, seed, false, 0.75, 0.75))
			}
		}
	}
	return rows
}

// TestTables: with more values of ε than numbers of shots, lines are methods with their
// shots, as in papers; baselines stand in the tables of both calibrations; what is better
// than accuracy stands beside it.
func TestTables(t *testing.T) {
	in := Input{
		Title: "t", Reference: "local", Methods: []string{"zero", "local", "global-published", "majority", "lr-local"}, Rows: tableRows(),
		Published: []suite.PublishedValue{
			{Dataset: "adult", Method: "local", Epsilon: epsilon(5), Shots: 4, Value: 61, Std: 21, Metric: "accuracy", Model: "M", Source: "s"},
			{Dataset: "adult", Method: "local", Shots: 1, Value: 72, Std: 1, Metric: "accuracy", Model: "M", Source: "s"},
			{Dataset: "adult", Method: "lr-local", Epsilon: epsilon(10), Value: 70, Std: 6, Metric: "accuracy", Model: noModel, Source: "s"},
		},
	}
	markdown := render(t, in)
	for _, want := range []string{
		"| method | ε = 0 | ε = 1 | ε = 5 | ε = 10 | ε = ∞ |",
		"| local, 4 shots |  | **100.0 ± 0.0**<br>", // the best at ε = 1
		"paper: 61.0 ± 21.0 \\[a\\]",
		"| majority |  |  |  |  | 50.0",
		"75.0 ± 0.0<br>75.0 to 75.0<br>paper: 70.0 ± 6.0 \\[b\\]",
		"balanced accuracy, %: mean ±",
		"| local, 4 shots |  | 70.0 ± 0.0 |",
		"MCC × 100: mean over data sets",
		"share of answers that are Yes, %: mean over data sets",
		"global-published goes by the ε that its paper gives, before rows are sampled; its guarantee is 0.25 at ε = 1, 1.25 at ε = 5, 2.5 at ε = 10.",
		"## adult (not calibrated)",
		"answered by m. The papers' numbers are of M:",
		"| average of 2 | 1 | 4 | lr-local | +25.0 |",
	} {
		if !strings.Contains(markdown, want) {
			t.Errorf("%q is not in\n%s", want, markdown)
		}
	}
	for _, not := range []string{"tokens to write", "macro_f1", "by data set:"} {
		if strings.Contains(markdown, not) {
			t.Errorf("%q is in the report", not)
		}
	}
	// Two calibrations of two data sets, and the average of both.
	if n := strings.Count(strings.ReplaceAll(markdown, "**", ""), "| lr-local |  | 75.0"); n != 2*3 {
		t.Errorf("the baseline stands in %d tables", n)
	}
}

// TestBaselinesAlone: without a model, baselines are a report by themselves.
func TestBaselinesAlone(t *testing.T) {
	var rows []result.Row
	for _, r := range tableRows() {
		if suite.Learned(r.Method) {
			rows = append(rows, r)
		}
	}
	markdown := render(t, Input{Title: "t", Rows: rows})
	for _, want := range []string{"## Average over 2 data sets", "## heart", "| lr-local | 75.0 ± 0.0"} {
		if !strings.Contains(markdown, want) {
			t.Errorf("%q is not in\n%s", want, markdown)
		}
	}
	if strings.Contains(markdown, "answered by") || strings.Contains(markdown, "calibrated)") {
		t.Error("a model is named, and none was asked")
	}
}
