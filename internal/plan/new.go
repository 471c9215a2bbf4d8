package plan

import (
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// New makes a plan that keeps to the ε and δ of a request.
func New(r Request) (Plan, error) {
	p, err := r.plan()
	if large := privacy.LargeDelta(r.Delta, r.Size); err != nil && large != "" && r.Epsilon > 0 {
		// It may be the cause.
		err = about("Delta", "%s: ask for a smaller δ, or for none, which is %v (%v)", large, privacy.DefaultDelta(r.Size), err)
	}
	return p, err
}

func (r Request) plan() (Plan, error) {
	if r.Learning != nil {
		return r.learning()
	}
	if r.Choosing != nil {
		return r.choosing()
	}
	if err := r.fill(); err != nil {
		return Plan{}, err
	}
	parts, err := r.split()
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		Task: r.Task, Epsilon: r.Epsilon, Delta: r.Delta, Unit: r.Unit, Adjacency: privacy.AddRemove,
		Shots: r.Shots, Tokens: r.Tokens, Rules: *r.Rules, Conditions: r.Conditions,
	}
	if r.Sampler == scheme.FixedSize {
		p.Adjacency = privacy.ReplaceOne
		if !r.Task.Open() {
			return Plan{}, wrong("draws of a fixed size within labels have no theorem: a replaced record may change its label, and with it the size of two parts; use poisson draws")
		}
		if r.Ending {
			return Plan{}, wrong("a shared ending is found under add-remove adjacency, and draws of a fixed size are under replace-one: use poisson draws")
		}
		if r.Discover {
			return Plan{}, wrong("labels are discovered under add-remove adjacency, and draws of a fixed size are under replace-one: use poisson draws")
		}
		if r.Count {
			return Plan{}, wrong("draws of a fixed size need the exact, public number of records: declare it")
		}
	}
	if r.Count {
		p.Count = &Count{Epsilon: r.CountEpsilon, MinSize: r.MinSize}
	}
	if r.Discover {
		p.Discover = &Discover{Epsilon: r.DiscoverEpsilon, Delta: r.Delta / 10, MaxLabels: max(20, r.Shots)}
	}
	if p.Ending, err = r.ending(parts); err != nil {
		return Plan{}, err
	}
	known := map[int64]decode.Method{}
	for _, part := range parts {
		if known[part.Size] == nil {
			if known[part.Size], err = r.method(p, part); err != nil {
				return Plan{}, err
			}
		}
		part.Method = decode.Settings{Method: known[part.Size]}
		p.Parts = append(p.Parts, part)
	}
	if err := p.Check(); err != nil {
		return Plan{}, wrong("%v", err)
	}
	return p, nil
}

// method fills in a method for one part so that the whole costs at most ε.
func (r *Request) method(p Plan, part Part) (decode.Method, error) {
	return method.Plan[decode.Method](r.Method, method.Texts, r.ask(p, part, func(m method.Method) privacy.Event {
		part.Method = decode.Settings{Method: m.(decode.Method)}
		p.Parts = []Part{part}
		return p.Event()
	}))
}

// ask is what a method is asked for one part. Parts share no unit, so that each may use all
// of ε; event is what the plan costs, with this part alone.
func (r *Request) ask(p Plan, part Part, event func(method.Method) privacy.Event) method.Ask {
	return method.Ask{
		Task: p.Task, Epsilon: p.Epsilon, Delta: p.Delta, Size: part.Size, Texts: part.Texts, Tokens: p.Tokens,
		Answering: r.Answers > 0, Sampler: r.Sampler, Values: r.Settings,
		Solve: func(by accountant.Accountant, at func(x float64) method.Method) (float64, error) {
			target := accountant.Target{Epsilon: p.Epsilon, Delta: p.Delta, Adjacency: p.Adjacency, Accountant: by}
			return solve(at(1).Name(), target, func(x float64) privacy.Event { return event(at(x)) })
		},
	}
}

// solve finds the number x at which a method's event costs what it may.
func solve(name string, target accountant.Target, at func(x float64) privacy.Event) (float64, error) {
	c, err := accountant.CalibrateFunc(at, target)
	var impossible *accountant.ImpossibleError
	if errors.As(err, &impossible) {
		return 0, wrong("no setting of %s keeps to ε = %v at δ = %v: %v", name, target.Epsilon, target.Delta, err)
	}
	if err != nil {
		return 0, fmt.Errorf("calibrate %s: %w", name, err)
	}
	return c.X, nil
}
