package accountant

import (
	"math"
	"sort"
)

// source makes the pld of one term of a composition at any resolution.
type source interface {
	// symmetric reports whether the remove and add directions are the same.
	symmetric() bool
	// outline describes the loss of one run, roughly: its standard deviation
	// and the losses between which all but tail P-mass lies.
	outline(dir direction, tail float64) outline
	// build rounds the pair up and down to a grid.
	build(dir direction, g grid, tail float64) (up, low pld)
}

type outline struct {
	sd, lo, hi float64
	// base and period place the atoms, if there are any: a grid through base
	// whose width divides period holds them exactly. Period 0: no atoms.
	base, period float64
}

// leafSource is a leaf, sampled at rate q (1: not sampled).
type leafSource struct {
	pair pair
	q    float64
}

func (l leafSource) symmetric() bool { return l.q == 1 }

func (l leafSource) outline(dir direction, tail float64) outline {
	s := sampling{l.q, dir}
	if dir == exchange {
		s.dir = remove
	}
	var o outline
	o.lo, o.hi = s.span(l.pair, tail)
	if dir == exchange {
		lo, hi := sampling{l.q, add}.span(l.pair, tail)
		o.lo, o.hi = math.Min(o.lo, lo), math.Max(o.hi, hi)
	}
	var m moments
	_, hi := l.pair.span(1e-12)
	const steps = 512
	for i := range steps {
		a, b := hi*(2*float64(i)/steps-1), hi*(2*float64(i+1)/steps-1)
		p, q, _ := l.pair.cell(a, b)
		if s.dir == remove {
			p = s.q*p + (1-s.q)*q
		}
		m.add(s.out((a+b)/2), p)
	}
	var atoms []float64
	for _, a := range l.pair.atoms() {
		p := a.mass
		if s.dir == remove {
			p *= s.q + (1-s.q)*math.Exp(-a.loss)
		}
		m.add(s.out(a.loss), p)
		atoms = append(atoms, s.out(a.loss))
	}
	if _, a := s.alone(l.pair.infinite()); a.mass > 0 {
		m.add(a.loss, a.mass)
		atoms = append(atoms, a.loss)
	}
	o.sd = m.sd()
	if len(atoms) >= 2 {
		o.base, o.period = atoms[1], math.Abs(atoms[1]-atoms[0])
		if len(atoms) > 2 && l.q == 1 {
			o.period /= 2 // the third atom lies at 0, half way
		}
	}
	return o
}

func (l leafSource) build(dir direction, g grid, tail float64) (up, low pld) {
	s := sampling{l.q, dir}
	if dir == exchange {
		s.dir = remove
	}
	if len(l.pair.atoms()) == 0 {
		g.off = l.offset(s, g.h, tail)
	}
	c := s.bin(l.pair, g, tail)
	up = c.upper()
	low, _ = c.lower()
	if dir == exchange && !l.symmetric() {
		up = highest(up, sampling{l.q, add}.bin(l.pair, g, tail).upper())
	}
	return up, low
}

// offset places a grid for a leaf. The heaviest cell is found by zooming in.
func (l leafSource) offset(s sampling, h, tail float64) float64 {
	lo, hi := s.span(l.pair, tail)
	for w := (hi - lo) / 256; ; w /= 128 {
		g := grid{h: math.Max(w, h), off: lo}
		c := s.binRange(l.pair, g, 0, min(g.cell(hi)+1, 256))
		best := c.heaviest()
		if lo, hi = g.at(best), g.at(best+1); !(w > h) {
			break
		}
	}
	return bestOffset(h, lo, 36, func(g grid, from, to int) *cells { return s.binRange(l.pair, g, from, to) })
}

// bestOffset places a grid so that cells.lower rounds little, above all at the
// heaviest cell. Only cells near it have a say; fill collects those between two
// numbers.
func bestOffset(h, heaviest float64, near int, fill func(g grid, from, to int) *cells) float64 {
	best, smallest := 0.0, math.Inf(1)
	try := func(off float64) {
		g := grid{h: h, off: off}
		k := g.cell(heaviest)
		c := fill(g, k-near, k+near)
		// Far from the heaviest cell a sweep splits cells about evenly: begin so.
		for _, i := range [...]int{0, len(c.p) - 1} {
			c.p[i], c.x[i] = c.p[i]/2, c.x[i]/2
		}
		if _, waste := c.lower(); waste < smallest {
			best, smallest = off, waste
		}
	}
	for i := range 8 {
		try(h * float64(i) / 8)
	}
	for step := h / 8; step > h/1e5; step /= 2 {
		at := best
		try(at + step/2)
		try(at - step/2)
	}
	return best - math.Floor(best/h)*h
}

// atoms are outcomes in the order of their losses.
type atoms []atom

func (d pld) atoms() atoms {
	list := make(atoms, 0, len(d.m))
	for i, m := range d.m {
		if m > 0 {
			list = append(list, atom{d.loss(i), m})
		}
	}
	return list
}

