package metric

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// letterPairs makes an answer of each letter.
func letterPairs(want, got string) []Pair {
	var pairs []Pair
	for i := range want {
		pairs = append(pairs, Pair{want[i : i+1], got[i : i+1]})
	}
	return pairs
}

// TestConfusionReferences compares with scikit-learn 1.5.2: balanced_accuracy_score and
// matthews_corrcoef of the same lists.
func TestConfusionReferences(t *testing.T) {
	for _, c := range []struct {
		want, got     string
		balanced, mcc float64
	}{
		{"yynnnnynyn", "ynnnynynnn", 0.6666666666666667, 0.3563483225498992},
		{"aaabbbcccc", "aabbbcccca", 0.6944444444444443, 0.5454545454545454},
		{"nnnnyyyynn", "nnnnnnnnnn", 0.5, 0},
		{"yyynn", "nnyyy", 0.16666666666666666, -0.6666666666666666},
		{"aabbcc", "aabbdd", 0.6666666666666666, 0.6666666666666666},
		{"nnnn", "nnnn", 1, 0},
		{"yyyy", "nnny", 0.25, 0},
	} {
		pairs := letterPairs(c.want, c.got)
		if v := value(t, "balanced_accuracy", pairs); !near(v, c.balanced) {
			t.Errorf("%s, %s: balanced accuracy is %v instead of %v", c.want, c.got, v, c.balanced)
		}
		if v := value(t, "mcc", pairs); !near(v, c.mcc) {
			t.Errorf("%s, %s: MCC is %v instead of %v", c.want, c.got, v, c.mcc)
		}
	}
}

// TestTwoLabels: with two labels MCC is the textbook's fraction, swapping the labels of all
// answers turns its sign, and balanced accuracy of both together is 1.
func TestTwoLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(rapid.IntRange(0, 9), 4, 4).Draw(t, "cells")
		tp, fn, fp, tn := cells[0], cells[1], cells[2], cells[3]
		if tp+fn == 0 || fp+tn == 0 {
			t.Skip("one label was never wanted")
		}
		var pairs, swapped []Pair
		for i, kind := range []Pair{{"y", "y"}, {"y", "n"}, {"n", "y"}, {"n", "n"}} {
			for range cells[i] {
				pairs = append(pairs, kind)
				swapped = append(swapped, Pair{kind.Want, map[string]string{"y": "n", "n": "y"}[kind.Got]})
			}
		}
		want := 0.0
		if below := float64((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)); below > 0 {
			want = float64(tp*tn-fp*fn) / math.Sqrt(below)
		}
		if got := matthews(pairs); math.Abs(got-want) > 1e-12 {
			t.Fatalf("MCC is %v instead of %v", got, want)
		}
		if got := matthews(swapped); math.Abs(got+want) > 1e-12 {
			t.Fatalf("MCC of swapped answers is %v instead of %v", got, -want)
		}
		if sum := balancedAccuracy(pairs) + balancedAccuracy(swapped); math.Abs(sum-1) > 1e-12 {
			t.Fatalf("both together are %v", sum)
		}
	})
}
