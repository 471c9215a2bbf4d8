package reconstruct

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/sotto-dp/sotto/privacy/noise"
)

// Stop states when the iterative Bayesian update has done enough.
type Stop string

const (
	// Validated stops where the update explains perturbed rows best that it has not seen:
	// it runs on each half of the rows, sees after how many iterations the other half is
	// most likely, and then runs that long on all of them. The default: with more cells
	// than rows can resolve, the most likely distribution is a few spikes, and the update
	// passes much better ones on its way there.
	Validated Stop = "validated"
	// MaxLikelihood continues to the distribution under which the perturbed rows are most
	// likely.
	MaxLikelihood Stop = "likeliest"
)

// IBUOptions configure when the iterative Bayesian update ends. The zero value is
// fine.
type IBUOptions struct {
	// Stop is Validated by default.
	Stop Stop
	// Iterations, if set, fixes their number and overrides Stop.
	Iterations int
	// Tolerance: it stops when no distribution has a mean log-likelihood larger by more
	// than this. 0 means 0.01/rows: all rows together are then at most 1 % more likely
	// under any other.
	Tolerance float64
	// MaxEvaluations is the largest number of evaluations in one climb; 0 means 2000.
	// [Estimate.Gap] shows the remaining gap. An evaluation takes two passes over the cells
	// for each column.
	MaxEvaluations int
}

// IBU estimates the distribution by the iterative Bayesian update. It needs 24 bytes
// a cell beside the counts, and 32 to validate: 671 MB with counts for 2^24 cells.
func IBU(ctx context.Context, c *Counts, o IBUOptions) (*Estimate, error) {
	if err := o.fill(c); err != nil {
		return nil, err
	}
	iterations, up := o.Iterations, newClimb(c.channel)
	if iterations == 0 && o.Stop == Validated && c.rows > 1 {
		var err error
		if iterations, err = o.validate(ctx, c, up); err != nil {
			return nil, err
		}
	}
	up.begin(c.cells, c.rows, nil)
	if err := up.run(ctx, o, func() bool { return iterations > 0 && up.time >= iterations }, iterations); err != nil {
		return nil, err
	}
	return &Estimate{
		Columns: c.columns, Domains: c.channel.Domains, Cells: up.cells, Rows: c.rows, Method: MethodIBU,
		Iterations: up.time, Likelihood: up.likelihood, Gap: up.gap,
	}, nil
}

// fill sets defaults.
func (o *IBUOptions) fill(c *Counts) error {
	if c.rows == 0 {
		return errNoRows
	}
	o.Stop = cmp.Or(o.Stop, Validated)
	if o.Stop != Validated && o.Stop != MaxLikelihood {
		return fmt.Errorf("unknown rule %q to stop by: %s or %s", o.Stop, Validated, MaxLikelihood)
	}
	if o.Iterations < 0 || o.MaxEvaluations < 0 || !(o.Tolerance >= 0) {
		return fmt.Errorf("iterations (%d), evaluations at most (%d) and the tolerance (%v) must not be negative", o.Iterations, o.MaxEvaluations, o.Tolerance)
	}
	o.Tolerance, o.MaxEvaluations = cmp.Or(o.Tolerance, 0.01/float64(c.rows)), cmp.Or(o.MaxEvaluations, 2000)
	return nil
}

// validate returns after how many iterations halves of the rows explain the other half
// best: the geometric mean of both.
func (o IBUOptions) validate(ctx context.Context, c *Counts, up *climb) (int, error) {
	half := make([]int64, len(c.cells))
	rows := int64(0)
	// Who is in which half does not matter, but that it is the same every time.
	s := noise.KeyFromSeed(0).Stream("joint/halves")
	for i, n := range c.cells {
		half[i] = heads(n, s)
		rows += half[i]
	}
	product := 1.
	for range 2 {
		if rows == 0 || rows == c.rows {
			return 1, nil
		}
		up.begin(half, rows, nil)
		best, at, seen := math.Inf(-1), 1, 0
		err := up.run(ctx, o, func() bool {
			if l := up.other(c.cells); l > best {
				best, at, seen = l, max(1, up.time), up.evaluations
			}
			return up.time > 2*at && up.evaluations > seen+8
		}, 0)
		if err != nil {
			return 0, err
		}
		product *= float64(at)
		for i, n := range c.cells {
			half[i] = n - half[i]
		}
		rows = c.rows - rows
	}
	return int(math.Round(math.Sqrt(product))), nil
}

// heads returns how many of n fair coins show heads.
func heads(n int64, s *noise.Stream) (out int64) {
	for ; n > 0; n -= 64 {
		out += int64(bits.OnesCount64(s.Bits(int(min(n, 64)))))
	}
	return out
}
