package accountant

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// brBest returns a step from w by search over n values of t, from the definition. It is a
// little too small: by a factor of 1−O(1/n²).
func brBest(c, x float64, n int, w func(float64) float64) float64 {
	best := 0.0
	for j := range n + 1 {
		t := c * float64(j) / float64(n)
		p := math.Expm1(t-c) / math.Expm1(-c)
		best = max(best, p*w(x+t)+(1-p)*w(x+t-c))
	}
	return best
}

// brSearch is W after k steps by search at every step but the last.
func brSearch(c float64, k int, x float64, n int) float64 {
	if k == 1 {
		return brFirst(x, c)
	}
	return brBest(c, x, n, func(x float64) float64 { return brSearch(c, k-1, x, n) })
}

// brViolation reports where a profile does not enclose the search.
func brViolation(p *brProfile, c float64, k, n int) string {
	for i := -8; i <= 8; i++ {
		eps := (float64(i) + 0.3) / 8.4 * c * float64(k)
		w := brSearch(c, k, -eps, n)
		if w > p.upperDelta(eps)*(1+1e-12) {
			return fmt.Sprintf("c=%v k=%d ε=%v: the search reaches %v, the upper bound is %v", c, k, eps, w, p.upperDelta(eps))
		}
		if p.lowerDelta(eps) > w*(1+6/float64(n*n))+1e-15 {
			return fmt.Sprintf("c=%v k=%d ε=%v: the search reaches %v, the lower bound is %v", c, k, eps, w, p.lowerDelta(eps))
		}
	}
	return ""
}

func TestBRFirstStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.Float64Range(1e-3, 10).Draw(t, "c")
		x := rapid.Float64Range(-1.2, 1.2).Draw(t, "x/c") * c
		want := brBest(c, x, 4000, func(x float64) float64 { return max(0, -math.Expm1(-x)) })
		got := brFirst(x, c)
		if got < want*(1-1e-12) || got > want*(1+1e-5)+5e-8*c*(1+c) {
			t.Fatalf("W_1(%v) = %v, the search reaches %v", x, got, want)
		}
	})
}

func TestBRAgainstSearch(t *testing.T) {
	for _, k := range []struct {
		steps, n int
		cs       []float64
	}{{2, 3000, []float64{1e-6, 0.05, 0.7, 3, 9}}, {3, 160, []float64{0.3, 2}}} {
		for _, c := range k.cs {
			for _, m := range []int{6, 16, 50} {
				if v := brViolation(brRecurse(newBRTable(c, m), k.steps), c, k.steps, k.n); v != "" {
					t.Errorf("m=%d: %s", m, v)
				}
			}
		}
	}
}

// A recursion with a wrong mass must not pass the comparison above.
func TestBRSearchFindsWrongMass(t *testing.T) {
	for _, factor := range []float64{0.995, 1.005} {
		wrong := newBRTable(0.7, 50)
		for j := range wrong.up {
			wrong.up[j] *= factor
		}
		for j := range wrong.unit {
			wrong.unit[j].a1 *= factor
			wrong.unit[j].b1 *= factor
		}
		if brViolation(brRecurse(wrong, 2), 0.7, 2, 3000) == "" {
			t.Errorf("masses times %v go unnoticed", factor)
		}
	}
}

// brFixed is δ(ε) when every step uses the same t: a sum over the binomial.
func brFixed(c, t, eps float64, steps int) float64 {
	lp, lq := math.Log(math.Expm1(t-c)/math.Expm1(-c)), math.Log(math.Expm1(t)/math.Expm1(c))
	lg, _ := math.Lgamma(float64(steps) + 1)
	out := 0.0
	for k := range steps + 1 {
		loss := float64(steps)*t - float64(k)*c
		if loss <= eps {
			break
		}
		a, _ := math.Lgamma(float64(k) + 1)
		b, _ := math.Lgamma(float64(steps-k) + 1)
		out += math.Exp(lg-a-b+float64(steps-k)*lp+float64(k)*lq) * -math.Expm1(eps-loss)
	}
	return out
}

// brPure is δ(ε) of steps c-differentially private mechanisms, optimally composed
// (Kairouz, Oh, Viswanath 2015, Theorem 3.3).
func brPure(c, eps float64, steps int) float64 {
	lg, _ := math.Lgamma(float64(steps) + 1)
	norm := float64(steps) * (c + math.Log1p(math.Exp(-c)))
	out := 0.0
	for k := range steps + 1 {
		loss := float64(steps-2*k) * c
		if loss <= eps {
			break
		}
		a, _ := math.Lgamma(float64(k) + 1)
		b, _ := math.Lgamma(float64(steps-k) + 1)
		out += math.Exp(lg-a-b+float64(steps-k)*c-norm) * -math.Expm1(eps-loss)
	}
	return out
}

