package accountant

import "math"

// grid is where losses are counted: the points off + k·h. The offset lets a part
// that has atoms put them on points of its own; offsets add in composition.
type grid struct{ h, off float64 }

func (g grid) at(k int) float64 { return g.off + float64(k)*g.h }

// cell returns the number of the interval [at(k), at(k+1)) that holds a loss.
func (g grid) cell(loss float64) int {
	return int(math.Floor(math.Max(-1<<53, math.Min(1<<53, (loss-g.off)/g.h))))
}

// pld is a privacy loss distribution on a grid: mass m[i] under P at loss
// at(lo+i), and inf at infinite loss. Its profile is
//
//	δ(ε) = inf + Σ m[i]·(1 − e^(ε−loss))₊
//
// An upper pld has a profile nowhere below the true one, a lower pld nowhere
// above. Both properties survive composition (δ of a composition is monotone in
// the profile of each part) and sampling (pld_sample.go), which is why one
// rounding, at the start, makes the final interval rigorous.
type pld struct {
	grid
	lo  int
	m   []float64
	inf float64
}

func (d pld) loss(i int) float64 { return d.at(d.lo + i) }

// cells collects a pair (P,Q) by intervals of the loss: p[i] is the P-mass with
// loss between at(lo+i) and at(lo+i+1), and x[i] = p[i] − e^at(lo+i)·Q-mass is
// its excess over the cell's lower end. The two numbers fix P- and Q-mass
// without ever forming e^loss, and x is a sum of non-negative terms.
type cells struct {
	grid
	lo   int
	p, x []float64
	// inf is P-mass at infinite loss; above and below is P-mass at finite
	// losses outside the cells, which each rounding puts on its safe side.
	inf, above, below float64
	// rate and reach bound the rounding error of a loss in cells: sampling at
	// this rate from inner losses of at most this size.
	rate, reach float64
	// partial cells hold part of a pair only; the rest is booked elsewhere.
	partial bool
}

func newCells(g grid, lo, hi int) *cells {
	n := max(hi-lo+1, 1)
	return &cells{grid: g, lo: lo, p: make([]float64, n), x: make([]float64, n), rate: 1, reach: 1}
}

// atom adds mass at one loss.
func (c *cells) atom(loss, mass float64) {
	if mass <= 0 {
		return
	}
	k := c.cell(loss)
	switch i := k - c.lo; {
	case i >= len(c.p):
		c.above += mass
	case i < 0:
		c.below += mass
	default:
		c.p[i] += mass
		c.x[i] += mass * -math.Expm1(math.Min(0, c.at(k)-loss))
	}
}

// heaviest returns the number of the cell with the most mass, counted from lo.
func (c *cells) heaviest() int {
	best := 0
	for i, p := range c.p {
		if p > c.p[best] {
			best = i
		}
	}
	return best
}

// massError bounds the relative error of the masses and excesses in cells.
const massError = 1e-12

// edgeError bounds how far, as a share of a cell, an outcome may lie outside
// the cell it was counted in. A loss ℓ' = ln(1−q+q·e^ℓ) changes by at most
// (|ℓ'|+q) times the error of ℓ, which is a few units in the last place of the
// numbers it is computed from.
func (c *cells) edgeError(loss float64) float64 {
	return 16 * roundoff * ((math.Abs(loss)+c.rate)*(1+c.reach) + math.Abs(c.off)) / c.h
}

