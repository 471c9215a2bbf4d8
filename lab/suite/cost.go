package suite

import (
	"context"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// GroupCost is what sets that differ in their seed alone are expected to cost together.
type GroupCost struct {
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

// costModel computes what cells cost.
type costModel struct {
	suite Suite
	Options
	// speeds of models by name, shapes of tasks and tokens of tests by data set and model.
	speeds map[string]plan.Speed
	shapes map[string]plan.Shape
	tests  map[string]float64
}

// Estimate computes what cells would take, without the cache, in groups that differ in
// their seed alone. It opens models by the options, measures them, and reads no record.
// Tell, if set, is called with how many groups are done.
func (s Suite) Estimate(ctx context.Context, cells []Cell, o Options, progress func(done, of int)) ([]GroupCost, error) {
	f := &costModel{s, o, map[string]plan.Speed{}, map[string]plan.Shape{}, map[string]float64{}}
	var groups []GroupCost
	var first []Cell
	places := map[string]int{}
	for _, c := range cells {
		kind := c.Kind()
		if _, known := places[kind]; !known {
			places[kind] = len(groups)
			groups = append(groups, GroupCost{Dataset: c.Dataset.Name, Name: c.Name, Epsilon: c.Epsilon, Online: c.Online, Queries: c.Queries, Shots: c.Shots})
			first = append(first, c)
		}
		groups[places[kind]].Cells++
	}
	for i, c := range first {
		if err := f.add(ctx, c, &groups[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		if progress != nil {
			progress(i+1, len(first))
		}
	}
	return groups, nil
}

// Kind names what cells share that differ in their seed alone.
func (c Cell) Kind() string {
	c.Seed = 0
	return c.String()
}

// add computes a group from its first cell.
func (f *costModel) add(ctx context.Context, c Cell, g *GroupCost) error {
	switch {
	case c.Learns():
		return nil // no model takes part
	case c.Online:
		return f.addOnline(ctx, c, g)
	}
	n := float64(g.Cells)
	prefix := 0.0
	if c.Method != "zero" && !c.Table() {
		m, err := f.Open(ctx, c.Model)
		if err != nil {
			return err
		}
		speed, shape, err := f.of(ctx, c, c.Model, m.Public())
		if err != nil {
			return err
		}
		p, err := plan.New(c.Request().Provisional())
		if err != nil {
			return err
		}
		if c.Method != "real" { // those are copied
			cost := p.Cost(shape, speed)
			g.Write, g.Seconds = n*cost.Cached.Tokens, n*cost.Cached.Seconds
		}
		prefix = float64(c.Shots) * (shape.Head + float64(p.Tokens))
	}
	answerer, err := f.OpenAnswerer(ctx, c.Answerer)
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
			items, err := f.suite.Questions(c)
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

// addOnline computes what answers take that records give.
func (f *costModel) addOnline(ctx context.Context, c Cell, g *GroupCost) error {
	m, err := f.Open(ctx, c.Model)
	if err != nil {
		return err
	}
	speed, _, err := f.of(ctx, c, c.Model, m.Public())
	if err != nil {
		return err
	}
	items, err := f.suite.Questions(c)
	if err != nil {
		return err
	}
	if c.Queries == 0 {
		c.Queries = int64(len(items))
	}
	g.Queries = c.Queries
	p, err := plan.NewAnswers(c.Request())
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

// of measures a model once, and the prompts of a data set with its tokens.
func (f *costModel) of(ctx context.Context, c Cell, name string, m lm.Scorer) (plan.Speed, plan.Shape, error) {
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
func (f *costModel) test(ctx context.Context, c Cell, m lm.Scorer) (questions, steps float64, err error) {
	items, err := f.suite.Questions(c)
	if err != nil {
		return 0, 0, err
	}
	if !(c.Task.Kind != prompt.Generate && !c.Task.Open()) {
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
