package accountant

import (
	"cmp"
	"fmt"
	"math"
)

// brProfile bounds δ(ε) of steps adaptively composed c-bounded-range mechanisms
// from both sides, at ε = (lo+i)·h: the true value at the number that
// float64(lo+i)*h rounds to lies in [lower[i], upper[i]]. The grid is symmetric
// about 0. The class is closed under exchanging P and Q (t becomes c−t), hence
//
//	δ(−ε) = 1 − e^{−ε} + e^{−ε}·δ(ε).
//
// Both slices are non-increasing. Beyond the grid upperDelta still holds.
type brProfile struct {
	h            float64
	lo           int
	upper, lower []float64

	c     float64
	steps int64
	tail  *brTail
	last  *brLast
}

const (
	// brMaxSteps bounds the work: it grows with the power 1.5 of the steps.
	brMaxSteps = 4096
	// brMaxRange keeps e^c far from overflow.
	brMaxRange = 500
	// brMinRange: smaller ranges are rounded up to it, far below any ε that
	// matters, so that differences of neighbouring W keep their precision.
	brMinRange = 1e-12
	// brLogFloor is ln(1/δ) to which a profile is computed; below that only the
	// bound of brTail remains.
	brLogFloor = 55
	// brMaxWork bounds brWork, to a few seconds; beyond it the width grows.
	brMaxWork = 9e7
)

var (
	errBRSteps = fmt.Errorf("more than %d bounded-range steps", brMaxSteps)
	errBRRange = fmt.Errorf("a bounded-range step with c above %d", brMaxRange)
)

// newBRProfile computes the profile so that ε is known to about the relative
// width tol at δ from 1e-3 to 1e-12; 0 means 5e-4. The bounds hold whatever the
// width.
func newBRProfile(c float64, steps int64, tol float64) (*brProfile, error) {
	switch {
	case !(c >= 0) || math.IsInf(c, 1) || steps < 0:
		return nil, fmt.Errorf("%d bounded-range steps with c = %v: c should be a finite number of at least 0 and steps at least 0", steps, c)
	case !(tol >= 0) || tol >= 1:
		return nil, fmt.Errorf("a tolerance of %v: it should be above 0 and below 1", tol)
	case c == 0 || steps == 0:
		return &brProfile{h: 1, upper: []float64{0}, lower: []float64{0}}, nil
	case steps > brMaxSteps:
		return nil, errBRSteps
	case steps == 1 && c > 1e-290: // a grid of it does not underflow
		return brOneStep(c), nil
	case c < brMinRange: // more steps of a wider range: from above only
		p, err := newBRProfile(brMinRange, max(steps, 2), tol)
		if err == nil {
			p.forgetLower()
		}
		return p, err
	case c > brMaxRange:
		return nil, errBRRange
	}
	tol = cmp.Or(tol, 5e-4)
	m := 2 * int(math.Ceil(math.Sqrt(0.24/tol))) // the width is mostly 0.5/m² to 1/m²
	for m > 8 && brWork(c, int(steps), m) > brMaxWork {
		m -= 2 * max(1, m/16)
	}
	for {
		p := brRecurse(newBRTable(c, m), int(steps))
		gap := p.width()
		if gap <= 1.25*tol {
			return p, nil
		}
		next := 2 * int(math.Ceil(float64(m)/2*min(4, 1.1*math.Sqrt(gap/tol))))
		if brWork(c, int(steps), next) > brMaxWork {
			return p, nil
		}
		m = next
	}
}

// width returns the largest relative width of ε over common δ; where ε is less than a
// quarter of the loss's standard deviation, it is relative to that.
func (p *brProfile) width() float64 {
	scale := p.c * min(float64(p.steps), math.Sqrt(float64(p.steps))/2) / 4
	worst := 0.0
	for _, delta := range []float64{1e-3, 1e-6, 1e-9, 1e-12} {
		lo, hi := p.epsilon(delta)
		worst = max(worst, (hi-lo)/max(hi, scale))
	}
	return worst
}

// brFirst is W of one step in closed form: only the upper loss counts, and
// p_t·(1−e^{−x−t}) is largest at t = (c−x)/2.
func brFirst(x, c float64) float64 {
	switch {
	case x >= c:
		return -math.Expm1(-x)
	case x <= -c:
		return 0
	}
	e := math.Expm1(-(x + c) / 2)
	return e * (e / -math.Expm1(-c))
}

func brOneStep(c float64) *brProfile {
	const m = 256
	u, l := make([]float64, m+1), make([]float64, m+1)
	for i := range u {
		v := brFirst(-c*float64(i)/m, c)
		u[i], l[i] = v*(1+1e-14)+brTiny, v*(1-1e-14)
	}
	u[m] = 0
	return brAssemble(c, m, 1, nil, u, l)
}

