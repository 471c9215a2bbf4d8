package ledger

import "github.com/sotto-dp/sotto/privacy"

// scheduleState is the schedule of a planned budget. Its charges may be any part of it in any
// order (see composition.go), so checking one takes only counting.
type scheduleState struct {
	// all holds the registered runs, taken the charged ones.
	all, taken tally
	// registered are the schedules: first the budget's own, then those of grants. sum is
	// what all of them may cost.
	registered []registration
	sum        exactCost
}

// registration is a schedule and what it may cost.
type registration struct {
	schedule string
	Cost
}

func newScheduleState(schedule string, epsilon, delta float64) *scheduleState {
	p := &scheduleState{all: tally{}, taken: tally{}, sum: newExactCost()}
	p.register(registration{schedule, Cost{Epsilon: epsilon, Delta: delta}})
	return p
}

// register adds a schedule.
func (p *scheduleState) register(r registration) {
	b, err := parseSchedule(r.schedule)
	if err != nil {
		panic("a checked schedule cannot be read: " + err.Error()) // unreachable: checkComposition
	}
	p.all.add(b.terms, 1)
	p.registered = append(p.registered, r)
	p.sum.add(r.Cost, 1)
}

// room reports whether terms are a part of what is left.
func (p *scheduleState) room(terms []privacy.Term) bool {
	for _, t := range terms {
		key := t.Event.String()
		if t.N > p.all[key].N-p.taken[key].N {
			return false
		}
	}
	return true
}

// runs counts the runs of a tally.
func (t tally) runs() (n int64) {
	for _, term := range t {
		n += term.N
	}
	return n
}

// scheduledFits returns an error if n charges of an event are not part of what is left.
func (a *account) scheduledFits(b *chargedEvent, n int64) error {
	all, err := b.times(n)
	if err != nil {
		return err
	}
	if a.plan.room(all.terms) && !a.lowered() {
		return nil
	}
	return &RefusedError{
		Budget: a.Name, Limit: a.Epsilon, Delta: a.Delta, Composition: a.Composition,
		Outside: true, Lowered: a.lowered(),
		Taken: a.plan.taken.runs(), Scheduled: a.plan.all.runs(),
	}
}

// lowered reports whether a revocation left less than the schedules may cost.
func (a *account) lowered() bool {
	return a.plan != nil && !a.plan.sum.within(a.epsilon, a.delta)
}

// afford measures a schedule. It returns its ε if that is more than it may cost.
func (r *registration) afford(newMeter NewMeter, adjacency privacy.Adjacency, tolerance float64) (needed float64, fits bool, err error) {
	b, err := parseSchedule(r.schedule)
	if err != nil {
		return 0, false, input("the schedule: %v", err)
	}
	m, err := newMeter(&Budget{Composition: Planned, Adjacency: adjacency})
	if err != nil {
		return 0, false, err
	}
	return m.Allows(b.terms, r.Epsilon*tolerance, r.Delta)
}

// affordable checks a schedule before it is registered.
func (r *registration) affordable(newMeter NewMeter, adjacency privacy.Adjacency) error {
	needed, fits, err := r.afford(newMeter, adjacency, 1)
	if err != nil || fits {
		return err
	}
	return input("the schedule costs ε = %s at δ = %g, more than the %s that is given for it: give more, or register fewer or noisier runs", number(needed), r.Delta, number(r.Epsilon))
}

// planOverspent reports whether a schedule costs more than was registered for it.
func (a *account) planOverspent(newMeter NewMeter) (float64, bool, error) {
	for _, r := range a.plan.registered {
		needed, fits, err := r.afford(newMeter, a.Adjacency, overspending)
		if err != nil || !fits {
			return needed, !fits, err
		}
	}
	return 0, false, nil
}
