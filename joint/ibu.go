package joint

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// IBUOptions say when the iterative Bayesian update stops.
type IBUOptions struct {
	// Start is where it begins: a distribution over the cells that is positive wherever
	// something may be. Uniform if nil.
	Start []float64
	// Tolerance: it stops when no distribution has a mean log-likelihood larger by more
	// than this. 0 means 0.01/rows: all rows together are then at most 1 % more likely
	// under any other.
	Tolerance float64
	// Most is the largest number of iterations; 0 means 1000. It stops there too, and
	// [Estimate.Gap] tells how far it came.
	Most int
	// Progress, if set, is told of every iteration.
	Progress func(iteration int, likelihood, gap float64)
}

// IBU estimates the distribution by the iterative Bayesian update.
func IBU(ctx context.Context, c *Counts, o IBUOptions) (*Estimate, error) {
	cells, err := o.start(c)
	if err != nil {
		return nil, err
	}
	if o.Tolerance == 0 {
		o.Tolerance = 0.01 / float64(c.rows)
	}
	if o.Most == 0 {
		o.Most = 1000
	}
	e := &Estimate{Columns: c.columns, Domains: c.channel.Domains, Cells: cells, Rows: c.rows, Method: MethodIBU}
	u := update{counts: c, axes: c.channel.axes(), ratio: make([]float64, len(cells))}
	for {
		e.Likelihood, e.Gap = u.ascend(e.Cells)
		if o.Progress != nil {
			o.Progress(e.Iterations, e.Likelihood, e.Gap)
		}
		if e.Gap <= o.Tolerance || e.Iterations >= o.Most {
			return e, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reconstructing: %w", err)
		}
		for i, r := range u.ratio {
			e.Cells[i] *= r
		}
		e.Iterations++
	}
}

func (o IBUOptions) start(c *Counts) ([]float64, error) {
	if c.rows == 0 {
		return nil, errNoRows
	}
	cells := make([]float64, len(c.cells))
	if o.Start == nil {
		for i := range cells {
			cells[i] = 1 / float64(len(cells))
		}
		return cells, nil
	}
	if len(o.Start) != len(cells) {
		return nil, fmt.Errorf("the start has %d cells, and the counts have %d: use an estimate of the same columns", len(o.Start), len(cells))
	}
	sum := 0.
	for _, v := range o.Start {
		if !(v >= 0) || math.IsInf(v, 1) {
			return nil, errors.New("the start has a cell that is no probability: use an estimate, or none")
		}
		sum += v
	}
	if sum == 0 {
		return nil, errors.New("the start has no cell above 0: use an estimate, or none")
	}
	for i, v := range o.Start {
		cells[i] = v / sum
	}
	return cells, nil
}

// update is one step of the iterative Bayesian update, which is expectation maximisation
// for the mixture Σ_x π_x P(·|x):
//
//	π_x ← π_x · D_x,   D_x = Σ_y λ_y P(y|x) / (Pπ)_y.
//
// The likelihood never falls (Dempster, Laird, Rubin 1977). It is concave in π with
// gradient D, and Σ π_x D_x = 1, so that no distribution is better by more than
// max D − 1 (the gap).
type update struct {
	counts *Counts
	axes   []axis
	ratio  []float64
}

// ascend leaves D in u.ratio. P is symmetric, so that both directions are [apply].
func (u *update) ascend(cells []float64) (likelihood, gap float64) {
	copy(u.ratio, cells)
	apply(u.ratio, u.axes)
	rows := float64(u.counts.rows)
	for i, n := range u.counts.cells {
		if n == 0 {
			u.ratio[i] = 0
			continue
		}
		share := float64(n) / rows
		likelihood += share * math.Log(u.ratio[i])
		u.ratio[i] = share / u.ratio[i]
	}
	apply(u.ratio, u.axes)
	largest := 0.
	for _, d := range u.ratio {
		largest = max(largest, d)
	}
	return likelihood, max(0, largest-1)
}
