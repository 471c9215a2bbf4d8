package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// printed are outputs of programs in runs with a record and without it.
func printed(n int, of func(r *rand.Rand, with bool) string) (with, without []string) {
	r := rand.New(rand.NewPCG(11, 4))
	for range n {
		with, without = append(with, of(r, true)), append(without, of(r, false))
	}
	return with, without
}

// TestOutputs: whatever shape outputs have, what gives a record away in them is found, and where
// nothing does, nothing is.
func TestOutputs(t *testing.T) {
	noisy := func(r *rand.Rand, value float64) float64 { return value + 2*(r.ExpFloat64()-r.ExpFloat64()) }
	coin := func(r *rand.Rand) string { return []string{"red", "green", "blue"}[r.IntN(3)] }
	one := map[bool]float64{true: 1}
	for name, c := range map[string]struct {
		of   func(r *rand.Rand, with bool) string
		low  float64
		high float64
	}{
		"a number with noise of its size": {func(r *rand.Rand, with bool) string {
			return fmt.Sprintf("mean %.3f of %d", noisy(r, one[with]), 10+r.IntN(3))
		}, 0.1, 0.5},
		"a number with noise of a quarter": {func(r *rand.Rand, with bool) string {
			return fmt.Sprintf("%d %.3f", r.IntN(9), noisy(r, 8*one[with]))
		}, 1, math.Inf(1)},
		"a label that is there with the record alone": {func(r *rand.Rand, with bool) string {
			if with && r.IntN(2) == 0 {
				return coin(r) + " violet"
			}
			return coin(r) + " " + coin(r)
		}, 2, math.Inf(1)},
		"nothing": {func(r *rand.Rand, _ bool) string { return coin(r) + " " + coin(r) }, 0, 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := printed(8000, c.of)
			in, out, statistic, err := Outputs(a, b)
			if err != nil {
				t.Fatal(err)
			}
			bound, err := Many(in, out, 0, sure)
			t.Logf("%s: ε is at least %.3f, by %s", name, bound.Epsilon, statistic)
			at := expect.At(t, "by %s", statistic)
			expect.NoError(at, err)
			expect.Within(at, "bound.Epsilon", bound.Epsilon, c.low, c.high)
		})
	}
	if _, _, _, err := Outputs(make([]string, 3), make([]string, 100)); err == nil {
		t.Error("three outputs are enough")
	}
}
