package privacy_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/privacytest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	. "github.com/sotto-dp/sotto/privacy"
)

func TestParsePrints(t *testing.T) {
	for in, want := range map[string]string{
		"repeat(100, poisson(20/30000, gaussian(0.51)))": "repeat(100, poisson(1/1500, gaussian(0.51)))",
		" gaussian( 1e0 ) ":                            "gaussian(1)",
		"repeat(1e7,laplace(2.50))":                    "repeat(10000000, laplace(2.5))",
		"compose()":                                    "compose()",
		"gaussian(123456789)":                          "gaussian(123456789)",
		"gaussian(38621914/24710087)":                  "gaussian(1.5630019432954647)",
		"compose(pure(1),rr(0.5,4),zcdp(1/3))":         "compose(pure(1), rr(0.5, 4), zcdp(1/3))",
		"approx(.5, 1/1000000)":                        "approx(0.5, 1e-06)",
		"parallel(boundedrange(.25),nonprivate())":     "parallel(boundedrange(0.25), nonprivate())",
		"fixedsize(2953, 40, gaussian(1))":             "fixedsize(2953, 40, gaussian(1))",
		"poisson(1e-9, compose(gaussian(1), pure(0)))": "poisson(1e-09, compose(gaussian(1), pure(0)))",
	} {
		t.Run(in, func(t *testing.T) {
			e, err := Parse(in)
			if err != nil {
				t.Errorf("%v", err)
			} else if e.String() != want {
				t.Errorf("%s prints as %s, want %s", in, e, want)
			}
		})
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := privacytest.Events().Draw(t, "event")
		back, err := Parse(e.String())
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		if !reflect.DeepEqual(back, e) {
			t.Fatalf("%#v prints as %s and comes back as %#v", e, e, back)
		}
	})
}

func TestNumbersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(
			rapid.Float64Range(1e-9, 1e15),
			rapid.Custom(func(t *rapid.T) float64 {
				return float64(rapid.Int64Range(1, 1e6).Draw(t, "num")) / float64(rapid.Int64Range(1, 1e9).Draw(t, "den"))
			})).Draw(t, "v")
		s := FormatNumber(v)
		e, err := Parse("gaussian(" + s + ")")
		if err != nil || e.(Gaussian).Sigma != v {
			t.Fatalf("%v prints as %s and comes back as %v, %v", v, s, e, err)
		}
	})
}

// Rewritings under which Canonical must not tell two events apart.
func TestCanonicalIdentities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := privacytest.Events()
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		n := rapid.Int64Range(1, 5).Draw(t, "n")
		copies := make([]Event, n)
		for i := range copies {
			copies[i] = a
		}
		for _, pair := range [][2]Event{
			{Compose{[]Event{a, b}}, Compose{[]Event{b, a}}},
			{Compose{[]Event{Compose{[]Event{a}}, b}}, Compose{[]Event{a, Compose{[]Event{b}}}}},
			{Repeat{n, a}, Compose{copies}},
			{Repeat{n, Compose{[]Event{a, b}}}, Compose{[]Event{Repeat{n, b}, Repeat{n, a}}}},
			{Repeat{2, Repeat{n, a}}, Repeat{n, Repeat{2, a}}},
			{Poisson{1, a}, a},
			{Compose{[]Event{Approx{float64(n), 0}, a}}, Compose{[]Event{a, Pure{float64(n)}}}},
			{Poisson{0, a}, Compose{}},
			{FixedSize{7, 7, a}, a},
			{Parallel{[]Event{a}}, a},
			{Parallel{[]Event{a, b}}, Parallel{[]Event{b, a}}},
			{Parallel{[]Event{a, a, a}}, Parallel{[]Event{a, a}}},
			{Poisson{0.5, Compose{[]Event{a, b}}}, Poisson{0.5, Compose{[]Event{b, a}}}},
		} {
			x, y := Canonical(pair[0]).String(), Canonical(pair[1]).String()
			if x != y {
				t.Fatalf("%s and %s are equal mechanisms, but print as %s and %s", pair[0], pair[1], x, y)
			}
		}
		c := Canonical(a)
		if again := Canonical(c); !reflect.DeepEqual(again, c) {
			t.Fatalf("canonical form of %s is %s, of that %s", a, c, again)
		}
		if err := Validate(c); err != nil {
			t.Fatalf("canonical form of a valid event is not valid: %v", err)
		}
	})
}

// Under replace-one a record touches two parts, so a second equal part counts.
func TestCanonicalKeepsTwoEqualParts(t *testing.T) {
	e := Canonical(Parallel{[]Event{Pure{1}, Pure{1}, Pure{1}}})
	if e.String() != "parallel(pure(1), pure(1))" {
		t.Errorf("got %s", e)
	}
}

