package accountant

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/privacytest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

func rdpParse(t testing.TB, expr string) privacy.Event {
	t.Helper()
	e, err := privacy.Parse(expr)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func rdpUpper(t testing.TB, e privacy.Event, adj privacy.Adjacency, delta float64) float64 {
	t.Helper()
	i, err := RDP{}.Epsilon(e, adj, delta)
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "i.Lower", i.Lower, 0)
	expect.True(t, "i.Upper is a number", !math.IsNaN(i.Upper))
	expect.Min(t, "i.Upper", i.Upper, 0)
	return i.Upper
}

func TestRDPClosedForms(t *testing.T) {
	for _, c := range []struct {
		expr  string
		delta float64
		want  float64
	}{
		{"pure(1)", 0, 1},
		{"repeat(10, pure(0.25))", 0, 2.5},
		{"laplace(0.5)", 0, 2},
		{"boundedrange(3)", 0, 3},
		{"rr(2, 7)", 0, 2},
		{"poisson(0.1, pure(5))", 0, math.Log1p(0.1 * math.Expm1(5))},
		{"gaussian(1)", 0, math.Inf(1)},
		{"zcdp(1)", 0, math.Inf(1)},
		{"nonprivate()", 1e-6, math.Inf(1)},
		{"poisson(0.001, nonprivate())", 1e-6, math.Inf(1)},
		{"compose()", 0, 0},
		{"compose()", 1e-6, 0},
		{"poisson(0, nonprivate())", 0, 0},
		{"compose(pure(0), zcdp(0), boundedrange(0), rr(0, 3))", 0, 0},
		// Total variation of N(1,σ²) against N(0,σ²) is far below δ.
		{"gaussian(10000)", 0.5, 0},
		{"repeat(4, gaussian(2))", 1e-6, rdpUpper(t, privacy.Gaussian{Sigma: 1}, privacy.AddRemove, 1e-6)},
		{"poisson(0.5, poisson(0.02, gaussian(1)))", 1e-6, rdpUpper(t, rdpParse(t, "poisson(0.01, gaussian(1))"), privacy.AddRemove, 1e-6)},
		{"poisson(0.1, parallel(gaussian(1), pure(0.1)))", 1e-6, rdpUpper(t, rdpParse(t, "poisson(0.1, gaussian(1))"), privacy.AddRemove, 1e-6)},
	} {
		if got := rdpUpper(t, rdpParse(t, c.expr), privacy.AddRemove, c.delta); got != c.want && !rdpClose(got, c.want, 1e-9) {
			t.Errorf("%s at δ=%v: got %v, want %v", c.expr, c.delta, got, c.want)
		}
	}
}

// dp-accounting 0.6.0, which tries a fixed list of orders: never below ours, and
// equal where an order of its list is close enough. Ours is far below its
// bound for sampling without replacement (Wang et al. 2019, Theorem 27).
func TestRDPAgainstDPAccounting(t *testing.T) {
	for _, c := range []struct {
		expr     string
		adj      privacy.Adjacency
		delta    float64
		theirs   float64
		minRatio float64 // of ours over theirs
	}{
		{"repeat(1000, poisson(0.01, gaussian(1)))", privacy.AddRemove, 1e-5, 2.101366525420273, 0.9999},
		{"repeat(14063, poisson(256/60000, gaussian(1.1)))", privacy.AddRemove, 1e-5, 2.596655529521983, 0.999},
		{"repeat(100, laplace(10))", privacy.AddRemove, 1e-6, 4.984173965049364, 0.999},
		{"gaussian(2)", privacy.AddRemove, 1e-6, 2.4191024886939205, 0.999},
		{"repeat(50, poisson(0.1, gaussian(0.8)))", privacy.AddRemove, 1e-3, 6.414371095246517, 0.99},
		{"repeat(500, fixedsize(1000, 10, gaussian(1)))", privacy.ReplaceOne, 1e-5, 2.538897891218763, 0.5},
	} {
		ours := rdpUpper(t, rdpParse(t, c.expr), c.adj, c.delta)
		if ours > c.theirs*(1+1e-9) || ours < c.theirs*c.minRatio {
			t.Errorf("%s: ours %v, theirs %v", c.expr, ours, c.theirs)
		}
	}
	for _, c := range []struct{ q, sigma, order, theirs float64 }{
		{0.01, 1, 2, 0.00017181342207455162},
		{0.01, 1, 8, 0.000893643907606041},
		{0.1, 2, 16, 0.04529183908362216},
		{1e-4, 0.7, 4, 1.3452449275616392e-07},
	} {
		// Their sums next to 1 leave about 1e-15 of absolute error.
		ours := rdpSample(c.q, rdpGaussian{0.5 / (c.sigma * c.sigma)}, false).at(c.order - 1)
		if math.Abs(ours-c.theirs) > 1e-9*c.theirs+1e-14 {
			t.Errorf("%+v: ours %v", c, ours)
		}
	}
}