// upper rounds up by connecting the dots (Doroshenko, Ghazi, Kamath, Kumar,
// Manurangsi 2022): within a cell, moving all outcomes to the two ends so that
// P- and Q-mass stay can only raise the profile, which is convex in e^ε. The
// error is of second order in h. Rounding errors are paid by moving a little
// more mass up.
func (c *cells) upper() pld {
	n := len(c.p)
	d := pld{grid: c.grid, lo: c.lo, m: make([]float64, n+1), inf: (c.inf + c.above) * (1 + massError)}
	width := -math.Expm1(-c.h)
	d.m[0] = c.below * (1 + massError)
	total := d.inf + d.m[0]
	for i, p := range c.p {
		if p == 0 {
			continue
		}
		slack := massError + c.edgeError(c.at(c.lo+i))
		p *= 1 + massError
		up := math.Min(p, c.x[i]/width*(1+massError)+p*slack)
		d.m[i] += p - up
		d.m[i+1] += up
		total += p
	}
	// A dominating pair has P-mass 1; what rounding lost counts as infinite.
	if total < 1 && !c.partial {
		d.inf += (1 - total) * (1 + massError)
	}
	return d
}

// lower rounds down: it is the loss distribution of a post-processing of the
// pair, hence dominated by it. Outcomes are merged into one label for each grid
// point so that the label's likelihood ratio equals that of the grid point: part of
// each cell goes to the label at its lower end, for which it has P-mass in
// excess, the rest to the label at its upper end, for which it lacks some.
// Starting from both ends, each label takes as much of the next cell as balances
// it, which is possible where the next cell is the heavier one; the two sweeps
// meet at the heaviest. A label that stays out of balance is rounded down. Mass
// that goes missing only lowers the profile. It also returns by how much of a
// cell losses were rounded down, on average.
func (c *cells) lower() (d pld, waste float64) {
	n := len(c.p)
	d = pld{grid: c.grid, lo: c.lo, m: make([]float64, n+1), inf: c.inf * (1 - massError)}
	d.m[n] = c.above * (1 - massError)
	if c.h > 3 {
		// x is close to p there and says little about Q; losses are so large that
		// rounding to the lower end is a small part of them.
		for i, p := range c.p {
			d.m[i] += p * (1 - massError)
		}
		return d, 0
	}
	mode := c.heaviest()
	mass, lack, w1 := c.sweepUp(d.m, mode)
	high, excess, w2 := c.sweepDown(d.m, mode)
	// Both leftovers meet at the label of the lower end of the heaviest cell.
	total, w3 := high+mass, 0.0
	switch {
	case total == 0:
	case excess >= lack:
		at := -math.Log1p(-math.Min(1, (excess-lack)/total)) / c.h
		k := math.Floor(at * (1 - 1e-9))
		d.m[min(mode+int(k), n)] += total
		w3 = (at - k) * total
	default:
		share := excess / lack
		d.m[mode] += high + share*mass
		w3 = c.giveUp(d.m, mode, (1-share)*mass, (1-share)*lack)
	}
	return d, (w1+w2)/c.h + w3
}

// giveUp rounds down a label at grid point i that lacks P-mass for its ratio,
// and returns by what share of a cell, times the mass.
func (c *cells) giveUp(m []float64, i int, mass, lack float64) float64 {
	if mass <= 0 {
		return 0
	}
	at := float64(i) - math.Log1p(lack/mass)/c.h
	k := math.Floor(at - 1e-9)
	if k >= 0 {
		m[int(k)] += mass
	}
	return (at - k) * mass
}

// reduced returns mass and excess of a cell, less what rounding may have added.
func (c *cells) reduced(i int) (p, x float64) {
	slack := massError + c.edgeError(c.at(c.lo+i))
	p = c.p[i] * (1 - massError)
	return p, math.Max(0, c.x[i]*(1-massError)-c.p[i]*slack*-math.Expm1(-c.h))
}

// A sweep splits each cell in turn. Where the next cell has too little to balance
// a label, the label behind it keeps a small excess, that is, it is rounded down
// by a part of h.

// snap is the share of a cell by which an outcome next to the upper end of its
// cell may be moved there. The final ε pays for it (composed.shift).
const snap = 1e-9

// lack returns the P-mass that a cell with mass p and excess x over its lower end lacks for
// the ratio of its upper end.
func (c *cells) lack(p, x float64) float64 {
	grow := math.Expm1(c.h)
	return math.Max(0, p*grow-x*(1+grow))
}

