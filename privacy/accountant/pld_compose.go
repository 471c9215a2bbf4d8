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

// composition is the tilted loss distribution of a composition on len(up) points of
// the grid, those from lo on: the mass at loss at(lo+i) is between
//
//	(low[i]−err)·e^(logScaleLo−θ·loss) and (up[i]+err)·e^(logScaleUp−θ·loss),
//
// where err is a bound on the 2-norm of the errors of all points together, and
// except for what lies outside the window: a transform of n points cannot tell
// losses apart that differ by the period n·h, and folds them into one.
type composition struct {
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
func compose(parts []part, theta float64, w window) (*composition, bool) {
	c := &composition{grid: grid{h: parts[0].up.h}, theta: theta}
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
func (c *composition) transform(parts []part, n int) {
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
	// Runs that lack a share l of what they have lack (1+l)^n − 1 of it together.
	c.lost = math.Expm1(c.lost)
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
func (c *composition) load(p part, buf []complex128) float64 {
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

// union returns the probability of any of n events of probability p or one of probability
// q, all independent.
func union(q, p, n float64) float64 {
	if p >= 1 || q >= 1 {
		return 1
	}
	return -math.Expm1(math.Log1p(-q) + n*math.Log1p(-p))
}

func mod(a, n int) int { return ((a % n) + n) % n }