// offset places a grid for atoms.
func (a atoms) offset(h float64) float64 {
	if len(a) == 0 {
		return 0
	}
	var at, largest, mass float64
	for i, j := 0, 0; i < len(a); i++ {
		for mass += a[i].mass; a[i].loss-a[j].loss > h; j++ {
			mass -= a[j].mass
		}
		if mass > largest {
			at, largest = a[j].loss, mass
		}
	}
	var m moments
	for _, v := range a {
		m.add(v.loss, v.mass)
	}
	near := int(math.Max(48, math.Min(256, 3*m.sd()/h)))
	return bestOffset(h, at, near, func(g grid, from, to int) *cells {
		c := newCells(g, from, to)
		i := sort.Search(len(a), func(i int) bool { return a[i].loss >= g.at(from) })
		for ; i < len(a) && a[i].loss < g.at(to+1); i++ {
			c.atom(a[i].loss, a[i].mass)
		}
		return c
	})
}

// fixedSource holds plds that are already known, sampled at rate q.
type fixedSource struct {
	// up and low by direction: remove, add; equal for a symmetric pair.
	up, low [2]pld
	q       float64
	same    bool
}

func (f fixedSource) symmetric() bool { return f.q == 1 && f.same }

func (f fixedSource) outline(dir direction, tail float64) outline {
	if dir == exchange {
		a, b := f.outline(remove, tail), f.outline(add, tail)
		return outline{sd: a.sd, lo: math.Min(a.lo, b.lo), hi: math.Max(a.hi, b.hi)}
	}
	s, d := sampling{f.q, dir}, f.up[dir]
	var m moments
	for i, mass := range d.m {
		if mass > 0 {
			m.add(s.out(d.loss(i)), s.mass(mass, mass*math.Exp(-d.loss(i))))
		}
	}
	o := outline{sd: m.sd()}
	o.lo, o.hi = s.reach(d)
	return o
}

// reach returns the least and the largest finite loss of a sampled pld. Outcomes
// that only Q has become the least in the remove direction, those that only P
// has the largest in the other.
func (s sampling) reach(d pld) (lo, hi float64) {
	lo, hi = s.out(d.loss(0)), s.out(d.loss(len(d.m)-1))
	if s.q < 1 && s.dir == remove {
		lo = math.Log1p(-s.q)
	}
	if s.q < 1 && s.dir == add && d.inf > 0 {
		hi = -math.Log1p(-s.q)
	}
	return lo, hi
}

func (f fixedSource) build(dir direction, g grid, tail float64) (up, low pld) {
	s := sampling{f.q, dir}
	if dir == exchange {
		s.dir = remove
	}
	if f.q == 1 && g.h == f.up[s.dir].h {
		g = f.up[s.dir].grid
	} else {
		list := f.low[s.dir].atoms()
		for i, a := range list {
			list[i] = atom{s.out(a.loss), s.mass(a.mass, a.mass*math.Exp(-a.loss))}
		}
		g.off = list.offset(g.h)
	}
	up, low = s.apply(f.up[s.dir], g, true), s.apply(f.low[s.dir], g, false)
	if dir == exchange && !f.symmetric() {
		up = highest(up, sampling{f.q, add}.apply(f.up[add], g, true))
	}
	return up, low
}

// moments accumulates a variance.
type moments struct{ m0, m1, m2 float64 }

func (m *moments) add(v, mass float64) {
	m.m0 += mass
	m.m1 += mass * v
	m.m2 += mass * v * v
}

func (m *moments) sd() float64 {
	if m.m0 == 0 {
		return 0
	}
	mean := m.m1 / m.m0
	return math.Sqrt(math.Max(m.m2/m.m0-mean*mean, 0))
}

// highest returns a pld whose profile is nowhere below those given, all on
// grids of one width and offset: the pointwise maximum at the grid points, with
// the dots connected between them (the profiles are convex in e^ε).
func highest(list ...pld) pld {
	lo, hi := list[0].lo, list[0].lo+len(list[0].m)
	for _, d := range list[1:] {
		lo, hi = min(lo, d.lo), max(hi, d.lo+len(d.m))
	}
	n := hi - lo
	wide := make([]pld, len(list))
	profiles := make([][]float64, len(list))
	for i, d := range list {
		m := make([]float64, n)
		copy(m[d.lo-lo:], d.m)
		wide[i] = pld{d.grid, lo, m, d.inf}
		profiles[i] = wide[i].profile()
	}
	best := make([]int, n)
	for k := range best {
		for i := range list {
			if profiles[i][k] > profiles[best[k]][k] {
				best[k] = i
			}
		}
	}
	out := pld{grid: list[0].grid, lo: lo, m: make([]float64, n), inf: wide[best[n-1]].inf}
	up, down := math.Expm1(out.h), -math.Expm1(-out.h)
	at := func(k int) float64 { return profiles[best[k]][k] }
	for k := range n {
		i := best[k]
		same := (k == 0 || best[k-1] == i) && (k == n-1 || best[k+1] == i)
		if same || k == 0 || k == n-1 {
			out.m[k] = wide[i].m[k]
			continue
		}
		// The mass that bends the maximum here; never less than the bend of
		// the profile that is on top.
		bend := (at(k+1)-at(k))/up - (at(k)-at(k-1))/down
		out.m[k] = math.Max(wide[i].m[k], bend*(1+1e-9)+8*roundoff*at(k)/down)
	}
	total := out.inf
	for _, m := range out.m {
		total += m
	}
	if total < 1 {
		out.inf += (1 - total) * (1 + massError)
	}
	return out
}