// δ = 0 is the claim of pure(ε), and a δ above 0 is never dropped.
func TestCanonicalApprox(t *testing.T) {
	for in, want := range map[string]string{
		"approx(1, 0)":                             "pure(1)",
		"compose(approx(1, 0), pure(1))":           "repeat(2, pure(1))",
		"poisson(0.5, approx(1, 0))":               "poisson(0.5, pure(1))",
		"approx(0, 1e-300)":                        "approx(0, 1e-300)",
		"compose(approx(1, 1e-6), approx(1,1e-6))": "repeat(2, approx(1, 1e-06))",
		"compose(approx(1, 1e-6), approx(1,1e-7))": "compose(approx(1, 1e-06), approx(1, 1e-07))",
	} {
		t.Run(in, func(t *testing.T) {
			e, err := Parse(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := Canonical(e).String(); got != want {
				t.Errorf("%s becomes %s, want %s", in, got, want)
			}
		})
	}
}

func TestTerms(t *testing.T) {
	e, err := Parse("compose(repeat(3, compose(gaussian(2), laplace(1))), gaussian(2))")
	if err != nil {
		t.Fatal(err)
	}
	terms, err := Terms(e)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(terms); got != "[{gaussian(2) 4} {laplace(1) 3}]" {
		t.Errorf("got %s", got)
	}
	big := Repeat{1 << 40, Repeat{1 << 40, Pure{1}}}
	if _, err := Terms(big); err == nil {
		t.Error("2^80 repeats were accepted")
	}
}

func TestErrorsNameNodeAndPosition(t *testing.T) {
	for _, c := range []struct {
		expr string
		col  int
		want string
	}{
		{"", 1, "an event should stand here"},
		{"gauss(1)", 1, `unknown event "gauss"`},
		{"repeat(10, gaussian(-1))", 12, "gaussian: σ is -1"},
		{"repeat(10, poisson(1.5, gaussian(1)))", 12, "poisson: q is 1.5"},
		{"repeat(0, gaussian(1))", 1, "repeat: n is 0"},
		{"repeat(1.5, gaussian(1))", 8, "whole number"},
		{"gaussian(1) gaussian(1)", 13, "should end here"},
		{"gaussian()", 10, "a number should stand here"},
		{"gaussian(1, 2)", 11, "gaussian takes one number"},
		{"compose(gaussian(1),)", 21, "an event should stand here"},
		{"fixedsize(10, 20, gaussian(1))", 1, "fixedsize: m is 20"},
		{"rr(1, 1)", 1, "rr: k is 1"},
		{"gaussian(1/0)", 12, "no finite value"},
		{"gaussian(x)", 10, "calibration"},
		{"gaussian(1e999)", 10, "out of range"},
		{"gaussian(NaN)", 10, "a number should stand here"},
		{"parallel()", 1, "no parts"},
		{"compose(pure(1), approx(-1, 1e-6))", 18, "approx: ε is -1"},
		{"approx(1, 1)", 1, "approx: δ is 1, it should be at least 0 and below 1"},
		{"approx(1, -1e-9)", 1, "approx: δ is -1e-09"},
		{"approx(1)", 9, "approx takes two numbers"},
		{"pure(1e30)", 1, "nonprivate()"},
		{strings.Repeat("repeat(1,", 70) + "pure(1)" + strings.Repeat(")", 70), 577, "nested more than"},
	} {
		_, err := Parse(c.expr)
		if err == nil {
			t.Errorf("%s: accepted", c.expr)
			continue
		}
		if !strings.HasPrefix(err.Error(), fmt.Sprintf("column %d: ", c.col)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want column %d and %q", c.expr, err, c.col, c.want)
		}
	}
}

func TestValidateValues(t *testing.T) {
	for _, c := range []struct {
		e    Event
		node string
		off  int
	}{
		{Repeat{3, Compose{[]Event{Pure{1}, Gaussian{math.NaN()}}}}, "gaussian", 27},
		{Poisson{math.Inf(1), Pure{1}}, "poisson", 0},
		{Repeat{3, nil}, "event", 10},
		{Laplace{0}, "laplace", 0},
		{RandomizedResponse{1, 0}, "rr", 0},
		{Compose{[]Event{Approx{1, math.NaN()}}}, "approx", 8},
		{Approx{math.Inf(1), 0}, "approx", 0},
	} {
		at := expect.At(t, "%#v", c.e)
		pe := expect.As[*ParameterError](at, Validate(c.e))
		expect.Equal(at, "pe.Node", pe.Node, c.node)
		expect.Equal(at, "pe.Offset", pe.Offset, c.off)
	}
	deep := Event(Pure{1})
	for range 100 {
		deep = Repeat{1, deep}
	}
	if Validate(deep) == nil {
		t.Error("an event nested 101 deep was accepted")
	}
	if err := Validate(Gaussian{1}); err != nil {
		t.Error(err)
	}
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct {
		expr, at string
		x        float64
		integer  bool
	}{
		{"repeat(100, poisson(20/30000, gaussian(x)))", "repeat(100, poisson(1/1500, gaussian(2)))", 2, false},
		{"repeat(x, gaussian(1))", "repeat(7, gaussian(1))", 7, true},
		{"poisson(x/3000, gaussian(20/x))", "poisson(1/300, gaussian(2))", 10, false},
		{"fixedsize(x, 10, pure(1))", "fixedsize(20, 10, pure(1))", 20, true},
		{"approx(x, 1e-7)", "approx(2, 1e-07)", 2, false},
		{"approx(1, x)", "approx(1, 0.25)", 0.25, false},
		{"fixedsize(1000, x, pure(1))", "fixedsize(1000, 3, pure(1))", 3, true},
	} {
		tm, err := ParseTemplate(c.expr)
		if err != nil {
			t.Errorf("%s", c.expr)
			continue
		}
		if tm.Integer() != c.integer {
			t.Errorf("%s: integer is %v", c.expr, tm.Integer())
		}
		if e, err := tm.At(c.x); err != nil || e.String() != c.at {
			t.Errorf("%s at %v: %v, %v", c.expr, c.x, e, err)
		}
	}
	for _, bad := range []string{"gaussian(1)", "gaussian(x", "poisson(2, gaussian(x))", "gaussian(y)"} {
		if _, err := ParseTemplate(bad); err == nil {
			t.Errorf("%s: accepted as a template", bad)
		}
	}
}

func TestDefaultDelta(t *testing.T) {
	if d := DefaultDelta(100); d != 1e-6 {
		t.Errorf("n=100: %v", d)
	}
	if d := DefaultDelta(1e8); d >= 1e-8 || d < 1e-9 {
		t.Errorf("n=1e8: %v", d)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"repeat(100, poisson(20/30000, gaussian(0.51)))", "compose(rr(1,3),parallel(pure(0),zcdp(1)),fixedsize(9,3,laplace(2)))", "nonprivate()", "repeat(2, poisson(0.5, compose(approx(1, 1e-6), approx(2, 0))))", "x", "gaussian(1/3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := Parse(s)
		if err != nil {
			return
		}
		if err := Validate(e); err != nil {
			t.Fatalf("%q parses to an event that is not valid: %v", s, err)
		}
		back, err := Parse(e.String())
		if err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%q prints as %q, which does not come back: %v", s, e, err)
		}
		c := Canonical(e)
		if again := Canonical(c); again.String() != c.String() {
			t.Fatalf("canonical form is not stable: %s, then %s", c, again)
		}
	})
}

