package accountant

import "math"

// brTail bounds δ far out by moments: for every λ > 0 and adversary,
// E_P[e^{λL}] ≤ e^{κ(λ)·steps}, where e^κ is the largest λ-th moment of one
// two-point pair, and (1−e^{−y})₊ ≤ e^{λy}·λ^λ/(1+λ)^{1+λ}.
type brTail struct {
	lambda, kappa, factor []float64
}

func newBRTail(c float64, steps int) *brTail {
	const n = 48
	t := &brTail{make([]float64, n), make([]float64, n), make([]float64, n)}
	first, last := 2/(c*math.Sqrt(float64(steps))), 60/c
	for i := range n {
		l := first * math.Pow(last/first, float64(i)/(n-1))
		// p_t·e^{λt} + (1−p_t)·e^{λ(t−c)} is largest at e^t = 1 + s.
		g, e := -math.Expm1(-l*c), math.Expm1(c)
		s := min(max((l*e-g)/((l+1)*g), 0), e)
		t.lambda[i] = l
		t.kappa[i] = l*math.Log1p(s) + math.Log1p(-s*(g/e))
		t.factor[i] = -l*math.Log1p(1/l) - math.Log1p(l) + 1e-9
	}
	return t
}

// exponent returns the least ln of the bounds on δ(ε) after steps, with its index.
func (t *brTail) exponent(steps, eps float64) (float64, int) {
	best, at := math.Inf(1), 0
	for i := range t.lambda {
		if v := t.at(i, steps, eps); v < best {
			best, at = v, i
		}
	}
	return best, at
}

func (t *brTail) at(i int, steps, eps float64) float64 {
	return steps*t.kappa[i] + t.factor[i] - t.lambda[i]*eps
}

func (t *brTail) delta(steps int64, eps float64) float64 {
	v, _ := t.exponent(float64(steps), eps)
	return min(1, math.Exp(v))
}

// reach returns an ε at which δ has fallen to e^{−brLogFloor}.
func (t *brTail) reach(steps float64) float64 {
	out := math.Inf(1)
	for i, l := range t.lambda {
		out = min(out, (steps*t.kappa[i]+t.factor[i]+brLogFloor)/l)
	}
	return out
}

// brCertain returns an ε up to which δ is 1 to within 1e-13: 1−δ(ε) is at most
// E_P[e^{μ(ε−L)}] for μ in [0,1], here with t = c/2 at every step.
func brCertain(c, steps float64) float64 {
	out := 0.0
	p := 1 / (1 + math.Exp(-c/2))
	for _, mu := range []float64{.02, .05, .1, .2, .35, .5} {
		gain := -math.Log(p*math.Exp(-mu*c/2) + (1-p)*math.Exp(mu*c/2))
		out = max(out, (steps*gain-32)/mu)
	}
	return out
}

// brWindow is the range of x that matters after each number of steps: from −low·h to
// −top·h. It only limits effort; everything outside is bounded too.
type brWindow struct{ low, top []int }

func newBRWindow(c float64, steps, m int, tail *brTail) brWindow {
	w := brWindow{make([]int, steps+1), make([]int, steps+1)}
	w.low[1] = m
	per := float64(m) / c
	for k := 2; k <= steps; k++ {
		far := int(min(tail.reach(float64(k))*per+1, float64(k*m)))
		w.low[k] = max(w.low[k-1], far)
		w.top[k] = max(w.top[k-1], int(brCertain(c, float64(k))*per))
	}
	return w
}

// brWork counts the grid points that a recursion visits, weighted by their cost: with a
// wide range fewer are computed in blocks.
func brWork(c float64, steps, m int) float64 {
	w := newBRWindow(c, steps, m, newBRTail(c, steps))
	out := 0.0
	for k := range w.low {
		out += float64(w.low[k] - w.top[k] + 1)
	}
	return out * (1 + c/4)
}

// brRun is the backward recursion: after k steps cur holds W_k, x = i·h at index
// base+i, within the window.
type brRun struct {
	t         *brTable
	tail      *brTail
	win       brWindow
	base      int
	cur, next brState
}

