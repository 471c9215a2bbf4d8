package accountant

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/sys/expect"
)

// The ρ of every leaf is at least D_α/α at all orders, and the least that is:
// for all but randomised response with many values it is the limit at order 1.
func TestZCDPIsTheSmallestRho(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(rapid.Float64Range(math.Log(1e-4), math.Log(50)).Draw(t, "log x"))
		k := math.Floor(math.Exp(rapid.Float64Range(math.Log(2), math.Log(1e6)).Draw(t, "log k")))
		for name, c := range map[string]struct {
			rho   float64
			curve rdpCurve
			loose float64
		}{
			"laplace":      {zcdpLaplace(x), rdpLaplace{x}, 1e-4},
			"pure":         {zcdpResponse(x, 2), rdpResponse{x, 2}, 1e-4},
			"rr":           {zcdpResponse(x, k), rdpResponse{x, k}, 5e-3},
			"boundedrange": {zcdpRange(x), rdpRange{x}, 1e-4},
		} {
			top := 0.0
			for u := -14.0; u < 14; u += 0.02 {
				a := math.Exp(u)
				d := c.curve.at(a) / (1 + a)
				if top = max(top, d); d > c.rho*(1+1e-9) {
					t.Fatalf("%s, x=%v k=%v: ρ=%v, but D/α=%v at order %v", name, x, k, c.rho, d, 1+a)
				}
			}
			if c.rho > top*(1+c.loose) {
				t.Fatalf("%s, x=%v k=%v: ρ=%v, the largest D/α seen is %v", name, x, k, c.rho, top)
			}
		}
	})
}

func TestZCDPRho(t *testing.T) {
	for _, c := range []struct {
		expr string
		adj  privacy.Adjacency
		want float64
	}{
		{"gaussian(1)", privacy.AddRemove, 0.5},
		{"repeat(8, gaussian(2))", privacy.AddRemove, 1},
		{"zcdp(0.125)", privacy.AddRemove, 0.125},
		{"compose(zcdp(0.25), gaussian(1), poisson(1, gaussian(1)))", privacy.AddRemove, 1.25},
		{"poisson(0, nonprivate())", privacy.AddRemove, 0},
		{"parallel(gaussian(1), gaussian(2), zcdp(0.25))", privacy.AddRemove, 0.5},
		{"parallel(gaussian(1), gaussian(2), zcdp(0.25))", privacy.ReplaceOne, 0.75},
		{"pure(2)", privacy.AddRemove, 2 * math.Tanh(1)},
		{"laplace(1)", privacy.AddRemove, math.Exp(-1)},
		{"rr(2, 3)", privacy.AddRemove, 2 * (math.Exp(2) - 1) / (math.Exp(2) + 2)},
		{"boundedrange(1e-6)", privacy.AddRemove, 1.25e-13},
		{"nonprivate()", privacy.AddRemove, math.Inf(1)},
	} {
		got, err := zcdpRho(rdpParse(t, c.expr), c.adj)
		if err != nil || got != c.want && !(got >= c.want*(1-1e-15) && got <= c.want*(1+1e-12)) {
			t.Errorf("%s, %s: %v, %v; want %v", c.expr, c.adj, got, err, c.want)
		}
	}
	// Never above the constants in use: c²/8 and ε²/2.
	for _, x := range []float64{1e-9, 1e-3, 0.1, 1, 5, 100} {
		at := expect.At(t, "at %v", x)
		expect.Max(at, "zcdpRange(x)", zcdpRange(x), x*x/8*(1+1e-14))
		expect.Max(at, "zcdpResponse(x, 2)", zcdpResponse(x, 2), x*x/2*(1+1e-14))
		expect.Max(at, "zcdpLaplace(1/x)", zcdpLaplace(1/x), 1/(2*x*x)*(1+1e-14))
	}
}

func TestZCDPConversion(t *testing.T) {
	for _, rho := range []float64{1e-8, 1e-3, 0.1, 1, 30, 1e4} {
		for _, delta := range []float64{1e-15, 1e-6, 1e-2} {
			e := privacy.ZCDP{Rho: rho}
			i, err := ZCDP{}.Epsilon(e, privacy.AddRemove, delta)
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
			back, err := ZCDP{}.Delta(e, privacy.AddRemove, i.Upper)
			at := expect.At(t, "ρ=%v δ=%v", rho, delta)
			expect.NoError(at, err)
			expect.Max(at, "back.Upper", back.Upper, delta*(1+1e-3))
			if i.Upper > 0 {
				expect.True(at, "back.Upper > delta/2", back.Upper > delta/2)
			}
		}
	}
}

func TestZCDPNamesWhatItCannotHandle(t *testing.T) {
	for _, expr := range []string{"poisson(0.5, gaussian(1))", "fixedsize(10, 2, gaussian(1))", "parallel(pure(1), poisson(1e-300, pure(1)))"} {
		var u *UnsupportedError
		if _, err := (ZCDP{}).Epsilon(rdpParse(t, expr), privacy.ReplaceOne, 1e-6); !errors.As(err, &u) || u.Accountant != "zcdp" {
			t.Errorf("%s: %v", expr, err)
		}
	}
	if _, err := (ZCDP{}).Epsilon(rdpParse(t, "fixedsize(10, 10, gaussian(1))"), privacy.AddRemove, 1e-6); err != nil {
		t.Error(err)
	}
}
