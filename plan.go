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
)

// PlanOptions say what to compare.
type PlanOptions struct {
	// Request is as for [Synthesize]; its Method is not used.
	Request Request
	// Methods to compare. Default: all with a guarantee.
	Methods []string
	// Measure the model for a second or two, so that costs have times.
	Measure bool
	// Model counts tokens; it need not be trusted. Default: the client's.
	Model lm.Scorer
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
	Plan      Plan
	Guarantee privacy.Guarantee
	Cost      Cost
}

// Sentence states the guarantee.
func (r Row) Sentence() string { return release.Sentence(r.Guarantee) }

// Plan plans the same request with each method. No private data is read.
func (c *Client) Plan(ctx context.Context, o PlanOptions) (*Comparison, error) {
	model, err := c.scorer(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	methods := o.Methods
	if methods == nil {
		methods = Methods()
	}
	found := &Comparison{}
	conditions := o.Request.Conditions
	if len(conditions) == 0 {
		conditions = o.Request.Task.Conditions
	}
	if found.Shape, err = plan.ShapeOf(ctx, model.Tokenizer(), o.Request.Task, conditions); err != nil {
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
		if found.Speed, err = plan.Measure(ctx, model); err != nil {
			return nil, fmt.Errorf("measure the model: %w", err)
		}
	}
	for _, r := range plans {
		if r.Err == nil {
			r.Cost = r.Plan.Cost(found.Shape, found.Speed)
		}
		found.Rows = append(found.Rows, r)
	}
	return found, nil
}

func row(r Request, method string) Row {
	row := Row{Method: method}
	if row.Plan, row.Err = plan.New(r.By(method)); row.Err != nil {
		return row
	}
	p := row.Plan
	row.Guarantee, row.Err = guarantee(p.Event(), p.Adjacency, p.Unit, p.Delta)
	return row
}

// scorer returns the model that was given, or the client's.
func (c *Client) scorer(ctx context.Context, given lm.Scorer) (lm.Scorer, error) {
	if given != nil {
		return given, nil
	}
	m, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	return m.Public(), nil
}
