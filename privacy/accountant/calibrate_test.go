package accountant

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

func TestCalibrate(t *testing.T) {
	for _, c := range []struct {
		expr           string
		epsilon, delta float64
		want           float64 // 0: only the properties are checked
	}{
		// σ for ε = 1 by dp-accounting 0.6.0 at an interval of 1e-4: 0.507179.
		{"repeat(100, poisson(20/30000, gaussian(x)))", 1, 1. / 30000, 0.507179},
		{"repeat(100, laplace(x))", 1, 1e-6, 41.4875},
		{"repeat(x, poisson(0.01, gaussian(1)))", 3, 1e-5, 2666},
		{"repeat(1000, poisson(x, gaussian(1)))", 2, 1e-6, 0.00944236},
		{"pure(x)", 1, 0, 1},
		{"repeat(10, pure(x))", 1, 0, 0.1},
		{"rr(x, 4)", 2, 0, 2},
		{"zcdp(x)", 1, 1e-6, 0},
		{"poisson(32/6908, repeat(60, boundedrange(x)))", 1, 1e-6, 0},
		{"compose(pure(0.3), gaussian(x))", 0.5, 1e-6, 0},
		{"poisson(x/6908, repeat(15, boundedrange(0.5)))", 0.5, 1e-6, 0},
	} {
		tm, err := privacy.ParseTemplate(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Calibrate(tm, Target{Epsilon: c.epsilon, Delta: c.delta})
		if err != nil {
			t.Errorf("%s", c.expr)
			continue
		}
		if got.Epsilon.Upper > c.epsilon {
			t.Errorf("%s: x = %v gives ε = %v, above %v", c.expr, got.X, got.Epsilon.Upper, c.epsilon)
		}
		if c.want > 0 && math.Abs(got.X/c.want-1) > 1.5e-3 {
			t.Errorf("%s: x = %v, want %v", c.expr, got.X, c.want)
		}
		// A little more does not fit: the answer is the extreme one.
		worse := got.X / 1.01
		if got.Increasing {
			worse = got.X * 1.01
		}
		if tm.Integer() {
			worse = math.Ceil(worse)
		}
		e, err := tm.At(worse)
		if err != nil {
			t.Fatal(err)
		}
		if eps, err := (Auto{}).Epsilon(e, privacy.AddRemove, c.delta); err != nil || eps.Upper <= c.epsilon {
			t.Errorf("%s: x = %v was found, but %v fits as well (%v, %v)", c.expr, got.X, worse, eps, err)
		}
	}
}

func TestCalibrateImpossible(t *testing.T) {
	for expr, want := range map[string]string{
		"compose(pure(1), gaussian(x))":            "the rest of the expression costs that much",
		"compose(nonprivate(), gaussian(x))":       "infinite for every x",
		"poisson(1e-9, gaussian(x))":               "not limited by the target",
		"compose(pure(1), poisson(x, laplace(1)))": "the rest of the expression costs that much",
	} {
		t.Run(expr, func(t *testing.T) {
			tm, err := privacy.ParseTemplate(expr)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Calibrate(tm, Target{Epsilon: 0.5, Delta: 1e-6})
			var impossible *ImpossibleError
			if !errors.As(err, &impossible) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	tm, _ := privacy.ParseTemplate("fixedsize(100, 10, gaussian(x))")
	var unsupported *UnsupportedError
	if _, err := Calibrate(tm, Target{Epsilon: 1, Delta: 1e-6}); !errors.As(err, &unsupported) {
		t.Errorf("a draw without a theorem: %v", err)
	}
}

// Whatever the target, the answer keeps it.
func TestCalibrateKeepsTarget(t *testing.T) {
	exprs := []string{"repeat(50, poisson(0.02, gaussian(x)))", "repeat(20, laplace(x))", "repeat(30, pure(x))", "repeat(x, gaussian(20))"}
	rapid.Check(t, func(t *rapid.T) {
		tm, err := privacy.ParseTemplate(rapid.SampledFrom(exprs).Draw(t, "expr"))
		if err != nil {
			t.Fatal(err)
		}
		target := Target{Epsilon: rapid.Float64Range(0.05, 20).Draw(t, "epsilon"), Delta: math.Pow(10, -rapid.Float64Range(2, 12).Draw(t, "log δ")), Accountant: PLD{Tolerance: 0.02}}
		got, err := Calibrate(tm, target)
		var impossible *ImpossibleError
		if errors.As(err, &impossible) {
			return // repeat(1, …) may already cost more
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := (PLD{}).Epsilon(got.Event, privacy.AddRemove, target.Delta)
		expect.NoError(t, err)
		expect.Max(t, "again.Lower", again.Lower, target.Epsilon)
		expect.Max(t, "got.Epsilon.Upper", got.Epsilon.Upper, target.Epsilon)
	})
}

func TestTotal(t *testing.T) {
	a, b := mustParse(t, "repeat(100, poisson(20/30000, gaussian(0.6)))"), mustParse(t, "laplace(5)")
	total := NewTotal(privacy.AddRemove)
	if got, err := total.Epsilon(1e-6); err != nil || got.Upper != 0 {
		t.Errorf("nothing costs %v, %v", got, err)
	}
	for range 3 {
		if err := total.Add(a, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := total.Add(b, 2); err != nil {
		t.Fatal(err)
	}
	want, err := (Auto{}).Epsilon(mustParse(t, "compose(repeat(300, poisson(20/30000, gaussian(0.6))), repeat(2, laplace(5)))"), privacy.AddRemove, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := total.Epsilon(1e-6); err != nil || got != want {
		t.Errorf("in steps %v, at once %v (%v)", got, want, err)
	}
	clone := total.clone()
	if err := clone.Add(b, -2); err != nil {
		t.Fatal(err)
	}
	if less, err := clone.Epsilon(1e-6); err != nil || less.Upper >= want.Lower {
		t.Errorf("without two runs %v, with them %v (%v)", less, want, err)
	}
	for _, limit := range []float64{want.Lower * 0.9, want.Upper * 1.1} {
		fits, err := total.Within(limit, 1e-6)
		if err != nil || fits != (limit >= want.Upper) {
			t.Errorf("within %v: %v, %v", limit, fits, err)
		}
	}
	// Many different events are still answered, by a bound that adds up.
	for i := range 40 {
		if err := total.Add(privacy.Gaussian{Sigma: 50 + float64(i)}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if more, err := total.Epsilon(1e-6); err != nil || more.Upper < want.Lower {
		t.Errorf("after 40 more events %v, before %v (%v)", more, want, err)
	}
}

func ExampleCalibrate() {
	t, _ := privacy.ParseTemplate("repeat(100, poisson(20/30000, gaussian(x)))")
	c, err := Calibrate(t, Target{Epsilon: 1, Delta: 1e-5})
	fmt.Printf("σ = %.2f, ε ≤ 1: %v, %v\n", c.X, c.Epsilon.Upper <= 1, err)
	// Output: σ = 0.54, ε ≤ 1: true, <nil>
}

func ExampleAuto_Explain() {
	e, _ := privacy.Parse("repeat(100, poisson(20/30000, gaussian(0.51)))")
	r, err := Auto{}.Explain(e, privacy.AddRemove, 1./30000)
	fmt.Printf("%.3f by %s: %s %v\n", r.Upper, r.Accountant, r.Why, err)
	// Output: 0.965 by pld: numerical composition encloses the exact answer <nil>
}

// At ε = 0 the target is a plateau; the least noise is still found.
func TestCalibrateToZero(t *testing.T) {
	tm, err := privacy.ParseTemplate("gaussian(x)")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Calibrate(tm, Target{Epsilon: 0, Delta: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	// δ(0) = 2Φ(1/2σ) − 1 ≈ 0.399/σ.
	if got.Epsilon.Upper != 0 || math.Abs(got.X/398.942-1) > 1e-3 {
		t.Errorf("σ = %v with ε = %v", got.X, got.Epsilon)
	}
}

// clone returns an independent copy.
func (t *Total) clone() *Total {
	c := NewTotal(t.adj)
	for k, v := range t.terms {
		c.terms[k] = v
	}
	for d, v := range t.last {
		c.remember(d, v)
	}
	return c
}
