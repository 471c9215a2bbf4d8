package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
)

// answerRow returns a made-up row of a method on two items.
func answerRow(name string, e *float64, queries int64, first, second float64) result.Row {
	method, _, _ := strings.Cut(name, " ")
	r := result.Row{
		Dataset: "d", Method: method, Name: name, Epsilon: e, Model: "m", Answerer: "m", Metric: "rouge_l", N: 2,
		Items: []float64{first, second}, Value: (first + second) / 2, Online: queries > 0, Queries: queries,
		Claimed: method == "mixing-published", AnswerTokens: 500, Metrics: map[string]float64{"embedding_precision (e)": 0.625},
	}
	if r.Online {
		r.AnswerTokens = 4000
	} else if method != "zero" {
		r.Shots, r.WriteTokens = 4, 1500
	}
	return r
}

// TestOnline: answers online are told apart from demonstrations, what is claimed wins
// nothing, and the work for an answer counts what was written before.
func TestOnline(t *testing.T) {
	in := Input{
		Title: "t", Reference: "mixing online", Methods: []string{"zero", "mixing online", "mixing-published online", "mixing"},
		Rows: []result.Row{
			answerRow("zero", epsilon(0), 0, 0.1, 0.1),
			answerRow("mixing online", epsilon(1), 100, 0.5, 0.25), // 37.5
			answerRow("mixing-published online", epsilon(1), 100, 0.75, 0.75),
			answerRow("mixing", epsilon(1), 0, 0.25, 0.25),
		},
		Published: []suite.PublishedValue{
			{Dataset: "d", Method: "mixing-published", Setting: "mixing-published online", Epsilon: epsilon(1), Shots: 4, Value: 28.2, Metric: "rouge_l", Model: "M", Source: "s"},
			{Dataset: "d", Method: "zero", Epsilon: epsilon(0), Value: 76.1, Metric: "embedding_precision", Model: "M", Source: "s"},
		},
	}
	markdown := render(t, in)
	for _, want := range []string{
		"ROUGE-L × 100: mean ±",
		"| **37.5**<br>", // not the higher one that is claimed
		"| mixing-published online (claimed) |  | 75.0<br>",
		"paper: 28.2",
		"spend ε for 100 answers together",
		"| d | 1 | mixing-published online (claimed) | −37.5 |",
		"| d | 1 | mixing | +12.5 |",
		"| mixing online | 0 | 1 | 100 | – | – | – | 4\u2009000 | 1 | 2 | 2\u2009000 |",
		"| mixing | 4 | 1 | any | 1\u2009500 | – | – | 500 | 1 | 2 | 1\u2009000 |", // (1500+500)/2
		"embedding precision (e) × 100: mean ±",
		"| zero | 62.5<br>paper: 76.1",
		"its height says nothing beside ours",
	} {
		if !strings.Contains(markdown, want) {
			t.Errorf("the Markdown has no %q", want)
		}
	}
	if strings.Count(markdown, "76.1") != 1 || strings.Count(markdown, "28.2") != 1 {
		t.Error("a paper's value stands beside another metric")
	}
	if t.Failed() {
		t.Log(markdown)
	}
}

// TestQueries: an axis of answers makes columns and figures of its own, and methods are
// compared for the same number of answers.
func TestQueries(t *testing.T) {
	in := Input{Title: "t", Reference: "mixing online", Rows: []result.Row{
		answerRow("zero", epsilon(0), 0, 0.1, 0.1),
		answerRow("mixing", epsilon(1), 0, 0.25, 0.25),
	}}
	for _, e := range []float64{1, 4} {
		for _, n := range []int64{1, 100, 10_000} {
			in.Rows = append(in.Rows, answerRow("mixing online", epsilon(e), n, 0.5+e/100, 0.5), answerRow("clipped online", epsilon(e), n, 0.5, 0.25+e/100))
		}
	}
	markdown := render(t, in)
	for _, want := range []string{
		"| method | any number | 1 answer | 100 answers | 10\u2009000 answers |",
		"| mixing online, ε = 4 |  | **52.0**<br>",
		"| data set | ε | answers | less |",
		"| d | 1 | 100 | clipped online | +12.5 |",
		"| d | 1 | 10\u2009000 | mixing | +25.5 |",
	} {
		if !strings.Contains(markdown, want) {
			t.Errorf("the Markdown has no %q", want)
		}
	}
	if strings.Contains(markdown, "| d | 1 | 100 | mixing online |") {
		t.Error("a method is compared with itself")
	}
	if t.Failed() {
		t.Log(markdown)
	}
}

// TestOneSeedHasNoChance: where others have several seeds, the p-value of one would be of
// another question.
func TestOneSeedHasNoChance(t *testing.T) {
	in := input([]string{"agnews"}, 3, 10)
	in.Rows = slices.DeleteFunc(in.Rows, func(r result.Row) bool { return r.Method == "radius" && r.Seed > 0 })
	markdown := render(t, in)
	_, table, _ := strings.Cut(markdown, "by data set: clipped less each other method")
	table, notes, _ := strings.Cut(table, "\n\nStrong")
	for _, row := range strings.Split(table, "\n") {
		if alone := strings.HasSuffix(row, "| – | – |"); strings.HasPrefix(row, "| agnews") && alone != strings.Contains(row, "| radius |") {
			t.Errorf("row %q", row)
		}
	}
	if !strings.Contains(table, "| radius |") || !strings.Contains(notes, "–: of one seed alone") {
		t.Error("there is no row or no word of it:", table, notes)
	}
	in.Rows = slices.DeleteFunc(in.Rows, func(r result.Row) bool { return r.Seed > 0 })
	markdown = render(t, in)
	_, table, _ = strings.Cut(markdown, "by data set: clipped less each other method")
	table, notes, _ = strings.Cut(table, "\n\nStrong")
	if !strings.Contains(notes, "p-values are over other items, with the one seed") || strings.Contains(table, "| – |") {
		t.Error("one seed for all: p is over items", table, notes)
	}
}

// TestOnlineStandsInBothCalibrations: a vote has its own calibration, and is compared with
// both kinds of the others.
func TestOnlineStandsInBothCalibrations(t *testing.T) {
	in := input([]string{"agnews"}, 2, 10)
	var votes []result.Row
	for _, r := range in.Rows {
		if r.Method == "clipped" && !r.Calibrated {
			r.Method, r.Name, r.Online, r.Queries, r.Shots = "vote", "vote", true, 100, 0
			votes = append(votes, r)
		}
	}
	in.Rows = append(in.Rows, votes...)
	markdown := render(t, in)
	parts := strings.Split(markdown, "\n## ")
	for _, title := range []string{"agnews (calibrated)", "agnews (not calibrated)", "Comparisons (calibrated)", "Comparisons (not calibrated)"} {
		i := slices.IndexFunc(parts, func(s string) bool { return strings.HasPrefix(s, title) })
		if i < 0 || !strings.Contains(parts[i], "vote |") {
			t.Errorf("no vote in %q", title)
		}
	}
	if strings.Contains(markdown, "0 shots") {
		t.Error("no demonstrations are a number of them")
	}
}
