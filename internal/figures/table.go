package figures

import (
	"context"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/fault"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/internal/ui"
)

// Table draws how the errors of a table's statistics fall with ε.
func Table(ctx context.Context, ask sotto.TablePlanOptions, path string) error {
	x := plot.Axis{Label: "ε", Log: true}
	panel := plot.Panel{X: x, Y: plot.Axis{Label: "error of the worst column", Log: true}}
	asked := ask.Profile.Epsilon
	local, profile := plot.Line{Name: "perturbed rows"}, plot.Line{Name: "profile"}
	for i := range planPoints {
		ask.Profile.Epsilon = asked * math.Pow(10, 2*float64(i)/(planPoints-1)-1)
		found, err := fault.Await(ctx, func() (*sotto.TablePlan, error) { return sotto.PlanTable(ask) })
		if err != nil {
			return err
		}
		if found.LocalErr == nil {
			local.Points = append(local.Points, point(ask.Profile.Epsilon, worstShare(found.Local)))
		}
		if found.ProfileErr == nil {
			profile.Points = append(profile.Points, point(ask.Profile.Epsilon, worstOf(found.Profile)))
		}
	}
	for _, line := range []plot.Line{local, profile} {
		if len(line.Points) > 1 {
			panel.Lines = append(panel.Lines, line)
		}
	}
	if len(panel.Lines) == 0 {
		return fmt.Errorf("there is nothing to plot: neither way can do it")
	}
	figure := plot.Figure{
		Title:    fmt.Sprintf("%s, %s rows", ask.Profile.Schema.Name, ui.Thousands(ask.Profile.Size)),
		Subtitle: "how far noise moves what is told, before a row is read",
		Panels:   []plot.Panel{panel},
		Notes: []string{
			"perturbed rows: of the share that a value has;",
			"profile: of a group's mean, as a share of its bounds",
		},
	}
	return figure.Save(path)
}

func point(x, y float64) plot.Point { return plot.Point{X: x, Low: y, Y: y} }

func worstShare(l plan.Local) float64 {
	worst := 0.
	for _, e := range l.Errors() {
		worst = max(worst, e.Even)
	}
	return worst
}

// worstOf is that of means, relative to their bounds; without means that of the lead that
// a value needs, relative to the rows of a group.
func worstOf(q plan.Profile) float64 {
	means, leads := 0., 0.
	for i, e := range q.Errors(q.Rows()) {
		c := q.Schema.Columns[i]
		if e.Mean > 0 {
			means = max(means, e.Mean/(c.High-c.Low))
		}
		leads = max(leads, max(e.Noise, e.Rank, e.Margin)/q.Rows())
	}
	if means > 0 {
		return means
	}
	return leads
}
