package accountant

import "math"

// Why blocks: the window of n runs is √n times that of one, but a grid must be
// fine against one run. So many runs are composed in blocks, each block is moved
// to a grid that is as coarse, against its wider spread, as the first was, and
// the blocks are composed. The cost grows with log n.
const (
	blockRuns  = 1024
	blockWiden = 32 // √blockRuns: how much wider the loss of a block is
	blockAbove = 1 << 22
)

// inBlocks replaces parts that run very often by blocks of runs. The blocks hold
// at the given tilt only: what lies outside their windows is bounded in the
// tilted measure and booked as lost, and logCut bounds the P-mass above them.
func inBlocks(parts []part, theta, logCut float64) ([]part, bool) {
	for {
		largest := int64(0)
		for _, p := range parts {
			largest = max(largest, p.n)
		}
		if largest <= blockAbove {
			return parts, true
		}
		var next []part
		for _, p := range parts {
			// n runs are n/blockRuns blocks and one shorter block of the rest.
			for _, b := range []struct{ runs, times int64 }{{blockRuns, p.n / blockRuns}, {p.n % blockRuns, 1}} {
				if b.runs == 0 || b.times == 0 {
					continue
				}
				block, ok := p.block(b.runs, theta, logCut-math.Log(float64(b.times)))
				if !ok {
					return nil, false
				}
				block.n = b.times
				next = append(next, block)
			}
		}
		parts = next
	}
}

// block composes some runs of a part on a grid that is coarser by blockWiden.
func (p part) block(runs int64, theta, logCut float64) (part, bool) {
	one := []part{{p.up, p.low, runs, p.lost, p.gained, p.shift}}
	w := findWindow([]sketch{p.up.sketch(runs)}, theta, logCut, logTilted-2)
	c, ok := compose(one, theta, w)
	if !ok {
		return part{}, false
	}
	n := len(c.up)
	lows := make(atoms, n)
	for i := range n {
		l := c.at(c.lo + i)
		lows[i] = atom{l, c.low[i] * math.Exp(c.logScaleLo-theta*l)}
	}
	g := grid{h: c.h * blockWiden}
	g.off = lows.offset(g.h)
	first, last := g.cell(c.at(c.lo)), g.cell(c.at(c.lo+n-1))
	up, low := newCells(g, first, last), newCells(g, first, last)
	up.partial, low.partial = true, true
	outUp, outLow, right := c.outside(one, w)
	up.inf, low.inf = c.infUp+right, c.infLow
	// The errors of all points together are at most √n times their 2-norm.
	root := math.Sqrt(float64(n))
	b := part{lost: c.lost + outUp + root*c.err, gained: c.gained + outLow + root*c.err, shift: c.shift + snap*g.h}
	for i := range n {
		l := c.at(c.lo + i)
		if c.up[i] < c.err/root { // mostly noise, and not worth a mass
			b.lost += c.up[i]
			continue
		}
		up.atom(l, c.up[i]*math.Exp(c.logScaleUp-theta*l))
		low.atom(l, lows[i].mass)
	}
	b.up = up.upper()
	b.low, _ = low.lower()
	// Both are shares of the tilted mass, which rounding moved.
	b.lost *= math.Exp(c.logScaleUp - b.up.logMGF(theta))
	b.gained *= math.Exp(c.logScaleLo - b.low.logMGF(theta))
	return b, true
}