// sweepUp fills the labels below the heaviest cell, and returns what waits there
// and the excess that labels were left with.
func (c *cells) sweepUp(m []float64, mode int) (mass, lack, waste float64) {
	if mode == 0 {
		return 0, 0, 0
	}
	p, x := c.reduced(0)
	for i := range mode {
		nextP, nextX := c.reduced(i + 1)
		all := c.lack(p, x)
		if all <= p*c.h*snap {
			all = 0
		}
		down := 0.0 // the share for the label at the lower end
		if lack > 0 && x > 0 {
			down = math.Min(1, lack/x)
		}
		if (1-down)*all > nextX {
			down = math.Max(down, 1-nextX/all)
		}
		if covered := down * x; lack > covered*(1+1e-12) {
			// Only where the heaviest cell is met from a gap below it.
			waste += c.giveUp(m, i, mass+down*p, lack-covered) * c.h
		} else {
			m[i] += mass + down*p
			waste += covered - lack
		}
		mass, lack = (1-down)*p, (1-down)*all
		p, x = nextP, nextX
	}
	return mass, lack, waste
}

// sweepDown fills the labels above the heaviest cell.
func (c *cells) sweepDown(m []float64, mode int) (mass, excess, waste float64) {
	for i := len(c.p) - 1; i >= mode; i-- {
		p, x := c.reduced(i)
		all := c.lack(p, x)
		up := 1.0 // the share for the label at the upper end
		if all > p*c.h*snap {
			up = math.Min(1, excess/all)
		}
		m[i+1] += mass + up*p
		waste += excess - up*all
		mass, excess = (1-up)*p, (1-up)*x
	}
	return mass, excess, waste
}

// regrid moves a pld to another grid, rounding its losses up or down.
func (d pld) regrid(g grid, up bool) pld {
	if g == d.grid {
		return d
	}
	c := newCells(g, g.cell(d.loss(0)), g.cell(d.loss(len(d.m)-1)))
	for i, m := range d.m {
		c.atom(d.loss(i), m)
	}
	c.inf += d.inf
	return c.round(up)
}

func (c *cells) round(up bool) pld {
	if up {
		return c.upper()
	}
	d, _ := c.lower()
	return d
}

// epsilon returns the ε at which the profile is δ, 0 when it is below δ everywhere and +Inf
// when infinite losses alone exceed it.
func (d pld) epsilon(delta float64) float64 {
	if d.inf >= delta {
		return math.Inf(1)
	}
	share, shrink := -math.Expm1(-d.h), math.Exp(-d.h)
	sum, b := d.inf, 0.0
	for i := len(d.m) - 1; i >= 0; i-- {
		l := d.loss(i)
		if l <= 0 {
			return 0
		}
		b += d.m[i]
		if i == 0 || sum+share*b > delta { // below the first point nothing is added
			if room := (delta - sum) / b; room < 1 {
				return math.Max(0, l+math.Log1p(-room))
			}
			return 0
		}
		sum += share * b
		b *= shrink
	}
	return 0
}

// delta returns the profile at ε, summed from small terms to large.
func (d pld) delta(epsilon float64) float64 {
	s := 0.0
	for i := len(d.m) - 1; i >= 0; i-- {
		l := d.loss(i)
		if l <= epsilon {
			break
		}
		s += d.m[i] * -math.Expm1(epsilon-l)
	}
	return s + d.inf
}

// profile returns δ at every grid point, from the top down by a recurrence of
// non-negative terms.
func (d pld) profile() []float64 {
	delta := make([]float64, len(d.m))
	up, b, sum := -math.Expm1(-d.h), 0.0, d.inf
	shrink := math.Exp(-d.h)
	for i := len(d.m) - 1; i >= 0; i-- {
		delta[i] = sum
		sum += up * (b + d.m[i])
		b = shrink * (b + d.m[i])
	}
	return delta
}
