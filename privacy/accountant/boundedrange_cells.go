package accountant

import "math"

// brTable holds the coefficients of one c-bounded-range step on the grid j·h,
// h = c/m.
//
// The step. Log-likelihood ratios lie in [t−c, t] for a t in [0,c] that the
// adversary picks after seeing the past. Let W(x) be the best δ that later steps
// still reach when loss minus ε is x; it is convex in γ = e^{−x}. With r the
// likelihood ratio, E_P[W(x+ln r)] = E_Q[r·W(x+ln r)], and r·W(x+ln r) is convex
// in r (the perspective of a convex function), so of all pairs with ratios in
// [e^{t−c}, e^t] the one on the two ends is worst (Dong, Durfee, Rogers 2020).
// That E_Q[r] = 1 fixes its P-mass on e^t: p_t = (e^c−e^t)/(e^c−1). The step is
//
//	F(t) = p_t·W(x+t) + (1−p_t)·W(x+t−c), maximised over t.
//
// From below: t = j·h keeps all losses on the grid, so F(j·h) needs no rounding.
//
// From above: let t lie in the cell [a·h, b·h], and U_j ≥ W(x+j·h),
// D_j ≥ W(x+j·h−c). Put r_j = e^{jh}, s = e^t, θ = (s−r_a)/(r_b−r_a). Convexity in
// r puts r·W(x+ln r) below its chord from r_a to r_b, and likewise e^{−c} times
// that for the other branch, hence
//
//	F(t) ≤ V(θ) = p_t·[(1−ω)·U_a + ω·U_b] + (1−p_t)·[(1−ω)·D_a + ω·D_b],  ω = θ·r_b/s,
//
// which splits the mass of a loss over the two grid points beside it, keeping
// its P- and Q-mass. As p_t is linear in s, V = A + B·s + C/s. With
// dU = U_b−U_a, dD = D_b−D_a, w = (b−a)·h, π = p_a−p_b and q = 1−p:
//
//	V'(0) = e^w·(p_a·dU + q_a·dD) − π·(U_a−D_a)
//	V'(1) = e^{−w}·(p_b·dU + q_b·dD) − π·(U_b−D_b)
//	V''(1) = −2π·e^{(a−2b)h}·(e^c·dU − dD), and |V''| falls from 0 to 1.
//
// V is concave when e^c·dU ≥ dD, which convexity of W grants (it is enough to have
// it for cells one grid point wide: the inequalities add up); where rounding
// breaks it, V is convex and its maximum is at an end. Three facts follow, and
// they are all that the code uses:
//
//  1. concave and V'(1) ≥ 0: nothing in the cell exceeds V(1) = F(b·h);
//  2. concave and V'(0) ≤ 0: nothing exceeds V(0) = F(a·h);
//  3. concave: V ≤ V(0) + V'(0)²/(2|V”(1)|), and ≤ V(1) + V'(1)²/(2|V”(1)|).
//
// A cell may be many grid points wide: 1 and 2 then discard it whole. The loss
// against the true maximum is of second order in h and only cells next to the
// best t contribute it.
//
// Rounding. Each sign test compares two sums of nonnegative terms. When it goes
// wrong the sums agree to a few units in the last place, and each is at most
// V(0) or V(1), so the maximum is missed by a few units of itself; the same holds
// for the quotients of 3 and for brTable.cell. The factor slack, applied once per
// step, covers all of it more than tenfold.
type brTable struct {
	c, h, slack float64
	m           int
	up, down    []float64  // p_t and 1−p_t at t = j·h
	unit        []brUnit   // the cells [j, j+1]
	left, right [][]brWide // cover [0, j−1] and [j+2, m], nearest first
	all         float64    // 1−e^{−c}
	// e^{jh}, e^{−jh} and e^{jh}−1
	grow, fall, span []float64
}

// brUnit is a cell one grid point wide.
type brUnit struct {
	a1, a2, b1, b2, pi float64 // of V'(0) and V'(1)
	curve              float64 // 2|V''(1)| = curve·(e^c·dU − dD)
	lift               float64 // curve·(e^c−1)
}

// brWide is a cell that fact 1 (left) or 2 (right) is expected to discard.
type brWide struct {
	a, b       int
	s1, s2, pi float64
}

// brGrowth: measured in grid points from the best t, a cell can be discarded by
// its slope when it is up to about twice as long as it is far away.
const brGrowth = 2.5