func TestRDPNamesWhatItCannotHandle(t *testing.T) {
	for _, c := range []struct {
		expr   string
		adj    privacy.Adjacency
		node   string
		offset int
	}{
		{"repeat(3, fixedsize(10, 2, gaussian(1)))", privacy.AddRemove, "fixedsize", 10},
		{"poisson(0.5, fixedsize(10, 2, gaussian(1)))", privacy.ReplaceOne, "poisson", 0},
		{"parallel(pure(1), fixedsize(10, 2, gaussian(1)))", privacy.ReplaceOne, "parallel", 0},
		{"compose(pure(1), fixedsize(10, 5, fixedsize(4, 2, gaussian(1))))", privacy.ReplaceOne, "fixedsize", 17},
	} {
		_, err := (RDP{}).Epsilon(rdpParse(t, c.expr), c.adj, 1e-6)
		at := expect.At(t, "%s", c.expr)
		u := expect.As[*UnsupportedError](at, err)
		expect.Equal(at, "u.Node", u.Node, c.node)
		expect.Equal(at, "u.Offset", u.Offset, c.offset)
		expect.Equal(at, "u.Accountant", u.Accountant, "rdp")
	}
	for _, ok := range []string{
		"fixedsize(10, 10, gaussian(1))", "poisson(1, fixedsize(9, 9, pure(1)))",
	} {
		if _, err := (RDP{}).Epsilon(rdpParse(t, ok), privacy.AddRemove, 1e-6); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	if _, err := (RDP{}).Epsilon(privacy.Pure{Epsilon: 1}, "nearby", 1e-6); err == nil {
		t.Error("an unknown adjacency was accepted")
	}
	if _, err := (RDP{}).Epsilon(privacy.Pure{Epsilon: 1}, privacy.AddRemove, 1); err == nil {
		t.Error("δ = 1 was accepted")
	}
	if _, err := (RDP{}).Epsilon(privacy.Gaussian{}, privacy.AddRemove, 1e-6); err == nil {
		t.Error("σ = 0 was accepted")
	}
	if _, err := (RDP{}).Delta(privacy.Pure{Epsilon: 1}, privacy.AddRemove, -1); err == nil {
		t.Error("ε = −1 was accepted")
	}
}

// A record that is replaced can leave one part and join another.
func TestRDPParallel(t *testing.T) {
	sum := rdpUpper(t, rdpParse(t, "compose(gaussian(1), gaussian(2))"), privacy.AddRemove, 1e-6)
	one := rdpUpper(t, rdpParse(t, "gaussian(1)"), privacy.AddRemove, 1e-6)
	e := rdpParse(t, "parallel(gaussian(2), gaussian(1), gaussian(3))")
	if got := rdpUpper(t, e, privacy.AddRemove, 1e-6); !rdpClose(got, one, 1e-9) {
		t.Errorf("add-remove: %v, want %v", got, one)
	}
	if got := rdpUpper(t, e, privacy.ReplaceOne, 1e-6); !rdpClose(got, sum, 1e-9) {
		t.Errorf("replace-one: %v, want %v", got, sum)
	}
	// Within one part a replaced record costs more than one that leaves it.
	sampled := rdpParse(t, "parallel(poisson(0.1, gaussian(1)), pure(1e-9))")
	alone := rdpUpper(t, rdpParse(t, "poisson(0.1, gaussian(1))"), privacy.ReplaceOne, 1e-6)
	if got := rdpUpper(t, sampled, privacy.ReplaceOne, 1e-6); got < alone*(1-1e-9) {
		t.Errorf("replaced within a part: %v, want at least %v", got, alone)
	}
}

func TestRDPMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := func(name string, low, high float64) float64 {
			return math.Exp(rapid.Float64Range(math.Log(low), math.Log(high)).Draw(t, name))
		}
		sigma, q, delta := log("sigma", 0.1, 50), log("q", 1e-5, 0.9), log("delta", 1e-12, 0.3)
		n := rapid.Int64Range(1, 100000).Draw(t, "n")
		more := log("more", 1.01, 3)
		adj := rapid.SampledFrom([]privacy.Adjacency{privacy.AddRemove, privacy.ReplaceOne}).Draw(t, "adjacency")
		leaf := rapid.SampledFrom([]func(float64) privacy.Event{
			func(s float64) privacy.Event { return privacy.Gaussian{Sigma: s} },
			func(s float64) privacy.Event { return privacy.Laplace{B: s} },
			func(s float64) privacy.Event { return privacy.BoundedRange{C: 1 / s} },
			func(s float64) privacy.Event {
				return privacy.Compose{Events: []privacy.Event{privacy.Gaussian{Sigma: s}, privacy.Pure{Epsilon: 1 / s}}}
			},
		}).Draw(t, "leaf")
		epsilon := func(sigma, q, delta float64, n int64) float64 {
			e := privacy.Repeat{N: n, Event: privacy.Poisson{Q: q, Event: leaf(sigma)}}
			i, err := RDP{}.Epsilon(e, adj, delta)
			if err != nil {
				t.Fatal(err)
			}
			return i.Upper
		}
		// Bounds take the least of several, so a step can go against the
		// trend by what the search over orders leaves.
		base := epsilon(sigma, q, delta, n) * (1 + 1e-6)
		for name, other := range map[string]float64{
			"more noise":   epsilon(sigma*more, q, delta, n),
			"smaller rate": epsilon(sigma, q/more, delta, n),
			"larger δ":     epsilon(sigma, q, min(delta*more, 0.99), n),
			"fewer steps":  epsilon(sigma, q, delta, max(1, n/2)),
			"no sampling":  -epsilon(sigma, 1, delta, n) * (1 + 1e-6),
		} {
			if name == "no sampling" {
				if -other < base/(1+1e-6)*(1-1e-6) {
					t.Fatalf("%s: %v, sampled %v", name, -other, base)
				}
			} else if other > base {
				t.Fatalf("%s: %v, before %v", name, other, base)
			}
		}
	})
}

