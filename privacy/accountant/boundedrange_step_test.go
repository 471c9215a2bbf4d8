package accountant

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// brConvex is a random W: a mean of (1−e^{−(x+s)})₊, convex in e^{−x}.
type brConvex struct{ weight, shift []float64 }

func (w brConvex) at(x float64) float64 {
	out := 0.0
	for i, s := range w.shift {
		out += w.weight[i] * max(0, -math.Expm1(-(x+s)))
	}
	return out
}

// drawBRConvex puts some kinks on the grid c/m: stretches between them are
// linear, and the best t in them a matter of rounding.
func drawBRConvex(t *rapid.T, c float64, m int) brConvex {
	n := rapid.IntRange(1, 6).Draw(t, "pieces")
	var w brConvex
	for range n {
		w.weight = append(w.weight, rapid.Float64Range(1e-6, 1).Draw(t, "weight"))
		s := rapid.Float64Range(-2, 2).Draw(t, "shift")
		if rapid.Bool().Draw(t, "on the grid") {
			s = math.Round(s*float64(m)) / float64(m)
		}
		w.shift = append(w.shift, s*c)
	}
	return w
}

// One step over every x and any t: the new upper bound is never passed, the new
// lower bound is always reached by some t on the grid.
func TestBRStepBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := math.Exp(rapid.Float64Range(-20, 3).Draw(t, "ln c"))
		m := 2 * rapid.IntRange(1, 24).Draw(t, "m/2")
		w := drawBRConvex(t, c, m)
		tab := newBRTable(c, m)
		n := 6 * m
		cur := brState{make([]float64, n), make([]float64, n)}
		next := brState{make([]float64, n), make([]float64, n)}
		for i := range n {
			v := w.at(float64(i-n/2) * tab.h)
			cur.upper[i], cur.lower[i] = v*(1+1e-15), v*(1-1e-15)
		}
		tab.step(cur, next, m, n-m)
		noise := 1e-14 * c // of value itself: x+s rounds next to a kink
		value := func(x, s float64) float64 {
			p := math.Expm1(s-c) / math.Expm1(-c)
			return p*w.at(x+s) + (1-p)*w.at(x+s-c)
		}
		for i := m; i < n-m; i++ {
			x := float64(i-n/2) * tab.h
			for range 4 {
				s := rapid.Float64Range(0, 1).Draw(t, "t/c") * c
				if v := value(x, s); v > next.upper[i]*(1+1e-13)+noise {
					t.Fatalf("c=%v m=%d x=%v t=%v: %v exceeds the upper bound %v", c, m, x, s, v, next.upper[i])
				}
			}
			reached := 0.0
			for j := range m + 1 {
				reached = max(reached, value(x, float64(j)*tab.h))
			}
			if next.lower[i] > reached*(1+1e-13)+noise {
				t.Fatalf("c=%v m=%d x=%v: the lower bound %v is not reached, only %v", c, m, x, next.lower[i], reached)
			}
		}
	})
}

// Deep in a recursion, where steps are computed in blocks and most t are
// discarded unseen: the same as looking at every cell, up to the second-order
// term itself.
func TestBRBlocksAgainstAllCells(t *testing.T) {
	for _, c := range []float64{1e-6, 0.1, 0.8, 3} {
		const steps, m = 60, 24
		tab := newBRTable(c, m)
		r := newBRRun(tab, steps)
		for k := 2; k <= steps; k++ {
			r.advance(k)
			if k%10 != 2 {
				continue
			}
			for x := r.win.top[k]; x < r.win.low[k]; x++ {
				i := r.base - x
				d, u := r.next.upper[i-m:i+1], r.next.upper[i:i+m+1]
				grid, all := 0.0, 0.0
				for j := range m {
					grid = max(grid, tab.value(d, u, j), tab.value(d, u, j+1))
					all = tab.cell(d, u, j, j+1, all)
				}
				if got := r.cur.upper[i]; got < all*(1-1e-14) || got > all*(1+1e-9)+(all-grid)*math.Expm1(4*tab.h) {
					t.Fatalf("c=%v k=%d x=-%d·h: %v, all cells give %v, the grid %v", c, k, x, got, all, grid)
				}
			}
		}
	}
}