// brAssemble makes a profile from bounds at x = −i·c/m, i ≥ 0.
func brAssemble(c float64, m int, steps int64, tail *brTail, u, l []float64) *brProfile {
	n := len(u) - 1
	p := &brProfile{
		// A grid point, rounded, is never below i·c/m: δ there is not larger.
		h: c / float64(m) * (1 + 0x1p-51), lo: -n, c: c, steps: steps, tail: tail,
		upper: make([]float64, 2*n+1), lower: make([]float64, 2*n+1),
	}
	for i := range u {
		eps, up, low := float64(i)*p.h, min(u[i], 1), l[i]
		if i > 0 {
			// It may be above i·c/m by 2^-50 of itself; the slope in e^ε is at
			// most that of the chord before it.
			low -= (u[i-1] - low) * math.Expm1(eps*0x1p-49) / -math.Expm1(-p.h)
		}
		p.upper[n+i], p.lower[n+i] = up, max(low, 0)
		p.upper[n-i], p.lower[n-i] = brMirror(eps, up, 1+0x1p-50), brMirror(eps, max(low, 0), 1-0x1p-50)
	}
	for i := 1; i < len(p.upper); i++ {
		p.upper[i] = min(p.upper[i], p.upper[i-1])
		k := len(p.lower) - 1 - i
		p.lower[k] = max(p.lower[k], p.lower[k+1])
	}
	return p
}

// brMirror is δ(−ε) from δ(ε).
func brMirror(eps, delta, round float64) float64 {
	if eps == 0 {
		return delta
	}
	return min(1, (math.Exp(-eps)*delta-math.Expm1(-eps))*round)
}

// forgetLower keeps only what holds for c = 0.
func (p *brProfile) forgetLower() {
	for i := range p.lower {
		p.lower[i] = max(0, -math.Expm1(float64(p.lo+i)*p.h)) * (1 - 0x1p-50)
	}
	p.last = nil
}

// end is the largest loss, rounded up; mechanisms of the class come as close to it as one
// likes.
func (p *brProfile) end() float64 {
	n := float64(p.steps)
	end := p.c * n
	if math.FMA(p.c, n, -end) > 0 {
		end = math.Nextafter(end, math.Inf(1))
	}
	return end
}

// upperDelta bounds δ(ε) from above for any real ε. Between grid points δ lies
// below its chord in e^ε, in which it is convex.
func (p *brProfile) upperDelta(eps float64) float64 {
	switch {
	case math.IsNaN(eps):
		return 1
	case eps < 0:
		return brMirror(-eps, p.upperDelta(-eps), 1+0x1p-50)
	case eps >= p.end():
		return 0
	}
	if p.steps == 1 {
		return min(1, brFirst(-eps, p.c)*(1+1e-14)+brTiny)
	}
	out := p.upper[len(p.upper)-1]
	if i := int(eps / p.h); i < -p.lo {
		past := max(0, eps-float64(i)*p.h-eps*0x1p-49)
		a, b := p.upper[i-p.lo], p.upper[i+1-p.lo]
		out = min(a, (a-(a-b)*(math.Expm1(past)/math.Expm1(p.h)))*(1+0x1p-48))
	}
	return min(out, p.tail.delta(p.steps, eps))
}

// lowerDelta bounds δ(ε) from below for any real ε. A convex function lies above
// the lines through its neighbouring chords.
func (p *brProfile) lowerDelta(eps float64) float64 {
	switch {
	case math.IsNaN(eps):
		return 0
	case eps < 0:
		return brMirror(-eps, p.lowerDelta(-eps), 1-0x1p-50)
	case eps >= p.end():
		return 0
	}
	if p.steps == 1 {
		return brFirst(-eps, p.c) * (1 - 1e-14)
	}
	n := -p.lo
	i := int(eps / p.h)
	if i >= n {
		return 0
	}
	past := min(p.h, max(0, eps-float64(i)*p.h+eps*0x1p-49))
	u, l := p.upper[n+i-1:], p.lower[n+i-1:]
	out := l[2]
	out = max(out, l[1]-(u[0]-l[1])*(math.Expm1(past)/-math.Expm1(-p.h)))
	if len(u) > 3 {
		out = max(out, l[2]+(l[2]-u[3])*(math.Expm1(past-p.h)/-math.Expm1(p.h)))
	}
	if p.last != nil {
		out = max(out, p.last.delta(eps*(1+0x1p-50)))
	}
	return out * (1 - 0x1p-46)
}

// epsilon encloses the least ε at which the profile is at most δ.
func (p *brProfile) epsilon(delta float64) (lo, hi float64) {
	end := p.end()
	switch {
	case p.upperDelta(0) <= delta:
	case delta == 0: // bounds on δ may underflow
		hi = end
	default:
		hi = brBisect(0, end, func(e float64) bool { return p.upperDelta(e) > delta }, true)
	}
	switch {
	case p.lowerDelta(0) <= delta:
	case delta == 0: // only ε = steps·c has δ = 0
		lo = end * (1 - 0x1p-50)
	default:
		lo = brBisect(0, end, func(e float64) bool { return p.lowerDelta(e) > delta }, false)
	}
	return lo, hi
}

// brBisect narrows [a, b], above(a) and not above(b), to neighbouring numbers
// and returns the upper or the lower one.
func brBisect(a, b float64, above func(float64) bool, upper bool) float64 {
	for b-a > 1e-15*b {
		mid := a + (b-a)/2
		if mid <= a || mid >= b {
			break
		}
		if above(mid) {
			a = mid
		} else {
			b = mid
		}
	}
	if upper {
		return b
	}
	return a
}
