package texts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/figures"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
)

// answersPlanResult is what "sotto plan --answers" found out.
type answersPlanResult struct {
	planSummary
	Answers int64 `json:"answers"`
}

// answersCost is the ε of one answer, and of ten times as many as were planned; tokens and
// seconds of its row are of one answer.
type answersCost struct {
	One      float64 `json:"epsilon_one"`
	TenTimes float64 `json:"epsilon_ten_times"`
}

// planAnswers plans answers with each method.
func planAnswers(ctx context.Context, p *cli.Program, opt planOptions, request plan.Request, model lm.Scorer, name string) (planOutput, error) {
	methods := opt.methods
	if methods == nil {
		methods = sotto.AnswerMethods(request.Task)
	}
	client, err := p.Client(backend.Spec{})
	if err != nil {
		return nil, err
	}
	found, err := fault.Await(ctx, func() (*sotto.Comparison[sotto.AnswerPlan], error) {
		return client.PlanAnswers(ctx, sotto.PlanOptions{Request: ask.As[sotto.Request](request), Methods: methods, Model: model, Measure: true})
	})
	if err != nil {
		return nil, err
	}
	r, err := fault.Await(ctx, func() (*answersPlanResult, error) { return newAnswersPlanResult(found) })
	if err != nil {
		return nil, err
	}
	r.Model = name
	if opt.plot != "" {
		if err := figures.Answers(ctx, found, opt.plot); err != nil {
			return nil, err
		}
		r.Plot = opt.plot
	}
	return r, nil
}

// newAnswersPlanResult gathers rows. If no method that reads records can do it, the first
// says why.
func newAnswersPlanResult(c *sotto.Comparison[sotto.AnswerPlan]) (*answersPlanResult, error) {
	r := &answersPlanResult{planSummary: planSummary{Shape: c.Shape, Speed: c.Speed}}
	able := false
	for _, row := range c.Rows {
		if row.Err != nil {
			r.Rows = append(r.Rows, planRow{Method: row.Method, Error: row.Err.Error()})
			continue
		}
		able = able || row.Method != "public" || len(c.Rows) == 1
		line, err := newAnswersRow(row)
		if err != nil {
			return nil, err
		}
		a := row.Plan
		r.Task, r.Epsilon, r.Delta, r.Answers, r.Tokens = a.Task.Name, a.Epsilon, a.Delta, a.Answers, a.Tokens
		r.Rows = append(r.Rows, line)
		for _, w := range append(a.Warnings(), smallDelta(a)...) {
			if !slices.Contains(r.Warnings, w) {
				r.Warnings = append(r.Warnings, w)
			}
		}
	}
	if !able {
		return nil, c.Rows[0].Err
	}
	return r, nil
}

func newAnswersRow(row sotto.Row[sotto.AnswerPlan]) (planRow, error) {
	a := row.Plan
	var settings any = a.Ensemble.Method
	if a.Ensemble.Method == nil {
		settings = a.Write.Method
	}
	cost, err := newPlannedRow(row.Method, settings, row.Cost, row.Guarantee)
	if err != nil {
		return planRow{}, err
	}
	more, err := a.Total(10 * a.Answers)
	if err != nil {
		return planRow{}, fmt.Errorf("compute ε of %d answers: %w", 10*a.Answers, err)
	}
	cost.Noise, cost.Draws, cost.Event = a.Noise(), strings.Replace(a.Draws(), " a text", " an answer", 1), a.Event().String()
	return planRow{row.Method, "", cost, &answersCost{row.One.Epsilon.Upper, more.Upper}}, nil
}

// smallDelta warns of a δ that has no privacy guarantee.
func smallDelta(a plan.Answers) []string {
	if !a.Private() || a.Scheme().Kind == "" {
		return nil
	}
	return cli.DeltaAbove(a.Delta, a.Size)
}

func (r *answersPlanResult) Print(p *ui.Page) {
	what := "1 answer"
	if r.Answers > 1 {
		what = ui.Thousands(r.Answers) + " answers together"
	}
	p.Head("%s, %s: ε = %s at δ = %s, up to %d tokens each", r.Task, what, ui.Whole(r.Epsilon), ui.Whole(r.Delta), r.Tokens)
	t := ui.NewTable("method", "noise or clip", "drawn", "#tokens", "#time", "#ε of 1", "#of "+ui.Thousands(10*r.Answers))
	for _, row := range r.Rows {
		if row.answersCost == nil {
			continue
		}
		t.Add(
			row.Method, row.Noise, row.Draws, ui.Rough(row.Tokens), ui.Span(row.Seconds), ui.Directed(row.One, 3, +1), ui.Directed(row.TenTimes, 3, +1),
		)
	}
	p.Table(t)
	p.Line("")
	failed := false
	for _, row := range r.Rows {
		if row.Error == "" {
			continue
		}
		failed = true
		p.Hanging("  "+ui.Pad(row.Method, 9)+"  ", row.Error, ui.Width-13)
	}
	if failed {
		p.Line("")
	}
	p.Text(2, fmt.Sprintf("Tokens through the model and time are of one answer, for records of %.0f tokens and an answer of full length; time is for %s on this machine, measured now. The last column is ten times as many answers with the same settings: ε grows more slowly than their number. No record was read.", r.Shape.Record, r.Model))
	if r.Plot != "" {
		p.Line("\n  plot %s", r.Plot)
	}
}
