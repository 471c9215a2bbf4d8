package accountant

import "math"

// direction selects which of two adjacent data sets P belongs to.
type direction int

const (
	// remove: P has the record, Q does not.
	remove direction = iota
	// add: Q has the record, P does not.
	add
	// exchange: P and Q each have a record in its place (replace-one). A
	// symmetric pair that dominates both others.
	exchange
)

// sampling is the effect of Poisson sampling at rate q on a pair, in one
// direction. With ℓ the loss before:
//
//	remove: P' = qP+(1−q)Q, Q' = Q:   loss ln(1−q+q·e^ℓ)
//	add:    P' = P, Q' = (1−q)P+qQ:   loss −ln(1−q+q·e^−ℓ)
//
// In terms of profiles, with γ = e^ε, these are δ'(1−q+qγ) = q·δ(γ) for the
// first and δ'(γ) = (1−γ(1−q))·δ(γq/(1−γ(1−q))) for the second: both are
// monotone in δ, so bounds on the inner profile give bounds on the outer one.
type sampling struct {
	q   float64
	dir direction
}

// out maps an inner loss to the loss after sampling.
func (s sampling) out(l float64) float64 {
	if s.dir == add {
		return -sampling{s.q, remove}.out(-l)
	}
	if s.q == 1 {
		return l
	}
	if l > 30 {
		// ln(1 + e^y) for q·(e^l − 1) = e^y, at any rate above 0.
		y := l + math.Log(s.q) + math.Log1p(-math.Exp(-l))
		return max(y, 0) + math.Log1p(math.Exp(-math.Abs(y)))
	}
	return math.Log1p(s.q * math.Expm1(l))
}

// in inverts out; −∞ and +∞ where no inner loss reaches.
func (s sampling) in(l float64) float64 {
	if s.dir == add {
		return -sampling{s.q, remove}.in(-l)
	}
	if s.q == 1 {
		return l
	}
	if l > 30 {
		return l - math.Log(s.q) + math.Log1p(-(1-s.q)*math.Exp(-l))
	}
	v := math.Expm1(l) / s.q
	if v <= -1 {
		return math.Inf(-1)
	}
	if math.IsInf(v, 1) { // of the least rates
		return math.Log(math.Expm1(l)) - math.Log(s.q)
	}
	return math.Log1p(v)
}

// span bounds the losses after sampling, except for about tail P'-mass on each side.
func (s sampling) span(p pair, tail float64) (lo, hi float64) {
	if s.q == 1 {
		return p.span(tail)
	}
	pl, ph := p.span(tail)
	if s.dir == add {
		hi = s.out(ph)
		if p.infinite() > 0 {
			hi = math.Max(hi, -math.Log1p(-s.q))
		}
		return s.out(pl), hi
	}
	// P' = qP+(1−q)Q. By symmetry Q(loss > a) = P(loss < −a), and the other way
	// round.
	ql, qh := p.span(tail / 2)
	_, ph = p.span(math.Min(1, tail/(2*s.q)))
	if lo = s.out(-qh); p.infinite() > 0 {
		lo = math.Min(lo, math.Log1p(-s.q))
	}
	return lo, s.out(math.Max(ph, -ql))
}

// bin collects a pair after sampling in the cells of a grid; P'-mass of at most
// about tail at each end is left outside the cells.
func (s sampling) bin(p pair, g grid, tail float64) *cells {
	lo, hi := s.span(p, tail)
	// One cell more on either side: span and edges are rounded.
	return s.binRange(p, g, g.cell(lo)-1, g.cell(hi)+1)
}

// binRange is bin over given cells.
func (s sampling) binRange(p pair, g grid, from, to int) *cells {
	c := newCells(g, from, to)
	il, ih := p.span(1e-30)
	c.rate, c.reach = s.q, 1+math.Abs(il)+math.Abs(ih)
	for _, a := range p.atoms() {
		s.atom(c, a.loss, a.mass)
	}
	inf, rest := s.alone(p.infinite())
	c.inf += inf
	c.atom(rest.loss, rest.mass)
	a := s.in(g.at(c.lo))
	below, q, _ := p.cell(math.Inf(-1), a)
	c.below += s.mass(below, q)
	for i := range c.p {
		b := s.in(g.at(c.lo + i + 1))
		if b > a {
			pm, qm, x := p.cell(a, b)
			switch {
			case s.q == 1:
				c.p[i] += pm
				c.x[i] += x
			case s.dir == add:
				c.p[i] += pm
				c.x[i] += x * s.q / (s.q + (1-s.q)*math.Exp(a))
			case math.IsInf(a, -1):
				c.p[i] += s.mass(pm, qm)
				c.x[i] += s.q*pm + math.Max(0, (1-s.q)-math.Exp(g.at(c.lo+i)))*qm
			default:
				c.p[i] += s.mass(pm, qm)
				c.x[i] += s.q * x
			}
		}
		a = b
	}
	above, q, _ := p.cell(a, math.Inf(1))
	c.above += s.mass(above, q)
	return c
}

// alone samples outcomes that only P has, and as many that only Q has, both of the given
// mass. It returns what stays at infinite loss, and an atom.
func (s sampling) alone(mass float64) (inf float64, a atom) {
	switch {
	case s.q == 1:
		return mass, atom{}
	case s.dir == add:
		return 0, atom{-math.Log1p(-s.q), mass}
	}
	return s.q * mass, atom{math.Log1p(-s.q), (1 - s.q) * mass}
}

// mass returns the P'-mass of outcomes with P- and Q-mass p and q.
func (s sampling) mass(p, q float64) float64 {
	if s.dir == add || s.q == 1 {
		return p
	}
	return s.q*p + (1-s.q)*q
}

// atom adds an outcome with inner loss l and inner P-mass m.
func (s sampling) atom(c *cells, l, m float64) {
	if s.dir == remove && s.q < 1 {
		m *= s.q + (1-s.q)*math.Exp(-l)
	}
	c.atom(s.out(l), m)
}

// apply samples a pld, rounding to a grid up or down. Outcomes that only Q has
// (P-mass 0) take part in the remove direction.
func (s sampling) apply(d pld, g grid, up bool) pld {
	if s.q == 1 {
		return d.regrid(g, up)
	}
	first, last := s.reach(d)
	from, to := g.cell(first)-1, g.cell(last)+1
	if !up { // grids are as fine as upper ends allow; what is above counts as less
		to = min(to, from+maxCells)
	}
	c := newCells(g, from, to)
	lo, hi := d.loss(0), d.loss(len(d.m)-1)
	c.rate, c.reach = s.q, 1+math.Abs(lo)+math.Abs(hi)
	qsum := 0.0
	for i, m := range d.m {
		if m > 0 {
			s.atom(c, d.loss(i), m)
			qsum += m * math.Exp(-d.loss(i))
		}
	}
	if s.dir == add {
		c.atom(last, d.inf)
		return c.round(up)
	}
	// An upper pld may have Q-mass above 1 by rounding: its profile stays above
	// 1−γ then, as it must. A lower one is scaled so that it does not.
	if !up && qsum > 1 {
		for i := range c.p {
			c.p[i] /= qsum
			c.x[i] /= qsum
		}
		qsum = 1
	}
	c.atom(first, (1-s.q)*math.Max(0, 1-qsum))
	c.inf += s.q * d.inf
	return c.round(up)
}
