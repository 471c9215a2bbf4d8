package figures

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/fault"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/internal/ui"
)

// planPoints of a curve; ε goes from a tenth to ten times what was asked for.
const planPoints = 9

// Plan draws model tokens against ε, for each method. Methods whose curves agree share one.
func Plan(ctx context.Context, r plan.Request, methods []string, shape plan.Shape, path string) error {
	epsilons := make([]float64, planPoints)
	for i := range epsilons {
		epsilons[i] = r.Epsilon * math.Pow(10, 2*float64(i)/(planPoints-1)-1)
	}
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
			points = append(points, plot.Point{X: epsilons[i], Low: of(*c), Y: of(*c)})
		}
	}
	if len(points) < 2 {
		return lines
	}
	for i := range lines {
		if slices.Equal(lines[i].Points, points) {
			lines[i].Name = strings.Join([]string{lines[i].Name, method}, ", ")
			return lines
		}
	}
	return append(lines, plot.Line{Name: method, Points: points})
}
