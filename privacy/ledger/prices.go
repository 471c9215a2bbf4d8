package ledger

import (
	"errors"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// prices finds the costs of single charges. It holds none of them.
type prices struct {
	adjacency privacy.Adjacency
	// known are prices found before, by the text of the event.
	known map[string]price
}

// price is a cost, and what was left of the budget when it was found.
type price struct {
	Cost
	epsilon, delta float64
}

// errHoldsNothing cannot happen: an account keeps the sum of its costs itself.
var errHoldsNothing = errors.New("the meter of a sums budget holds no charges")

// Allows implements [Meter].
func (p *prices) Allows(terms []privacy.Term, limit, delta float64) (float64, bool, error) {
	needed, err := p.epsilon(event(slices.Values(terms)), limit, delta)
	return needed, err == nil && needed <= limit, err
}

// Add implements [Meter].
func (p *prices) Add([]privacy.Term) error { return errHoldsNothing }

// Remove implements [Meter].
func (p *prices) Remove([]privacy.Term) error { return errHoldsNothing }

// Epsilon implements [Meter].
func (p *prices) Epsilon(float64, float64) (float64, error) { return 0, errHoldsNothing }

// epsilon bounds the ε of an event at δ by a quick bound, if that is within enough, else by
// the tightest.
func (p *prices) epsilon(e privacy.Event, enough, delta float64) (float64, error) {
	if quick, err := (accountant.RDP{}).Epsilon(e, p.adjacency, delta); err == nil && quick.Upper <= enough {
		return quick.Upper, nil
	}
	got, err := accountant.Auto{}.Epsilon(e, p.adjacency, delta)
	return got.Upper, err
}

const (
	// priceDigits is how close a price comes to the least one: within a thousandth.
	priceDigits = 1e-3
	// minShare is the least share that is looked for.
	minShare = 1e-6
	// guided is after how many evaluations halving takes over.
	guided = 6
)

// Price implements [Pricer]. The rule is predictable, which sums need: it looks at the event
// and at what is left, never at what was released.
//
// With u(t) = ε(tδ)/ε, which falls as t grows, the least share is where u(t) = t. For a t
// below it u(t) is above it, and the other way round, so that evaluating u at one end of a
// bracket gives the other: this takes three or four evaluations, for ε depends on δ only
// through its logarithm. Where u jumps (an approx leaf fails with a fixed probability)
// halving takes over. The price is a pair for which the accountant was asked, and of its share
// only the ε that the event needs; of δ, none if it needs none.
func (p *prices) Price(terms []privacy.Term, epsilon, delta float64) (Cost, error) {
	e := privacy.Canonical(event(slices.Values(terms)))
	text := e.String()
	if c, ok := p.known[text]; ok && c.fair(epsilon, delta) {
		return c.Cost, nil
	}
	at := func(t float64) (Cost, float64, error) {
		c := Cost{Epsilon: min(t*epsilon, epsilon), Delta: min(t*delta, delta)}
		got, err := accountant.Auto{}.Epsilon(e, p.adjacency, c.Delta)
		return c, got.Upper, err
	}
	best, needed, err := at(1)
	best.Epsilon = needed
	if err != nil {
		return Cost{}, err
	}
	if !(needed <= epsilon) {
		return Cost{Epsilon: needed, Delta: delta}, nil
	}
	low, high := needed/epsilon, 1.
	if !(low >= 0) { // ε is 0: only δ is shared out
		low = 0
	}
	for t, n := low, 0; high-low > priceDigits*high && high > minShare; n++ {
		c, needed, err := at(t)
		if err != nil {
			return Cost{}, err
		}
		next := needed / epsilon
		if needed <= c.Epsilon {
			best, high = Cost{Epsilon: needed, Delta: c.Delta}, t
			low = max(low, min(next, high))
		} else {
			low = t
		}
		// The root is between t and u(t). Take a little more than u(t), so that it is
		// most likely on the side that fits.
		if t = next * (1 + priceDigits/4); n >= guided || !(t > low && t < high) {
			t = low + (high-low)/2
		}
	}
	if pure, err := (accountant.RDP{}).Epsilon(e, p.adjacency, 0); err == nil && pure.Upper <= best.Epsilon {
		best = Cost{Epsilon: pure.Upper}
	}
	p.known[text] = price{best, epsilon, delta}
	return best, nil
}

// fair reports whether a price found before does for what is left now: it fits, and was
// found for about the same proportion of ε and δ.
func (c *price) fair(epsilon, delta float64) bool {
	a, b := c.epsilon*delta, c.delta*epsilon
	return c.Epsilon <= epsilon && c.Delta <= delta && math.Abs(a-b) <= max(a, b)/20
}
