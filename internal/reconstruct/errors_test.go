package reconstruct

import (
	"math"
	"math/rand/v2"
	"testing"
)

// falseReject bounds the probability that a statistical test rejects what is right.
const falseReject = 1e-9

// bernstein bounds how far the mean of n independent numbers is from its expectation but
// with probability falseReject/tests, if they have a variance and lie within a range of
// their expectation.
func bernstein(variance, reach, n float64, tests int) float64 {
	l := math.Log(2 * float64(tests) / falseReject)
	return math.Sqrt(2*variance*l/n) + 2*reach*l/(3*n)
}

// TestInverseIsUnbiased: over a million rows, the inverse is as near to the truth as
// Bernstein's inequality says (it is a mean over rows of entries of the inverse matrix),
// and with another ε than that of the rows it is not.
func TestInverseIsUnbiased(t *testing.T) {
	const rows = 1_000_000
	for _, test := range []struct {
		domains  []int
		epsilons []float64
		truth    []float64
	}{
		{[]int{2, 3}, []float64{1, 1.5}, []float64{0.4, 0.05, 0.05, 0, 0.3, 0.2}},
		{[]int{4}, []float64{0.5}, []float64{0.7, 0.3, 0, 0}},
		{[]int{2, 1, 2}, []float64{1, 0, 2}, []float64{0.05, 0, 0.1, 0.85}},
	} {
		n := observe(response(test.domains, test.epsilons, 1), test.truth, rows, rand.New(rand.NewPCG(10, 11)))
		for _, scale := range []float64{1, 0.9, 1.1} {
			c := response(test.domains, test.epsilons, scale)
			n.channel = c
			got, err := unbiased(n)
			if err != nil {
				t.Fatal(err)
			}
			reach, squares := 1., c.axes()
			for i, a := range c.axes() {
				reach *= max(1, math.Abs(a.inverse().keep))
				squares[i] = a.inverse().squares()
			}
			second := append([]float64(nil), test.truth...)
			plain(second, c.axes())
			plain(second, squares)
			off := false
			for i, v := range got {
				variance := second[i] - test.truth[i]*test.truth[i]
				off = off || math.Abs(v-test.truth[i]) > bernstein(variance, 2*reach, rows, len(got))
			}
			if off != (scale != 1) {
				t.Errorf("%v at ε×%v: %v of %v", test.domains, scale, got, test.truth)
			}
		}
	}
}

// response returns the channel of randomised response with ε times a scale.
func response(domains []int, epsilons []float64, scale float64) Channel {
	c := Channel{Domains: domains}
	for i, d := range domains {
		e := math.Exp(epsilons[i] * scale)
		c.Keep = append(c.Keep, e/(e+float64(d-1)))
	}
	return c
}

// TestErrorsCover: over many tables, estimates are off by as much as their standard errors
// say. The mean of 6,000 squares of normal deviates is within ±12 % of 1 but with
// probability 1e-10; errors that are a tenth too small or too large are rejected.
func TestErrorsCover(t *testing.T) {
	const tables, rows = 6000, 1000
	c := response([]int{2, 3}, []float64{1.5, 2}, 1)
	truth := []float64{0.4, 0.1, 0.1, 0.05, 0.25, 0.1}
	r := rand.New(rand.NewPCG(12, 13))
	squares, marginal, worst := 0., 0., 0.
	for range tables {
		n := observe(c, truth, rows, r)
		got, err := unbiased(n)
		if err != nil {
			t.Fatal(err)
		}
		errors, err := Errors(n)
		if err != nil {
			t.Fatal(err)
		}
		squares += math.Pow((got[1]-truth[1])/errors[1], 2)
		m, err := n.Marginal(1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err = unbiased(m); err != nil {
			t.Fatal(err)
		}
		if errors, err = Errors(m); err != nil {
			t.Fatal(err)
		}
		marginal += math.Pow((got[0]-0.45)/errors[0], 2)
		worst = max(worst, math.Abs(errors[0]-m.channel.ShareError(0, 0.45, rows))/errors[0])
	}
	for name, mean := range map[string]float64{"cell": squares / tables, "marginal": marginal / tables} {
		t.Run(name, func(t *testing.T) {
			t.Logf("%s: mean square %.3f", name, mean)
			for _, scale := range []float64{1, 0.9, 1.1} {
				if right := math.Abs(mean/(scale*scale)-1) < 0.12; right != (scale == 1) {
					t.Errorf("mean square of deviations in errors×%v is %v", scale, mean/(scale*scale))
				}
			}
		})
	}
	if worst > 0.1 {
		t.Errorf("the error predicted before any row was seen is off by %.0f %%", 100*worst)
	}
}

// TestPredictions: the errors that channels predict equal those of the exact shares, their
// largest and their root mean square.
func TestPredictions(t *testing.T) {
	c := response([]int{2, 3, 1}, []float64{1, 2, 0}, 1)
	const rows = 500
	truth := []float64{0.3, 0.1, 0.2, 0.25, 0.1, 0.05}
	total := 0.
	inverse, lambda := c.axes(), append([]float64(nil), truth...)
	plain(lambda, c.axes())
	for i, a := range inverse {
		inverse[i] = a.inverse().squares()
	}
	plain(lambda, inverse)
	for i, v := range lambda {
		total += (v - truth[i]*truth[i]) / rows
	}
	// With Σπ² in place of 1/cells.
	exact := math.Sqrt(total / 6)
	if got := c.CellError(rows); got < exact || got > exact*1.02 {
		t.Errorf("errors of cells: %v, want a little more than %v", got, exact)
	}
	for column := range 2 {
		largest := 0.
		for share := 0.; share <= 1; share += 0.001 {
			largest = max(largest, c.ShareError(column, share, rows))
		}
		if got := c.WorstError(column, rows); got < largest || got > largest*1.0001 {
			t.Errorf("column %d: worst error %v, want %v", column, got, largest)
		}
	}
	if got := c.WorstError(2, rows); got != 0 {
		t.Errorf("a column of one value has an error of %v", got)
	}
}
