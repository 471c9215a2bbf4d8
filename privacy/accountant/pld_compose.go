package accountant

import (
	"math"
	"math/bits"
)

// part is one term of a composition: n runs of a pair, as an upper and a lower
// pld on grids of the same width and offset.
type part struct {
	up, low pld
	n       int64
	// lost bounds the tilted mass, of 1, that one run of up lacks, and gained
	// that which low has in excess, because the part was itself composed by a
	// transform over a window (pld_block.go).
	lost, gained float64
	// shift bounds by how much the losses of one run of low were rounded up.
	shift float64
}

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
	return math.Log(s) + peak + 64*roundoff*(2+math.Abs(peak))
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
	const size = 256
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

// tiltForDelta is the θ of the Chernoff bound on ε at δ.
func tiltForDelta(sketches []sketch, delta float64) (theta, epsilon float64) {
	return minimiseTilt(sketches, func(t, k float64) float64 {
		// Rényi conversion of Balle et al. 2020, at order 1+θ.
		return (k-math.Log(delta)-math.Log1p(t))/t + math.Log(t/(1+t))
	})
}

// tiltForEpsilon is the θ of the Chernoff bound on δ at ε, returned with its
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

// composed is the tilted loss distribution of a composition on len(up) points of
// the grid, those from lo on: the mass at loss at(lo+i) is between
//
//	(low[i]−err)·e^(logScaleLo−θ·loss) and (up[i]+err)·e^(logScaleUp−θ·loss),
//
// where err is a bound on the 2-norm of the errors of all points together, and
// but for what lies outside the window: a transform of n points cannot tell
// losses apart that differ by the period n·h, and folds them into one.
type composed struct {
	grid
	lo                     int
	theta                  float64
	up, low                []float64
	logScaleUp, logScaleLo float64
	err                    float64
	// infUp and infLow are P-mass at infinite loss.
	infUp, infLow float64
	// lost and gained bound the tilted mass that the upper masses lack and the
	// lower ones have in excess, from the parts.
	lost, gained float64
	// shift bounds by how much lower losses may have been rounded up.
	shift float64
	// right bounds the P-mass above the window, and fold what folding may add
	// to δ at any ε inside it (setTarget).
	right, fold float64
}

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
func (c *composed) setTarget(parts []part, w window) {
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
func (c *composed) outside(parts []part, w window) (up, low, right float64) {
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

// logMGF is that of a composition, from above.
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

// support bounds the losses a composition can reach at all.
func support(parts []part) (lo, hi float64) {
	for _, p := range parts {
		lo += float64(p.n) * math.Min(p.up.loss(0), p.low.loss(0))
		hi += float64(p.n) * math.Max(p.up.loss(len(p.up.m)-1), p.low.loss(len(p.low.m)-1))
	}
	return lo, hi
}

// maxFFT bounds the memory of a composition: 2^20 points of 16 bytes, twice.
const maxFFT = 1 << 20

// compose runs the transform with a tilt over at least a window. It reports
// false when the window does not fit the largest transform.
func compose(parts []part, theta float64, w window) (*composed, bool) {
	c := &composed{grid: grid{h: parts[0].up.h}, theta: theta}
	for _, p := range parts {
		c.off += float64(p.n) * p.up.off
	}
	// A window as long as the support holds all of it, and nothing folds.
	from, to := w.lo, w.hi
	if lo, hi := support(parts); to-from >= hi-lo {
		from, to = lo, hi
	}
	points := (to-from)/c.h + 4
	if !(points <= maxFFT) {
		return nil, false
	}
	n := max(16, 1<<bits.Len(uint(math.Max(points, 1)-1)))
	c.lo = c.cell(from) - 1
	c.transform(parts, n)
	return c, !math.IsNaN(c.err) && !math.IsNaN(c.logScaleUp+c.logScaleLo)
}

// transform convolves all parts. Upper and lower masses ride together as real
// and imaginary part of one sequence. The spectrum of a real sequence is
// conjugate at opposite frequencies, so the product of the upper spectra is kept
// at one of two opposite positions and that of the lower ones at the other.
func (c *composed) transform(parts []part, n int) {
	f := newFFT(n)
	acc := make([]complex128, n)
	buf := make([]complex128, n)
	base, smallest, relative := 0, math.Inf(1), fftError(n)
	for i, p := range parts {
		if i > 0 {
			clear(buf)
		}
		size := c.load(p, buf)
		smallest = math.Min(smallest, size)
		c.err += float64(p.n) * (relative + 8*roundoff) * size
		c.lost += float64(p.n) * p.lost
		c.gained += float64(p.n) * p.gained
		c.shift += float64(p.n) * p.shift
		base = mod(base+int(p.n%int64(n))*mod(p.up.lo, n), n)
		f.forward(buf)
		multiply(acc, buf, p.n, i == 0)
	}
	join(acc)
	f.inverse(acc)
	// |product of spectra| ≤ 1, so the errors of the parts add up in the 2-norm.
	c.err = 1.2*(c.err+relative*smallest) + 1e-24
	c.up, c.low = make([]float64, n), make([]float64, n)
	for i := range n {
		v := acc[mod(c.lo+i-base, n)]
		c.up[i], c.low[i] = math.Max(0, real(v)), math.Max(0, imag(v))
	}
}

// load writes the tilted masses of a part into a transform's input and books
// their scales; it returns the sum of the 2-norms.
func (c *composed) load(p part, buf []complex128) float64 {
	n := len(buf)
	count := float64(p.n)
	for side, d := range []pld{p.up, p.low} {
		k := d.logMGF(c.theta)
		if math.IsInf(k, -1) {
			k = 0
		}
		reach := math.Max(math.Abs(d.loss(0)), math.Abs(d.loss(len(d.m)-1)))
		relative := roundoff * (100 + 2*math.Abs(c.theta)*reach + 2*math.Abs(k))
		if side == 0 {
			c.logScaleUp += count*k + count*relative + 8*roundoff*math.Abs(count*k)
			c.infUp = union(c.infUp, d.inf, count) * (1 + massError)
		} else {
			c.logScaleLo += count*k - count*relative - 8*roundoff*math.Abs(count*k)
			c.infLow = union(c.infLow, d.inf, count) * (1 - massError)
		}
		weights := newWeights(d.grid, c.theta, k)
		at := mod(d.lo-p.up.lo, n)
		for i, m := range d.m {
			w := weights.at(d.lo + i)
			if side == 0 {
				buf[at] += complex(m*w, 0)
			} else {
				buf[at] += complex(0, m*w)
			}
			if at++; at == n {
				at = 0
			}
		}
	}
	var up, low float64
	for _, v := range buf {
		up += real(v) * real(v)
		low += imag(v) * imag(v)
	}
	return math.Sqrt(up) + math.Sqrt(low)
}

// multiply raises both spectra in z to the power n and multiplies them into acc.
func multiply(acc, z []complex128, n int64, first bool) {
	for j := range z {
		m := mirror(j)
		if m < j {
			continue
		}
		u, v := (z[j]+conj(z[m]))/2, (z[j]-conj(z[m]))/2
		v = complex(imag(v), -real(v))
		u, v = raise(u, n), raise(v, n)
		switch {
		case m == j && first:
			acc[j] = complex(real(u), real(v))
		case m == j:
			acc[j] = complex(real(acc[j])*real(u), imag(acc[j])*real(v))
		case first:
			acc[j], acc[m] = u, v
		default:
			acc[j], acc[m] = acc[j]*u, acc[m]*v
		}
	}
}

// join turns the two products in acc into the spectrum of upper + i·lower.
func join(acc []complex128) {
	for j := range acc {
		m := mirror(j)
		if m <= j {
			continue
		}
		u, v := acc[j], acc[m]
		acc[j] = u + complex(-imag(v), real(v))
		acc[m] = conj(u) + complex(imag(v), real(v))
	}
}

// raise is power, but 0 where the result is below 1e-26 and cannot matter.
func raise(z complex128, n int64) complex128 {
	a := real(z)*real(z) + imag(z)*imag(z)
	if n > 1 && a < 1 && float64(n)*math.Log(a) < -120 {
		return 0
	}
	return power(z, n)
}

// noise is the 2-norm of the weights e^(−θ(ℓ−ε))·(1−e^(ε−ℓ)) over the losses
// above ε, times the error of the masses.
func (c *composed) noise() float64 {
	sum := 1 / -math.Expm1(-2*c.theta*c.h)
	return c.err * math.Sqrt(math.Min(sum, float64(len(c.up))))
}

// ulps is a bound on the rounding of the losses of the grid.
func (c *composed) ulps(epsilon float64) float64 {
	return 8 * roundoff * (math.Abs(c.off) + math.Abs(float64(c.lo)*c.h) + math.Abs(epsilon))
}

// upperEpsilon is an ε at which the composition has at most the given δ. The sum
// runs from the largest losses down, in units of δ.
func (c *composed) upperEpsilon(delta float64) float64 {
	base := (c.infUp + c.right) / delta
	if !(base < 1) {
		return math.Inf(1)
	}
	logScale := c.logScaleUp - math.Log(delta)
	noise := c.noise() + c.lost/(1+c.theta)
	weight := func(l float64) float64 { return math.Exp(logScale - c.theta*l) }
	share, shrink := -math.Expm1(-c.h), math.Exp(-c.h)
	sum, b := base, 0.0
	for i := len(c.up) - 1; i > 0; i-- {
		l, next := c.at(c.lo+i), c.at(c.lo+i-1)
		if l <= 0 {
			return 0
		}
		b += c.up[i] * weight(l)
		e := noise * weight(next)
		if sum+share*b+e > 1 {
			room := math.Max(0, (1-e-sum)/b)
			if !(room < 1) {
				return math.Max(0, next)
			}
			eps := l + math.Log1p(-room)
			return math.Max(0, eps+c.ulps(eps))
		}
		sum += share * b
		b *= shrink
	}
	return math.Max(0, c.at(c.lo))
}

// lowerEpsilon is an ε at which the composition has at least the given δ.
func (c *composed) lowerEpsilon(delta float64) float64 {
	if c.infLow >= delta {
		return math.Inf(1)
	}
	logScale := c.logScaleLo - math.Log(delta)
	noise := c.noise() + c.gained/(1+c.theta)
	fold := c.fold / delta
	weight := func(l float64) float64 { return math.Exp(logScale - c.theta*l) }
	share, shrink := -math.Expm1(-c.h), math.Exp(-c.h)
	sum, b := c.infLow/delta, 0.0
	for i := len(c.low) - 1; i > 0; i-- {
		l, next := c.at(c.lo+i), c.at(c.lo+i-1)
		if l <= 0 {
			return 0
		}
		b += c.low[i] * weight(l)
		e := noise * weight(next)
		if sum+share*b-e-fold >= 1 {
			room := math.Max(0, (1+e+fold-sum)/b)
			if !(room < 1) {
				return math.Max(0, next-c.shift)
			}
			eps := l + math.Log1p(-room)
			return math.Max(0, eps-c.ulps(eps)-c.shift)
		}
		sum += share * b
		b *= shrink
	}
	return 0
}

// delta encloses the δ of the composition at ε ≥ 0.
func (c *composed) delta(epsilon float64) (lower, upper float64) {
	slack := c.ulps(epsilon)
	logWeight := func(scale, l float64) float64 { return math.Exp(scale - c.theta*l) }
	for i := len(c.up) - 1; i >= 0; i-- {
		l := c.at(c.lo + i)
		if l <= epsilon-slack {
			break
		}
		upper += c.up[i] * logWeight(c.logScaleUp, l) * -math.Expm1(epsilon-slack-l)
		lower += c.low[i] * logWeight(c.logScaleLo, l) * -math.Expm1(math.Min(0, epsilon+slack+c.shift-l))
	}
	upper += (c.noise()+c.lost/(1+c.theta))*logWeight(c.logScaleUp, epsilon-slack) + c.infUp + c.right
	lower += c.infLow - c.fold - (c.noise()+c.gained/(1+c.theta))*logWeight(c.logScaleLo, epsilon)
	return math.Max(0, lower), math.Min(1, upper)
}

// union is the probability of any of n events of probability p or one of
// probability q, all independent.
func union(q, p, n float64) float64 {
	if p >= 1 || q >= 1 {
		return 1
	}
	return -math.Expm1(math.Log1p(-q) + n*math.Log1p(-p))
}

func mod(a, n int) int { return ((a % n) + n) % n }
