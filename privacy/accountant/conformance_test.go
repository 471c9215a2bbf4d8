package accountant

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/privacytest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// all lists every accountant; each passes every test in this file.
var all = []Accountant{
	PLD{},
	PLD{Tolerance: 0.05},
	RDP{},
	Auto{},
}

// complete are those that refuse nothing but draws without a theorem.
func complete(a Accountant) bool { return a.Name() == "pld" || a.Name() == "auto" }

func mustParse(t testing.TB, s string) privacy.Event {
	e, err := privacy.Parse(s)
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
	return e
}

// unsupported reports whether an accountant refused an event, and that the
// refusal names a node of it.
func unsupported(t interface{ Fatalf(string, ...any) }, a Accountant, e privacy.Event, err error) bool {
	if err == nil {
		return false
	}
	var u *UnsupportedError
	if !errors.As(err, &u) {
		t.Fatalf("%s on %s: %v", a.Name(), e, err)
	}
	if !strings.HasPrefix(u.Expr[u.Offset:], u.Node) {
		t.Fatalf("%s on %s: the error names %s at %d, but %q stands there", a.Name(), e, u.Node, u.Offset, u.Expr[u.Offset:])
	}
	return true
}

// Rounding of the reference profiles themselves.
const referenceError = 1e-9

func TestPlainEncloseExactEpsilon(t *testing.T) {
	for _, c := range exactCases {
		e := mustParse(t, c.event)
		for _, delta := range []float64{0.3, 1e-2, 1e-5, 1e-9, 1e-13} {
			truth := invert(c.delta, delta)
			for _, a := range all {
				got, err := a.Epsilon(e, c.adj, delta)
				if unsupported(t, a, e, err) {
					if complete(a) {
						t.Errorf("%s refuses %s: %v", a.Name(), e, err)
					}
					continue
				}
				if math.IsInf(truth, 1) {
					if !math.IsInf(got.Upper, 1) || complete(a) && !math.IsInf(got.Lower, 1) {
						t.Errorf("%s: no ε of %s at δ=%g is finite, but it is said to be in [%v, %v]", a.Name(), e, delta, got.Lower, got.Upper)
					}
					continue
				}
				slack := referenceError * (1 + truth)
				if got.Lower > truth+slack || got.Upper < truth-slack {
					t.Errorf("%s: ε of %s at δ=%g is %v, not in [%v, %v]", a.Name(), e, delta, truth, got.Lower, got.Upper)
				}
				if complete(a) && a != (PLD{Tolerance: 0.05}) && c.adj != privacy.ReplaceOne && got.Width() > 1e-3*got.Upper+slack {
					t.Errorf("%s: ε of %s at δ=%g is only known to be in [%v, %v]", a.Name(), e, delta, got.Lower, got.Upper)
				}
			}
		}
	}
}

func TestPlainEncloseExactDelta(t *testing.T) {
	for _, c := range exactCases {
		e := mustParse(t, c.event)
		for _, epsilon := range []float64{0, 0.01, 0.3, 1.5, 4} {
			truth := c.delta(epsilon)
			for _, a := range all {
				got, err := a.Delta(e, c.adj, epsilon)
				if unsupported(t, a, e, err) {
					continue
				}
				if got.Lower > truth*(1+1e-7)+1e-15 || got.Upper < truth*(1-1e-7)-1e-15 {
					t.Errorf("%s: δ of %s at ε=%g is %v, not in [%v, %v]", a.Name(), e, epsilon, truth, got.Lower, got.Upper)
				}
			}
		}
	}
}

// Values of methods that were published, or computed for them by two other
// libraries (dp_accounting and prv_accountant), to half a percent.
func TestPublishedEpsilons(t *testing.T) {
	for _, c := range []struct {
		event string
		delta float64
		want  float64
	}{
		{"repeat(100, poisson(20/30000, gaussian(0.51)))", 1. / 30000, 0.965},
		{"repeat(100, poisson(20/30000, gaussian(0.46)))", 1. / 30000, 1.789},
		{"repeat(100, poisson(20/30000, gaussian(0.39)))", 1. / 30000, 3.815},
		{"repeat(100, poisson(20/30000, gaussian(0.31)))", 1. / 30000, 7.967},
		{"repeat(15, poisson(80/835, gaussian(1.36)))", 1. / 835, 0.951},
		{"repeat(15, poisson(80/835, gaussian(0.95)))", 1. / 835, 1.935},
		{"repeat(15, poisson(80/835, gaussian(0.69)))", 1. / 835, 3.955},
		{"repeat(15, poisson(80/835, gaussian(0.51)))", 1. / 835, 7.968},
		{"repeat(80, poisson(80/2953, gaussian(1.08)))", 1. / 2953, 0.985},
		{"repeat(80, poisson(80/2953, gaussian(0.81)))", 1. / 2953, 1.994},
		{"repeat(80, poisson(80/2953, gaussian(0.64)))", 1. / 2953, 3.843},
		{"repeat(80, poisson(80/2953, gaussian(0.50)))", 1. / 2953, 7.704},
		// The adaptive-radius method: Gaussians composed inside one sample, of
		// which σ = 0.545 is the sum.
		{"repeat(100, poisson(20/30000, gaussian(0.545)))", 1. / 120000, 1},
		{"repeat(100, poisson(20/30000, compose(repeat(2, gaussian(0.79)), gaussian(2.4837))))", 1. / 120000, 1},
	} {
		for _, a := range []Accountant{PLD{}, Auto{}} {
			got, err := a.Epsilon(mustParse(t, c.event), privacy.AddRemove, c.delta)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.Upper/c.want-1) > 0.005 || got.Width() > 1e-3*got.Upper {
				t.Errorf("%s: ε of %s is [%v, %v], published as %v", a.Name(), c.event, got.Lower, got.Upper, c.want)
			}
		}
	}
}

