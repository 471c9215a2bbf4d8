package ledger

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/sotto-dp/sotto/privacy"
)

// account is a budget with the charges that count toward it.
type account struct {
	// Budget has the current allowance, after grants and revocations.
	Budget
	// epsilon and delta are the allowance exactly: the sum of decimals as people wrote
	// them, so that 0.1 and 0.2 make 0.3.
	epsilon, delta *big.Rat
	// tally counts the charges of each event, by its text; runs counts the runs of all of
	// them.
	tally map[string]*eventCount
	runs  int64
	// sum is the exact sum of the costs of a sums budget.
	sum exactCost
	// whole are data sets whose charges from before a link count as one (see unfixed).
	whole map[Fingerprint]bool
	// meter holds tally; nil when it has to be built.
	meter Meter
	// spent is the meter's reading; nil when it has to be taken.
	spent  *float64
	states map[State]int
	// max is the largest allowance that the budget ever had.
	max struct{ epsilon, delta float64 }
	// late: the budget was added after charges that it counts, so they may cost more than
	// it ever allowed.
	late bool
}

// chargedEvent is an event in the form in which it is charged.
type chargedEvent struct {
	text  string // canonical
	terms []privacy.Term
	runs  int64 // the runs of all terms
}

// eventCount is an event and the number of its charges.
type eventCount struct {
	*chargedEvent
	n int64
}

// newChargedEvent brings an event into canonical form.
func newChargedEvent(e privacy.Event) (*chargedEvent, error) {
	terms, err := privacy.Terms(e)
	if err != nil {
		return nil, err
	}
	b := &chargedEvent{text: privacy.Canonical(e).String(), terms: terms}
	for _, t := range terms {
		if b.runs += t.N; b.runs > maxRuns {
			return nil, input("%s runs more than 2^60 mechanisms", e.Node())
		}
	}
	return b, nil
}

// times returns the event repeated n times.
func (b *chargedEvent) times(n int64) (*chargedEvent, error) {
	if n == 1 {
		return b, nil
	}
	e, err := privacy.Parse(b.text)
	if err != nil {
		return nil, err
	}
	return newChargedEvent(privacy.Repeat{N: n, Event: e})
}

// maxRuns bounds the runs that are charged to one budget, so that they can be
// counted.
const maxRuns = 1 << 60

func newAccount(b Budget) *account {
	a := &account{Budget: b, tally: map[string]*eventCount{}, states: map[State]int{}, sum: newExactCost()}
	a.set(decimal(b.Epsilon), decimal(b.Delta))
	return a
}

// decimal returns the exact decimal that a float64 prints as.
func decimal(v float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(v, 'g', -1, 64))
	if !ok {
		panic("a checked number is not finite") // unreachable: CheckEpsilon, CheckDelta
	}
	return r
}

// changed returns the allowance after a grant (sign 1) or revocation (−1).
func (a *account) changed(g *grantRecord, sign int64) (epsilon, delta *big.Rat, err error) {
	s := big.NewRat(sign, 1)
	epsilon = decimal(g.Epsilon)
	epsilon.Mul(epsilon, s).Add(epsilon, a.epsilon)
	delta = decimal(g.Delta)
	delta.Mul(delta, s).Add(delta, a.delta)
	b := a.Budget
	b.Epsilon, _ = epsilon.Float64()
	b.Delta, _ = delta.Float64()
	if epsilon.Sign() < 0 || delta.Sign() < 0 {
		return nil, nil, input("budget %q has ε = %s and δ = %g: it cannot be lowered by more than that", a.Name, number(a.Epsilon), a.Delta)
	}
	return epsilon, delta, b.check()
}

func (a *account) set(epsilon, delta *big.Rat) {
	a.epsilon, a.delta = epsilon, delta
	a.Epsilon, _ = epsilon.Float64()
	a.Delta, _ = delta.Float64()
	a.max.epsilon = max(a.max.epsilon, a.Epsilon)
	a.max.delta = max(a.max.delta, a.Delta)
	a.spent = nil
}

// room checks that more runs can be counted.
func (a *account) room(b *chargedEvent) error {
	if a.runs > maxRuns-b.runs {
		return input("budget %q would be charged for more than 2^60 runs", a.Name)
	}
	return nil
}

