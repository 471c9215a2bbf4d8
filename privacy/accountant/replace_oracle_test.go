package accountant

import (
	"fmt"
	"math"
	"testing"

	"github.com/sotto-dp/sotto/privacy"
)

// A second opinion on samples of a fixed size under replace-one: integrals over the outputs
// of mechanisms on all samples of a few records, and compositions on a grid of likelihood
// ratios, with sums over all pairs and triples instead of a Fourier transform.

// base is a noise of scale 1/loud on a number that one record moves by at most 1.
type base struct {
	leaf    string
	density func(x float64) float64
	// delta is δ at γ = e^ε for all γ > 0, in closed form.
	delta func(gamma float64) float64
	far   float64 // beyond this there is nothing that matters
}

func gaussianBase(sigma float64) base {
	phi := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	return base{
		fmt.Sprintf("gaussian(%v)", sigma),
		func(x float64) float64 {
			return math.Exp(-x*x/(2*sigma*sigma)) / (sigma * math.Sqrt(2*math.Pi))
		},
		func(g float64) float64 {
			e := math.Log(g)
			return phi(1/(2*sigma)-e*sigma) - g*phi(-1/(2*sigma)-e*sigma)
		},
		9 * sigma,
	}
}

func laplaceBase(b float64) base {
	return base{
		fmt.Sprintf("laplace(%v)", b),
		func(x float64) float64 { return math.Exp(-math.Abs(x)/b) / (2 * b) },
		func(g float64) float64 {
			switch e := math.Log(g); {
			case e >= 1/b:
				return 0
			case e <= -1/b:
				return 1 - g
			default:
				return -math.Expm1((e - 1/b) / 2)
			}
		},
		30 * b,
	}
}

// samples lists the sums of all ways to draw m of the values.
func samples(values []float64, m int) []float64 {
	var out []float64
	var draw func(from, left int, sum float64)
	draw = func(from, left int, sum float64) {
		if left == 0 {
			out = append(out, sum)
			return
		}
		for i := from; i+left <= len(values); i++ {
			draw(i+1, left-1, sum+values[i])
		}
	}
	draw(0, m, 0)
	return out
}

// integral is ∫ (p − γq)₊ for the noisy sums of samples of two data sets, by Simpson's rule.
func (b base) integral(d, e []float64, m int, gamma float64) float64 {
	first, second := samples(d, m), samples(e, m)
	mixture := func(centres []float64, x float64) float64 {
		s := 0.0
		for _, c := range centres {
			s += b.density(x - c)
		}
		return s / float64(len(centres))
	}
	reach := b.far + float64(m)
	const n = 6000
	h, sum := 2*reach/n, 0.0
	for i := 0; i <= n; i++ {
		x := -reach + float64(i)*h
		weight := 2.0 + 2*float64(i%2)
		if i == 0 || i == n {
			weight = 1
		}
		sum += weight * math.Max(0, mixture(first, x)-gamma*mixture(second, x))
	}
	return sum * h / 3
}

// TestFixedSizeOracle: real draws of a fixed size. Data sets of a few numbers, one of them
// exchanged, all samples listed, the divergence integrated. No upper end is below it. For
// the worst data, a record of 1 for one of 0 among records of 0, the interval encloses it;
// an event with one record less in the sample does not.
func TestFixedSizeOracle(t *testing.T) {
	worst := []float64{0, 0, 0, 0}
	for _, b := range []base{gaussianBase(1), gaussianBase(0.4), gaussianBase(3), laplaceBase(1), laplaceBase(0.3)} {
		for _, k := range []struct{ n, m int }{{5, 1}, {5, 2}, {5, 4}} {
			e := mustParse(t, fmt.Sprintf("fixedsize(%d, %d, %s)", k.n, k.m, b.leaf))
			for _, epsilon := range []float64{0.05, 0.3, 1} {
				pld, err := PLD{Tolerance: 0.01}.Delta(e, privacy.ReplaceOne, epsilon)
				if err != nil {
					t.Fatal(err)
				}
				rdp, err := RDP{}.Delta(e, privacy.ReplaceOne, epsilon)
				if err != nil {
					t.Fatal(err)
				}
				// Numbers within 1 of each other, and of nothing at all.
				for _, others := range [][]float64{worst, {0.5, -0.5, 0.2, 0.1}, {1, 0, 1, 0}, {0.3, 0.3, 0.3, 0.3}} {
					for _, x := range [][2]float64{{1, 0}, {0, 1}, {0.5, -0.5}, {0.9, 0.1}} {
						d := append([]float64{x[0]}, others...)
						to := append([]float64{x[1]}, others...)
						truth := b.integral(d, to, k.m, math.Exp(epsilon))
						for name, up := range map[string]float64{"pld": pld.Upper, "rdp": rdp.Upper} {
							if up < truth-2e-6 {
								t.Errorf("%s: %s, %v for %v among %v at ε = %v: δ = %v, the upper end is %v", name, e, x[0], x[1], others, epsilon, truth, up)
							}
						}
					}
				}
				truth := b.integral(append([]float64{1}, worst...), append([]float64{0}, worst...), k.m, math.Exp(epsilon))
				if pld.Lower > truth+2e-6 || pld.Upper > truth*1.02+2e-6 {
					t.Errorf("%s at ε = %v: δ between %v and %v, the integral is %v", e, epsilon, pld.Lower, pld.Upper, truth)
				}
				if k.m < 2 || truth < 1e-3 {
					continue
				}
				less := mustParse(t, fmt.Sprintf("fixedsize(%d, %d, %s)", k.n, k.m-1, b.leaf))
				if wrong, err := (PLD{Tolerance: 0.01}).Delta(less, privacy.ReplaceOne, epsilon); err != nil || wrong.Upper >= truth-2e-6 {
					t.Errorf("%s at ε = %v: δ ≤ %v, and the comparison with %v does not find it (%v)", less, epsilon, wrong.Upper, truth, err)
				}
			}
		}
	}
}