// Two accountants are both right, so no lower end may pass another's upper end.
func TestPlainAccountantsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := privacytest.Events().Draw(t, "event")
		adj := rapid.SampledFrom([]privacy.Adjacency{privacy.AddRemove, privacy.ReplaceOne}).Draw(t, "adjacency")
		delta := math.Pow(10, -rapid.Float64Range(0.3, 12).Draw(t, "log δ"))
		smallest, largest := math.Inf(1), 0.0
		var smallestBy, largestBy string
		for _, a := range []Accountant{PLD{Tolerance: 0.05}, RDP{}, onlyRanges{0.05}, Auto{Tolerance: 0.05}} {
			got, err := a.Epsilon(e, adj, delta)
			if unsupported(t, a, e, err) {
				continue
			}
			at := expect.At(t, "%s: ε of %s at %g", a.Name(), e, delta)
			expect.True(at, "got.Lower is a number", !math.IsNaN(got.Lower))
			expect.True(at, "got.Upper is a number", !math.IsNaN(got.Upper))
			expect.Within(at, "got.Lower", got.Lower, 0, got.Upper)
			if got.Upper < smallest {
				smallest, smallestBy = got.Upper, a.Name()
			}
			if got.Lower > largest {
				largest, largestBy = got.Lower, a.Name()
			}
		}
		if largest > smallest*(1+1e-9)+1e-12 {
			t.Fatalf("ε of %s at %g (%s): at least %v by %s, at most %v by %s", e, delta, adj, largest, largestBy, smallest, smallestBy)
		}
	})
}

// More noise, fewer runs, a lower rate and a larger δ cost no more.
func TestPlainMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := rapid.Float64Range(0.3, 20).Draw(t, "sigma")
		n := rapid.Int64Range(1, 3000).Draw(t, "n")
		rate := rapid.Float64Range(1e-4, 1).Draw(t, "rate")
		delta := math.Pow(10, -rapid.Float64Range(1, 12).Draw(t, "log δ"))
		more := rapid.Float64Range(1.01, 3).Draw(t, "factor")
		event := func(sigma float64, n int64, rate float64) privacy.Event {
			return privacy.Repeat{N: n, Event: privacy.Poisson{Q: rate, Event: privacy.Gaussian{Sigma: sigma}}}
		}
		cheap := []privacy.Event{event(sigma*more, n, rate), event(sigma, n, rate/more)}
		for _, a := range []Accountant{PLD{Tolerance: 0.01}, RDP{}} {
			base, err := a.Epsilon(event(sigma, n, rate), privacy.AddRemove, delta)
			if err != nil {
				t.Fatal(err)
			}
			more, err := a.Epsilon(event(sigma, n, rate), privacy.AddRemove, math.Min(0.9, delta*2))
			if err != nil {
				t.Fatal(err)
			}
			twice, err := a.Epsilon(event(sigma, 2*n, rate), privacy.AddRemove, delta)
			if err != nil {
				t.Fatal(err)
			}
			if more.Lower > base.Upper*(1+1e-9) || base.Lower > twice.Upper*(1+1e-9) {
				t.Fatalf("%s: ε [%v, %v], at 2δ [%v, %v], of twice the runs [%v, %v]", a.Name(), base.Lower, base.Upper, more.Lower, more.Upper, twice.Lower, twice.Upper)
			}
			for _, c := range cheap {
				got, err := a.Epsilon(c, privacy.AddRemove, delta)
				if err != nil {
					t.Fatal(err)
				}
				if got.Lower > base.Upper*(1+1e-9) {
					t.Fatalf("%s: %s costs [%v, %v], more than %v", a.Name(), c, got.Lower, got.Upper, base.Upper)
				}
			}
		}
	})
}