// add charges an event. cost is what it costs a sums budget.
func (a *account) add(b *chargedEvent, cost Cost) {
	a.spent = nil
	a.runs += b.runs
	a.sum.add(cost, 1)
	t := a.tally[b.text]
	if t == nil {
		t = &eventCount{chargedEvent: b}
		a.tally[b.text] = t
	}
	t.n++
	if a.meter != nil && a.meter.Add(b.terms) != nil {
		a.meter = nil // built again when needed, which shows the error
	}
}

// remove takes back a charged event. Sums take nothing back (see admitsHandBack).
func (a *account) remove(b *chargedEvent) {
	a.spent = nil
	a.runs -= b.runs
	t := a.tally[b.text]
	if t.n--; t.n == 0 {
		delete(a.tally, b.text)
	}
	if a.meter != nil && a.meter.Remove(b.terms) != nil {
		a.meter = nil
	}
}

// built returns the meter, building it from the tally if needed: equal events are added
// together. The meter of a sums budget holds nothing; it prices charges.
func (a *account) built(newMeter NewMeter) (Meter, error) {
	if a.meter != nil {
		return a.meter, nil
	}
	m, err := newMeter(&a.Budget)
	if err != nil {
		return nil, err
	}
	if a.Composition != Sums {
		var all []privacy.Term
		for _, t := range a.tally {
			for _, term := range t.terms {
				term.N *= t.n
				all = append(all, term)
			}
		}
		if err := m.Add(all); err != nil {
			return nil, fmt.Errorf("budget %q: %w", a.Name, err)
		}
	}
	a.meter = m
	return m, nil
}

// cost returns the ε of everything charged so far.
func (a *account) cost(newMeter NewMeter) (float64, error) {
	if a.spent != nil {
		return *a.spent, nil
	}
	spent, err := a.measured(newMeter)
	if err != nil {
		return 0, err
	}
	a.spent = &spent
	return spent, nil
}

func (a *account) measured(newMeter NewMeter) (float64, error) {
	if a.Composition == Sums {
		return a.sum.upper(a.Epsilon), nil
	}
	m, err := a.built(newMeter)
	if err != nil {
		return 0, err
	}
	return a.read(m, a.Epsilon, a.Delta)
}

// overspending is the factor by which another version of an accountant may measure the same
// charges.
const overspending = 1.001

// overspent reports whether the charges cost more than the budget ever allowed, and their
// cost at its largest δ. Each was admitted against an allowance no larger than the largest,
// and costs only grow.
func (s *state) overspent(d *dataset, a *account, newMeter NewMeter) (float64, bool, error) {
	m, err := a.built(newMeter)
	switch {
	case err != nil || a.late:
		return 0, false, err
	case a.Composition == Sums:
		return s.sumOverspent(d, a, m)
	}
	spent, err := a.read(m, a.max.epsilon, a.max.delta)
	return spent, !(spent <= a.max.epsilon*overspending), err
}

// read takes a reading. Anything other than a number of at least 0 counts as infinite.
func (a *account) read(m Meter, limit, delta float64) (float64, error) {
	v, err := m.Epsilon(limit, delta)
	if err != nil {
		return 0, fmt.Errorf("budget %q: %w", a.Name, err)
	}
	if !(v >= 0) {
		return math.Inf(1), nil
	}
	return v, nil
}

// allows returns an error if n charges of an event, one after the other, cannot be made: a
// [*RefusedError] if the budget does not suffice. It also returns the cost of one of them
// to a sums budget.
func (a *account) allows(newMeter NewMeter, b *chargedEvent, n int64) (Cost, error) {
	m, err := a.built(newMeter)
	if err != nil {
		return Cost{}, err
	}
	if a.Composition == Sums {
		return a.sumFits(m, b, n)
	}
	all, err := b.times(n)
	if err != nil {
		return Cost{}, err
	}
	needed, fits, err := m.Allows(all.terms, a.Epsilon, a.Delta)
	if err != nil {
		return Cost{}, fmt.Errorf("budget %q: %w", a.Name, err)
	}
	if fits {
		return Cost{}, nil
	}
	spent, err := a.cost(newMeter)
	if err != nil {
		return Cost{}, err
	}
	return Cost{}, a.refusal(spent, needed)
}

func (a *account) refusal(spent, needed float64) *RefusedError {
	return &RefusedError{
		Budget: a.Name, Limit: a.Epsilon, Delta: a.Delta, Composition: a.Composition,
		Spent: Epsilon(spent), Needed: Epsilon(needed),
	}
}
