package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sotto-dp/sotto/sys/expect"
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
		of    func(r *rand.Rand, with bool) string
		least float64
		most  float64
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
			expect.Within(at, "bound.Epsilon", bound.Epsilon, c.least, c.most)
		})
	}
	if _, _, _, err := Outputs(make([]string, 3), make([]string, 100)); err == nil {
		t.Error("three outputs are enough")
	}
}

// TestROC: the area is the share of pairs in the right order, intervals cover, and an attack on
// randomised response finds exactly what ε allows.
func TestROC(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	members, others := make([]float64, 300), make([]float64, 500)
	for i := range members {
		members[i] = math.Round(3 * (r.NormFloat64() + 1))
	}
	for i := range others {
		others[i] = math.Round(3 * r.NormFloat64())
	}
	roc, err := NewROC(members, others, 0.01, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	pairs := 0.
	for _, m := range members {
		for _, o := range others {
			switch {
			case m > o:
				pairs++
			case m == o:
				pairs += 0.5
			}
		}
	}
	want := pairs / float64(len(members)*len(others))
	expect.Max(t, "math.Abs(roc.Area-want)", math.Abs(roc.Area-want), 1e-12)
	expect.Max(t, "roc.AUC.Low", roc.AUC.Low, want)
	expect.Min(t, "roc.AUC.High", roc.AUC.High, want)
	// Φ(1/√2) is the area of normal scores a deviation apart.
	if want := math.Erfc(-0.5) / 2; roc.AUC.Low > want || roc.AUC.High < want {
		t.Errorf("%+v does not have %v", roc.AUC, want)
	}
	for _, e := range []float64{0, 0.5, 1, 3} {
		q := 1 / (1 + math.Exp(-e))
		// Scores of randomised response: 1 with probability q for members, and 1-q for others.
		if area, most := (q*q + q*(1-q)), MaxArea(e, 0); math.Abs(area-most) > 1e-12 {
			t.Errorf("ε = %v: area %v, and at most %v", e, area, most)
		}
		if found, most := q, MaxFound(1-q, e, 0); math.Abs(found-most) > 1e-12 {
			t.Errorf("ε = %v: found %v, and at most %v", e, found, most)
		}
	}
	if MaxArea(1, 0.1) <= MaxArea(1, 0) || MaxFound(0.001, 8, 0) != 1-math.Exp(-8)*0.999 {
		t.Errorf("%v %v", MaxArea(1, 0.1), MaxFound(0.001, 8, 0))
	}
	if _, err := NewROC(nil, others, 0.1, 0.9); err == nil {
		t.Error("no member is enough")
	}
	if Exposure(1, 1024) != 10 || Exposure(1024, 1024) != 0 {
		t.Error("exposure")
	}
}
