package attack

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestAUCReferences compares with roc_auc_score of scikit-learn 1.5.2.
func TestAUCReferences(t *testing.T) {
	for _, c := range []struct {
		positive []int
		scores   []float64
		want     float64
	}{
		{[]int{1, 0, 1, 0, 0, 1}, []float64{.9, .1, .4, .4, .35, .8}, 0.9444444444444444},
		{[]int{0, 0, 1, 1}, []float64{.1, .4, .35, .8}, 0.75},
		{[]int{1, 1, 0, 0}, []float64{.1, .2, .3, .4}, 0},
		{[]int{1, 0, 1, 0}, []float64{.5, .5, .5, .5}, 0.5},
		{[]int{1, 0, 0, 1, 0, 1, 1, 0}, []float64{.2, .2, .3, .3, .1, .6, .05, .6}, 0.46875},
	} {
		positive := make([]bool, len(c.positive))
		for i, p := range c.positive {
			positive[i] = p == 1
		}
		if got, err := AUC(positive, c.scores); err != nil || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v, %v: %v instead of %v, %v", c.positive, c.scores, got, c.want, err)
		}
	}
}

// TestAUC: it is the share of pairs in order, whatever keeps their order is done to scores.
func TestAUC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		positive := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "positive")
		scores := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 5), func(i int) float64 { return float64(i) / 5 }), n, n).Draw(t, "scores")
		pairs, above := 0., 0.
		for i := range n {
			for j := range n {
				if !positive[i] || positive[j] {
					continue
				}
				pairs++
				switch {
				case scores[i] > scores[j]:
					above++
				case scores[i] == scores[j]:
					above += 0.5
				}
			}
		}
		got, err := AUC(positive, scores)
		if (err != nil) != (pairs == 0) {
			t.Fatalf("%v pairs: %v", pairs, err)
		}
		if err != nil {
			return
		}
		moved := make([]float64, n)
		for i, s := range scores {
			moved[i] = math.Exp(3*s) - 7
		}
		again, err := AUC(positive, moved)
		expect.NoError(t, err)
		expect.Equal(t, "again", again, got)
		expect.Max(t, "math.Abs(got-above/pairs)", math.Abs(got-above/pairs), 1e-12)
	})
	if _, err := AUC([]bool{true}, nil); err == nil {
		t.Error("a score is missing")
	}
	if _, err := AUC([]bool{true, false}, []float64{0, math.NaN()}); err == nil {
		t.Error("a score is not a number")
	}
}
