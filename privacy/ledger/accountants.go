package ledger

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"sotto/privacy"
	"sotto/privacy/accountant"
)

// Accountants makes meters of the package accountant: [accountant.Total], the
// tightest composition there is, for a planned budget, and
// [accountant.RDPFilter] for an adaptive one. It is the default.
func Accountants(c Composition, adjacency privacy.Adjacency) (Meter, error) {
	switch c {
	case Planned:
		return &planned{total: accountant.NewTotal(adjacency)}, nil
	case Adaptive:
		return &adaptive{adjacency: adjacency, tally: map[string]privacy.Term{}}, nil
	}
	return nil, fmt.Errorf("no accountant composes charges in the way %q", string(c))
}

// planned measures with the tightest accountant.
type planned struct {
	total *accountant.Total
	// next is total with the terms that were last found to fit: most often they
	// are added next, and its answers are kept.
	next  *accountant.Total
	terms []privacy.Term
}

// Fits implements [Meter].
func (p *planned) Fits(terms []privacy.Term, limit, delta float64) (float64, bool, error) {
	next := p.total.Clone()
	if err := addTo(next, terms, 1); err != nil {
		return 0, false, err
	}
	within, err := next.Within(limit, delta)
	if err != nil || within {
		p.next, p.terms = next, terms
		return 0, within, err
	}
	epsilon, err := next.Epsilon(delta)
	return epsilon.Upper, false, err
}

func addTo(total *accountant.Total, terms []privacy.Term, sign int64) error {
	for _, t := range terms {
		if err := total.Add(t.Event, sign*t.N); err != nil {
			return err
		}
	}
	return nil
}

// Add implements [Meter].
func (p *planned) Add(terms []privacy.Term) error {
	next, same := p.next, slices.EqualFunc(terms, p.terms, equal)
	p.next, p.terms = nil, nil
	if next != nil && same {
		p.total = next
		return nil
	}
	return addTo(p.total, terms, 1)
}

func equal(a, b privacy.Term) bool { return a.N == b.N && a.Event.String() == b.Event.String() }

// Remove implements [Meter].
func (p *planned) Remove(terms []privacy.Term) error {
	p.next, p.terms = nil, nil
	return addTo(p.total, terms, -1)
}

// Epsilon implements [Meter].
func (p *planned) Epsilon(_, delta float64) (float64, error) {
	epsilon, err := p.total.Epsilon(delta)
	return epsilon.Upper, err
}

// adaptive measures with a filter made for one budget. Filters only grow, so it
// is made again, from the tally, when something is taken back or the budget
// changes.
type adaptive struct {
	adjacency privacy.Adjacency
	tally     map[string]privacy.Term

	filter       *accountant.RDPFilter // nil: to be made
	limit, delta float64               // what filter is for
	// excess is the ε that the tally costs, if that is more than the filter lets
	// pass; nothing is charged to the filter then.
	excess float64
}

// Fits implements [Meter].
func (a *adaptive) Fits(terms []privacy.Term, limit, delta float64) (float64, bool, error) {
	if err := a.make(limit, delta); err != nil {
		return 0, false, err
	}
	more := event(slices.Values(terms))
	if a.excess > 0 {
		more = privacy.Compose{Events: []privacy.Event{more, event(maps.Values(a.tally))}}
	} else if a.filter.Fits(more, a.adjacency) {
		return 0, true, nil
	}
	// It does not fit: asking for it charges nothing and tells the cost.
	needed, err := a.spend(more)
	if err == nil && needed == 0 {
		a.filter = nil
		err = errors.New("a privacy filter let pass what it said does not fit")
	}
	return needed, false, err
}

// Add implements [Meter].
func (a *adaptive) Add(terms []privacy.Term) error {
	a.count(terms, 1)
	if a.filter == nil {
		return nil
	}
	if a.excess == 0 {
		excess, err := a.spend(event(slices.Values(terms)))
		if err == nil && excess == 0 {
			return nil
		}
	}
	a.filter = nil
	return nil
}

// Remove implements [Meter].
func (a *adaptive) Remove(terms []privacy.Term) error {
	a.count(terms, -1)
	a.filter = nil
	return nil
}

// Epsilon implements [Meter].
func (a *adaptive) Epsilon(limit, delta float64) (float64, error) {
	if err := a.make(limit, delta); err != nil {
		return 0, err
	}
	if a.excess > 0 {
		return a.excess, nil
	}
	return a.filter.Epsilon(), nil
}

// make has a filter for this budget with the tally charged to it.
func (a *adaptive) make(limit, delta float64) error {
	if a.filter != nil && a.limit == limit && a.delta == delta {
		return nil
	}
	f, err := accountant.NewRDPFilter(limit, delta)
	if err != nil {
		return err
	}
	a.filter, a.limit, a.delta = f, limit, delta
	if a.excess, err = a.spend(event(maps.Values(a.tally))); err != nil {
		a.filter = nil
	}
	return err
}

// spend charges the filter, or charges nothing and returns the ε that it would
// have to be for. At each order the filter allows limit less a fixed cost of
// conversion, so what is spent there beyond that is missing in the limit.
func (a *adaptive) spend(e privacy.Event) (excess float64, err error) {
	err = a.filter.Spend(e, a.adjacency)
	var exceeded *accountant.ExceededError
	if errors.As(err, &exceeded) {
		excess = a.limit + (exceeded.Spent + exceeded.Charge - exceeded.Budget)
		return math.Nextafter(max(excess, a.limit), math.Inf(1)), nil
	}
	return 0, err
}

func (a *adaptive) count(terms []privacy.Term, sign int64) {
	for _, t := range terms {
		key := t.Event.String()
		have := a.tally[key]
		have.Event = t.Event
		have.N += sign * t.N
		if have.N == 0 {
			delete(a.tally, key)
		} else {
			a.tally[key] = have
		}
	}
}

// event is terms as one event.
func event(terms func(func(privacy.Term) bool)) privacy.Event {
	var c privacy.Compose
	for t := range terms {
		c.Events = append(c.Events, privacy.Repeat{N: t.N, Event: t.Event})
	}
	return c
}
