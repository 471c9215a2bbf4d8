package sotto

import (
	"context"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// PlanOptions say what to compare.
type PlanOptions struct {
	// Request is as for [Synthesize]; its Method is not used.
	Request plan.Request
	// Methods to compare. Default: all with a guarantee.
	Methods []string
	// Model counts tokens, and is measured for a second or two if Measure. Required.
	Model   lm.Scorer
	Measure bool
}

// Methods returns the names of methods with a guarantee, the default first.
func Methods() []string {
	list := method.List(method.Texts)
	return append([]string{plan.Chooses}, method.Names(slices.DeleteFunc(list, func(s method.Spec) bool { return !s.Offered() }))...)
}

// Comparison is what methods do and cost at one ε.
type Comparison struct {
	Rows []Row
	// Shape and Speed are what costs were worked out from.
	Shape plan.Shape
	Speed plan.Speed
}

// Row is one method.
type Row struct {
	Method string
	// Err says why the method cannot do it; what follows is then empty.
	Err       error
	Plan      plan.Plan
	Guarantee privacy.Guarantee
	Cost      plan.Cost
}

// Sentence states the guarantee.
func (r Row) Sentence() string { return release.Sentence(r.Guarantee) }

// Plan plans the same request with each method. No private data is read.
func Plan(ctx context.Context, o PlanOptions) (*Comparison, error) {
	if o.Model == nil {
		return nil, fmt.Errorf("a model is needed to count tokens with")
	}
	methods := o.Methods
	if methods == nil {
		methods = Methods()
	}
	c := &Comparison{}
	conditions := o.Request.Conditions
	if len(conditions) == 0 {
		conditions = o.Request.Task.Conditions
	}
	var err error
	if c.Shape, err = plan.ShapeOf(ctx, o.Model.Tokenizer(), o.Request.Task, conditions); err != nil {
		return nil, err
	}
	var plans []Row
	for _, method := range methods {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		plans = append(plans, row(o.Request, method))
	}
	if o.Measure && slices.ContainsFunc(plans, func(r Row) bool { return r.Err == nil }) {
		if c.Speed, err = plan.Measure(ctx, o.Model); err != nil {
			return nil, fmt.Errorf("measure the model: %w", err)
		}
	}
	for _, r := range plans {
		if r.Err == nil {
			r.Cost = r.Plan.Cost(c.Shape, c.Speed)
		}
		c.Rows = append(c.Rows, r)
	}
	return c, nil
}

func row(r plan.Request, method string) Row {
	row := Row{Method: method}
	if row.Plan, row.Err = plan.New(r.By(method)); row.Err != nil {
		return row
	}
	p := row.Plan
	epsilon, err := accountant.Auto{}.Epsilon(p.Event(), p.Adjacency, p.Delta)
	if err != nil {
		row.Err = fmt.Errorf("work out ε: %w", err)
		return row
	}
	row.Guarantee = privacy.Guarantee{
		Event: p.Event(), Adjacency: p.Adjacency, Unit: p.Unit, Epsilon: epsilon, Delta: p.Delta, Accountant: accountant.Auto{}.Name(),
	}
	return row
}
