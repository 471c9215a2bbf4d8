package accountant

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// Result is an evaluation, with the accountant that made it and why that one.
type Result struct {
	privacy.Interval
	Accountant string
	Why        string
}

// Auto evaluates an event with every accountant that may be the tightest, and
// keeps the least upper and the greatest lower end: all of them are theorems
// about the same number.
type Auto struct {
	// Tolerance is the relative width of the interval that is aimed at; 0 means
	// 8e-4.
	Tolerance float64
}

// Name implements [Accountant].
func (Auto) Name() string { return "auto" }

// ByName returns the accountant of a name, for the command line.
func ByName(name string) (Accountant, error) {
	switch name {
	case "", "auto":
		return Auto{}, nil
	case "pld":
		return PLD{}, nil
	case "rdp":
		return RDP{}, nil
	}
	return nil, fmt.Errorf("unknown accountant %q: use auto, pld or rdp", name)
}

// Epsilon implements [Accountant].
func (a Auto) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	r, err := a.Explain(e, adj, delta)
	return r.Interval, err
}

// Delta implements [Accountant].
func (a Auto) Delta(e privacy.Event, adj privacy.Adjacency, epsilon float64) (privacy.Interval, error) {
	r, err := a.solver(adj).answer(a.Name(), e, ask{epsilon, epsilon, true})
	return r.Interval, err
}

// Explain is like [Auto.Epsilon], and also returns which accountant gave the bound and why.
func (a Auto) Explain(e privacy.Event, adj privacy.Adjacency, delta float64) (Result, error) {
	return a.solver(adj).answer(a.Name(), e, ask{delta, delta, false})
}

func (a Auto) solver(adj privacy.Adjacency) solver {
	return solver{adj: adj, tolerance: a.Tolerance, numerical: true, ranges: true, bounds: true}
}

// meet narrows an enclosure by another one of the same number. Two that have no number in
// common show that one of them is wrong, and then neither may be claimed.
func (r *Result) meet(other Result) error {
	if other.Upper < r.Upper || r.Accountant == "" {
		r.Upper, r.Accountant, r.Why = other.Upper, other.Accountant, other.Why
	}
	r.Lower = math.Max(r.Lower, other.Lower)
	if !(r.Lower <= r.Upper) {
		return fmt.Errorf("internal error: the accountants contradict each other (%s: at least %v, %s: at most %v); please report the event", other.Accountant, r.Lower, r.Accountant, r.Upper)
	}
	return nil
}
