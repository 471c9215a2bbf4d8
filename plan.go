package sotto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// PlanOptions say what to compare.
type PlanOptions struct {
	// Request is as for [Client.Synthesize]; its Method is not used.
	Request Request
	// Methods to compare. Default: all with a guarantee.
	Methods []string
	// Measure the model for a second or two, so that costs have times, and records that choose have
	// as much work as Time allows.
	Measure bool
	// Speed of the model, if it is known already.
	Speed plan.Speed
	// Time is as in [SynthesizeOptions]. It needs a speed; without one there is as much work as the
	// default model does in the default time.
	Time time.Duration
	// Model counts tokens; it need not be trusted. Default: the client's.
	Model lm.Scorer
}

// Methods returns the names of methods with a guarantee, the default first.
func Methods() []string {
	list := method.List(method.Texts)
	return append([]string{plan.Chooses}, method.Names(slices.DeleteFunc(list, func(s method.Spec) bool { return !s.Offered() }))...)
}

// Comparison is what methods do and cost at one ε, by plans of texts or of answers.
type Comparison[P any] struct {
	Rows []Row[P]
	// Shape and Speed are what costs were computed from.
	Shape plan.Shape
	Speed plan.Speed
}

// Row is one method.
type Row[P any] struct {
	Method string
	// Err says why the method cannot do it; what follows is then empty.
	Err  error
	Plan P
	// Guarantee covers all texts or answers together, One a single answer.
	Guarantee, One privacy.Guarantee
	// Cost of all texts, or of a single answer.
	Cost Cost
}

// Sentence states the guarantee.
func (r Row[P]) Sentence() string { return release.Sentence(r.Guarantee) }

// Plan plans the same request with each method. No private data is read.
func (c *Client) Plan(ctx context.Context, o PlanOptions) (*Comparison[Plan], error) {
	if o.Methods == nil {
		o.Methods = Methods()
	}
	shape := func(t lm.Tokenizer) (plan.Shape, error) { return shapeOf(ctx, t, o.Request.internal()) }
	return compare(ctx, c, o, shape, func(r plan.Request) (row Row[Plan]) {
		if row.Plan, row.Err = plan.New(r); row.Err == nil {
			p := row.Plan
			row.Guarantee, row.Err = guaranteed(p.Event(), p.Adjacency, p.Unit, p.Delta)
		}
		return row
	})
}

// shapeOf measures the prompts that texts of a request are written with.
func shapeOf(ctx context.Context, t lm.Tokenizer, r plan.Request) (plan.Shape, error) {
	conditions := r.Conditions
	if len(conditions) == 0 {
		conditions = r.Task.Conditions
	}
	return plan.ShapeOf(ctx, t, r.Task, conditions)
}

// AnswerMethods are the methods with a guarantee that answer questions of a task, the
// default first.
func AnswerMethods(t prompt.Task) []string { return plan.AnswerMethods(t) }

// PlanAnswers plans the same answers with each method. No private data is read.
func (c *Client) PlanAnswers(ctx context.Context, o PlanOptions) (*Comparison[AnswerPlan], error) {
	if o.Methods == nil {
		o.Methods = AnswerMethods(o.Request.Task)
	}
	shape := func(t lm.Tokenizer) (plan.Shape, error) { return plan.AnswerShapeOf(ctx, t, o.Request.Task) }
	return compare(ctx, c, o, shape, func(r plan.Request) (row Row[AnswerPlan]) {
		if row.Plan, row.Err = plan.NewAnswers(r); row.Err != nil {
			return row
		}
		p := row.Plan
		if row.One, row.Err = guaranteed(p.Event(), p.Adjacency, p.Unit, p.Delta); row.Err == nil {
			row.Guarantee, row.Err = guaranteed(p.All(p.Answers), p.Adjacency, p.Unit, p.Delta)
		}
		return row
	})
}

// compare plans with each method, and computes what that costs.
func compare[P interface {
	Cost(plan.Shape, plan.Speed) Cost
}](
	ctx context.Context, c *Client, o PlanOptions, shape func(lm.Tokenizer) (plan.Shape, error), row func(plan.Request) Row[P],
) (_ *Comparison[P], err error) {
	if err := impossible(o, row); err != nil {
		return nil, err
	}
	model, err := c.scorer(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	found := &Comparison[P]{Speed: o.Speed}
	if found.Shape, err = shape(model.Tokenizer()); err != nil {
		return nil, err
	}
	if o.Measure && found.Speed == (plan.Speed{}) {
		if found.Speed, err = plan.Measure(ctx, model); err != nil {
			return nil, fmt.Errorf("measure the model: %w", err)
		}
	}
	encoded := c.call(Use{})
	defer func() { err = errors.Join(err, encoded.close()) }()
	for _, method := range o.Methods {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var r Row[P]
		request, err := encoded.withEncoder(ctx, o.Request.internal().By(method), &found.Speed)
		if err == nil {
			request, err = request.For(model.Info()).Within(o.Time, found.Shape, found.Speed)
		}
		if err == nil {
			r = row(request)
		} else {
			r.Err = err
		}
		r.Method = method
		found.Rows = append(found.Rows, r)
	}
	for i, r := range found.Rows {
		if r.Err == nil {
			found.Rows[i].Cost = r.Plan.Cost(found.Shape, found.Speed)
		}
	}
	return found, nil
}

// impossible finds a request that no method can meet, whatever the model: before one is opened and measured.
func impossible[P any](o PlanOptions, row func(plan.Request) Row[P]) (first error) {
	request := o.Request.internal().Provisional()
	for _, method := range o.Methods {
		if method == "public" && len(o.Methods) > 1 {
			continue // it can do nearly everything, and says nothing of the request
		}
		err := row(request.By(method)).Err
		if _, wrong := errors.AsType[*InputError](err); !wrong {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
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

// planned returns a plan that was given, or makes it.
func planned[P interface{ Check() error }, R any](given *P, request R, plans func(R) (P, error)) (P, error) {
	if given == nil {
		return plans(request)
	}
	if err := (*given).Check(); err != nil {
		return *given, wrong("the plan cannot be carried out: %v", err)
	}
	return *given, nil
}

// guaranteed computes what an event costs.
func guaranteed(e privacy.Event, adjacency privacy.Adjacency, unit privacy.Unit, delta float64) (privacy.Guarantee, error) {
	e = privacy.Canonical(e)
	epsilon, err := accountant.Auto{}.Epsilon(e, adjacency, delta)
	if err != nil {
		return privacy.Guarantee{}, fmt.Errorf("compute ε: %w", err)
	}
	return privacy.Guarantee{Event: e, Adjacency: adjacency, Unit: unit, Epsilon: epsilon, Delta: delta, Accountant: accountant.Auto{}.Name()}, nil
}