// However a composition is written, the answer is the same.
func TestPlainRepeatIsCompose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaf := privacytest.Leaves().Draw(t, "leaf")
		n := rapid.Int64Range(2, 6).Draw(t, "n")
		var list []privacy.Event
		for range n {
			list = append(list, leaf)
		}
		forms := []privacy.Event{
			privacy.Repeat{N: n, Event: leaf},
			privacy.Compose{Events: list},
			privacy.Compose{Events: []privacy.Event{leaf, privacy.Repeat{N: n - 1, Event: leaf}}},
		}
		for _, a := range []Accountant{PLD{Tolerance: 0.05}, RDP{}, Auto{Tolerance: 0.05}} {
			var first privacy.Interval
			for i, e := range forms {
				got, err := a.Epsilon(e, privacy.AddRemove, 1e-6)
				if unsupported(t, a, e, err) {
					break
				}
				if i == 0 {
					first = got
				} else if got != first {
					t.Fatalf("%s: %s costs %v, %s costs %v", a.Name(), forms[0], first, e, got)
				}
			}
		}
	})
}

// The traps of other libraries: nothing hangs, overflows, comes out as 0 or NaN,
// or fails open at the ends of the range.
func TestPlainExtremes(t *testing.T) {
	extremes(t, []float64{1e-9, 0.5}, []float64{1e-15})
}

// TestLongExtremes has more of them.
func TestLongExtremes(t *testing.T) {
	extremes(t, []float64{1e-9, 1e-3, 0.5, 1}, []float64{1e-15, 1e-6, 0.5})
}

func extremes(t *testing.T, rates, deltas []float64) {
	t.Helper()
	deadline := time.Now().Add(4 * time.Minute)
	for _, sigma := range []float64{1e-3, 0.3, 1e4} {
		for _, rate := range rates {
			for _, n := range []int64{1, 10_000_000} {
				for _, delta := range deltas {
					e := privacy.Repeat{N: n, Event: privacy.Poisson{Q: rate, Event: privacy.Gaussian{Sigma: sigma}}}
					got, err := Auto{Tolerance: 0.2}.Epsilon(e, privacy.AddRemove, delta)
					if err != nil {
						t.Errorf("%s at %g: %v", e, delta, err)
						continue
					}
					at := expect.At(t, "%s at %g", e, delta)
					expect.True(at, "got.Lower is a number", !math.IsNaN(got.Lower))
					expect.True(at, "got.Upper is a number", !math.IsNaN(got.Upper))
					expect.Within(at, "got.Lower", got.Lower, 0, got.Upper)
					expect.True(at, "got.Upper is finite", !math.IsInf(got.Upper, 1))
					// ε = 0 is right only if seeing a difference at all is as rare as δ:
					// a record is drawn with probability at most n·rate, and its
					// effect in one run is at most that of the noise.
					if got.Upper == 0 && float64(n)*rate*math.Min(1, 1/sigma) > 4*delta && float64(n)*rate*rate/sigma/sigma > 16*delta*delta {
						t.Errorf("%s at %g came out as ε = 0", e, delta)
					}
					if time.Now().After(deadline) {
						t.Fatal("the ends of the range take minutes")
					}
				}
			}
		}
	}
	for _, s := range []string{"repeat(1e7, laplace(1e4))", "repeat(1000, laplace(0.001))", "pure(700)", "repeat(1e7, pure(1e-6))", "boundedrange(900)", "repeat(1e7, boundedrange(1e-4))", "zcdp(1e-12)", "zcdp(1e6)", "rr(300, 1e9)", "repeat(3, approx(700, 1e-300))", "repeat(1e7, approx(1e-6, 1e-30))", "repeat(3, poisson(1e-9, approx(300, 1e-9)))", "repeat(1e7, poisson(1e-3, approx(1e-3, 1e-20)))", "approx(1e-16, 1e-17)", "repeat(2, poisson(0.5, repeat(2, approx(1e-16, 1e-17))))", "repeat(3, poisson(1e-9, pure(300)))", "poisson(0.5, repeat(6486, boundedrange(3)))", "poisson(0.5, compose(approx(1, 1e-16), repeat(6486, boundedrange(3))))"} {
		for _, delta := range deltas {
			e := mustParse(t, s)
			got, err := Auto{Tolerance: 0.1}.Epsilon(e, privacy.AddRemove, delta)
			at := expect.At(t, "%s at %g", s, delta)
			expect.NoError(at, err)
			expect.True(at, "got.Lower is a number", !math.IsNaN(got.Lower))
			expect.True(at, "got.Upper is a number", !math.IsNaN(got.Upper))
			expect.Max(at, "got.Lower", got.Lower, got.Upper)
			expect.True(at, "got.Upper is finite", !math.IsInf(got.Upper, 1))
		}
	}
}

