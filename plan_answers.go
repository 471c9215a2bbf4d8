package sotto

import (
	"context"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// AnswerMethods are the methods with a guarantee that answer questions of a task, the
// default first.
func AnswerMethods(t prompt.Task) []string { return plan.AnswerMethods(t) }

// AnswerComparison is what methods that answer do and cost at one ε.
type AnswerComparison struct {
	Rows []AnswerRow
	// Shape and Speed are what costs were worked out from.
	Shape plan.Shape
	Speed plan.Speed
}

// AnswerRow is one method.
type AnswerRow struct {
	Method string
	// Err says why the method cannot do it; what follows is then empty.
	Err  error
	Plan plan.Answers
	// One is the guarantee of an answer, All that of the plan's number of them together.
	One, All privacy.Guarantee
	// Cost is that of an answer.
	Cost plan.Cost
}

// Sentence states the guarantee of all answers together.
func (r AnswerRow) Sentence() string { return release.Sentence(r.All) }

// Total is the ε of n answers together, at the plan's δ.
func (r AnswerRow) Total(n int64) (privacy.Interval, error) {
	return accountant.Auto{}.Epsilon(privacy.Repeat{N: n, Event: r.Plan.Event()}, r.Plan.Adjacency, r.Plan.Delta)
}

// PlanAnswers plans the same answers with each method. No private data is read.
func PlanAnswers(ctx context.Context, o PlanOptions) (*AnswerComparison, error) {
	if o.Model == nil {
		return nil, fmt.Errorf("a model is needed to count tokens with")
	}
	methods := o.Methods
	if methods == nil {
		methods = AnswerMethods(o.Request.Task)
	}
	c := &AnswerComparison{}
	var err error
	if c.Shape, err = plan.AnswerShapeOf(ctx, o.Model.Tokenizer(), o.Request.Task); err != nil {
		return nil, err
	}
	for _, method := range methods {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.Rows = append(c.Rows, answerRow(o.Request, method))
	}
	if o.Measure && slices.ContainsFunc(c.Rows, func(r AnswerRow) bool { return r.Err == nil }) {
		if c.Speed, err = plan.Measure(ctx, o.Model); err != nil {
			return nil, fmt.Errorf("measure the model: %w", err)
		}
	}
	for i, r := range c.Rows {
		if r.Err == nil {
			c.Rows[i].Cost = r.Plan.Cost(c.Shape, c.Speed)
		}
	}
	return c, nil
}

func answerRow(r plan.Request, method string) AnswerRow {
	row := AnswerRow{Method: method}
	if row.Plan, row.Err = plan.NewAnswers(r.By(method)); row.Err != nil {
		return row
	}
	p := row.Plan
	for _, g := range []struct {
		to *privacy.Guarantee
		n  int64
	}{{&row.One, 1}, {&row.All, p.Together}} {
		epsilon, err := row.Total(g.n)
		if err != nil {
			row.Err = fmt.Errorf("work out ε: %w", err)
			return row
		}
		*g.to = privacy.Guarantee{
			Event: privacy.Canonical(privacy.Repeat{N: g.n, Event: p.Event()}), Adjacency: p.Adjacency, Unit: p.Unit, Epsilon: epsilon, Delta: p.Delta, Accountant: accountant.Auto{}.Name(),
		}
	}
	return row
}
