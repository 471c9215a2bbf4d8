package reconstruct

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestProject: the result is a distribution, and no way from it to another one leads
// nearer: (x−p)·(q−p) ≤ 0 for every corner q of the simplex, which is what makes p the
// nearest point of a convex set.
func TestProject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-3, 3), 1, 40).Draw(t, "x")
		p := append([]float64(nil), x...)
		project(p)
		sum, inner := 0., 0.
		for i, v := range p {
			if !(v >= 0) {
				t.Fatalf("%v", p)
			}
			sum += v
			inner += (x[i] - v) * v
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("adds up to %v", sum)
		}
		for i := range p {
			if x[i]-p[i]-inner > 1e-9 {
				t.Fatalf("corner %d is in the direction of %v from %v", i, x, p)
			}
		}
		again := append([]float64(nil), p...)
		project(again)
		near(t, "projected twice", again, p, 1e-12)
	})
}

func TestProjectCorners(t *testing.T) {
	for _, test := range []struct{ x, want []float64 }{
		{[]float64{}, []float64{}},
		{[]float64{-7}, []float64{1}},
		{[]float64{0, 0}, []float64{0.5, 0.5}},
		{[]float64{2, 0}, []float64{1, 0}},
		{[]float64{0.6, 0.5, -0.1}, []float64{0.55, 0.45, 0}},
		{[]float64{1e300, -1e300}, []float64{1, 0}},
		{[]float64{1e20, 1, 2}, []float64{1, 0, 0}},
	} {
		got := append([]float64{}, test.x...)
		project(got)
		near(t, "projection", got, test.want, 1e-12)
	}
	x := make([]float64, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = r.NormFloat64()
	}
	project(x)
	sum := 0.
	for _, v := range x {
		sum += v
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("a million cells add up to %v", sum)
	}
}
