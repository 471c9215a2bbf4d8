package mechanism_test

import (
	"math"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/privacy/noise"
)

func stream() *noise.Stream { return noise.KeyFromSeed(1).Stream("test") }

// TestAsk: noise has the deviation that a query states, around its value.
func TestAsk(t *testing.T) {
	const n, sensitivity, sigma = 20000, 1 << 20, 1.5
	q := mechanism.Query{Values: slices.Repeat([]int64{7 << 20}, n), Sensitivity: sensitivity, Sigma: sigma}
	if err := q.Ask(stream()); err != nil {
		t.Fatal(err)
	}
	var sum, squares float64
	for _, v := range q.Values {
		x := float64(v)/sensitivity - 7
		sum += x / n
		squares += x * x / n
	}
	if math.Abs(sum) > 0.06 || math.Abs(math.Sqrt(squares)-sigma) > 0.05 {
		t.Errorf("noise of mean %v and deviation %v, not 0 and %v", sum, math.Sqrt(squares), sigma)
	}
	if (mechanism.Query{Values: []int64{1}, Sensitivity: 1, Sigma: -1}).Ask(stream()) == nil {
		t.Error("noise below 0 is added")
	}
}

// TestChoices: scores in steps of a grid, times a rate, decide how often each is chosen.
func TestChoices(t *testing.T) {
	const n = 20000
	c := mechanism.Selection{Scores: []int64{0, 3 << 4, 1 << 4}, Exponent: 4, Rate: 0.5}
	s := stream()
	for name, test := range map[string]struct {
		choose func(*noise.Stream) (int, error)
		want   []float64
	}{
		"softmax":   {c.Softmax, []float64{0.1402, 0.6285, 0.2312}},
		"noisy max": {c.NoisyMax, []float64{0.0979, 0.7319, 0.1703}},
	} {
		share := make([]float64, len(c.Scores))
		for range n {
			at, err := test.choose(s)
			if err != nil {
				t.Fatal(err)
			}
			share[at] += 1. / n
		}
		for i, want := range test.want {
			if math.Abs(share[i]-want) > 0.015 {
				t.Errorf("%s: candidate %d is chosen %v of the time, not %v", name, i, share[i], want)
			}
		}
	}
	for _, wrong := range []mechanism.Selection{{}, {Scores: []int64{1}, Exponent: 63}, {Scores: []int64{1}, Rate: math.NaN()}} {
		_, soft := wrong.Softmax(s)
		_, noisy := wrong.NoisyMax(s)
		if soft == nil || noisy == nil {
			t.Errorf("%+v is answered", wrong)
		}
	}
}

func TestLargest(t *testing.T) {
	if mechanism.Largest([]int64{1, 5, 5, -2}) != 1 || mechanism.Root2*mechanism.Root2 < 2 {
		t.Error("not the first of the largest, or a root that is too small")
	}
}
