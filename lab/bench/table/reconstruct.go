package main

import (
	"context"
	"strconv"
	"time"

	"github.com/sotto-dp/sotto/internal/reconstruct"
)

// solveTime is how long a joint distribution over 2^axes cells takes.
type solveTime struct {
	axes             int
	inverse, step    time.Duration
	build, solve     float64 // of the dense matrix; 0 where it was not tried
	columns, largest int
}

// reconstruct measures both estimates over columns of two values, and the dense solve
// where it fits. Last comes the one of ten columns of four values, 2^20 cells.
func reconstruction(ctx context.Context, s settings) (all []solveTime, err error) {
	for axes := 12; axes <= s.cells; axes += 2 {
		domains := make([]int, axes)
		for i := range domains {
			domains[i] = 2
		}
		one, err := estimate(ctx, s, domains)
		if err != nil {
			return nil, err
		}
		one.axes = axes
		if axes <= s.dense {
			note("the same with a dense matrix")
			got, err := s.ask("dense", strconv.Itoa(axes))
			if err != nil {
				return nil, err
			}
			one.build, one.solve = got["build"], got["solve"]
		}
		all = append(all, one)
	}
	ten, err := estimate(ctx, s, []int{4, 4, 4, 4, 4, 4, 4, 4, 4, 4})
	ten.axes = 20
	return append(all, ten), err
}

const steps = 10

func estimate(ctx context.Context, s settings, domains []int) (one solveTime, err error) {
	c := reconstruct.Channel{Domains: domains}
	for _, d := range domains {
		c.Keep = append(c.Keep, 0.7)
		one.largest = max(one.largest, d)
	}
	one.columns = len(domains)
	note("a joint distribution of %d cells", c.Cells())
	counts, err := reconstruct.NewCounts(c)
	if err != nil {
		return one, err
	}
	rows := reconstruct.Rows{}
	rows.Reset(len(domains), 1<<16)
	for i := range rows.Count {
		for j, column := range rows.Columns {
			column[i] = uint16((i*(2*j+1) + i>>(j+1)) % domains[j])
		}
	}
	if err := counts.Add(&rows); err != nil {
		return one, err
	}
	if one.inverse, err = best(s.repeat, func() error { _, err := reconstruct.Inverse(counts); return err }); err != nil {
		return one, err
	}
	all, err := best(1, func() error {
		_, err := reconstruct.IBU(ctx, counts, reconstruct.IBUOptions{Iterations: steps})
		return err
	})
	one.step = all / steps
	return one, err
}
