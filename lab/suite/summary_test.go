package suite_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/sys/expect"
)

// made up rows: a data set, a method, an ε (negative for none), and for each seed the
// scores of the items.
func rowsOf(dataset, method string, epsilon float64, scores ...[]float64) []eval.Row {
	var out []eval.Row
	for seed, items := range scores {
		r := eval.Row{
			Key: fmt.Sprint(dataset, method, epsilon, seed), Dataset: dataset, Task: dataset, Method: method, Name: method, Shots: 4, Seed: uint64(seed),
			Model: "m", Answerer: "m", Calibrated: true, Metric: "accuracy", Value: stat.Mean(items), N: len(items), Items: items,
			Metrics: map[string]float64{"macro_f1": float64(seed)}, WriteTokens: int64(100 * (seed + 1)), AnswerTokens: 50,
		}
		if epsilon >= 0 {
			r.Epsilon = &epsilon
		}
		if method == "zero" {
			r.Shots = 0
		}
		out = append(out, r)
	}
	return out
}

// TestSummarise: means, deviations and tokens over seeds, by hand.
func TestSummarise(t *testing.T) {
	rows := slices.Concat(
		rowsOf("news", "clipped", 1, []float64{1, 1, 0, 0}, []float64{1, 1, 1, 0}),
		rowsOf("news", "clipped", 4, []float64{1, 1, 1, 1}),
		rowsOf("news", "real", -1, []float64{1, 0, 1, 1}, []float64{0, 0, 1, 1}),
	)
	got, err := suite.Summarise(rows)
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	first := got[0]
	expect.Equal(t, "first.Name", first.Name, "clipped")
	expect.Equal(t, "first.Epsilon", *first.Epsilon, 1)
	expect.Equal(t, "first.Seeds", first.Seeds, 2)
	expect.Equal(t, "first.N", first.N, 4)
	expect.Equal(t, "first.Shots", first.Shots, 4)
	expect.True(t, "first.Calibrated", first.Calibrated)
	// 0.5 and 0.75: mean 0.625, deviation √(2·0.125²/1).
	expect.Equal(t, "first.Mean", first.Mean, 0.625)
	expect.Max(t, "math.Abs(first.Std-0.125*math.Sqrt2)", math.Abs(first.Std-0.125*math.Sqrt2), 1e-15)
	expect.Equal(t, "first.WriteTokens", first.WriteTokens, 150)
	expect.Equal(t, "first.AnswerTokens", first.AnswerTokens, 50)
	expect.Equal(t, "first.Metrics['macro_f1']", first.Metrics["macro_f1"], 0.5)
	if !(first.Low < first.Mean && first.Mean < first.High) {
		t.Errorf("%v is not within %v–%v", first.Mean, first.Low, first.High)
	}
	want, err := stat.Crossed([][]float64{{1, 1, 0, 0}, {1, 1, 1, 0}}, stat.Options{})
	expect.NoError(t, err)
	expect.Equal(t, "want.Low", want.Low, first.Low)
	expect.Equal(t, "want.High", want.High, first.High)
	one := got[1]
	expect.Equal(t, "one.Std", one.Std, 0)
	expect.Equal(t, "one.Seeds", one.Seeds, 1)
	expect.Equal(t, "one.Mean", one.Mean, 1)
	if none := got[2]; none.Epsilon != nil || none.Mean != 0.625 {
		t.Errorf("%+v", none)
	}
	rows[1].Items = rows[1].Items[:3]
	if _, err := suite.Summarise(rows); err == nil || !strings.Contains(err.Error(), "4 and 3 items") {
		t.Errorf("%v", err)
	}
	if none, err := suite.Summarise(nil); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}

