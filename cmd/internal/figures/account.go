package figures

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// Points of each curve, and the relative width of ε that is aimed at there: a
// plot shows no more.
const (
	deltaPoints   = 25
	stepPoints    = 25
	plotTolerance = 2e-3
)

// coarser is the accountant for the points of a curve.
func coarser(a accountant.Accountant) accountant.Accountant {
	switch a.(type) {
	case accountant.Auto:
		return accountant.Auto{Tolerance: plotTolerance}
	case accountant.PLD:
		return accountant.PLD{Tolerance: plotTolerance}
	}
	return a
}

// Terms are those under which ε is asked for.
type Terms struct {
	Delta      float64
	Adjacency  privacy.Adjacency
	Accountant accountant.Accountant
}

// Account draws ε against δ and against the number of steps into a file, and returns what
// the reader of the figure has to know. At is the ε of the event.
func Account(ctx context.Context, t Terms, e privacy.Event, at accountant.Result, path string) ([]string, error) {
	if math.IsInf(at.Upper, 1) {
		return nil, errors.New("there is nothing to plot: ε is infinite")
	}
	t.Accountant = coarser(t.Accountant)
	byDelta, err := sweepDelta(ctx, t, e, at)
	if err != nil {
		return nil, err
	}
	bySteps, note, err := sweepSteps(ctx, t, e, at)
	if err != nil {
		return nil, err
	}
	var notes []string
	if note != "" {
		notes = append(notes, note)
	}
	legend := "the line is the guaranteed upper end of ε; the shade below it, often too thin to see, reaches down to the lower end"
	if at.Lower == 0 {
		legend = "the line is a guaranteed upper bound of ε; the " + at.Accountant + " accountant gives no lower one"
	}
	figure := plot.Figure{
		Title:    privacy.Canonical(e).String(),
		Subtitle: fmt.Sprintf("ε ≤ %s at δ = %s, %s, %s accountant", ui.AtMost(at.Upper), ui.Whole(t.Delta), t.Adjacency, at.Accountant),
		Panels:   []plot.Panel{byDelta, bySteps},
		Notes:    append([]string{legend}, notes...),
	}
	return notes, figure.Save(path)
}

// sweepDelta is ε over the δ around the one asked for.
func sweepDelta(ctx context.Context, t Terms, e privacy.Event, at accountant.Result) (plot.Panel, error) {
	lo, hi := 1e-12, 1e-2
	if t.Delta > 0 {
		lo, hi = math.Max(t.Delta*1e-5, math.Min(t.Delta, 1e-15)), math.Min(t.Delta*1e3, math.Max(t.Delta, 0.1))
	}
	var deltas []float64
	for i := range deltaPoints {
		deltas = append(deltas, lo*math.Pow(hi/lo, float64(i)/(deltaPoints-1)))
	}
	points, err := sweep(ctx, deltas, func(delta float64) (privacy.Interval, error) {
		return t.Accountant.Epsilon(e, t.Adjacency, delta)
	})
	panel := plot.Panel{
		Title: "ε against δ",
		X:     plot.Axis{Label: "δ", Log: true},
		Y:     plot.Axis{Label: "ε"},
		Lines: []plot.Line{{Points: points}},
	}
	if t.Delta > 0 {
		panel.Marks = []plot.Mark{{X: t.Delta, Y: at.Upper, Text: "ε ≤ " + ui.AtMost(at.Upper)}}
	}
	return panel, err
}

// sweepSteps is ε over the count of the outermost repeat, up to twice what it
// is. An event without one counts as one step.
func sweepSteps(ctx context.Context, t Terms, e privacy.Event, at accountant.Result) (plot.Panel, string, error) {
	n, step, limit, note := int64(1), e, int64(100), ""
	r, ok := e.(privacy.Repeat)
	if !ok {
		r, ok = privacy.Canonical(e).(privacy.Repeat)
	}
	if ok {
		n, step, limit = r.N, r.Event, max(10, 2*min(r.N, 1<<51))
	} else {
		note = "the event has no repeat at its outside, so a step is one run of all of it"
	}
	var counts []float64
	for i := range stepPoints { // closer where the curve bends
		share := float64(i) / (stepPoints - 1)
		counts = append(counts, math.Round(1+float64(limit-1)*share*share))
	}
	points, err := sweep(ctx, slices.Compact(counts), func(k float64) (privacy.Interval, error) {
		return t.Accountant.Epsilon(privacy.Repeat{N: int64(k), Event: step}, t.Adjacency, t.Delta)
	})
	return plot.Panel{
		Title: "ε against the number of steps",
		X:     plot.Axis{Label: "steps"},
		Y:     plot.Axis{Label: fmt.Sprintf("ε at δ = %s", ui.Whole(t.Delta))},
		Lines: []plot.Line{{Points: points}},
		Marks: []plot.Mark{{X: float64(n), Y: at.Upper, Text: "ε ≤ " + ui.AtMost(at.Upper)}},
	}, note, err
}

// sweep evaluates ε at each x, several at a time, and leaves out where it is
// infinite.
func sweep(ctx context.Context, xs []float64, at func(float64) (privacy.Interval, error)) ([]plot.Point, error) {
	found := make([]privacy.Interval, len(xs))
	failed := make([]error, len(xs))
	_, err := fault.Await(ctx, func() (struct{}, error) {
		var group sync.WaitGroup
		slots := make(chan struct{}, runtime.GOMAXPROCS(0))
		for i, x := range xs {
			slots <- struct{}{}
			if ctx.Err() != nil {
				break
			}
			group.Go(func() {
				defer fault.Watch()
				found[i], failed[i] = at(x)
				<-slots
			})
		}
		group.Wait()
		return struct{}{}, errors.Join(failed...)
	})
	if err != nil {
		return nil, err
	}
	var points []plot.Point
	for i, x := range xs {
		if f := found[i]; !math.IsInf(f.Upper, 1) {
			if f.Lower == 0 { // no band where nothing is known from below
				f.Lower = f.Upper
			}
			points = append(points, plot.Point{X: x, Low: f.Lower, Y: f.Upper})
		}
	}
	if len(points) < 2 {
		return nil, errors.New("there is nothing to plot: ε is infinite nearly everywhere")
	}
	return points, nil
}
