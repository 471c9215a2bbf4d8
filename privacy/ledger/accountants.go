package ledger

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// Accountants makes meters from package accountant: [accountant.Auto] prices the charges of
// a sums budget one by one, [accountant.RDPFilter] composes those of an adaptive one. It is
// the default.
func Accountants(b *Budget) (Meter, error) {
	switch b.Composition {
	case Sums:
		return &prices{adjacency: b.Adjacency, known: map[string]price{}}, nil
	case Adaptive:
		return &adaptiveMeter{adjacency: b.Adjacency, orders: b.Orders, tally: tally{}}, nil
	}
	return nil, fmt.Errorf("no accountant composes charges in the way %q", string(b.Composition))
}

// tally counts the runs of events by their text.
type tally map[string]privacy.Term

func (t tally) add(terms []privacy.Term, sign int64) {
	for _, term := range terms {
		key := term.Event.String()
		have := t[key]
		have.Event = term.Event
		have.N += sign * term.N
		if have.N == 0 {
			delete(t, key)
		} else {
			t[key] = have
		}
	}
}

// adaptive measures with a filter made for one budget. Filters only grow, so it
// is made again, from the tally, when something is taken back or the budget
// changes.
type adaptiveMeter struct {
	adjacency privacy.Adjacency
	orders    []float64
	tally     tally

	filter       *accountant.RDPFilter // nil: to be made
	limit, delta float64               // what filter is for
	// excess is the ε that the tally costs, if the filter does not admit it; nothing is
	// charged to the filter then.
	excess float64
}

// Allows implements [Meter].
func (a *adaptiveMeter) Allows(terms []privacy.Term, limit, delta float64) (float64, bool, error) {
	if err := a.make(limit, delta); err != nil {
		return 0, false, err
	}
	more := event(slices.Values(terms))
	if a.excess > 0 {
		more = privacy.Compose{Events: []privacy.Event{more, event(maps.Values(a.tally))}}
	} else if a.filter.CanSpend(more, a.adjacency) {
		return 0, true, nil
	}
	// It does not fit: spending charges nothing and returns the cost.
	needed, err := a.spend(more)
	if err == nil && needed == 0 {
		a.filter = nil
		err = errors.New("a privacy filter let pass what it said does not fit")
	}
	return needed, false, err
}

// Add implements [Meter].
func (a *adaptiveMeter) Add(terms []privacy.Term) error {
	a.tally.add(terms, 1)
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
func (a *adaptiveMeter) Remove(terms []privacy.Term) error {
	a.tally.add(terms, -1)
	a.filter = nil
	return nil
}

// Epsilon implements [Meter].
func (a *adaptiveMeter) Epsilon(limit, delta float64) (float64, error) {
	if err := a.make(limit, delta); err != nil {
		return 0, err
	}
	if a.excess > 0 {
		return a.excess, nil
	}
	return a.filter.Epsilon(), nil
}

// make builds a filter for this budget with the tally charged to it.
func (a *adaptiveMeter) make(limit, delta float64) error {
	if a.filter != nil && a.limit == limit && a.delta == delta {
		return nil
	}
	f, err := accountant.NewRDPFilterAt(limit, delta, a.orders...)
	if err != nil {
		return err
	}
	a.filter, a.limit, a.delta = f, limit, delta
	if a.excess, err = a.spend(event(maps.Values(a.tally))); err != nil {
		a.filter = nil
	}
	return err
}

// spend charges the filter, or charges nothing and returns the ε that the filter would
// need. At each order the filter allows limit less a fixed cost of conversion, so the
// excess at an order is missing in the limit.
func (a *adaptiveMeter) spend(e privacy.Event) (excess float64, err error) {
	err = a.filter.Spend(e, a.adjacency)
	if exceeded, ok := errors.AsType[*accountant.ExceededError](err); ok {
		excess = a.limit + (exceeded.Spent + exceeded.Charge - exceeded.Budget)
		return math.Nextafter(max(excess, a.limit), math.Inf(1)), nil
	}
	return 0, err
}

// event composes terms into one event.
func event(terms func(func(privacy.Term) bool)) privacy.Event {
	var c privacy.Compose
	for t := range terms {
		c.Events = append(c.Events, privacy.Repeat{N: t.N, Event: t.Event})
	}
	return c
}
