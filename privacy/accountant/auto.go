package accountant

import (
	"cmp"
	"errors"
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
	case "zcdp":
		return ZCDP{}, nil
	case "bounded-range":
		return BoundedRange{}, nil
	}
	return nil, fmt.Errorf("unknown accountant %q: use auto, pld, rdp, zcdp or bounded-range", name)
}

// Epsilon implements [Accountant].
func (a Auto) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	r, err := a.Explain(e, adj, delta)
	return r.Interval, err
}

// Delta implements [Accountant].
func (a Auto) Delta(e privacy.Event, adj privacy.Adjacency, epsilon float64) (privacy.Interval, error) {
	r, err := a.worst(e, adj, func(e privacy.Event) (Result, error) {
		return a.best(e, 1, func(acc Accountant) (privacy.Interval, error) { return acc.Delta(e, adj, epsilon) })
	})
	return r.Interval, err
}

// Explain is like [Auto.Epsilon], and also returns which accountant gave the bound and why.
func (a Auto) Explain(e privacy.Event, adj privacy.Adjacency, delta float64) (Result, error) {
	return a.worst(e, adj, func(e privacy.Event) (Result, error) {
		return a.best(e, math.Inf(1), func(acc Accountant) (privacy.Interval, error) { return acc.Epsilon(e, adj, delta) })
	})
}

