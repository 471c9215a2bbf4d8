package reconstruct

import (
	"context"
	"fmt"
	"math"
	"sync"
)

// climb maximises the likelihood of perturbed rows, by expectation maximisation for the
// mixture Σ_x π_x P(·|x):
//
//	π_x ← π_x · D_x,   D_x = Σ_y λ_y P(y|x) / (Pπ)_y.
//
// The likelihood never falls (Dempster, Laird, Rubin 1977). It is concave in π with
// gradient D, and Σ π_x D_x = 1, so that no distribution is better by more than max D − 1:
// the gap.
//
// Where much noise was added D is near 1, and the way is thousands of small steps in nearly
// the same direction. So π_x ← π_x · D_x^s, normalised, is tried for s = 2, 4, 8, … as long
// as the likelihood grows, and taken back if it falls. A step of stride s is counted as s
// iterations: the way is nearly the same, see TestStridesKeepTheWay.
type climb struct {
	counts      []int64
	rows        float64
	axes        []axis
	cells, last []float64
	ratio       []float64 // D at cells
	likelihood  float64
	gap         float64
	stride      int
	good        int // steps since the stride was changed
	time        int
	evaluations int
}

func newClimb(ch Channel) *climb {
	cells := ch.Cells()
	return &climb{axes: ch.axes(), cells: make([]float64, cells), last: make([]float64, cells), ratio: make([]float64, cells)}
}

// begin starts a climb for these counts; a nil start is the uniform distribution.
func (c *climb) begin(counts []int64, rows int64, start []float64) {
	c.counts, c.rows = counts, float64(rows)
	c.stride, c.good, c.time, c.evaluations = 1, 0, 0, 0
	copy(c.cells, start)
	if start == nil {
		for i := range c.cells {
			c.cells[i] = 1 / float64(len(c.cells))
		}
	}
	c.evaluate()
}

// run climbs until enough returns true, the gap is closed, or there are no evaluations
// left. Steps do not go beyond a limit of iterations, if it is above 0.
func (c *climb) run(ctx context.Context, o IBUOptions, enough func() bool, limit int) error {
	for {
		if enough() || c.gap <= o.Tolerance || c.evaluations >= o.MaxEvaluations {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("reconstructing: %w", err)
		}
		for limit > 0 && c.time+c.stride > limit {
			c.stride /= 2
		}
		c.step()
	}
}

// step moves by the stride, or by less where that is too far.
func (c *climb) step() {
	copy(c.last, c.cells)
	before := c.likelihood
	for {
		if c.move() {
			c.evaluate()
			if c.stride == 1 || c.likelihood >= before {
				break
			}
		}
		c.stride = max(1, c.stride/4)
		c.good = -4 // try longer ones not too soon
		copy(c.cells, c.last)
		c.evaluate()
	}
	c.time += c.stride
	if c.good++; c.good >= 2 && c.stride < 1<<20 {
		c.stride, c.good = 2*c.stride, 0
	}
}

// negligible cells are set to 0: numbers near the smallest that there are take a hundred
// times longer to compute with, and no row is ever drawn from such a cell.
const negligible = 1e-200

// move multiplies the cells by D^stride, and reports whether the numbers allow it.
func (c *climb) move() bool {
	total := sums(len(c.cells), func(from, to int) (sum float64) {
		cells, ratio := c.cells[from:to], c.ratio[from:to]
		stride := c.stride
		for i, d := range ratio {
			for s := stride; s > 1; s >>= 1 {
				d *= d
			}
			v := cells[i] * d
			if v < negligible {
				v = 0
			}
			cells[i] = v
			sum += v
		}
		return sum
	})
	if !(total > 0) || math.IsInf(total, 1) {
		return false
	}
	scale := 1 / total
	each(len(c.cells), func(from, to int) {
		for i := from; i < to; i++ {
			c.cells[i] *= scale
		}
	})
	return true
}

// evaluate computes D, the likelihood and the gap at the cells. P is symmetric, so that
// both directions are [apply].
func (c *climb) evaluate() {
	c.evaluations++
	copy(c.ratio, c.cells)
	apply(c.ratio, c.axes)
	c.likelihood = sums(len(c.cells), func(from, to int) (sum float64) {
		for i := from; i < to; i++ {
			n := c.counts[i]
			if n == 0 {
				c.ratio[i] = 0
				continue
			}
			share := float64(n) / c.rows
			sum += share * math.Log(c.ratio[i])
			c.ratio[i] = share / c.ratio[i]
		}
		return sum
	})
	apply(c.ratio, c.axes)
	var mutex sync.Mutex
	largest := 0.
	each(len(c.ratio), func(from, to int) {
		top := 0.
		for _, d := range c.ratio[from:to] {
			if d > top {
				top = d
			}
		}
		mutex.Lock()
		defer mutex.Unlock()
		largest = max(largest, top)
	})
	c.gap = max(0, largest-1)
}

// other returns the log-likelihood of the rows that are not among those of the climb.
func (c *climb) other(all []int64) float64 {
	copy(c.last, c.cells)
	apply(c.last, c.axes)
	return sums(len(all), func(from, to int) (sum float64) {
		for i := from; i < to; i++ {
			if n := all[i] - c.counts[i]; n > 0 {
				sum += float64(n) * math.Log(c.last[i])
			}
		}
		return sum
	})
}
