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
// a sums budget one by one, [accountant.RDPFilter] composes those of an adaptive one, and
// [accountant.Total], the tightest composition there is, those of a planned one. It is the
// default.
func Accountants(b *Budget) (Meter, error) {
	switch b.Composition {
	case Sums:
		return &prices{adjacency: b.Adjacency, known: map[string]price{}}, nil
	case Planned:
		return &plannedMeter{adjacency: b.Adjacency, tally: tally{}}, nil
	case Adaptive:
		return &adaptiveMeter{adjacency: b.Adjacency, orders: b.Orders, tally: tally{}}, nil
	}
	return nil, fmt.Errorf("no accountant composes charges in the way %q", string(b.Composition))
}

// planned measures with the tightest accountant. That can take long, so it measures more
// than it is asked about and remembers the result: a part of something that fits also fits.
type plannedMeter struct {
	adjacency privacy.Adjacency
	tally     tally

	// read is the last reading: the charges of cost epsilon at delta.
	read struct {
		of             tally
		epsilon, delta float64
	}

	// cover costs at most limit at delta.
	cover        tally
	limit, delta float64
	// headroom is the share by which a cover exceeds what is asked about; it shrinks as the
	// budget is used up.
	headroom float64
	judged   struct{ limit, delta float64 }
}

const firstHeadroom, minHeadroom = 1. / 8, 1. / 8192

// Allows implements [Meter].
func (p *plannedMeter) Allows(terms []privacy.Term, limit, delta float64) (float64, bool, error) {
	if budget := struct{ limit, delta float64 }{limit, delta}; p.headroom == 0 || p.judged != budget {
		p.headroom, p.judged = firstHeadroom, budget
	}
	want := maps.Clone(p.tally)
	want.add(terms, 1)
	if p.covers(want, limit, delta) {
		return 0, true, nil
	}
	total, err := want.total(p.adjacency)
	if err != nil {
		return 0, false, err
	}
	quick, err := accountant.RDP{}.Epsilon(total.Event(), p.adjacency, delta)
	if err == nil && quick.Upper <= limit {
		return 0, true, nil
	}
	if p.headroom >= minHeadroom {
		fits, err := p.try(want.more(p.headroom), limit, delta)
		if fits || err != nil {
			return 0, fits, err
		}
		p.headroom /= 4
	}
	if fits, err := p.try(want, limit, delta); fits || err != nil {
		return 0, fits, err
	}
	needed, err := total.Epsilon(delta)
	return needed.Upper, false, err
}

// covers reports whether a tally is known to cost at most limit at delta.
func (p *plannedMeter) covers(t tally, limit, delta float64) bool {
	return limit >= p.limit && delta >= p.delta && t.within(p.cover)
}

// try makes a tally the cover if it fits.
func (p *plannedMeter) try(t tally, limit, delta float64) (bool, error) {
	total, err := t.total(p.adjacency)
	if err != nil {
		return false, err
	}
	fits, err := total.Within(limit, delta)
	if fits {
		p.cover, p.limit, p.delta = t, limit, delta
	}
	return fits, err
}

// Add implements [Meter].
func (p *plannedMeter) Add(terms []privacy.Term) error {
	p.tally.add(terms, 1)
	return nil
}

// Remove implements [Meter].
func (p *plannedMeter) Remove(terms []privacy.Term) error {
	p.tally.add(terms, -1)
	return nil
}

// readAhead is the share by which a reading exceeds what is charged, once charges come one
// after the other: a reading for more is a bound for less, and stays valid until there is
// more. So readings of n charges take ln(n)/ln(1+readAhead) compositions, not n.
const readAhead = 1. / 16

// Epsilon implements [Meter].
func (p *plannedMeter) Epsilon(limit, delta float64) (float64, error) {
	if p.read.of == nil || p.read.delta != delta || !p.tally.within(p.read.of) {
		of := maps.Clone(p.tally)
		if len(p.read.of) > 0 && p.read.delta == delta {
			of = of.more(readAhead)
		}
		total, err := of.total(p.adjacency)
		if err != nil {
			return 0, err
		}
		epsilon, err := total.Epsilon(delta)
		if err != nil {
			return 0, err
		}
		p.read.of, p.read.epsilon, p.read.delta = of, epsilon.Upper, delta
	}
	if p.covers(p.tally, limit, delta) {
		// The last digits of a bound for more can be below those of one for less.
		return min(p.read.epsilon, limit), nil
	}
	return p.read.epsilon, nil
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

// more returns a tally in which everything runs more often by a share.
func (t tally) more(share float64) tally {
	more := maps.Clone(t)
	for key, term := range more {
		term.N += int64(float64(term.N) * share)
		more[key] = term
	}
	return more
}

// within reports whether every event runs at most as often as in other.
func (t tally) within(other tally) bool {
	for key, term := range t {
		if term.N > other[key].N {
			return false
		}
	}
	return true
}

func (t tally) total(adjacency privacy.Adjacency) (*accountant.Total, error) {
	total := accountant.NewTotal(adjacency)
	for _, term := range t {
		if err := total.Add(term.Event, term.N); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// adaptive measures with a filter made for one budget. Filters only grow, so it
// is made again, from the tally, when something is taken back or the budget
// changes.
type adaptiveMeter struct {
	adjacency privacy.Adjacency
	orders    []float64 // nil: the orders that suit the current budget
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
	f, err := accountant.NewRDPFilter(limit, delta)
	if len(a.orders) > 0 {
		f, err = accountant.NewRDPFilterAt(limit, delta, a.orders...)
	}
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