// best tries one accountant after the other until the interval is narrow. The last resort
// is the trivial bound.
func (a Auto) best(e privacy.Event, trivial float64, evaluate func(Accountant) (privacy.Interval, error)) (Result, error) {
	if err := privacy.Validate(e); err != nil {
		return Result{}, err
	}
	terms, err := privacy.Terms(e)
	if err == nil && len(terms) == 0 {
		return Result{Accountant: a.Name(), Why: "no part of the event reads a record"}, nil
	}
	long := tooLong(e)
	tolerance := PLD(a).tolerance()
	best := Result{Interval: privacy.Interval{Upper: trivial}}
	var refused error
	asked := 0
	for _, c := range []struct {
		Accountant
		why string
	}{
		{BoundedRange(a), "equal bounded-range steps: the optimal adaptive composition is the exact answer"},
		{PLD(a), "numerical composition encloses the exact answer"},
		{RDP{}, "the Rényi bound is below the numerical one"},
		{Amplification{RDP{}}, "the Rényi bound of the run inside, amplified as a whole, is the least"},
		{Amplification{ZCDP{}}, "the zCDP bound of the run inside, amplified as a whole, is the least"},
		{ZCDP{}, "the zCDP bound is below the others"},
		{Conditioning{BoundedRange(a)}, "equal bounded-range steps, composed optimally, and the exact probability that an approx leaf fails"},
		{Conditioning{RDP{}}, "the Rényi bound given that no approx leaf fails is below the numerical one"},
		{Conditioning{Amplification{RDP{}}}, "the Rényi bound of the run inside, amplified, given that no approx leaf fails, is the least"},
		{Conditioning{Amplification{ZCDP{}}}, "the zCDP bound of the run inside, amplified, given that no approx leaf fails, is the least"},
		{Conditioning{ZCDP{}}, "the zCDP bound given that no approx leaf fails is below the others"},
	} {
		if c.Name() == "pld" && long != nil {
			refused = fmt.Errorf("%w, and no bound that adds up covers all of them", long)
			continue
		}
		got, err := evaluate(c.Accountant)
		if err != nil {
			var unsupported *UnsupportedError
			if !errors.As(err, &unsupported) {
				return Result{}, err
			}
			if c.Name() == "pld" { // it handles the most: its reason is the one to give
				refused = err
			}
			continue
		}
		asked++
		if err := best.meet(Result{got, c.Name(), c.why}); err != nil {
			return Result{}, err
		}
		if math.IsInf(best.Lower, 1) || best.Upper < math.Inf(1) && best.Upper-best.Lower <= 2*tolerance*best.Upper {
			break
		}
	}
	if asked == 0 {
		return Result{}, refused
	}
	return best, nil
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

// maxTerms is up to how many different events are composed numerically: the time that
// takes grows with their number. Beyond, [Auto] has the bounds that only add up.
const maxTerms = 64

// tooLong returns an error if an event composes more different events than that, at the top
// or within a sample.
func tooLong(e privacy.Event) error {
	if n := differing(e); n > maxTerms {
		return fmt.Errorf("the event composes %d different events, more than the %d that are composed numerically in bounded time: account for it in parts, or give equal events equal parameters", n, maxTerms)
	}
	return nil
}

// differing counts the different events that numerical composition meets. Gaussians count
// as one: they compose to a Gaussian. Parallel parts are composed each by itself.
func differing(e privacy.Event) int {
	terms, err := privacy.Terms(e)
	if err != nil {
		return 0 // the accountant that evaluates it reports why it cannot
	}
	n, gaussian := 0, 0
	for _, t := range terms {
		switch of := t.Event.(type) {
		case privacy.Gaussian:
			gaussian = 1
		case privacy.Poisson:
			n += max(1, differing(of.Event))
		case privacy.FixedSize:
			n += max(1, differing(of.Event))
		case privacy.Parallel:
			largest := 1
			for _, part := range of.Events {
				largest = max(largest, differing(part))
			}
			n += largest
		default:
			n++
		}
	}
	return n + gaussian
}

// Amplification evaluates one Poisson sample as a whole: if the event inside is
// (ε, δ)-DP then poisson(q, …) is (ln(1+q(e^ε−1)), qδ)-DP, under add/remove
// (Balle, Barthe, Gaboardi 2018, Theorem 8). Any accountant can evaluate the
// inside, also one that has no theorem for sampling.
type Amplification struct {
	Inner Accountant
}

// Name implements [Accountant].
func (a Amplification) Name() string { return a.Inner.Name() + "+amplification" }

// inside returns the rate and the event of a single Poisson sample.
func (a Amplification) inside(e privacy.Event, adj privacy.Adjacency) (float64, privacy.Event, error) {
	if err := privacy.Validate(e); err != nil {
		return 0, nil, err
	}
	terms, err := privacy.Terms(e)
	if err != nil {
		return 0, nil, err
	}
	reason := "it amplifies a single poisson(q, e) under add-remove adjacency"
	if len(terms) == 1 && terms[0].N == 1 && adj != privacy.ReplaceOne {
		if p, ok := terms[0].Event.(privacy.Poisson); ok {
			return p.Q, p.Event, nil
		}
	}
	return 0, nil, &UnsupportedError{a.Name(), e.Node(), e.String(), 0, reason}
}

// Epsilon implements [Accountant].
func (a Amplification) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	q, inner, err := a.inside(e, adj)
	if err := cmp.Or(err, privacy.CheckDelta(delta)); err != nil {
		return privacy.Interval{}, err
	}
	if delta >= q { // with probability 1−q the sample does not hold the record
		return privacy.Interval{}, nil
	}
	in, err := a.Inner.Epsilon(inner, adj, delta/q*(1-4*roundoff))
	if err != nil {
		return privacy.Interval{}, err
	}
	return privacy.Interval{Upper: sampling{q, remove}.out(in.Upper) * (1 + massError)}, nil
}

// Delta implements [Accountant].
func (a Amplification) Delta(e privacy.Event, adj privacy.Adjacency, epsilon float64) (privacy.Interval, error) {
	q, inner, err := a.inside(e, adj)
	if err := cmp.Or(err, privacy.CheckEpsilon(epsilon)); err != nil {
		return privacy.Interval{}, err
	}
	in, err := a.Inner.Delta(inner, adj, math.Max(0, sampling{q, remove}.in(epsilon)*(1-massError)))
	if err != nil {
		return privacy.Interval{}, err
	}
	return privacy.Interval{Upper: math.Min(1, q*in.Upper*(1+massError))}, nil
}