// exchanged is the profile that covers both directions of a sample at rate q: for γ ≥ 1
// the one of (1−q)Q+qP against Q, for γ < 1 that of P against (1−q)P+qQ.
func (b base) exchanged(q float64) func(gamma float64) float64 {
	return func(g float64) float64 {
		remove, add := 1-g, 0.0
		if g > 1-q {
			remove = q * b.delta((g-1+q)/q)
		}
		if rest := 1 - g*(1-q); rest > 0 {
			add = rest * b.delta(g*q/rest)
		}
		return math.Max(remove, add)
	}
}

// bends makes outcomes of a profile: the dots at n ratios connected, so that the ratio γ_k has
// P-mass γ_k times the bend there. It is an upper bound that falls with n².
func bends(f func(float64) float64, from, to float64, n int) (ratio, mass []float64) {
	// No grid in the loss: even in the cube root of the ratio.
	at := func(i int) float64 {
		u := float64(i) / float64(n)
		lo, hi := math.Cbrt(from), math.Cbrt(to)
		return math.Pow(lo+(hi-lo)*u, 3)
	}
	g := []float64{0}
	for i := 0; i <= n; i++ {
		if v := at(i); len(g) > 1 && g[len(g)-1] < 1 && v > 1 {
			g = append(g, 1) // the profile has a corner there
		}
		g = append(g, at(i))
	}
	value := make([]float64, len(g))
	for i, v := range g {
		if value[i] = 1; i > 0 {
			value[i] = f(v)
		}
	}
	for i := 1; i < len(g); i++ {
		left := (value[i] - value[i-1]) / (g[i] - g[i-1])
		right := 0.0
		if i+1 < len(g) {
			right = (value[i+1] - value[i]) / (g[i+1] - g[i])
		}
		if m := g[i] * (right - left); m > 0 {
			ratio, mass = append(ratio, g[i]), append(mass, m)
		}
	}
	return ratio, mass
}

// composedBy sums f(γ/(r_1·…)) over all tuples of outcomes of steps − 1 runs.
func composedBy(f func(float64) float64, ratio, mass []float64, steps int, gamma float64) float64 {
	if steps == 1 {
		return f(gamma)
	}
	sum := 0.0
	for i, r := range ratio {
		sum += mass[i] * composedBy(f, ratio, mass, steps-1, gamma/r)
	}
	return sum
}

// TestFixedSizeComposedOracle: the composition of two and of three samples of a fixed size,
// by sums over all pairs and triples of likelihood ratios. The upper end of the numerical
// accountant is that, within its tolerance, and no other accountant is below. A rate that is
// 3 % off is found on both sides.
func TestFixedSizeComposedOracle(t *testing.T) {
	for _, k := range []struct {
		base     base
		n, m     int64
		from, to float64
		steps    int
		epsilon  float64
	}{
		{gaussianBase(1), 10, 3, 0.3, 60, 2, 0.4},
		{gaussianBase(2), 100, 40, 0.2, 12, 2, 0.2},
		{gaussianBase(1), 1000, 100, 0.5, 40, 3, 0.3},
		{laplaceBase(1), 10, 5, 0.3, 3, 2, 0.5},
		{laplaceBase(2), 10, 2, 0.6, 2, 3, 0.1},
	} {
		oracle := func(q float64) (truth, doubt float64) {
			f := k.base.exchanged(q)
			n := 1600
			if k.steps == 3 {
				n = 800
			}
			gamma := math.Exp(k.epsilon)
			ratio, mass := bends(f, k.from, k.to, n/2)
			rough := composedBy(f, ratio, mass, k.steps, gamma)
			ratio, mass = bends(f, k.from, k.to, n)
			fine := composedBy(f, ratio, mass, k.steps, gamma)
			return fine - (rough-fine)/3, math.Abs(rough - fine)
		}
		q := float64(k.m) / float64(k.n)
		truth, doubt := oracle(q)
		if doubt > 2e-3*truth {
			t.Errorf("%+v: the oracle itself is in doubt: %v ± %v", k, truth, doubt)
		}
		e := mustParse(t, fmt.Sprintf("repeat(%d, fixedsize(%d, %d, %s))", k.steps, k.n, k.m, k.base.leaf))
		for _, a := range []Accountant{PLD{Tolerance: 1e-3}, RDP{}, Auto{}} {
			got, err := a.Delta(e, privacy.ReplaceOne, k.epsilon)
			if err != nil {
				t.Fatal(err)
			}
			if got.Upper < truth-doubt {
				t.Errorf("%s: %s at ε = %v: δ ≤ %v, summed up it is %v", a.Name(), e, k.epsilon, got.Upper, truth)
			}
			if a.Name() != "pld" {
				continue
			}
			if got.Upper > truth*1.005+doubt || got.Lower > truth+doubt {
				t.Errorf("%s: %s at ε = %v: δ between %v and %v, summed up it is %v", a.Name(), e, k.epsilon, got.Lower, got.Upper, truth)
			}
			if more, _ := oracle(1.03 * q); more-doubt <= got.Upper {
				t.Errorf("%s: a rate 3 %% larger has δ = %v, which %v covers: the comparison has no teeth", e, more, got.Upper)
			}
			if less, _ := oracle(0.97 * q); less*1.005+doubt >= got.Upper {
				t.Errorf("%s: a rate 3 %% less has δ = %v: the comparison has no teeth", e, less)
			}
		}
	}
}
