package reconstruct

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/privacy/noise"
)

// Errors are the standard errors of [unbiased], cell by cell, if rows are drawn
// independently from a large population whose distribution is sought.
//
// The shares λ of n rows have the covariance (diag(λ) − λλᵀ)/n, so that the variance of
// π = P⁻¹λ in a cell is ((P⁻¹∘P⁻¹)λ − π²)/n, with ∘ the product of entries. P⁻¹∘P⁻¹ is a
// Kronecker product of axes again (axis.squares), and λ and π are put in as observed.
// About the rows themselves, rather than the population, the error is smaller: the
// variance has π in place of π².
//
// [Inverse] is nearer to the distribution than that, over all cells together: the way to the
// nearest point of a convex set does not lead away from any point in it. For [IBU] these are
// errors of the unbiased estimate, which the likeliest one equals where that has no
// negative cell; [Bootstrap] has its own.
//
// Errors of a marginal are those of its counts, see [Counts.Marginal]: the inverse of a
// channel keeps sums over a column, and so commutes with leaving it out.
func Errors(c *Counts) ([]float64, error) {
	cells, err := unbiased(c)
	if err != nil {
		return nil, err
	}
	inverses, err := c.channel.inverses()
	if err != nil {
		return nil, err
	}
	for i, a := range inverses {
		inverses[i] = a.squares()
	}
	out := c.shares()
	apply(out, inverses)
	for i, v := range out {
		out[i] = math.Sqrt(max(0, v-cells[i]*cells[i]) / float64(c.rows))
	}
	return out, nil
}

// BootstrapOptions say how often and about what.
type BootstrapOptions struct {
	// Rounds is how many tables are made up; 0 means 50. The errors are then themselves
	// known to a tenth.
	Rounds int
	// Marginals are lists of columns, named as in Estimate.Columns, whose errors are
	// wanted; none: those of the cells.
	Marginals [][]int
	// Stream of randomness. Required; it protects nobody.
	Stream *noise.Stream
}

// Spread is how an estimate varies from table to table.
type Spread struct {
	Columns []int `json:"columns"`
	// Error is the standard deviation of each probability, and Bias its mean minus what
	// it should have been.
	Error []float64 `json:"error"`
	Bias  []float64 `json:"bias"`
}

// Bootstrap tells how far an estimate by [IBU] is off: it makes up perturbed rows as if
// the estimate were the truth, as many as there were, estimates from those with as many
// iterations, and reports the spread of the results.
func Bootstrap(ctx context.Context, c *Counts, e *Estimate, o BootstrapOptions) ([]Spread, error) {
	if o.Stream == nil {
		return nil, errors.New("a bootstrap needs a stream of randomness: give one")
	}
	if o.Rounds == 0 {
		o.Rounds = 50
	}
	if o.Rounds < 2 || len(e.Cells) != len(c.cells) || e.Iterations < 1 {
		return nil, fmt.Errorf("a bootstrap needs two rounds (%d) or more, and an estimate by ibu from the same counts", o.Rounds)
	}
	if len(o.Marginals) == 0 {
		o.Marginals = [][]int{e.Columns}
	}
	observed := &Estimate{Columns: e.Columns, Domains: e.Domains, Cells: append(Cells(nil), e.Cells...)}
	apply(observed.Cells, c.channel.axes())
	sampler, err := newPart(observed, nil)
	if err != nil {
		return nil, err
	}
	out, err := truths(e, o.Marginals)
	if err != nil {
		return nil, err
	}
	for round := range o.Rounds {
		made := &Counts{channel: c.channel, columns: c.columns, cells: make([]int64, len(c.cells)), rows: c.rows}
		for range c.rows {
			made.cells[sampler.draw(0, o.Stream)]++
		}
		again, err := IBU(ctx, made, IBUOptions{Iterations: e.Iterations})
		if err != nil {
			return nil, err
		}
		for i := range out {
			m, err := again.Marginal(out[i].Columns...)
			if err != nil {
				return nil, err
			}
			out[i].add(m.Cells, round+1)
		}
	}
	spreads := make([]Spread, len(out))
	for i := range out {
		spreads[i] = out[i].spread(o.Rounds)
	}
	return spreads, nil
}

// moments are running means and sums of squares (Welford 1962).
type moments struct {
	*Estimate // the marginal that should have come out
	mean, sq  []float64
}

func truths(e *Estimate, marginals [][]int) ([]moments, error) {
	out := make([]moments, len(marginals))
	for i, columns := range marginals {
		m, err := e.Marginal(columns...)
		if err != nil {
			return nil, err
		}
		out[i] = moments{m, make([]float64, len(m.Cells)), make([]float64, len(m.Cells))}
	}
	return out, nil
}

func (m moments) add(cells []float64, n int) {
	for i, v := range cells {
		d := v - m.mean[i]
		m.mean[i] += d / float64(n)
		m.sq[i] += d * (v - m.mean[i])
	}
}

func (m moments) spread(n int) Spread {
	s := Spread{Columns: m.Columns, Error: m.sq, Bias: m.mean}
	for i := range m.sq {
		s.Error[i] = math.Sqrt(m.sq[i] / float64(n-1))
		s.Bias[i] -= m.Cells[i]
	}
	return s
}
