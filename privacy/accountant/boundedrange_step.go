package accountant

import (
	"sync"

	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// brState is W on the grid from both sides: index base+i is x = i·h.
type brState struct {
	upper, lower []float64
}

const (
	// brBlock is the number of neighbouring x that share one guess of the best t.
	brBlock = 32
	// brSplit is the number of x from which on a step is worth two goroutines.
	// The cut does not depend on the machine, so neither does the result.
	brSplit = 1024
	// brTiny lifts upper bounds off the range where products underflow.
	brTiny = 1e-300
)

// step computes next[from:to] from cur, whose entries from−m to to+m−1 are set.
func (t *brTable) step(cur, next brState, from, to int) {
	if to-from < brSplit {
		t.stepRange(cur, next, from, to)
		return
	}
	mid := from + (to-from)/2
	var wg sync.WaitGroup
	wg.Go(func() {
		defer fault.Watch()
		t.stepRange(cur, next, from, mid)
	})
	t.stepRange(cur, next, mid, to)
	wg.Wait()
}

func (t *brTable) stepRange(cur, next brState, from, to int) {
	j := t.m / 2
	seen := from
	for from < to {
		n := min(brBlock, to-from)
		mid := from + n/2
		j = t.climb(cur.upper[mid-t.m:mid+1], cur.upper[mid:mid+t.m+1], j)
		last := from + n + t.m - 1
		seen = t.concave(cur.upper, seen, from, last)
		if seen < last || !t.block(cur, next, from, n, j) {
			for i := from; i < from+n; i++ {
				j = t.point(cur, next, i, j)
			}
		}
		from += n
	}
}

// point computes one x, beginning the search for the best t at j, and returns where to
// begin the next search.
func (t *brTable) point(cur, next brState, i, j int) int {
	m := t.m
	d, u := cur.upper[i-m:i+1], cur.upper[i:i+m+1]
	j = t.climb(d, u, j)
	grid := max(t.value(d, u, j), t.value(d, u, j+1))
	best := t.near(d, u, j, grid)
	if j > 0 {
		best = t.near(d, u, j-1, best)
	}
	if j+2 <= m {
		best = t.near(d, u, j+1, best)
	}
	total := t.grow[m]
	for k := range t.left[j] {
		c := &t.left[j][k]
		dU, dD := u[c.b]-u[c.a], d[c.b]-d[c.a]
		if c.s1*dU+c.s2*dD < c.pi*(u[c.b]-d[c.b]) || total*dU < dD {
			best = t.cell(d, u, c.a, c.b, best)
		}
	}
	for k := range t.right[j] {
		c := &t.right[j][k]
		dU, dD := u[c.b]-u[c.a], d[c.b]-d[c.a]
		if c.s1*dU+c.s2*dD > c.pi*(u[c.a]-d[c.a]) || total*dU < dD {
			best = t.cell(d, u, c.a, c.b, best)
		}
	}
	next.upper[i] = best*(1+t.slack) + brTiny

	// Any t is valid from below; look at all of them only where the bound from
	// above shows that the best may be elsewhere.
	ld, lu := cur.lower[i-m:i+1], cur.lower[i:i+m+1]
	low := max(t.value(ld, lu, j), t.value(ld, lu, j+1))
	if best > grid*(1+1/float64(m*m)) {
		for k := range m + 1 {
			low = max(low, t.value(ld, lu, k))
			if v := t.value(d, u, k); v > grid {
				grid, j = v, min(k, m-1)
			}
		}
	}
	next.lower[i] = low * (1 - t.slack)
	return j
}

// climb goes uphill from j to a cell [j, j+1] at whose ends F is largest locally.
func (t *brTable) climb(d, u []float64, j int) int {
	v, r := t.value(d, u, j), t.value(d, u, j+1)
	for r >= v && j+2 <= t.m {
		j, v, r = j+1, r, t.value(d, u, j+2)
	}
	if r >= v || j == 0 {
		return j
	}
	for j > 0 {
		l := t.value(d, u, j-1)
		if l <= v {
			if l > r {
				j--
			}
			return j
		}
		j, v, r = j-1, l, v
	}
	return j
}

// concave finds the first cell in w[from:to], one grid point wide, that is not
// concave; to if there is none. Seen is what an earlier call with a smaller from
// found.
func (t *brTable) concave(w []float64, seen, from, to int) int {
	m, total := t.m, t.grow[t.m]
	for i := max(seen, from); i < to; i++ {
		if total*(w[i+1]-w[i]) < w[i+1-m]-w[i-m] {
			return i
		}
	}
	return max(seen, to)
}

// block computes n neighbouring x for which the best t is in or next to the
// cell [j, j+1] and all cells are concave. It reports false when it could not
// prove the first; next is then to be computed otherwise.
func (t *brTable) block(cur, next brState, i, n, j int) bool {
	m := t.m
	if j < 1 || j+2 > m {
		return false
	}
	at := func(w []float64, k int) []float64 { return w[i+k : i+k+n] }
	w := cur.upper
	for k := range t.left[j] {
		c := &t.left[j][k]
		if !c.allRise(at(w, c.a), at(w, c.b), at(w, c.a-m), at(w, c.b-m)) {
			return false
		}
	}
	for k := range t.right[j] {
		c := &t.right[j][k]
		if !c.allFall(at(w, c.a), at(w, c.b), at(w, c.a-m), at(w, c.b-m)) {
			return false
		}
	}
	var room [brBlock]float64
	best := room[:n]
	if !t.centre(best, j, at(w, j), at(w, j+1), at(w, j-m), at(w, j+1-m)) ||
		!t.before(best, j-1, at(w, j-1), at(w, j), at(w, j-1-m), at(w, j-m)) ||
		!t.after(best, j+1, at(w, j+1), at(w, j+2), at(w, j+1-m), at(w, j+2-m)) {
		return false
	}
	out, grow := at(next.upper, 0), 1+t.slack
	for x, v := range best {
		out[x] = v*grow + brTiny
	}
	w, out = cur.lower, at(next.lower, 0)
	ua, ub, da, db := at(w, j), at(w, j+1), at(w, j-m), at(w, j+1-m)
	pa, qa, pb, qb := t.up[j], t.down[j], t.up[j+1], t.down[j+1]
	for x := range out {
		out[x] = max(pa*ua[x]+qa*da[x], pb*ub[x]+qb*db[x]) * (1 - t.slack)
	}
	return true
}

// allRise is fact 1 for every x, allFall fact 2.
func (c *brWide) allRise(ua, ub, da, db []float64) bool {
	s1, s2, pi := c.s1, c.s2, c.pi
	ua, da, db = ua[:len(ub)], da[:len(ub)], db[:len(ub)]
	for x, b := range ub {
		d := db[x]
		if s1*(b-ua[x])+s2*(d-da[x]) < pi*(b-d) {
			return false
		}
	}
	return true
}

func (c *brWide) allFall(ua, ub, da, db []float64) bool {
	s1, s2, pi := c.s1, c.s2, c.pi
	ua, da, db = ua[:len(ub)], da[:len(ub)], db[:len(ub)]
	for x, b := range ub {
		a, d := ua[x], da[x]
		if s1*(b-a)+s2*(db[x]-d) > pi*(a-d) {
			return false
		}
	}
	return true
}

// centre sets best to a bound over the cell [j, j+1]: fact 3 from the better
// end.
func (t *brTable) centre(best []float64, j int, ua, ub, da, db []float64) bool {
	c := t.unit[j]
	pa, qa, pb, qb := t.up[j], t.down[j], t.up[j+1], t.down[j+1]
	ua, ub, da, db = ua[:len(best)], ub[:len(best)], da[:len(best)], db[:len(best)]
	for x := range best {
		a, b, e, f := ua[x], ub[x], da[x], db[x]
		dU, dD := b-a, f-e
		v, slope := pa*a+qa*e, c.a1*dU+c.a2*dD-c.pi*(a-e)
		if r := pb*b + qb*f; r > v {
			v, slope = r, c.pi*(b-f)-(c.b1*dU+c.b2*dD)
		}
		if slope > 0 {
			k := c.lift*dU + c.curve*(dU-dD)
			if 2*slope > k {
				return false
			}
			v += slope * slope / k
		}
		best[x] = v
	}
	return true
}

// before raises best over the cell [j, j+1] left of the centre, from its right
// end; after does it over the cell on the other side, from its left end.
func (t *brTable) before(best []float64, j int, ua, ub, da, db []float64) bool {
	c := t.unit[j]
	p, q := t.up[j+1], t.down[j+1]
	ua, ub, da, db = ua[:len(best)], ub[:len(best)], da[:len(best)], db[:len(best)]
	for x := range best {
		b, f := ub[x], db[x]
		dU, dD := b-ua[x], f-da[x]
		k := c.lift*dU + c.curve*(dU-dD)
		slope := c.pi*(b-f) - (c.b1*dU + c.b2*dD)
		if 2*slope > k {
			return false
		}
		if slope > 0 {
			best[x] = max(best[x], p*b+q*f+slope*slope/k)
		}
	}
	return true
}

func (t *brTable) after(best []float64, j int, ua, ub, da, db []float64) bool {
	c := t.unit[j]
	p, q := t.up[j], t.down[j]
	ua, ub, da, db = ua[:len(best)], ub[:len(best)], da[:len(best)], db[:len(best)]
	for x := range best {
		a, e := ua[x], da[x]
		dU, dD := ub[x]-a, db[x]-e
		k := c.lift*dU + c.curve*(dU-dD)
		slope := c.a1*dU + c.a2*dD - c.pi*(a-e)
		if 2*slope > k {
			return false
		}
		if slope > 0 {
			best[x] = max(best[x], p*a+q*e+slope*slope/k)
		}
	}
	return true
}
