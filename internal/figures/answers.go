package figures

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/fault"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
)

// Points of a curve, from one answer to a hundred times as many as were planned.
const (
	answersPoints = 7
	answersMost   = 100
)

// Answers draws what answers cost together with each method's settings, so that one
// can read off how many a budget buys.
func Answers(ctx context.Context, c *sotto.AnswerComparison, path string) error {
	panel := plot.Panel{X: plot.Axis{Label: "answers", Log: true}, Y: plot.Axis{Label: "ε of all together", Log: true}}
	var planned plan.Answers
	for look, row := range c.Rows {
		if row.Err != nil || row.One.Epsilon.Upper == 0 {
			continue
		}
		planned = row.Plan
		series := plot.Series{Name: row.Method, Look: look}
		for _, n := range answersCounts(row.Plan.Together) {
			total, err := fault.Await(ctx, func() (privacy.Interval, error) { return row.Total(n) })
			if err != nil {
				return fmt.Errorf("work out ε of %d answers: %w", n, err)
			}
			series.Points = append(series.Points, plot.Measured{X: float64(n), Low: total.Upper, Y: total.Upper, High: total.Upper})
		}
		panel.Series = append(panel.Series, series)
	}
	if len(panel.Series) == 0 {
		return ui.Usage("there is nothing to plot: no method with a cost can do it")
	}
	panel.Y.Ticks = roundTicks(panel.Series)
	figure := plot.Figure{
		Title:    fmt.Sprintf("sotto plan --task %s --epsilon %s --answers %d", planned.Task.Name, ui.Whole(planned.Epsilon), planned.Together),
		Subtitle: fmt.Sprintf("what answers cost together at δ = %s, with settings for %d at ε = %s", ui.Whole(planned.Delta), planned.Together, ui.Whole(planned.Epsilon)),
		Panels:   []plot.Panel{panel},
	}
	return figure.Save(path)
}

// roundTicks are 1, 2 and 5 times powers of ten within the values of series.
func roundTicks(series []plot.Series) []float64 {
	low, high := math.Inf(1), 0.0
	for _, s := range series {
		for _, p := range s.Points {
			low, high = math.Min(low, p.Y), math.Max(high, p.Y)
		}
	}
	var ticks []float64
	for magnitude := math.Pow(10, math.Floor(math.Log10(low))); magnitude <= high; magnitude *= 10 {
		for _, digit := range []float64{1, 2, 5} {
			if tick := digit * magnitude; tick >= low && tick <= high {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

// answersCounts are numbers of answers, evenly on a logarithmic axis.
func answersCounts(planned int64) []int64 {
	var list []int64
	for i := range answersPoints {
		n := int64(math.Round(math.Pow(answersMost*float64(planned), float64(i)/(answersPoints-1))))
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}