func ExampleParse() {
	e, err := Parse("repeat(100, poisson(20/30000, gaussian(0.51)))")
	fmt.Println(e, err)
	_, err = Parse("repeat(100, poisson(20/30000, gaussian(0)))")
	fmt.Println(err)
	// Output:
	// repeat(100, poisson(1/1500, gaussian(0.51))) <nil>
	// column 31: gaussian: σ is 0, it should be above 0 (between 1e-09 and 1e+15) (at ⟨here⟩ in "…(100, poisson(20/30000, ⟨here⟩gaussian(0)))")
}

func ExampleCanonical() {
	a, _ := Parse("compose(laplace(2), gaussian(1), compose(laplace(2)))")
	fmt.Println(Canonical(a))
	// Output: compose(gaussian(1), repeat(2, laplace(2)))
}

// TestUnsampled: sampling goes and all else stays, how often it runs above all.
func TestUnsampled(t *testing.T) {
	for in, want := range map[string]string{
		"repeat(2, poisson(1/8, boundedrange(4)))":                                     "repeat(2, boundedrange(4))",
		"compose(laplace(20), repeat(2, poisson(1/8, boundedrange(4))))":               "compose(repeat(2, boundedrange(4)), laplace(20))",
		"repeat(4, poisson(1/8, repeat(60, boundedrange(1))))":                         "repeat(240, boundedrange(1))",
		"repeat(10, fixedsize(100, 10, compose(gaussian(2), laplace(1))))":             "compose(repeat(10, gaussian(2)), repeat(10, laplace(1)))",
		"poisson(1/8, poisson(1/4, pure(1)))":                                          "pure(1)",
		"parallel(repeat(3, poisson(1/8, pure(1))), repeat(5, poisson(1/4, pure(1))))": "parallel(repeat(3, pure(1)), repeat(5, pure(1)))",
		"compose(poisson(0, gaussian(1)), pure(1))":                                    "pure(1)",
		"compose()":   "compose()",
		"gaussian(1)": "gaussian(1)",
	} {
		t.Run(in, func(t *testing.T) {
			e, err := Parse(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := Unsampled(e).String(); got != want {
				t.Errorf("%s without its sampling is %s, want %s", in, got, want)
			}
			if Sampled(e) != strings.Contains(Canonical(e).String(), "poisson") && !strings.Contains(in, "fixedsize") {
				t.Errorf("sampled is %v of %s", Sampled(e), in)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		e := privacytest.Events().Draw(t, "event")
		out := Unsampled(e)
		if err := Walk(out, func(n Event, _ int) error {
			if n.Node() == "poisson" || n.Node() == "fixedsize" {
				return errors.New("it is sampled")
			}
			return nil
		}); err != nil {
			t.Fatalf("%s becomes %s: %v", e, out, err)
		}
		if again := Unsampled(out); again.String() != out.String() {
			t.Fatalf("%s becomes %s and then %s", e, out, again)
		}
	})
}
