package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/eval/suite"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
)

type dryResult struct {
	Suite   string     `json:"suite"`
	Cells   int        `json:"cells"`
	Groups  []dryGroup `json:"groups"`
	Tokens  float64    `json:"model_tokens"`
	Seconds float64    `json:"seconds"`
	Model   string     `json:"model"`
}

// dryGroup is what sets that differ in their seed alone are expected to cost together.
type dryGroup struct {
	Dataset string   `json:"dataset"`
	Name    string   `json:"name"`
	Epsilon *float64 `json:"epsilon"`
	Online  bool     `json:"online,omitempty"`
	Queries int64    `json:"queries,omitempty"`
	Shots   int      `json:"shots"`
	Cells   int      `json:"cells"`
	Write   float64  `json:"write_tokens"`
	Answer  float64  `json:"answer_tokens"`
	Seconds float64  `json:"seconds"`
}

// costing works out what cells cost.
type costing struct {
	*suiteRun
	// speeds of models by name, shapes of tasks and tokens of tests by data set and model.
	speeds map[string]plan.Speed
	shapes map[string]plan.Shape
	tests  map[string]float64
}

// estimate tells what the suite would take, without the cache. No record is read.
func (s *suiteRun) estimate(ctx context.Context, cells []suite.Cell) error {
	f := &costing{s, map[string]plan.Speed{}, map[string]plan.Shape{}, map[string]float64{}}
	r := &dryResult{Suite: s.suite.Name, Cells: len(cells)}
	places := map[string]int{}
	var first []suite.Cell
	for _, c := range cells {
		kind := kindOf(c)
		if _, known := places[kind]; !known {
			places[kind] = len(r.Groups)
			r.Groups = append(r.Groups, dryGroup{Dataset: c.Dataset.Name, Name: c.Name, Epsilon: c.Epsilon, Online: c.Online, Queries: c.Queries, Shots: c.Shots})
			first = append(first, c)
		}
		r.Groups[places[kind]].Cells++
	}
	progress := s.Bar("planning")
	for i, c := range first {
		if err := f.add(ctx, c, &r.Groups[i]); err != nil {
			progress.Clear()
			return fmt.Errorf("%s: %w", c, err)
		}
		r.Tokens += r.Groups[i].Write + r.Groups[i].Answer
		r.Seconds += r.Groups[i].Seconds
		progress.Tell(i+1, len(first), "methods")
	}
	progress.Clear()
	at := slices.IndexFunc(first, func(c suite.Cell) bool { return !c.Learns() })
	if at < 0 {
		r.Model = "no language model"
		return s.Emit(r)
	}
	spec, err := s.specOf(first[at].Answerer)
	if err != nil {
		return err
	}
	answerer, err := s.openAnswerer(ctx, first[at].Answerer)
	if err != nil {
		return err
	}
	r.Model = modelName(spec, answerer.Info())
	return s.Emit(r)
}

// add works out a group from its first cell.
func (f *costing) add(ctx context.Context, c suite.Cell, g *dryGroup) error {
	switch {
	case c.Learns():
		return nil // no model takes part
	case c.Online:
		return f.addOnline(ctx, c, g)
	}
	n := float64(g.Cells)
	prefix := 0.0
	if c.Method != "zero" && !c.Table() {
		m, err := f.open(ctx, c.Model)
		if err != nil {
			return err
		}
		speed, shape, err := f.of(ctx, c, c.Model, m.Public())
		if err != nil {
			return err
		}
		p, err := await(ctx, func() (plan.Plan, error) { return plan.New(c.Request()) })
		if err != nil {
			return err
		}
		if c.Method != demosReal { // those are copied
			cost := p.Cost(shape, speed)
			g.Write, g.Seconds = n*cost.Cached.Tokens, n*cost.Cached.Seconds
		}
		prefix = float64(c.Shots) * (shape.Head + float64(p.Tokens))
	}
	answerer, err := f.openAnswerer(ctx, c.Answerer)
	if err != nil {
		return err
	}
	scorer, ok := answerer.(lm.Scorer)
	if !ok {
		return nil // its tokens are not known
	}
	speed, shape, err := f.of(ctx, c, c.Answerer, scorer)
	if err != nil {
		return err
	}
	questions, steps, err := f.test(ctx, c, scorer)
	if err != nil {
		return err
	}
	if c.Table() {
		// Demonstrations are about as long as questions.
		prefix = float64(c.Shots) * questions
		if !c.Fresh() {
			items, err := f.items(c)
			if err != nil {
				return err
			}
			prefix /= float64(len(items))
		}
	}
	tokens := float64(shape.Instruction) + prefix + questions
	g.Answer = n * (tokens + steps)
	g.Seconds += n * (tokens/speed.Prefill + steps*speed.Each)
	return nil
}