func newBRTable(c float64, m int) *brTable {
	t := &brTable{
		c: c, h: c / float64(m), m: m, all: -math.Expm1(-c),
		slack: (1 + c) / (1 << 47),
		up:    make([]float64, m+1), down: make([]float64, m+1),
		grow: make([]float64, m+1), fall: make([]float64, m+1), span: make([]float64, m+1),
	}
	for j := range t.up {
		x := float64(j) * t.h
		t.grow[j], t.fall[j], t.span[j] = math.Exp(x), math.Exp(-x), math.Expm1(x)
	}
	for j := range t.up {
		t.up[j] = t.span[m-j] * t.fall[m-j] / t.all
		t.down[j] = t.span[j] * t.fall[m] / t.all
	}
	t.unit = make([]brUnit, m)
	e := t.grow[1]
	for j := range t.unit {
		pi := t.massBetween(j, j+1)
		curve := 4 * pi * t.fall[j+1] * t.fall[1]
		t.unit[j] = brUnit{
			a1: e * t.up[j], a2: e * t.down[j],
			b1: t.up[j+1] / e, b2: t.down[j+1] / e,
			pi: pi, curve: curve, lift: curve * t.span[m],
		}
	}
	t.left, t.right = make([][]brWide, m), make([][]brWide, m)
	for j := range m {
		at := j - 1
		for _, n := range brLengths(j - 1) {
			e := t.fall[n]
			t.left[j] = append(t.left[j], brWide{at - n, at, e * t.up[at], e * t.down[at], t.massBetween(at-n, at)})
			at -= n
		}
		at = j + 2
		for _, n := range brLengths(m - j - 2) {
			e := t.grow[n]
			t.right[j] = append(t.right[j], brWide{at, at + n, e * t.up[at], e * t.down[at], t.massBetween(at, at+n)})
			at += n
		}
	}
	return t
}

// brLengths cuts a stretch that begins one grid point away into few cells.
func brLengths(total int) []int {
	if total <= 0 {
		return nil
	}
	n := math.Ceil(math.Log1p(float64(total)) / math.Log(brGrowth))
	growth := math.Pow(float64(total+1), 1/n)
	var out []int
	for d, used := 1.0, 0; used < total; {
		d *= growth
		if l := min(int(math.Round(d))-1, total) - used; l > 0 {
			out = append(out, l)
			used += l
		}
	}
	return out
}

// massBetween is p_a − p_b.
func (t *brTable) massBetween(a, b int) float64 {
	return t.fall[t.m-a] * t.span[b-a] / t.all
}

// value is F(j·h); d[j] and u[j] bound W(x+j·h−c) and W(x+j·h).
func (t *brTable) value(d, u []float64, j int) float64 {
	return t.up[j]*u[j] + t.down[j]*d[j]
}

// cell raises best to a bound on F over [a·h, b·h], for any shape of V. It
// divides the cell as long as its own bound exceeds best.
func (t *brTable) cell(d, u []float64, a, b int, best float64) float64 {
	va := t.value(d, u, a)
	best = max(best, va, t.value(d, u, b))
	n := b - a
	dU, dD := u[b]-u[a], d[b]-d[a]
	pi := t.massBetween(a, b)
	slope := t.grow[n]*(t.up[a]*dU+t.down[a]*dD) - pi*(u[a]-d[a])
	if slope <= 0 || t.fall[n]*(t.up[b]*dU+t.down[b]*dD) >= pi*(u[b]-d[b]) {
		return best
	}
	// Slopes of these signs make V concave with its maximum inside, at
	// s = √(C/B). With σ = s/r_a and e = (e^c−1)/r_a:
	v := va + slope // by concavity, and where V is flat up to rounding
	den := t.span[n]*(u[b]-d[b]) + (dU - dD)
	if square := t.grow[n] * t.fall[a] * (t.span[t.m]*dU + (dU - dD)) / den; den > 0 && square > 0 {
		e := t.grow[t.m-a] * t.all
		x := slope * e / (den * (math.Sqrt(square) + 1)) // σ−1, without cancellation
		v = min(v, va+den/(e*t.span[n])*x*x)
	}
	if v <= best {
		return best
	}
	if n == 1 {
		return v
	}
	mid := (a + b) / 2
	return t.cell(d, u, mid, b, t.cell(d, u, a, mid, best))
}

// near is cell for [j, j+1], by fact 3 from the better end where that is tight.
func (t *brTable) near(d, u []float64, j int, best float64) float64 {
	c := &t.unit[j]
	dU, dD := u[j+1]-u[j], d[j+1]-d[j]
	v, slope := t.value(d, u, j), c.a1*dU+c.a2*dD-c.pi*(u[j]-d[j])
	if r := t.value(d, u, j+1); r > v {
		v, slope = r, c.pi*(u[j+1]-d[j+1])-(c.b1*dU+c.b2*dD)
	}
	if slope <= 0 {
		return max(best, v)
	}
	if k := c.lift*dU + c.curve*(dU-dD); 2*slope <= k {
		return max(best, v+slope*slope/k)
	}
	return t.cell(d, u, j, j+1, best)
}
