package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
)

// answersPlanned is what "sotto plan --answers" found out.
type answersPlanned struct {
	Task     string       `json:"task"`
	Epsilon  float64      `json:"epsilon"`
	Delta    float64      `json:"delta"`
	Answers  int64        `json:"answers"`
	Tokens   int          `json:"tokens"`
	Model    string       `json:"model"`
	Shape    plan.Shape   `json:"shape"`
	Speed    plan.Speed   `json:"speed"`
	Rows     []answersRow `json:"rows"`
	Plot     string       `json:"plot,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
}

type answersRow struct {
	Method string `json:"method"`
	Error  string `json:"error,omitempty"`
	*answersCost
}

// answersCost is of a method that can do it; tokens and seconds are of one answer.
type answersCost struct {
	Noise     string            `json:"noise"`
	Draws     string            `json:"draws"`
	Settings  json.RawMessage   `json:"settings"`
	Sequences float64           `json:"sequences"`
	Tokens    int64             `json:"model_tokens"`
	Uncached  int64             `json:"model_tokens_uncached"`
	Seconds   float64           `json:"seconds"`
	Slower    float64           `json:"seconds_uncached"`
	Event     string            `json:"event"`
	One       float64           `json:"epsilon_one"`
	Upper     float64           `json:"epsilon_upper"`
	TenTimes  float64           `json:"epsilon_ten_times"`
	Delta     float64           `json:"delta"`
	Adjacency privacy.Adjacency `json:"adjacency"`
	Guarantee string            `json:"guarantee"`
}

// planAnswers plans answers with each method.
func planAnswers(ctx context.Context, p *program, opt planOptions, request plan.Request, model lm.Scorer, name string) error {
	methods := opt.methods
	if methods == nil {
		methods = sotto.AnswerMethods(request.Task)
	}
	found, err := await(ctx, func() (*sotto.AnswerComparison, error) {
		return sotto.PlanAnswers(ctx, sotto.PlanOptions{Request: request, Methods: methods, Model: model, Measure: true})
	})
	if err != nil {
		return err
	}
	r, err := await(ctx, func() (*answersPlanned, error) { return newAnswersPlanned(found) })
	if err != nil {
		return err
	}
	r.Model = name
	if opt.plot != "" {
		if err := plotAnswers(ctx, found, opt.plot); err != nil {
			return err
		}
		r.Plot = opt.plot
	}
	return p.Warned(r, r.Warnings)
}

// newAnswersPlanned gathers rows. If no method that reads records can do it, the first
// says why.
func newAnswersPlanned(c *sotto.AnswerComparison) (*answersPlanned, error) {
	r := &answersPlanned{Shape: c.Shape, Speed: c.Speed}
	able := false
	for _, row := range c.Rows {
		if row.Err != nil {
			r.Rows = append(r.Rows, answersRow{Method: row.Method, Error: row.Err.Error()})
			continue
		}
		able = able || row.Method != "public" || len(c.Rows) == 1
		cost, err := newAnswersCost(row)
		if err != nil {
			return nil, err
		}
		a := row.Plan
		r.Task, r.Epsilon, r.Delta, r.Answers, r.Tokens = a.Task.Name, a.Epsilon, a.Delta, a.Together, a.Tokens
		r.Rows = append(r.Rows, answersRow{Method: row.Method, answersCost: cost})
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

func newAnswersCost(row sotto.AnswerRow) (*answersCost, error) {
	a := row.Plan
	settings, err := answerSettings(a)
	if err != nil {
		return nil, fmt.Errorf("encode the settings of %s: %w", row.Method, err)
	}
	more, err := row.Total(10 * a.Together)
	if err != nil {
		return nil, fmt.Errorf("work out ε of %d answers: %w", 10*a.Together, err)
	}
	return &answersCost{
		Noise: a.Noise(), Draws: strings.Replace(a.Draws(), " a text", " an answer", 1), Settings: settings, Sequences: row.Cost.Sequences,
		Tokens: int64(math.Round(row.Cost.Cached.Tokens)), Uncached: int64(math.Round(row.Cost.Uncached.Tokens)),
		Seconds: row.Cost.Cached.Seconds, Slower: row.Cost.Uncached.Seconds,
		Event: a.Event().String(), One: row.One.Epsilon.Upper, Upper: row.All.Epsilon.Upper, TenTimes: more.Upper,
		Delta: a.Delta, Adjacency: a.Adjacency, Guarantee: row.Sentence(),
	}, nil
}

// answerSettings are those of the method, whichever family it is of.
func answerSettings(a plan.Answers) (json.RawMessage, error) {
	if a.Ensemble.Method != nil {
		return json.Marshal(a.Ensemble.Method)
	}
	return json.Marshal(a.Write.Method)
}

// smallDelta tells of a δ that protects nobody.
func smallDelta(a plan.Answers) []string {
	if !a.Private() || a.Scheme().Kind == "" {
		return nil
	}
	return deltaAbove(a.Delta, a.Size)
}

func (r *answersPlanned) Print(p *ui.Page) {
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
		for i, line := range ui.Fold(row.Error, ui.Width-13) {
			p.Line("  %s  %s", ui.Pad(ui.If(i == 0, row.Method), 9), line)
		}
	}
	if failed {
		p.Line("")
	}
	p.Text(2, fmt.Sprintf("Tokens through the model and time are of one answer, for records of %.0f tokens and an answer of full length; time is for %s on this machine, measured now. The last column is ten times as many answers with the same settings: ε grows more slowly than their number. No record was read.", r.Shape.Record, r.Model))
	if r.Plot != "" {
		p.Line("\n  plot %s", r.Plot)
	}
}

// Points of a curve, from one answer to a hundred times as many as were planned.
const (
	answersPoints = 7
	answersMost   = 100
)

// plotAnswers draws what answers cost together with each method's settings, so that one
// can read off how many a budget buys.
func plotAnswers(ctx context.Context, c *sotto.AnswerComparison, path string) error {
	panel := plot.Panel{X: plot.Axis{Label: "answers", Log: true}, Y: plot.Axis{Label: "ε of all together", Log: true}}
	var planned plan.Answers
	for look, row := range c.Rows {
		if row.Err != nil || row.One.Epsilon.Upper == 0 {
			continue
		}
		planned = row.Plan
		series := plot.Series{Name: row.Method, Look: look}
		for _, n := range answersCounts(row.Plan.Together) {
			total, err := await(ctx, func() (privacy.Interval, error) { return row.Total(n) })
			if err != nil {
				return fmt.Errorf("work out ε of %d answers: %w", n, err)
			}
			series.Points = append(series.Points, plot.Measured{X: float64(n), Low: total.Upper, Y: total.Upper, High: total.Upper})
		}
		panel.Series = append(panel.Series, series)
	}
	if len(panel.Series) == 0 {
		return usage("there is nothing to plot: no method with a cost can do it")
	}
	panel.Y.Ticks = roundTicks(panel.Series)
	figure := plot.Figure{
		Title:    fmt.Sprintf("sotto plan --task %s --epsilon %s --answers %d", planned.Task.Name, ui.Whole(planned.Epsilon), planned.Together),
		Subtitle: fmt.Sprintf("what answers cost together at δ = %s, with settings for %d at ε = %s", ui.Whole(planned.Delta), planned.Together, ui.Whole(planned.Epsilon)),
		Panels:   []plot.Panel{panel},
	}
	var svg bytes.Buffer
	if err := figure.WriteSVG(&svg); err != nil {
		return err
	}
	if err := os.WriteFile(path, svg.Bytes(), 0o644); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
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
