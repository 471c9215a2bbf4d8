package accountant

import "math"

// Why tilting: a Fourier transform is exact to about 1e-16 of the largest
// value, but δ may be 1e-15 and smaller. Composition commutes with weighting
// masses by e^(θ·loss), so the transform runs on the weighted masses, with θ
// chosen so that the losses that decide δ carry the most weight; errors are then
// relative to δ itself. It also narrows the window of losses worth keeping.

// logMGF is ln Σ mass·e^(θ·loss) over the finite losses, from above: the sum is
// over non-negative terms, so its relative error is tiny and is added.
func (d pld) logMGF(theta float64) float64 {
	peak := math.Max(theta*d.loss(0), theta*d.loss(len(d.m)-1))
	s := 0.0
	weights := newWeights(d.grid, theta, peak)
	for i, m := range d.m {
		s += m * weights.at(d.lo+i)
	}
	if s < 1e-290 { // weights next to an end of the grid that has no mass may be 0
		if t := d.trimmed(); len(t.m) < len(d.m) {
			return t.logMGF(theta)
		}
		if d.m[0] == 0 { // of the one point that is left
			return math.Inf(-1)
		}
		s += float64(len(d.m)) * 0x1p-1022 // what underflow may have taken
	}
	return math.Log(s) + peak + 64*roundoff*(2+math.Abs(peak))
}

// trimmed leaves out points without mass at both ends.
func (d pld) trimmed() pld {
	first, last := 0, len(d.m)-1
	for first < last && d.m[first] == 0 {
		first++
	}
	for last > first && d.m[last] == 0 {
		last--
	}
	return pld{d.grid, d.lo + first, d.m[first : last+1], d.inf}
}

// weights gives e^(θ·loss−shift) at successive points of a grid, by a recurrence
// that is refreshed before errors build up or numbers overflow.
type weights struct {
	grid
	theta, shift, step, w float64
	mask                  int
}

func newWeights(g grid, theta, shift float64) weights {
	v := weights{grid: g, theta: theta, shift: shift, mask: 31, step: math.Exp(theta * g.h)}
	if math.Abs(theta*g.h) > 1 {
		v.mask = 0
	}
	return v
}

func (v *weights) at(k int) float64 {
	if k&v.mask == 0 || v.w == 0 {
		v.w = math.Exp(v.theta*v.grid.at(k) - v.shift)
		w := v.w
		v.w *= v.step
		return w
	}
	w := v.w
	v.w *= v.step
	return w
}

// sketch is a coarse copy of a pld for searching good parameters; nothing
// rigorous rests on it.
type sketch struct {
	groups []group
	n      float64
}

// group stands for neighbouring points: their mass, and the mean and variance of
// their losses.
type group struct{ mass, loss, variance float64 }

func (d pld) sketch(n int64) sketch {
	// Groups end by mass where the mass is, and by width in the tails.
	const size = 96
	width := max(1, len(d.m)/size)
	s := sketch{n: float64(n)}
	var m moments
	count := 0
	for i, mass := range d.m {
		m.add(d.loss(i), mass)
		if count++; count == width || m.m0 > 1.0/size || i == len(d.m)-1 {
			if m.m0 > 0 {
				sd := m.sd()
				s.groups = append(s.groups, group{m.m0, m.m1 / m.m0, sd * sd})
			}
			m, count = moments{}, 0
		}
	}
	return s
}

// cumulants returns ln E e^(θL) of the composition and its first two
// derivatives, the mean and variance of the tilted loss.
func cumulants(sketches []sketch, theta float64) (k, mean, variance float64) {
	for _, s := range sketches {
		at := func(g group) float64 { return theta * (g.loss + theta*g.variance/2) }
		peak := math.Inf(-1)
		for _, g := range s.groups {
			peak = math.Max(peak, at(g))
		}
		var m moments
		within := 0.0
		for _, g := range s.groups {
			w := g.mass * math.Exp(at(g)-peak)
			m.add(g.loss+theta*g.variance, w)
			within += w * g.variance
		}
		k += s.n * (math.Log(m.m0) + peak)
		mean += s.n * m.m1 / m.m0
		sd := m.sd()
		variance += s.n * (sd*sd + within/m.m0)
	}
	return k, mean, variance
}

// tiltForDelta returns the θ of the Chernoff bound on ε at δ.
func tiltForDelta(sketches []sketch, delta float64) (theta, epsilon float64) {
	return minimiseTilt(sketches, func(t, k float64) float64 {
		// Rényi conversion of Balle et al. 2020, at order 1+θ.
		return (k-math.Log(delta)-math.Log1p(t))/t + math.Log(t/(1+t))
	})
}

// tiltForEpsilon returns the θ of the Chernoff bound on δ at ε, returned with its
// logarithm.
func tiltForEpsilon(sketches []sketch, epsilon float64) (theta, logDelta float64) {
	return minimiseTilt(sketches, func(t, k float64) float64 { return k - t*epsilon })
}

// minimiseTilt searches θ on a logarithmic scale; the objectives are quasi-convex.
func minimiseTilt(sketches []sketch, f func(theta, k float64) float64) (theta, value float64) {
	_, _, v := cumulants(sketches, 0)
	scale := 1 / math.Sqrt(math.Max(v, 1e-300))
	at := func(u float64) float64 {
		t := scale * math.Exp(u)
		k, _, _ := cumulants(sketches, t)
		if y := f(t, k); !math.IsNaN(y) {
			return y
		}
		return math.Inf(1)
	}
	// A coarse scan, then golden section around the best.
	lo, hi := math.Log(1e-4), math.Log(1e4)
	best, bestU := math.Inf(1), 0.0
	for i := 0; i <= 24; i++ {
		u := lo + (hi-lo)*float64(i)/24
		if y := at(u); y < best {
			best, bestU = y, u
		}
	}
	width := (hi - lo) / 24
	a, b := bestU-width, bestU+width
	g := (math.Sqrt(5) - 1) / 2
	c, d := b-g*(b-a), a+g*(b-a)
	fc, fd := at(c), at(d)
	for range 14 {
		if fc < fd {
			b, d, fd = d, c, fc
			c = b - g*(b-a)
			fc = at(c)
		} else {
			a, c, fc = c, d, fd
			d = a + g*(b-a)
			fd = at(d)
		}
	}
	u := (a + b) / 2
	return scale * math.Exp(u), at(u)
}
