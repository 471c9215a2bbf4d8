package accountant

import (
	"math"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"

	"pgregory.net/rapid"
)

// rdpClose allows a relative error of tol, and the rounding of values near 0.
func rdpClose(got, want, tol float64) bool {
	return math.Abs(got-want) <= tol*math.Abs(want)+1e-14
}

func rdpDrawOrder(t *rapid.T) float64 {
	return math.Exp(rapid.Float64Range(math.Log(1e-3), math.Log(200)).Draw(t, "log a"))
}

// rdpPoints is a discrete distribution.
type rdpPoints []float64

// divergence is D_α(p‖q) from its definition.
func (p rdpPoints) divergence(q rdpPoints, a float64) float64 {
	var sum rdpLogSum
	for i := range p {
		sum.add(math.Log(p[i]) + a*(math.Log(p[i])-math.Log(q[i])))
	}
	return sum.log() / a
}

func TestRDPResponseIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := rapid.Float64Range(0.01, 8).Draw(t, "epsilon")
		k := rapid.IntRange(2, 9).Draw(t, "k")
		a := rdpDrawOrder(t)
		p, q := make(rdpPoints, k), make(rdpPoints, k)
		norm := math.Exp(epsilon) + float64(k) - 1
		for i := range p {
			p[i], q[i] = 1/norm, 1/norm
		}
		p[0], q[1] = math.Exp(epsilon)/norm, math.Exp(epsilon)/norm
		if got, want := (rdpResponse{epsilon, float64(k)}).at(a), p.divergence(q, a); math.Abs(got-want) > 1e-10*want+1e-14/a {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestRDPLaplaceIsTheDefinition(t *testing.T) {
	for _, c := range []struct{ b, a float64 }{
		{1, 0.5}, {1, 1}, {0.3, 4}, {2, 30}, {10, 0.01}, {5, 100}, {0.1, 0.2},
	} {
		// ∫ p^α q^{1−α} over (−∞,0), (0,1), (1,∞).
		tau := 1 / c.b
		f := func(x float64) float64 {
			return math.Exp(-(1+c.a)*math.Abs(x-1)*tau+c.a*math.Abs(x)*tau) * tau / 2
		}
		moment := f(0)/tau + rdpSimpson(f, 0, 1, 4000) + f(1)/tau
		if got, want := (rdpLaplace{tau}).at(c.a), math.Log(moment)/c.a; !rdpClose(got, want, 1e-9) {
			t.Errorf("b=%v α=%v: got %v, want %v", c.b, 1+c.a, got, want)
		}
	}
}

// rdpSimpson integrates with Simpson's rule on n intervals, n even.
func rdpSimpson(f func(float64) float64, from, to float64, n int) float64 {
	h := (to - from) / float64(n)
	sum := f(from) + f(to)
	for i := 1; i < n; i++ {
		if i%2 == 1 {
			sum += 4 * f(from+float64(i)*h)
		} else {
			sum += 2 * f(from+float64(i)*h)
		}
	}
	return sum * h / 3
}

// rdpTwoPoint returns the bounded-range pair with likelihood ratios e^t and e^{t−c}.
func rdpTwoPoint(c, t float64) (p, q rdpPoints) {
	p = rdpPoints{math.Expm1(c-t) / math.Expm1(c) * math.Exp(t), math.Expm1(t) / math.Expm1(c)}
	return p, rdpPoints{p[0] * math.Exp(-t), p[1] * math.Exp(c-t)}
}

// The closed form of the sup over t is at least the divergence at every t, in
// both directions, and no more than 1e-9 above the best t of a dense grid.
func TestRDPRangeIsTheSupremum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := math.Exp(rapid.Float64Range(math.Log(0.01), math.Log(20)).Draw(t, "log c"))
		a := rdpDrawOrder(t)
		bound := (rdpRange{c}).at(a)
		top := 0.0
		const steps = 4000
		at := func(x float64) {
			p, q := rdpTwoPoint(c, x)
			for _, d := range []float64{p.divergence(q, a), q.divergence(p, a)} {
				if d > bound*(1+1e-9)+1e-12 {
					t.Fatalf("c=%v α=%v t=%v: divergence %v is above the bound %v", c, 1+a, x, d, bound)
				}
			}
			top = max(top, p.divergence(q, a))
		}
		for i := 1; i < steps; i++ {
			at(c * float64(i) / steps)
		}
		// Near t = c for large α, where the grid in t is coarse.
		for i := 1; i < 1000; i++ {
			at(c - c/steps*float64(i)/1000)
		}
		if bound > top*(1+1e-4)+1e-9 {
			t.Fatalf("c=%v α=%v: bound %v, best of a dense grid %v", c, 1+a, bound, top)
		}
		s := a * (math.Exp(c) - math.Exp(-a*c)) / ((1 + a) * -math.Expm1(-a*c))
		p, q := rdpTwoPoint(c, math.Log(s))
		if want := p.divergence(q, a); !rdpClose(bound, want, 1e-9) && math.Abs(bound-want) > 1e-12/a {
			t.Fatalf("c=%v α=%v: bound %v, at the best t %v", c, 1+a, bound, want)
		}
	})
}