func newBRRun(t *brTable, steps int) *brRun {
	tail := newBRTail(t.c, steps)
	r := &brRun{t: t, tail: tail, win: newBRWindow(t.c, steps, t.m, tail)}
	r.base = r.win.low[steps] + 2*t.m
	n := r.base + t.m + 1
	r.cur = brState{make([]float64, n), make([]float64, n)}
	r.next = brState{make([]float64, n), make([]float64, n)}
	for i := range t.m {
		v := brFirst(-float64(i)*t.h, t.c)
		r.cur.upper[r.base-i], r.cur.lower[r.base-i] = v*(1+t.slack)+brTiny, v*(1-t.slack)
	}
	return r
}

// advance makes W_k of W_{k−1}.
func (r *brRun) advance(k int) {
	t, low, top := r.t, r.win.low[k], r.win.top[k]
	r.padBelow(k)
	r.padAbove(k)
	t.step(r.cur, r.next, r.base-low, r.base-top+1)
	if low == k*t.m {
		r.next.upper[r.base-low] = 0
	}
	r.cur, r.next = r.next, r.cur
}

// padBelow sets W_{k−1} below its window: at most its value at the end, for W
// increases, at most what moments allow, and 0 where no loss can bring x above 0.
func (r *brRun) padBelow(k int) {
	t, w, n := r.t, r.cur, r.win.low[k-1]
	steps, first := float64(k-1), w.upper[r.base-n]
	_, best := r.tail.exponent(steps, float64(n)*t.h)
	for i := n + 1; i <= r.win.low[k]+t.m; i++ {
		w.upper[r.base-i], w.lower[r.base-i] = 0, 0
		if i < (k-1)*t.m {
			w.upper[r.base-i] = min(first, math.Exp(r.tail.at(best, steps, float64(i)*t.h)))
		}
	}
}

// padAbove sets m values of W_{k−1} above its window: by symmetry where that
// ends at x = 0, else by 1 and, from below, by the value at its end.
func (r *brRun) padAbove(k int) {
	t, w, top := r.t, r.cur, r.base-r.win.top[k-1]
	for i := 1; i <= t.m; i++ {
		if top == r.base {
			e, rest := t.fall[i], t.fall[i]*t.span[i]
			w.upper[top+i], w.lower[top+i] = rest+e*w.upper[top-i], rest+e*w.lower[top-i]
		} else {
			w.upper[top+i], w.lower[top+i] = 1, w.lower[top]
		}
	}
}

// brRecurse computes the profile of two or more steps: δ(ε) = W_steps(−ε).
func brRecurse(t *brTable, steps int) *brProfile {
	r := newBRRun(t, steps)
	for k := 2; k <= steps; k++ {
		r.advance(k)
	}
	n, top := r.win.low[steps], r.win.top[steps]
	u, l := make([]float64, n+1), make([]float64, n+1)
	for i := range u {
		u[i], l[i] = 1, r.cur.lower[r.base-top]
		if i >= top {
			u[i], l[i] = r.cur.upper[r.base-i], r.cur.lower[r.base-i]
		}
	}
	p := brAssemble(t.c, t.m, int64(steps), r.tail, u, l)
	p.last = &brLast{t, r.next.lower, r.base, r.win.top[steps]}
	return p
}

// brLast takes the last step from an x between grid points: choosing t with x+t
// on the grid needs no rounding, and so gives up nothing from below.
type brLast struct {
	t         *brTable
	lower     []float64 // W one step before, from below
	base, top int
}

func (b *brLast) delta(eps float64) float64 {
	t := b.t
	whole, part := math.Modf(eps / t.h)
	i := b.base - max(int(whole), b.top) // a larger ε where δ is as good as 1
	past, rest := math.Expm1(part*t.h), -math.Expm1((part-1)*t.h)
	best, scale := 0.0, 1/t.span[t.m]
	for j := range t.m {
		// At t = (j+part)·h; sums of positive terms keep both masses precise.
		k := t.m - 1 - j
		up := t.fall[k] * (t.span[k] + rest) / t.all
		down := (t.span[j] + t.grow[j]*past) * scale
		best = max(best, up*b.lower[i+j]+down*b.lower[i+j-t.m])
	}
	return best * (1 - 1e-13)
}
