package ledger

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"sotto/privacy"
)

// account is a budget and what was charged to it.
type account struct {
	// Budget has the allowance as it is now, after grants and revocations.
	Budget
	// epsilon and delta are the same, exactly: the sum of decimals as people
	// wrote them, so that 0.1 and 0.2 make 0.3.
	epsilon, delta *big.Rat
	// tally counts the runs of each event, by its text.
	tally map[string]privacy.Term
	// meter holds tally; nil when it has to be built.
	meter Meter
	// spent is the meter's reading; nil when it has to be taken.
	spent  *float64
	states map[State]int
	// most is the largest allowance that the budget ever had.
	most struct{ epsilon, delta float64 }
	// late: it was added after charges that it counts, and may cost more than it
	// ever allowed.
	late bool
}

func newAccount(b Budget) *account {
	a := &account{Budget: b, tally: map[string]privacy.Term{}, states: map[State]int{}}
	a.set(decimal(b.Epsilon), decimal(b.Delta))
	return a
}

// decimal is the number that a float64 is printed as.
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
	a.most.epsilon = max(a.most.epsilon, a.Epsilon)
	a.most.delta = max(a.most.delta, a.Delta)
	a.spent = nil
}

// room checks that the counts of the tally can take more runs.
func (a *account) room(terms []privacy.Term) error {
	for _, t := range terms {
		if a.tally[t.Event.String()].N > math.MaxInt64/2-t.N {
			return input("%s would be charged more than 2^62 times", t.Event)
		}
	}
	return nil
}

// count adds n (1 or −1) times the terms to the tally and, if it is built, to
// the meter.
func (a *account) count(terms []privacy.Term, n int64) {
	a.spent = nil
	for _, t := range terms {
		key := t.Event.String()
		have := a.tally[key]
		have.Event = t.Event
		have.N += n * t.N
		if have.N == 0 {
			delete(a.tally, key)
		} else {
			a.tally[key] = have
		}
		if a.meter != nil && a.meter.Add(t.Event, n*t.N) != nil {
			a.meter = nil // built again when needed, which shows the error
		}
	}
}

// built returns the meter, built from the tally if need be: equal events are
// added together.
func (a *account) built(newMeter NewMeter) (Meter, error) {
	if a.meter != nil {
		return a.meter, nil
	}
	m, err := newMeter(a.Composition, a.Adjacency)
	if err != nil {
		return nil, err
	}
	for _, t := range a.tally {
		if err := m.Add(t.Event, t.N); err != nil {
			return nil, fmt.Errorf("budget %q: %w", a.Name, err)
		}
	}
	a.meter = m
	return m, nil
}

// cost is what is charged now.
func (a *account) cost(newMeter NewMeter) (float64, error) {
	if a.spent != nil {
		return *a.spent, nil
	}
	m, err := a.built(newMeter)
	if err != nil {
		return 0, err
	}
	spent, err := a.read(m, a.Epsilon, a.Delta)
	if err != nil {
		return 0, err
	}
	a.spent = &spent
	return spent, nil
}

// overspent reports whether the charges cost more than the budget ever allowed,
// and what they cost at its largest δ. Each was admitted against an allowance no
// larger than the largest, and costs only grow.
func (a *account) overspent(newMeter NewMeter) (float64, bool, error) {
	m, err := a.built(newMeter)
	if err != nil || a.late {
		return 0, false, err
	}
	spent, err := a.read(m, a.most.epsilon, a.most.delta)
	return spent, !(spent <= a.most.epsilon), err
}

// read takes a reading. Anything that is not a number of at least 0 counts as
// infinite.
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

// measured is a meter with a charge added, and its reading.
type measured struct {
	meter Meter
	spent float64
}

// try measures what the budget would stand at with more charged to it. It
// changes nothing.
func (a *account) try(newMeter NewMeter, terms []privacy.Term) (measured, error) {
	m, err := a.built(newMeter)
	if err != nil {
		return measured{}, err
	}
	m = m.Clone()
	for _, t := range terms {
		if err := m.Add(t.Event, t.N); err != nil {
			return measured{}, fmt.Errorf("budget %q: %w", a.Name, err)
		}
	}
	spent, err := a.read(m, a.Epsilon, a.Delta)
	return measured{m, spent}, err
}
