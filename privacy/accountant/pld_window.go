package accountant

import "math"

// window is a range of losses to keep, with orders for Chernoff bounds on what
// lies below and above.
type window struct {
	lo, hi         float64
	lamLow, lamTop float64
}

// steps are distances from a tilt, in units of the inverse standard deviation,
// at which Chernoff bounds are tried.
var steps = [...]float64{0.1, 0.25, 0.5, 1, 2, 3, 4.5, 6, 8, 11, 15, 25, 50}

// findWindow looks for losses outside which little is left: at most e^logRight
// of P above, and e^logTilted of the tilted measure above and below.
func findWindow(sketches []sketch, theta, logRight, logTilted float64) window {
	k, mean, v := cumulants(sketches, theta)
	sd := math.Sqrt(math.Max(v, 1e-300))
	w := window{lo: math.Inf(-1), hi: math.Inf(1)}
	for _, step := range steps {
		lam := theta + step/sd
		kl, _, _ := cumulants(sketches, lam)
		hi := (kl - k - logTilted) / (lam - theta)
		if lam > 0 {
			hi = math.Max(hi, (kl-logRight)/lam)
		}
		if hi < w.hi {
			w.hi, w.lamTop = hi, lam
		}
		lam = theta - step/sd
		kl, _, _ = cumulants(sketches, lam)
		if lo := (logTilted + k - kl) / (theta - lam); lo > w.lo {
			w.lo, w.lamLow = lo, lam
		}
	}
	w.lo = math.Min(w.lo, mean-3*sd)
	w.hi = math.Max(w.hi, mean+3*sd)
	return w
}

// findTarget looks for the shortest window above from in which δ can be read
// off, up to e^logSlack. Outcomes below the window fold up by multiples of the
// period n·h, and each then counts with its P-mass times e^(−θ·period) at most;
// those above fold down and count with P-mass times e^(θ·period).
func findTarget(sketches []sketch, theta, from, logSlack float64) window {
	_, _, v := cumulants(sketches, theta)
	sd := math.Sqrt(math.Max(v, 1e-300))
	w := window{lo: from, hi: math.Inf(1)}
	for _, step := range steps {
		lam := theta + step/sd
		k, _, _ := cumulants(sketches, lam)
		length := math.Max((k-logSlack)/lam-from, (k-lam*from-logSlack)/(lam-theta))
		if hi := from + math.Max(length, -logSlack/theta); hi < w.hi {
			w.hi, w.lamTop = hi, lam
		}
	}
	return w
}

// setTarget bounds what lies above the window and what folds into it.
func (c *composition) setTarget(parts []part, w window) {
	lo, hi := support(parts)
	n := len(c.up)
	bottom, top, period := c.at(c.lo), c.at(c.lo+n-1), float64(n)*c.h
	if lo < bottom {
		c.fold += math.Exp(-c.theta*period) * 1.001
	}
	if hi > top {
		c.right = math.Exp(logMGF(parts, w.lamTop, true) - w.lamTop*top)
		rho := math.Exp(-(w.lamTop - c.theta) * period)
		c.fold += math.Exp(logMGF(parts, w.lamTop, false)-w.lamTop*bottom) * rho / (1 - rho)
	}
}

// outside bounds the tilted mass outside the window, of the upper and the lower
// masses, and the P-mass above it.
func (c *composition) outside(parts []part, w window) (up, low, right float64) {
	lo, hi := support(parts)
	bottom, top := c.at(c.lo), c.at(c.lo+len(c.up)-1)
	beyond := func(upper bool) float64 {
		s, k := 0.0, logMGF(parts, c.theta, upper)
		if hi > top {
			s += math.Exp(logMGF(parts, w.lamTop, upper) - k - (w.lamTop-c.theta)*top)
		}
		if lo < bottom {
			s += math.Exp(logMGF(parts, w.lamLow, upper) - k + (c.theta-w.lamLow)*bottom)
		}
		return s
	}
	if hi > top && w.lamTop > 0 {
		right = math.Exp(logMGF(parts, w.lamTop, true) - w.lamTop*top)
	}
	return beyond(true), beyond(false), right
}

// logMGF bounds the log moment-generating function of a composition from above.
func logMGF(parts []part, theta float64, upper bool) float64 {
	s := 0.0
	for _, p := range parts {
		d := p.low
		if upper {
			d = p.up
		}
		s += float64(p.n) * d.logMGF(theta)
	}
	return s
}