// addOnline works out what answers take that records give.
func (f *costing) addOnline(ctx context.Context, c suite.Cell, g *dryGroup) error {
	m, err := f.open(ctx, c.Model)
	if err != nil {
		return err
	}
	speed, _, err := f.of(ctx, c, c.Model, m.Public())
	if err != nil {
		return err
	}
	items, err := f.items(c)
	if err != nil {
		return err
	}
	if c.Queries == 0 {
		c.Queries = int64(len(items))
	}
	g.Queries = c.Queries
	p, err := await(ctx, func() (plan.Answers, error) { return plan.NewAnswers(c.Request()) })
	if err != nil {
		return err
	}
	shape, err := plan.AnswerShapeOf(ctx, m.Tokenizer(), c.Task)
	if err != nil {
		return err
	}
	n := float64(g.Cells) * float64(len(items))
	cost := p.Cost(shape, speed)
	g.Answer, g.Seconds = n*cost.Cached.Tokens, n*cost.Cached.Seconds
	return nil
}

// items are those that a cell is measured on.
func (f *costing) items(c suite.Cell) ([]eval.Item, error) {
	return f.suite.Questions(c)
}

// of measures a model once, and the prompts of a data set with its tokens.
func (f *costing) of(ctx context.Context, c suite.Cell, name string, m lm.Scorer) (plan.Speed, plan.Shape, error) {
	if _, ok := f.speeds[name]; !ok {
		speed, err := plan.Measure(ctx, m)
		if err != nil {
			return plan.Speed{}, plan.Shape{}, fmt.Errorf("measure the model: %w", err)
		}
		f.speeds[name] = speed
	}
	key := c.Dataset.Name + "\n" + c.View + "\n" + name
	if _, ok := f.shapes[key]; !ok {
		conditions := c.Dataset.Conditions
		if len(conditions) == 0 {
			conditions = c.Task.Conditions
		}
		shape, err := plan.ShapeOf(ctx, m.Tokenizer(), c.Task, conditions)
		if err != nil {
			return plan.Speed{}, plan.Shape{}, err
		}
		f.shapes[key] = shape
	}
	return f.speeds[name], f.shapes[key], nil
}

// test counts the tokens of the questions, and of answers that are written.
func (f *costing) test(ctx context.Context, c suite.Cell, m lm.Scorer) (questions, steps float64, err error) {
	items, err := f.items(c)
	if err != nil {
		return 0, 0, err
	}
	if !worth.Listed(c.Task) {
		steps = float64(len(items) * c.Task.Limits.AnswerTokens)
	}
	key := fmt.Sprintf("%s\n%s\n%s\n%d", c.Dataset.Name, c.View, c.Answerer, c.Items)
	if _, known := f.tests[key]; !known {
		sum := 0.0
		for _, item := range items {
			tokens, err := m.Tokenizer().Encode(ctx, c.Task.AnswerItem(item.Input))
			if err != nil {
				return 0, 0, err
			}
			sum += math.Min(float64(len(tokens)), float64(c.Task.Limits.InputTokens))
		}
		f.tests[key] = sum
	}
	return f.tests[key], steps, nil
}

func (r *dryResult) Print(p *ui.Page) {
	p.Head("%s: %d sets of demonstrations, about %s tokens, %s", r.Suite, r.Cells, ui.Thousands(int64(r.Tokens)), ui.Span(r.Seconds))
	t := ui.NewTable("data set", "method", "#ε", "#shots", "#sets", "#tokens written", "#answered", "#time")
	last := ""
	for _, g := range r.Groups {
		name := g.Dataset
		if name == last {
			name = ""
		}
		last = g.Dataset
		shots := fmt.Sprint(g.Shots)
		if g.Online {
			shots = "for " + ui.Thousands(g.Queries)
		}
		t.Add(
			name, ui.Cut(g.Name, 18), epsilonOf(g.Epsilon), shots, fmt.Sprint(g.Cells),
			ui.Thousands(int64(g.Write)), ui.Thousands(int64(g.Answer)), ui.Span(g.Seconds),
		)
	}
	p.Table(t)
	p.Line("")
	p.Text(2, fmt.Sprintf("Texts count with their full length, records with the task's limit, and nothing is taken from the cache. Times are for %s on this machine, measured now, one set after the other. No record was read.", r.Model))
}