func TestPureAtDeltaZero(t *testing.T) {
	for s, want := range map[string]float64{
		"pure(1)": 1, "repeat(3, pure(0.5))": 1.5, "laplace(2)": 0.5, "gaussian(1)": math.Inf(1),
		"poisson(0.1, pure(5))": math.Log1p(0.1 * math.Expm1(5)), "boundedrange(0.7)": 0.7, "compose()": 0,
	} {
		t.Run(s, func(t *testing.T) {
			for _, a := range []Accountant{PLD{}, Auto{}} {
				got, err := a.Epsilon(mustParse(t, s), privacy.AddRemove, 0)
				at := expect.At(t, "%s: ε of %s at δ = 0", a.Name(), s)
				expect.NoError(at, err)
				if got.Upper != want {
					expect.Max(at, "math.Abs(got.Upper-want)", math.Abs(got.Upper-want), 1e-9*want)
				}
				expect.Min(at, "got.Upper", got.Upper, want)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	good := privacy.Gaussian{Sigma: 1}
	for _, a := range all {
		for _, delta := range []float64{-1, 1, 2, math.NaN(), math.Inf(1)} {
			if _, err := a.Epsilon(good, privacy.AddRemove, delta); err == nil {
				t.Errorf("%s accepts δ = %v", a.Name(), delta)
			}
		}
		for _, epsilon := range []float64{-1, math.NaN(), math.Inf(1)} {
			if _, err := a.Delta(good, privacy.AddRemove, epsilon); err == nil {
				t.Errorf("%s accepts ε = %v", a.Name(), epsilon)
			}
		}
		if _, err := a.Epsilon(privacy.Gaussian{Sigma: -1}, privacy.AddRemove, 1e-6); err == nil {
			t.Errorf("%s accepts σ = −1", a.Name())
		}
		if _, err := a.Epsilon(good, "sideways", 1e-6); err == nil {
			t.Errorf("%s accepts an unknown adjacency", a.Name())
		}
		got, err := a.Epsilon(mustParse(t, "fixedsize(100, 10, gaussian(1))"), privacy.AddRemove, 1e-6)
		if !unsupported(t, a, good, nil) && err == nil {
			t.Errorf("%s: a fixed-size draw under add-remove costs %v", a.Name(), got)
		}
	}
}

// Permute-and-flip is pure DP and not bounded-range: nothing may charge pure(ε)
// as little as boundedrange(ε) allows.
func TestPureIsNotBoundedRange(t *testing.T) {
	for _, a := range all {
		pure, err := a.Epsilon(mustParse(t, "repeat(50, pure(0.2))"), privacy.AddRemove, 1e-6)
		if unsupported(t, a, privacy.Pure{}, err) {
			continue
		}
		truth := invert(discrete(runs(50, twoPoint(0.2))), 1e-6)
		if pure.Upper < truth*(1-1e-9) {
			t.Errorf("%s charges 50 runs of pure(0.2) with %v, the worst mechanism costs %v", a.Name(), pure.Upper, truth)
		}
	}
}

// Mechanisms of very different size in one composition, up to losses of millions:
// every answer is an enclosure, and none contradicts the Rényi bound.
func TestPlainMixedSizes(t *testing.T) {
	for _, make := range []func(x float64) privacy.Event{
		func(x float64) privacy.Event {
			return privacy.Compose{Events: []privacy.Event{privacy.Pure{Epsilon: 5}, privacy.Gaussian{Sigma: x}}}
		},
		func(x float64) privacy.Event {
			return privacy.Repeat{N: 100, Event: privacy.Poisson{Q: 0.01, Event: privacy.Laplace{B: x}}}
		},
		func(x float64) privacy.Event {
			return privacy.Compose{Events: []privacy.Event{privacy.Gaussian{Sigma: x}, privacy.Repeat{N: 3, Event: privacy.Laplace{B: x * x}}}}
		},
	} {
		for x := 1e-3; x < 1e4; x *= 1.37 {
			e := make(x)
			got, err := PLD{}.Epsilon(e, privacy.AddRemove, 1e-6)
			if err != nil {
				t.Errorf("%s: %v", e, err)
				continue
			}
			bound, err := RDP{}.Epsilon(e, privacy.AddRemove, 1e-6)
			if err != nil || bound.Upper < got.Lower*(1-1e-9) {
				t.Errorf("%s costs at least %v, but at most %v by rdp (%v)", e, got.Lower, bound.Upper, err)
			}
		}
	}
}
