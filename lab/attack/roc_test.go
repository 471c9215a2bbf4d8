package attack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sotto-dp/sotto/internal/audit"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

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
		if area, bound := (q*q + q*(1-q)), MaxArea(e, 0); math.Abs(area-bound) > 1e-12 {
			t.Errorf("ε = %v: area %v, and at most %v", e, area, bound)
		}
		if found, bound := q, audit.MaxFound(1-q, e, 0); math.Abs(found-bound) > 1e-12 {
			t.Errorf("ε = %v: found %v, and at most %v", e, found, bound)
		}
	}
	if MaxArea(1, 0.1) <= MaxArea(1, 0) || audit.MaxFound(0.001, 8, 0) != 1-math.Exp(-8)*0.999 {
		t.Errorf("%v %v", MaxArea(1, 0.1), audit.MaxFound(0.001, 8, 0))
	}
	if _, err := NewROC(nil, others, 0.1, 0.9); err == nil {
		t.Error("no member is enough")
	}
	if Exposure(1, 1024) != 10 || Exposure(1024, 1024) != 0 {
		t.Error("exposure")
	}
}