// cell is the exact maximum of the split value over a unit cell, and no t of a
// wide one passes it.
func TestBRCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := math.Exp(rapid.Float64Range(-5, 3).Draw(t, "ln c"))
		m := rapid.IntRange(2, 40).Draw(t, "m")
		w := drawBRConvex(t, c, m)
		tab := newBRTable(c, m)
		d, u := make([]float64, m+1), make([]float64, m+1)
		for j := range d {
			u[j], d[j] = w.at(float64(j)*tab.h), w.at(float64(j)*tab.h-c)
		}
		a := rapid.IntRange(0, m-1).Draw(t, "a")
		b := rapid.IntRange(a+1, m).Draw(t, "b")
		split := func(part float64, a, b int) float64 { // V at t = a·h + part·(b−a)·h
			width := float64(b-a) * tab.h
			t, past := float64(a)*tab.h+part*width, part*width
			p := math.Expm1(t-c) / math.Expm1(-c)
			o := math.Expm1(past) / math.Expm1(width) * math.Exp(width-past)
			return p*((1-o)*u[a]+o*u[b]) + (1-p)*((1-o)*d[a]+o*d[b])
		}
		one, near, wide := tab.cell(d, u, a, a+1, 0), tab.near(d, u, a, 0), tab.cell(d, u, a, b, 0)
		best := 0.0
		for k := range 401 {
			best = max(best, split(float64(k)/400, a, a+1))
		}
		if one < best*(1-1e-11) || one > best*(1+1e-3) {
			t.Fatalf("unit cell: %v, search %v", one, best)
		}
		if near < one*(1-1e-11) || near > one+(one-max(tab.value(d, u, a), tab.value(d, u, a+1)))*math.Expm1(3.5*tab.h)+1e-9*one {
			t.Fatalf("unit cell: exact %v, by curvature %v", one, near)
		}
		for _, cells := range [][]brWide{tab.left[a], tab.right[a]} {
			for _, k := range cells {
				v := split(rapid.Float64Range(0, 1).Draw(t, "part"), k.a, k.b)
				ua, ub, da, db := u[k.a:k.a+1], u[k.b:k.b+1], d[k.a:k.a+1], d[k.b:k.b+1]
				if k.b < a && k.allRise(ua, ub, da, db) && v > tab.value(d, u, k.b)*(1+1e-11) ||
					k.a > a && k.allFall(ua, ub, da, db) && v > tab.value(d, u, k.a)*(1+1e-11) {
					t.Fatalf("cell [%d, %d]: %v exceeds its better end", k.a, k.b, v)
				}
			}
		}
		s := (float64(a) + rapid.Float64Range(0, 1).Draw(t, "place")*float64(b-a)) * tab.h
		p := math.Expm1(s-c) / math.Expm1(-c)
		if v := p*w.at(s) + (1-p)*w.at(s-c); v > wide*(1+1e-11) {
			t.Fatalf("wide cell: %v exceeds %v", v, wide)
		}
	})
}

func TestBRConcave(t *testing.T) {
	tab := newBRTable(0.5, 4)
	w := make([]float64, 40)
	for i := range w {
		w[i] = math.Exp(float64(i) / 10)
	}
	if got := tab.concave(w, 4, 4, 30); got != 30 {
		t.Errorf("a convex function is not concave at %d", got)
	}
	w[12] -= 1 // the cells that begin at 11 fall, those at 12 rise too fast for those at 16
	if got := tab.concave(w, 4, 4, 30); got != 11 {
		t.Errorf("found %d, want 11", got)
	}
	if got := tab.concave(w, 11, 12, 30); got != 16 {
		t.Errorf("found %d, want 16", got)
	}
	if got := tab.concave(w, 16, 17, 30); got != 30 {
		t.Errorf("found %d, want 30", got)
	}
}
