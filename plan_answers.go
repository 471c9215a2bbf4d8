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
	Plan AnswerPlan
	// One is the guarantee of an answer, All that of the plan's number of them together.
	One, All privacy.Guarantee
	// Cost is that of an answer.
	Cost Cost
}

// Sentence states the guarantee of all answers together.
func (r AnswerRow) Sentence() string { return release.Sentence(r.All) }

// Total is the ε of n answers together, at the plan's δ.
func (r AnswerRow) Total(n int64) (privacy.Interval, error) {
	return accountant.Auto{}.Epsilon(privacy.Repeat{N: n, Event: r.Plan.Event()}, r.Plan.Adjacency, r.Plan.Delta)
}

// PlanAnswers plans the same answers with each method. No private data is read.
func (c *Client) PlanAnswers(ctx context.Context, o PlanOptions) (*AnswerComparison, error) {
	model, err := c.scorer(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	methods := o.Methods
	if methods == nil {
		methods = AnswerMethods(o.Request.Task)
	}
	found := &AnswerComparison{}
	if found.Shape, err = plan.AnswerShapeOf(ctx, model.Tokenizer(), o.Request.Task); err != nil {
		return nil, err
	}
	for _, method := range methods {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found.Rows = append(found.Rows, answerRow(o.Request, method))
	}
	if o.Measure && slices.ContainsFunc(found.Rows, func(r AnswerRow) bool { return r.Err == nil }) {
		if found.Speed, err = plan.Measure(ctx, model); err != nil {
			return nil, fmt.Errorf("measure the model: %w", err)
		}
	}
	for i, r := range found.Rows {
		if r.Err == nil {
			found.Rows[i].Cost = r.Plan.Cost(found.Shape, found.Speed)
		}
	}
	return found, nil
}

func answerRow(r Request, method string) AnswerRow {
	row := AnswerRow{Method: method}
	if row.Plan, row.Err = plan.NewAnswers(r.By(method)); row.Err != nil {
		return row
	}
	p := row.Plan
	if row.One, row.Err = guarantee(p.Event(), p.Adjacency, p.Unit, p.Delta); row.Err != nil {
		return row
	}
	row.All, row.Err = guarantee(privacy.Repeat{N: p.Together, Event: p.Event()}, p.Adjacency, p.Unit, p.Delta)
	return row
}
