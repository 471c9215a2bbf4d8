package reconstruct

import (
	"errors"
	"fmt"
	"math"
)

// maxCells is the largest number of cells of one estimate. Its arrays have 8 bytes a cell.
const maxCells = 1 << 24

// Channel is the perturbation of rows: randomised response in each column by itself.
type Channel struct {
	// Names of the columns, for errors. Optional.
	Names []string `json:"names,omitempty"`
	// Domains are the numbers of values of the columns.
	Domains []int `json:"domains"`
	// Keep are the probabilities that a value is kept, and Other that it becomes a given
	// other one: Keep + (d−1)·Other = 1. A column of one value has 1 and 0. Other may be
	// left out; it is there because 1−Keep loses digits where Keep is nearly 1.
	Keep  []float64 `json:"keep"`
	Other []float64 `json:"other,omitempty"`
}

// Check reports what is wrong with a channel that was read from a file.
func (c Channel) Check() error {
	if len(c.Domains) == 0 {
		return errors.New("a channel needs at least one column")
	}
	if len(c.Keep) != len(c.Domains) || c.Other != nil && len(c.Other) != len(c.Domains) || c.Names != nil && len(c.Names) != len(c.Domains) {
		return fmt.Errorf("a channel of %d columns needs as many chances to keep a value (%d), and names (%d) and chances of other values (%d) for all columns or none", len(c.Domains), len(c.Keep), len(c.Names), len(c.Other))
	}
	for i, d := range c.Domains {
		if d < 1 || d > 1<<16 {
			return fmt.Errorf("%s has %d values: it must have from 1 to %d", c.name(i), d, 1<<16)
		}
		a := c.axis(i)
		if !(a.keep > 0 && a.keep <= 1) || !(a.other >= 0) || math.Abs(a.keep+float64(d-1)*a.other-1) > 1e-9 {
			return fmt.Errorf("%s of %d values keeps one with chance %v and takes each other one with %v: they must add up to 1", c.name(i), d, a.keep, a.other)
		}
	}
	return nil
}

func (c Channel) name(i int) string {
	if c.Names != nil {
		return fmt.Sprintf("column %q", c.Names[i])
	}
	return fmt.Sprintf("column %d", i+1)
}

// subset returns the channel of some of the columns: what happens to one does not depend on
// the others.
func (c Channel) subset(columns []int) Channel {
	out := Channel{}
	for _, i := range columns {
		if c.Names != nil {
			out.Names = append(out.Names, c.Names[i])
		}
		if c.Other != nil {
			out.Other = append(out.Other, c.Other[i])
		}
		out.Domains, out.Keep = append(out.Domains, c.Domains[i]), append(out.Keep, c.Keep[i])
	}
	return out
}

// Cells returns the number of combinations of values; it stops counting at 2^62.
func (c Channel) Cells() int64 {
	cells := int64(1)
	for _, d := range c.Domains {
		if cells *= int64(d); cells > 1<<46 {
			return 1 << 62
		}
	}
	return cells
}

// tooMany returns the error for a table that one estimate cannot hold.
func (c Channel) tooMany() error {
	if n := c.Cells(); n > maxCells {
		words := fmt.Sprint(n)
		if n == 1<<62 {
			words = "more than 2^46"
		}
		return fmt.Errorf("these %d columns have %s combinations of values, and one estimate holds at most 2^24 = %d: estimate groups of two or three columns, leave columns out, or use coarser bins", len(c.Domains), words, maxCells)
	}
	return nil
}

func (c Channel) axis(i int) axis {
	a := axis{values: c.Domains[i], keep: c.Keep[i]}
	switch {
	case a.values == 1:
	case c.Other != nil:
		a.other = c.Other[i]
	default:
		a.other = (1 - a.keep) / float64(a.values-1)
	}
	return a
}

// axes of the channel itself, as matrices.
func (c Channel) axes() []axis {
	out := make([]axis, len(c.Domains))
	for i := range out {
		out[i] = c.axis(i)
	}
	return out
}

// axis is the matrix with keep on the diagonal and other elsewhere.
type axis struct {
	values      int
	keep, other float64
}

// inverse of a stochastic axis. With p+(d−1)q = 1 and J² = dJ,
//
//	((p−q)I + qJ)·(I − qJ)/(p−q) = I + (−(p−q)q + q − dq²)/(p−q)·J = I,
//
// for the bracket is q·(1−p−(d−1)q) = 0.
func (a axis) inverse() axis {
	if a.values == 1 {
		return a
	}
	gain := a.keep - a.other
	return axis{values: a.values, keep: (1 - a.other) / gain, other: -a.other / gain}
}

// squares returns the matrix of squared entries. The entries of a Kronecker product are
// products of entries, so that its squares are the Kronecker product of squares.
func (a axis) squares() axis {
	return axis{values: a.values, keep: a.keep * a.keep, other: a.other * a.other}
}

// inverses returns the axes of the inverse channel, or an error if there is none.
func (c Channel) inverses() ([]axis, error) {
	out := c.axes()
	for i, a := range out {
		if a.values > 1 && !(a.keep > a.other) {
			return nil, fmt.Errorf("%s keeps its values no more often than it takes others: nothing can be learned about it; leave it out", c.name(i))
		}
		out[i] = a.inverse()
	}
	return out, nil
}