func TestRDPRepeatIsComposition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := privacytest.Events().Draw(t, "event")
		n := rapid.Int64Range(1, 6).Draw(t, "n")
		copies := make([]privacy.Event, n)
		for i := range copies {
			copies[i] = e
		}
		for _, adj := range []privacy.Adjacency{privacy.AddRemove, privacy.ReplaceOne} {
			x, errX := RDP{}.Epsilon(privacy.Repeat{N: n, Event: e}, adj, 1e-6)
			y, errY := RDP{}.Epsilon(privacy.Compose{Events: copies}, adj, 1e-6)
			if (errX == nil) != (errY == nil) {
				t.Fatalf("%s: %v and %v", e, errX, errY)
			}
			if errX == nil && x.Upper != y.Upper && !rdpClose(x.Upper, y.Upper, 1e-9) {
				t.Fatalf("%s: repeated %v, composed %v", e, x.Upper, y.Upper)
			}
		}
	})
}

// ε at δ and δ at that ε belong together, and both are upper bounds.
func TestRDPDeltaInvertsEpsilon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := privacytest.Events().Draw(t, "event")
		delta := math.Exp(rapid.Float64Range(math.Log(1e-15), math.Log(0.4)).Draw(t, "log delta"))
		i, err := RDP{}.Epsilon(e, privacy.AddRemove, delta)
		if err != nil || math.IsInf(i.Upper, 1) {
			t.Skip("no ε")
		}
		// Next to the largest loss δ hangs on the last digits of ε, and falls to 0 within 1e-3 of it.
		back, err := RDP{}.Delta(e, privacy.AddRemove, i.Upper*(1+1e-9))
		if err == nil && back.Upper > delta*(1+1e-3) {
			back, err = RDP{}.Delta(e, privacy.AddRemove, i.Upper*(1+1e-3))
		}
		if err != nil {
			t.Fatal(err)
		}
		if back.Lower != 0 || back.Upper > delta*(1+1e-3) {
			t.Fatalf("%s: ε=%v at δ=%v, but δ=%v at that ε", e, i.Upper, delta, back.Upper)
		}
	})
}

func TestRDPDeltaAtExtremes(t *testing.T) {
	for _, c := range []struct {
		expr      string
		epsilon   float64
		low, high float64
	}{
		{"gaussian(0.001)", 1, 0.99, 1},
		{"gaussian(1e-9)", 1, 0.99, 1},
		{"nonprivate()", 1, 1, 1},
		{"gaussian(1)", 1000, math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64},
		{"pure(1)", 1, 0, 0},
		{"pure(1)", 0.999, 1e-9, 1e-2},
		{"compose()", 0, 0, 0},
		{"gaussian(1e15)", 0, 1e-17, 1e-14},
	} {
		i, err := RDP{}.Delta(rdpParse(t, c.expr), privacy.AddRemove, c.epsilon)
		if err != nil || !(i.Upper >= c.low && i.Upper <= c.high) {
			t.Errorf("%s at ε=%v: %v, %v; want %v to %v", c.expr, c.epsilon, i.Upper, err, c.low, c.high)
		}
	}
}