// TestCompare: pairs are at the same ε or have none, differences are those of the same
// seeds and items, and P-values are corrected for how many there are.
func TestCompare(t *testing.T) {
	good, poor := []float64{1, 1, 1, 0}, []float64{0, 1, 0, 0}
	var rows []eval.Row
	for _, dataset := range []string{"news", "questions"} {
		rows = append(rows, slices.Concat(
			rowsOf(dataset, "clipped", 1, good, good, good, good, good, good),
			rowsOf(dataset, "gaussian", 1, poor, poor, poor, poor, poor, poor, poor),
			rowsOf(dataset, "gaussian", 4, poor, poor),
			rowsOf(dataset, "real", -1, good, good, good, poor, good, good),
			rowsOf(dataset, "zero", 0, poor),
		)...)
	}
	got, err := suite.Compare(rows, "clipped")
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for _, c := range got {
		pairs = append(pairs, fmt.Sprintf("%s %s %s %.3f %d", c.Dataset, c.A, c.B, c.Difference, c.N))
	}
	want := []string{
		"news clipped gaussian 0.500 6", "questions clipped gaussian 0.500 6", " clipped gaussian 0.500 12",
		"news clipped real 0.083 6", "questions clipped real 0.083 6", " clipped real 0.083 12",
		"news clipped zero 0.500 6", "questions clipped zero 0.500 6", " clipped zero 0.500 12",
	}
	if !slices.Equal(pairs, want) {
		t.Errorf("%q", pairs)
	}
	// Six seeds that all agree: 2/2⁶; nine comparisons were made.
	first := got[0]
	expect.Equal(t, "first.P", first.P, 2.0/64)
	expect.True(t, "first.Adjusted above first.P", first.Adjusted > first.P, first.Adjusted, first.P)
	expect.Equal(t, "first.EpsilonB", *first.EpsilonB, 1)
	expect.Equal(t, "first.Shots", first.Shots, 4)
	if across := got[2]; across.P != 2.0/4096 || math.Abs(across.Adjusted-9*2.0/4096) > 1e-12 {
		t.Errorf("%+v", across)
	}
	if real := got[3]; real.P != 1 || real.EpsilonB != nil {
		t.Errorf("%+v", real)
	}
	if none, err := suite.Compare(rows, "nobody"); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
	rows[0].Items = nil
	if _, err := suite.Compare(rows, "clipped"); err == nil {
		t.Error("rows about different items were compared")
	}
}

// TestCompareAnswerers: without demonstrations there is no writer, and the comparison is
// by who answers.
func TestCompareAnswerers(t *testing.T) {
	a := rowsOf("news", "public", 0, []float64{1, 1}, []float64{1, 0})
	b := rowsOf("news", "zero", 0, []float64{0, 0})
	for i := range a {
		a[i].Model = "writer"
	}
	got, err := suite.Compare(append(a, b...), "public")
	expect.NoError(t, err)
	expect.Len(t, "got", got, 1)
	expect.Equal(t, "got[0].Difference", got[0].Difference, 0.75)
	expect.Equal(t, "got[0].N", got[0].N, 2)
}

// TestCompareOnline: answers online are compared for the same number of answers with each
// other, and for any with what is not online.
func TestCompareOnline(t *testing.T) {
	online := func(method string, queries int64, scores ...[]float64) []eval.Row {
		rows := rowsOf("news", method, 1, scores...)
		for i := range rows {
			rows[i].Key += fmt.Sprint(queries)
			rows[i].Name += " online"
			rows[i].Online, rows[i].Queries, rows[i].Shots, rows[i].Calibrated = true, queries, 0, false
		}
		return rows
	}
	a, b := []float64{1, 1, 1, 0}, []float64{0, 1, 0, 0}
	rows := slices.Concat(
		online("mixing", 10, a, a), online("mixing", 100, b, a),
		online("clipped", 10, b, b), online("clipped", 100, b, b),
		rowsOf("news", "clipped", 1, b, b), rowsOf("news", "clipped", 4, a, a), rowsOf("news", "zero", 0, b), rowsOf("news", "real", -1, a, b),
	)
	got, err := suite.Compare(rows, "mixing online")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, c := range got {
		found = append(found, fmt.Sprintf("%d %s %+.3f", c.Queries, c.B, c.Difference))
	}
	slices.Sort(found)
	want := []string{
		"10 clipped +0.500", "10 clipped online +0.500", "10 real +0.250", "10 zero +0.500",
		"100 clipped +0.250", "100 clipped online +0.250", "100 real +0.000", "100 zero +0.250",
	}
	if !slices.Equal(found, want) {
		t.Errorf("%q instead of %q", found, want)
	}
	summaries, err := suite.Summarise(rows)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(summaries, func(s suite.Summary) bool { return s.Online && s.Queries == 100 && s.Name == "mixing online" }); i < 0 || summaries[i].Mean != 0.5 {
		t.Errorf("%+v", summaries)
	}
	// The other way round, what is not online has several to be compared with.
	if got, err = suite.Compare(rows, "clipped"); err != nil || len(got) != 4+4 {
		t.Errorf("%d comparisons, %v", len(got), err)
	}
}
