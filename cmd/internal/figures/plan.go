package figures

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
)

// planPoints of a curve.
const planPoints = 9

// around returns ε from a tenth to ten times what was asked for.
func around(asked float64) []float64 {
	list := make([]float64, planPoints)
	for i := range list {
		list[i] = asked * math.Pow(10, 2*float64(i)/(planPoints-1)-1)
	}
	return list
}

// Plan draws model tokens against ε, for each method. Methods whose curves agree share one.
func Plan(ctx context.Context, r plan.Request, methods []string, shape plan.Shape, path string) error {
	epsilons := around(r.Epsilon)
	x := plot.Axis{Label: "ε of all texts together", Log: true}
	cached := plot.Panel{X: x, Y: plot.Axis{Label: "model tokens, with caches", Log: true}}
	uncached := plot.Panel{X: x, Y: plot.Axis{Label: "model tokens, without caches", Log: true}}
	for _, method := range methods {
		costs, err := planCosts(ctx, r, method, shape, epsilons)
		if err != nil {
			return err
		}
		cached.Lines = addCurve(cached.Lines, method, epsilons, costs, func(c plan.Cost) float64 { return c.Cached.Tokens })
		uncached.Lines = addCurve(uncached.Lines, method, epsilons, costs, func(c plan.Cost) float64 { return c.Uncached.Tokens })
	}
	if len(cached.Lines) == 0 {
		return fmt.Errorf("there is nothing to plot: no method can do it")
	}
	figure := plot.Figure{
		Title:    fmt.Sprintf("sotto plan --task %s --epsilon %s", r.Task.Name, ui.Whole(r.Epsilon)),
		Subtitle: "tokens through the model for all texts, of full length, with records at their limit",
		Panels:   []plot.Panel{cached, uncached},
		Notes:    []string{"where ε does not change the number of records that are drawn, it changes the noise and not the cost"},
	}
	return figure.Save(path)
}

// planCosts has nothing at an ε that the method cannot keep to.
func planCosts(ctx context.Context, r plan.Request, method string, shape plan.Shape, epsilons []float64) ([]*plan.Cost, error) {
	r = r.By(method)
	costs := make([]*plan.Cost, len(epsilons))
	for i, epsilon := range epsilons {
		r.Epsilon = epsilon
		p, err := fault.Await(ctx, func() (plan.Plan, error) { return plan.New(r) })
		if ui.Is[*plan.InputError](err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c := p.Cost(shape, plan.Speed{})
		costs[i] = &c
	}
	return costs, nil
}

// addCurve adds a method to a curve that is the same, or adds a curve.
func addCurve(lines []plot.Line, method string, epsilons []float64, costs []*plan.Cost, of func(plan.Cost) float64) []plot.Line {
	var points []plot.Point
	for i, c := range costs {
		if c != nil {
			points = append(points, point(epsilons[i], of(*c)))
		}
	}
	if len(points) < 2 {
		return lines
	}
	for i := range lines {
		if slices.Equal(lines[i].Points, points) {
			lines[i].Name += ", " + method
			return lines
		}
	}
	return append(lines, plot.Line{Name: method, Points: points})
}

// Points of a curve, from one answer to a hundred times as many as were planned.
const (
	answersPoints = 7
	answersMax    = 100
)

// Answers draws what answers cost together with each method's settings, so that one
// can read off how many a budget buys.
func Answers(ctx context.Context, c *sotto.Comparison[sotto.AnswerPlan], path string) error {
	panel := plot.Panel{X: plot.Axis{Label: "answers", Log: true}, Y: plot.Axis{Label: "ε of all together", Log: true}}
	var planned plan.Answers
	for look, row := range c.Rows {
		if row.Err != nil || row.One.Epsilon.Upper == 0 {
			continue
		}
		planned = row.Plan
		series := plot.Series{Name: row.Method, Look: look}
		for _, n := range answersCounts(row.Plan.Answers) {
			total, err := fault.Await(ctx, func() (privacy.Interval, error) { return row.Plan.Total(n) })
			if err != nil {
				return fmt.Errorf("compute ε of %d answers: %w", n, err)
			}
			series.Points = append(series.Points, plot.Estimate{X: float64(n), Low: total.Upper, Y: total.Upper, High: total.Upper})
		}
		panel.Series = append(panel.Series, series)
	}
	if len(panel.Series) == 0 {
		return ui.Usage("there is nothing to plot: no method with a cost can do it")
	}
	panel.Y.Ticks = roundTicks(panel.Series)
	figure := plot.Figure{
		Title:    fmt.Sprintf("sotto plan --task %s --epsilon %s --answers %d", planned.Task.Name, ui.Whole(planned.Epsilon), planned.Answers),
		Subtitle: fmt.Sprintf("what answers cost together at δ = %s, with settings for %d at ε = %s", ui.Whole(planned.Delta), planned.Answers, ui.Whole(planned.Epsilon)),
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
		n := int64(math.Round(math.Pow(answersMax*float64(planned), float64(i)/(answersPoints-1))))
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// Table draws how the errors of a table's statistics fall with ε.
func Table(ctx context.Context, ask sotto.ProfileRequest, perturb sotto.PerturbRequest, path string) error {
	x := plot.Axis{Label: "ε", Log: true}
	panel := plot.Panel{X: x, Y: plot.Axis{Label: "error of the worst column", Log: true}}
	local, profile := plot.Line{Name: "perturbed rows"}, plot.Line{Name: "profile"}
	for _, epsilon := range around(ask.Epsilon) {
		ask.Epsilon = epsilon
		found, err := fault.Await(ctx, func() (*sotto.TablePlan, error) { return sotto.PlanTable(ask, perturb) })
		if err != nil {
			return err
		}
		if found.LocalErr == nil {
			local.Points = append(local.Points, point(epsilon, worstShare(found.Local)))
		}
		if found.ProfileErr == nil {
			profile.Points = append(profile.Points, point(epsilon, worstOf(found.Profile)))
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
		Title:    fmt.Sprintf("%s, %s rows", ask.Schema.Name, ui.Thousands(ask.Size)),
		Subtitle: "how far noise moves what is released, before a row is read",
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

// worstOf is the error of means, relative to their bounds; without means the lead that a
// value needs, relative to the rows of a group.
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