// The corners of what an event may hold: an answer comes, it is finite, and it
// is 0 only where the total variation is not above δ.
func TestRDPExtremes(t *testing.T) {
	for _, sigma := range []float64{1e-9, 1e-3, 0.05, 1, 1e4, 1e15} {
		for _, q := range []float64{5e-324, 1e-9, 0.5, 1 - 1e-9, 1} {
			for _, n := range []int64{1e7, 1 << 53} {
				for _, delta := range []float64{1e-15, 0.5} {
					for _, inner := range []string{"gaussian(%v)", "laplace(%v)", "compose(gaussian(%[1]v), laplace(%[1]v))"} {
						expr := fmt.Sprintf("repeat(%d, poisson(%v, %s))", n, q, fmt.Sprintf(inner, sigma))
						got := rdpUpper(t, rdpParse(t, expr), privacy.AddRemove, delta)
						if got == 0 && !(rdpVariation(float64(n), q, 1/sigma) <= 2*delta) {
							t.Errorf("%s at δ=%v: ε is 0", expr, delta)
						}
						if math.IsInf(got, 1) {
							t.Errorf("%s at δ=%v: ε is infinite", expr, delta)
						}
					}
				}
			}
		}
	}
}

// rdpVariation bounds the total variation of n sampled steps of a Gaussian and a
// Laplace by the chance to be drawn at all, and by Pinsker with the convexity of
// the divergence, and that it is at most χ².
func rdpVariation(n, q, tau float64) float64 {
	divergence := q * (tau*tau/2 + min(tau, tau*tau/2))
	square := q * q * math.Expm1(min(700, tau*tau+min(2*tau, 2*tau*tau)))
	return min(n*q, math.Sqrt(n*min(divergence, square)/2))
}

// Losses whose squares are below the smallest number still count.
func TestRDPUnderflow(t *testing.T) {
	for _, expr := range []string{
		"pure(1e-200)", "rr(1e-200, 5)", "boundedrange(1e-200)", "zcdp(1e-320)", "poisson(1e-300, pure(1e-200))",
		"poisson(5e-324, gaussian(1e15))", "poisson(1e-300, boundedrange(1e-200))", "poisson(1e-200, zcdp(1e-320))",
	} {
		e := rdpParse(t, expr)
		if got := rdpUpper(t, e, privacy.AddRemove, 1e-307); !(got > 0) {
			t.Errorf("%s: ε is %v", expr, got)
		}
		if got, err := (RDP{}).Delta(e, privacy.AddRemove, 0); err != nil || !(got.Upper > 0 && got.Upper < 1e-14) {
			t.Errorf("%s: δ at 0 is %v, %v", expr, got, err)
		}
	}
}

// A Gaussian whose noise is far too small still costs what it costs.
func TestRDPHugeEpsilon(t *testing.T) {
	// The exact ε of gaussian(σ) is above 1/(2σ²), the mean loss, for δ < ½.
	for _, sigma := range []float64{1e-3, 1e-2, 0.1} {
		got := rdpUpper(t, privacy.Gaussian{Sigma: sigma}, privacy.AddRemove, 1e-10)
		mean := 0.5 / (sigma * sigma)
		if !(got > mean && got < mean*(1+20*sigma)) {
			t.Errorf("σ=%v: %v, mean loss %v", sigma, got, mean)
		}
	}
}

// No order does better than the one that was found, by more than a thousandth.
func TestRDPSearchFindsTheBestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := privacytest.Events().Draw(t, "event")
		delta := math.Exp(rapid.Float64Range(math.Log(1e-15), math.Log(0.4)).Draw(t, "log delta"))
		adj := rapid.SampledFrom([]privacy.Adjacency{privacy.AddRemove, privacy.ReplaceOne}).Draw(t, "adjacency")
		c, err := rdpNew(e, adj)
		if err != nil {
			t.Skip("not supported")
		}
		epsilon, _ := rdpEpsilon(c, delta)
		if epsilon == 0 {
			return
		}
		for u := -14.0; u < 14; u += 0.05 {
			a := math.Exp(u)
			if other := rdpEpsilonAt(rdpAt(c, a), a, math.Log(delta)); other < epsilon*(1-1e-3)-1e-12 {
				t.Fatalf("%s at δ=%v: found %v, order %v gives %v", e, delta, epsilon, 1+a, other)
			}
		}
	})
}
