package lm

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestLogSoftmax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logits := rapid.SliceOfN(rapid.Float32Range(-200, 200), 1, 300).Draw(t, "logits")
		got := LogSoftmax(logits)
		var sum float64
		for i, l := range got {
			if !(l <= 0) {
				t.Fatalf("log-probability %v", l)
			}
			sum += math.Exp(l)
			// Differences are those of the logits: nothing was clipped.
			if d := (got[i] - got[0]) - (float64(logits[i]) - float64(logits[0])); math.Abs(d) > 1e-9 {
				t.Fatalf("difference off by %v", d)
			}
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("probabilities sum to %v", sum)
		}
		order := rapid.Permutation(logits).Draw(t, "order")
		moved := LogSoftmax(order)
		for i, x := range order {
			if at := slices.Index(logits, x); math.Float64bits(moved[i]) != math.Float64bits(got[at]) {
				t.Fatalf("%v in one order, %v in another", got[at], moved[i])
			}
		}
	})
}

func TestLogSoftmaxOfTheImpossible(t *testing.T) {
	none := math.Inf(-1)
	if got := LogSoftmax([]float64{none, none}); got[0] != -math.Ln2 || got[1] != -math.Ln2 {
		t.Errorf("two impossible candidates score %v", got)
	}
	if got := LogSoftmax([]float64{none, 3}); !math.IsInf(got[0], -1) || got[1] != 0 {
		t.Errorf("a possible candidate against an impossible one scores %v", got)
	}
}

func TestBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few values, so that many are equal.
		values := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 9).Draw(t, "v")) }), 1, 200).Draw(t, "values")
		k := rapid.IntRange(0, len(values)+3).Draw(t, "k")
		all := make([]Token, len(values))
		for i := range all {
			all[i] = Token(i)
		}
		slices.SortStableFunc(all, func(a, b Token) int { return int(values[b] - values[a]) })
		if got := Best(values, k); !slices.Equal(got, all[:min(k, len(all))]) {
			t.Fatalf("the best %d of %v are %v, not %v", k, values, got, all[:min(k, len(all))])
		}
	})
}
