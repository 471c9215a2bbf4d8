package main

import (
	"math"
	"slices"
)

// contest is one task on several programs, Sotto the first of them.
type contest struct {
	row
	Model string
	Names []string
	Ours  int       // how many of the sides are Sotto's; they come first
	Goals []float64 // the least ratio aimed at, by side
	// Computed is the number of tokens that went through the model, Peaks the peak memory
	// in MB; 0 where that is not known.
	Computed []int64
	Peaks    []float64
}

// hold lets the sides take turns.
func hold(m measure, sides []contestant, runs int) (*contest, error) {
	r, err := alternate(m, sides, runs)
	if err != nil {
		return nil, err
	}
	c := &contest{row: r}
	for i, s := range sides {
		if !s.tuned() {
			c.Ours++
		}
		c.Names = append(c.Names, s.label())
		c.Computed = append(c.Computed, r.Last[i].Computed)
	}
	return c, nil
}

// peaks asks some of the sides for their peak memory.
func peaks(sides []contestant, which ...int) ([]float64, error) {
	list := make([]float64, len(sides))
	for _, i := range which {
		a, err := sides[i].ask(task{Task: "peak"})
		if err != nil {
			return nil, err
		}
		list[i] = a.PeakMB
	}
	return list, nil
}

// sameBest returns the share of values of a side whose largest place is where Sotto's is.
func (c *contest) sameBest(side int) float64 {
	ours, theirs := c.Last[0].Values, c.Last[side].Values
	same := 0
	for i, v := range ours {
		if i < len(theirs) && slices.Index(v, slices.Max(v)) == slices.Index(theirs[i], slices.Max(theirs[i])) {
			same++
		}
	}
	return float64(same) / float64(len(ours))
}

// minCosine returns that of values of a side with Sotto's.
func (c *contest) minCosine(side int) float64 {
	lowest := 1.0
	for i, v := range c.Last[0].Values {
		var dot, a, b float64
		for j, x := range v {
			y := c.Last[side].Values[i][j]
			dot, a, b = dot+x*y, a+x*x, b+y*y
		}
		lowest = min(lowest, dot/math.Sqrt(a*b))
	}
	return lowest
}
