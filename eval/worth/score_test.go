package worth

import (
	"reflect"
	"testing"

	"github.com/sotto-dp/sotto/internal/metric"
)

// TestEvalCompare: all pairs, question by question, the later set less the earlier, with
// Holm's correction.
func TestEvalCompare(t *testing.T) {
	ones := func(n, of int) []float64 {
		scores := make([]float64, of)
		for i := range n {
			scores[i] = 1
		}
		return scores
	}
	// Sets differ in six questions, in one more, and in all seven: by 2/2⁶, 1 and 2/2⁷.
	rows := []Row{{Demos: "a", scores: ones(0, 10)}, {Demos: "b", scores: ones(6, 10)}, {Demos: "c", scores: ones(7, 10)}}
	got, err := (&Evaluation{}).compare(rows)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		a, b                    string
		difference, p, adjusted float64
	}
	var lines []line
	for _, c := range got {
		if !(c.Low <= c.Difference && c.Difference <= c.High) {
			t.Errorf("%+v", c)
		}
		lines = append(lines, line{c.A, c.B, c.Difference, c.P, c.Adjusted})
	}
	want := []line{{"b", "a", 0.6, 2. / 64, 4. / 64}, {"c", "a", 0.7, 2. / 128, 6. / 128}, {"c", "b", 0.1, 1, 1}}
	for i := range lines {
		lines[i].difference = float64(int(lines[i].difference*10+0.5)) / 10
	}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("%+v", lines)
	}
}

// TestTally: rows are what was wanted, columns what was answered.
func TestTally(t *testing.T) {
	var row Row
	row.Tally([]string{"x", "y", "z"}, []metric.Pair{{Want: "x", Got: "y"}, {Want: "x", Got: "x"}, {Want: "y", Got: "y"}, {Want: "y", Got: ""}})
	if want := [][]int{{1, 1, 0}, {0, 1, 0}, {0, 0, 0}}; !reflect.DeepEqual(row.Confusion, want) {
		t.Errorf("%v", row.Confusion)
	}
	if want := []Label{{Label: "x", N: 2, Accuracy: 0.5}, {Label: "y", N: 2, Accuracy: 0.5}, {Label: "z"}}; !reflect.DeepEqual(row.Labels, want) || row.Unanswered != 1 {
		t.Errorf("%+v, %d unanswered", row.Labels, row.Unanswered)
	}
	row.N, row.Labels[1].N = 5, 3
	if got, want := row.commonest(), (Commonest{"y", 0.6}); got == nil || *got != want {
		t.Errorf("commonest label: got %+v, want %+v", got, want)
	}
	if got := (Row{N: 4}).commonest(); got != nil {
		t.Errorf("without a list of labels: %+v", got)
	}
}