// Between the adversary that never changes t and the one that is bound by pure
// privacy only, at sizes that no search reaches; and against moments.
func TestBRBetweenClosedForms(t *testing.T) {
	for _, k := range []struct {
		c     float64
		steps int
	}{{0.5, 1}, {1e-7, 40}, {0.38, 60}, {0.1, 300}, {2, 100}, {6, 30}, {0.03, 400}, {3, 200}} {
		p, err := newBRProfile(k.c, int64(k.steps), 1e-3)
		if err != nil {
			t.Fatal(err)
		}
		if top := brCertain(k.c, float64(k.steps)); (top > 0) != (k.c == 3) {
			t.Errorf("%v: δ is taken for 1 up to ε = %v", k, top)
		}
		sd := k.c * math.Sqrt(float64(k.steps)) / 2
		mean := float64(k.steps) * k.c / 2 * math.Tanh(k.c/4)
		for i := -11; i <= 7; i++ {
			eps := mean + float64(i)*sd
			lo, hi := p.lowerDelta(eps), p.upperDelta(eps)
			if !(lo <= hi) {
				t.Errorf("%v ε=%v: δ in [%v, %v]", k, eps, lo, hi)
			}
			for _, f := range []float64{0.1, 0.35, 0.45, 0.5, 0.55, 0.62, 0.75, 0.95} {
				if v := brFixed(k.c, f*k.c, eps, k.steps); v > hi*(1+1e-9) {
					t.Errorf("%v ε=%v: t = %v·c reaches %v, above %v", k, eps, f, v, hi)
				}
			}
			if v := brPure(k.c, eps, k.steps); lo > v*(1+1e-9) || hi > v*(1+1e-2) {
				t.Errorf("%v ε=%v: δ in [%v, %v], pure composition allows %v", k, eps, lo, hi, v)
			}
			if p.tail != nil && eps > 0 {
				if v := p.tail.delta(p.steps, eps); lo > v || hi > p.tail.delta(p.steps, eps*(1-2e-3)) {
					t.Errorf("%v ε=%v: δ in [%v, %v], moments allow %v", k, eps, lo, hi, v)
				}
			}
		}
		// The non-adaptive adversary is nearly best, so it also shows that the
		// lower bound is not far down.
		for _, delta := range []float64{1e-3, 1e-9} {
			lo, hi := p.epsilon(delta)
			fixed := 0.0
			for f := 0.4; f < 1; f += 0.01 {
				above := func(e float64) bool { return brFixed(k.c, f*k.c, e, k.steps) > delta }
				if above(0) {
					fixed = max(fixed, brBisect(0, k.c*float64(k.steps), above, true))
				}
			}
			if lo < fixed*(1-2e-3) || hi-lo > 1.3e-3*max(hi, sd/4) {
				t.Errorf("%v δ=%v: ε in [%v, %v], a fixed t gives %v", k, delta, lo, hi, fixed)
			}
		}
	}
}

// The reference algorithm bounds from above too, and less tightly.
func TestBRTighterThanReference(t *testing.T) {
	for _, k := range []struct {
		c     float64
		steps int
	}{{0.6, 5}, {0.3, 20}} {
		p, err := newBRProfile(k.c, int64(k.steps), 5e-4)
		if err != nil {
			t.Fatal(err)
		}
		eps, delta := brReference(k.c, k.steps, 100, 40)
		for i := range eps {
			if delta[i] < 1e-13 || eps[i] < 0 {
				continue
			}
			if lo, hi := p.lowerDelta(eps[i]), p.upperDelta(eps[i]); lo > delta[i]*(1+1e-9) || hi > delta[i]*(1+1e-3) {
				t.Fatalf("%v ε=%v: δ in [%v, %v], reference %v", k, eps[i], lo, hi, delta[i])
			}
		}
	}
}

func TestBRProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.Float64Range(1e-3, 4).Draw(t, "c")
		steps := rapid.Int64Range(1, 20).Draw(t, "steps")
		get := func(c float64, n int64) *brProfile {
			p, err := newBRProfile(c, n, 1e-2)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := get(c, steps)
		more, wider := get(c, steps+1), get(c*rapid.Float64Range(1, 1.5).Draw(t, "wider"), steps)
		eps := rapid.Float64Range(-1.1, 1.1).Draw(t, "eps") * c * float64(steps)
		lo, hi := p.lowerDelta(eps), p.upperDelta(eps)
		if !(0 <= lo && lo <= hi && hi <= 1) {
			t.Fatalf("δ(%v) in [%v, %v]", eps, lo, hi)
		}
		if lo > more.upperDelta(eps) || lo > wider.upperDelta(eps) {
			t.Fatalf("δ(%v) is at least %v, but at most %v with a step more and %v with a wider range", eps, lo, more.upperDelta(eps), wider.upperDelta(eps))
		}
		later := eps + rapid.Float64Range(0, 1).Draw(t, "later")*c
		if p.upperDelta(later) > hi*(1+1e-12) || p.lowerDelta(later) > hi {
			t.Fatalf("δ rises from ε = %v to %v", eps, later)
		}
		for i := range p.upper {
			at := float64(p.lo+i) * p.h
			if !(p.lower[i] <= p.upper[i]) {
				t.Fatalf("grid point %d: [%v, %v]", i, p.lower[i], p.upper[i])
			}
			if i > 0 && (p.upper[i] > p.upper[i-1] || p.lower[i] > p.lower[i-1]) {
				t.Fatalf("δ rises at grid point %d: from [%v, %v] to [%v, %v]", i, p.lower[i-1], p.upper[i-1], p.lower[i], p.upper[i])
			}
			if p.lowerDelta(at) > p.upper[i]*(1+1e-12) || p.upperDelta(at) < p.lower[i]*(1-1e-12) {
				t.Fatalf("ε = %v: grid [%v, %v], queries [%v, %v]", at, p.lower[i], p.upper[i], p.lowerDelta(at), p.upperDelta(at))
			}
		}
	})
}

// Two resolutions must enclose the same truth.
func TestBRResolutionsAgree(t *testing.T) {
	for _, k := range []struct {
		c     float64
		steps int
	}{{0.02, 50}, {0.5, 50}, {2, 150}, {40, 6}, {1e-10, 30}} {
		fine := brRecurse(newBRTable(k.c, 120), k.steps)
		for _, m := range []int{4, 10, 34} {
			p := brRecurse(newBRTable(k.c, m), k.steps)
			for i := range 60 {
				eps := float64(i) / 50 * -float64(p.lo) * p.h
				if p.upperDelta(eps) < fine.lowerDelta(eps) || p.lowerDelta(eps) > fine.upperDelta(eps) {
					t.Errorf("%v m=%d ε=%v: [%v, %v] against [%v, %v]", k, m, eps, p.lowerDelta(eps), p.upperDelta(eps), fine.lowerDelta(eps), fine.upperDelta(eps))
				}
			}
		}
	}
}

// Between grid points the last step loses no more than at them.
func TestBRLastStep(t *testing.T) {
	const c, steps, m = 0.5, 30, 12
	fine := brRecurse(newBRTable(c, 96), steps)
	p := brRecurse(newBRTable(c, m), steps)
	share := func(i int) float64 { return p.lower[i-p.lo] / fine.upperDelta(float64(i)*p.h) }
	for i := range 10 * m {
		eps := (float64(i) + 0.5) * p.h
		a, mid, b := share(i), p.last.delta(eps)/fine.upperDelta(eps), share(i+1)
		if mid < min(a, b)*(1-2e-3) || mid > 1 {
			t.Errorf("at %d.5 grid points: %v of the truth, beside it %v and %v", i, mid, a, b)
		}
	}
}

// brReference returns the algorithm of the specification's reference program: each cell of
// t is covered by the wider two-point pair. Losses within ±span.
func brReference(c float64, steps, m int, span float64) (eps, delta []float64) {
	h := c / float64(m)
	n := int(min(float64(steps)*(c+h), span)/h) + m + 2
	size := 2*n + 1
	w, next := make([]float64, size+2*m), make([]float64, size+2*m)
	for i := range size {
		w[m+i] = max(0, -math.Expm1(-float64(i-n)*h))
	}
	mass := make([]float64, m)
	for j := range mass {
		a, b := float64(j+1)*h, float64(m-j)*h
		mass[j] = math.Expm1(-b) / math.Expm1(-a-b)
	}
	for range steps {
		for i := range m {
			w[i], w[m+size+i] = w[m], 1
		}
		out := next[m : m+size]
		clear(out)
		for j, p := range mass {
			up, down := w[m+j+1:][:size], w[j:][:size]
			for i := range out {
				if v := p*up[i] + (1-p)*down[i]; v > out[i] {
					out[i] = v
				}
			}
		}
		w, next = next, w
	}
	for i := range size {
		eps = append(eps, float64(i-n)*h)
		delta = append(delta, min(1, w[m+size-1-i]))
	}
	return eps, delta
}
