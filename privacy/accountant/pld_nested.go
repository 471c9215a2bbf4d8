package accountant

import "math"

// flatten composes parts into plds that are good over the whole range of
// losses, not just near one ε: what stands inside a sampling node is read at
// every loss. The composition is run under a ladder of tilts, and each grid
// point takes its mass from the tilt that is most accurate there. P-mass of at
// most about tail is left outside at either end.
func flatten(parts []part, tail float64) (up, low pld, ok bool) {
	sketches := make([]sketch, len(parts))
	for i, p := range parts {
		if p.up.inf >= 1 { // nothing is left at finite losses
			up = pld{p.up.grid, 0, []float64{0}, 1}
			return up, pld{up.grid, 0, []float64{0}, math.Min(1, p.low.inf)}, true
		}
		sketches[i] = p.up.sketch(p.n)
	}
	logTail := math.Log(tail)
	inner := findWindow(sketches, 0, logTail, logTail)
	lo, hi := support(parts)
	inner.lo, inner.hi = math.Max(inner.lo, lo), math.Min(inner.hi, hi)
	thetas, guard := ladder(sketches, inner, parts[0].up.h)
	runs := make([]*composition, len(thetas))
	aliases := make([]float64, len(thetas))
	for i, theta := range thetas {
		_, _, v := cumulants(sketches, theta)
		step := 8 / math.Sqrt(math.Max(v, 1e-300))
		w := window{inner.lo - guard, inner.hi + guard, theta - step, theta + step}
		if runs[i], ok = compose(parts, theta, w); !ok {
			return pld{}, pld{}, false
		}
		_, aliases[i], _ = runs[i].outside(parts, w)
	}
	up, low = stitch(runs, aliases, inner)
	above, below := inner.beyond(parts)
	up.inf += above
	up.m[0] += below // counted at the lower end of the range
	p := up.inf
	for _, m := range up.m {
		p += m
	}
	if p < 1 {
		up.inf += (1 - p) * (1 + massError)
	}
	return up, low, true
}

// ladder chooses tilts from −1, where the tilted measure is Q, upwards, so that
// their means are a few standard deviations apart, until the top is reached.
func ladder(sketches []sketch, w window, h float64) (thetas []float64, guard float64) {
	const limit = 40
	theta := -1.0
	for len(thetas) < limit {
		thetas = append(thetas, theta)
		_, mean, v := cumulants(sketches, theta)
		sd := math.Sqrt(math.Max(v, 1e-300))
		guard = math.Max(guard, 8*sd)
		// At the top, or all weight on one point of the grid already.
		if theta >= 0 && (mean+3*sd >= w.hi || sd < h/2) {
			break
		}
		next := theta + 5/sd
		if theta < 0 && next > 0 {
			next = 0
		}
		theta = next
	}
	return thetas, guard
}

// beyond bounds the P-mass above and below a window, by Chernoff's inequality.
func (w window) beyond(parts []part) (above, below float64) {
	lo, hi := support(parts)
	if w.hi < hi {
		above = math.Exp(logMGF(parts, w.lamTop, true) - w.lamTop*w.hi)
	}
	if w.lo > lo {
		below = math.Exp(logMGF(parts, w.lamLow, true) - w.lamLow*w.lo)
	}
	return above, below
}

// stitch takes each grid point of the window from the run whose error bound is
// least there. Upper masses get the error added, lower ones subtracted.
func stitch(runs []*composition, aliases []float64, w window) (up, low pld) {
	first := runs[0]
	lo, hi := first.cell(w.lo), first.cell(w.hi)+1
	up = pld{first.grid, lo, make([]float64, hi-lo+1), first.infUp}
	low = pld{first.grid, lo, make([]float64, hi-lo+1), first.infLow}
	best := 0
	errorAt := func(c *composition, l float64) float64 {
		return math.Log(c.err) + c.logScaleUp - c.theta*l
	}
	for k := lo; k <= hi; k++ {
		l := first.at(k)
		for best+1 < len(runs) && errorAt(runs[best+1], l) <= errorAt(runs[best], l) {
			best++
		}
		c := runs[best]
		i := k - c.lo
		if i < 0 || i >= len(c.up) {
			continue
		}
		up.m[k-lo] = (c.up[i] + c.err) * math.Exp(c.logScaleUp-c.theta*l)
		low.m[k-lo] = math.Max(0, c.low[i]-c.err-aliases[best]) * math.Exp(c.logScaleLo-c.theta*l)
	}
	return up, low
}