// Limits where a naive formula has no digits left, from series worked by hand.
func TestRDPLeavesAtExtremes(t *testing.T) {
	for _, c := range []struct {
		name  string
		curve rdpCurve
		a     float64
		want  float64
	}{
		{"laplace, small 1/b, is τ²α/2", rdpLaplace{1e-9}, 1, 1e-18},
		{"laplace at order 1 is τ − 1 + e^{−τ}", rdpLaplace{2}, 1e-12, 1 + math.Exp(-2)},
		{"pure, small ε, is ε²α/2", rdpResponse{1e-9, 2}, 3, 2e-18},
		{"pure at order 1 is ε·tanh(ε/2)", rdpResponse{3, 2}, 1e-12, 3 * math.Tanh(1.5)},
		{"pure at a large order is ε", rdpResponse{3, 2}, 1e15, 3},
		{"range, small c, is c²α/8", rdpRange{1e-9}, 7, 1e-18},
		{"range, small c, near order 1", rdpRange{1e-3}, 1e-10, 1e-6 / 8 * (1 - 1e-6/36)},
		{"range at order 1", rdpRange{4}, 1e-12, math.Log(math.Sinh(2)/2) + 2/math.Tanh(2) - 1},
		{"range at a large order is c", rdpRange{4}, 1e9, 4},
		{"response of huge loss", rdpResponse{1e9, 2}, 1, 1e9},
		{"response of many values", rdpResponse{1, 1e15}, 1, math.Log1p(4 * math.Exp(0.5) * math.Sinh(1) * math.Sinh(0.5) / 1e15)},
		{"laplace of tiny scale", rdpLaplace{1e9}, 1, 1e9 + math.Log(2./3)},
	} {
		if got := c.curve.at(c.a); !(math.Abs(got/c.want-1) < 1e-7) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// A divergence grows with the order, up to the largest loss; so do the curves
// that are exact. Bounds stay above 0 and within the largest loss.
func TestRDPCurvesGrowWithTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(rapid.Float64Range(-12, 6).Draw(t, "log x"))
		q := math.Exp(rapid.Float64Range(-20, -0.001).Draw(t, "log q"))
		a := math.Exp(rapid.Float64Range(-12, 8).Draw(t, "log a"))
		b := a * math.Exp(rapid.Float64Range(0, 3).Draw(t, "more"))
		check := func(c rdpCurve, exact bool) {
			low, high, top := c.at(a), c.at(b), c.at(math.Inf(1))
			if !(low > 0 && low <= top*(1+1e-9) && high <= top*(1+1e-9)) || exact && low > high*(1+1e-9) {
				t.Fatalf("%#v: %v at %v, %v at %v, %v at the end", c, low, 1+a, high, 1+b, top)
			}
		}
		for _, inner := range []rdpCurve{rdpGaussian{x * x / 2}, rdpLaplace{x}, rdpResponse{x, 2}, rdpResponse{x, 5}, rdpRange{x}, rdpZCDP{x}} {
			check(inner, true)
			_, gauss := inner.(rdpGaussian)
			_, response := inner.(rdpResponse)
			// Past rdpMaxNodes a bound stands in for the integral.
			check(rdpSample(q, inner, false), gauss && x < 100 || response)
			check(rdpSample(q, inner, true), false)
		}
	})
}

func TestZCDPConversion(t *testing.T) {
	for _, rho := range []float64{1e-8, 1e-3, 0.1, 1, 30, 1e4} {
		for _, delta := range []float64{1e-15, 1e-6, 1e-2} {
			e := privacy.ZCDP{Rho: rho}
			i, err := RDP{}.Epsilon(e, privacy.AddRemove, delta)
			if err != nil || i.Lower != 0 {
				t.Fatal(i, err)
			}
			// Bun, Steinke 2016, Proposition 1.3.
			if old := rho + 2*math.Sqrt(rho*math.Log(1/delta)); i.Upper > old {
				t.Errorf("ρ=%v δ=%v: ε=%v, by the plain conversion %v", rho, delta, i.Upper, old)
			}
			// A Gaussian with this ρ is exactly as private, by the Gaussian's
			// δ(ε) in closed form (Balle, Wang 2018): no less ε can hold.
			tau := math.Sqrt(2 * rho)
			exact := math.Erfc((i.Upper/tau-tau/2)/math.Sqrt2)/2 - math.Exp(i.Upper)*math.Erfc((i.Upper/tau+tau/2)/math.Sqrt2)/2
			if i.Upper < 500 && exact > delta*(1+1e-9) {
				t.Errorf("ρ=%v δ=%v: ε=%v, but a Gaussian has δ=%v there", rho, delta, i.Upper, exact)
			}
			back, err := RDP{}.Delta(e, privacy.AddRemove, i.Upper)
			at := expect.At(t, "ρ=%v δ=%v", rho, delta)
			expect.NoError(at, err)
			expect.Max(at, "back.Upper", back.Upper, delta*(1+1e-3))
			if i.Upper > 0 {
				expect.True(at, "back.Upper > delta/2", back.Upper > delta/2)
			}
		}
	}
}
