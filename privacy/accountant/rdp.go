package accountant

import (
	"cmp"
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// RDP accounts by Rényi divergences: every event has a curve of divergences
// over orders α > 1, curves of composed events add up, and the best order gives
// ε. It is quick at any number of steps, handles events that no single pair of
// distributions dominates (bounded range, zCDP), and bounds from above only:
// Lower is always 0.
//
// Orders are real numbers and the best one is searched for, not picked from a
// list. Sampling is exact for the Gaussian and for randomised response under
// add/remove at every order; see rdpSampled for the rest.
type RDP struct{}

// Name implements [Accountant].
func (RDP) Name() string { return "rdp" }

// Epsilon implements [Accountant].
func (RDP) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	epsilon, _, err := rdpMinimum(e, adj, delta)
	return privacy.Interval{Upper: epsilon}, err
}

// rdpMinimum returns the least ε, and the order that gives it.
func rdpMinimum(e privacy.Event, adj privacy.Adjacency, delta float64) (epsilon, order float64, err error) {
	c, err := rdpNew(e, adj)
	if err := cmp.Or(err, privacy.CheckDelta(delta)); err != nil {
		return 0, 0, err
	}
	epsilon, order = rdpEpsilon(c, delta)
	return epsilon, order, nil
}

// Delta implements [Accountant].
func (RDP) Delta(e privacy.Event, adj privacy.Adjacency, epsilon float64) (privacy.Interval, error) {
	c, err := rdpNew(e, adj)
	if err := cmp.Or(err, privacy.CheckEpsilon(epsilon)); err != nil {
		return privacy.Interval{}, err
	}
	return privacy.Interval{Upper: rdpDelta(c, epsilon)}, nil
}

// Order returns the order α > 1 that gives Epsilon, +Inf when the largest loss does: the
// one at which a filter for such an event should watch.
func (RDP) Order(e privacy.Event, adj privacy.Adjacency, delta float64) (float64, error) {
	_, order, err := rdpMinimum(e, adj, delta)
	return order, err
}

// rdpEpsilon minimises over orders.
func rdpEpsilon(c rdpCurve, delta float64) (epsilon, order float64) {
	largest := rdpAt(c, math.Inf(1))
	if delta == 0 || largest == 0 {
		return largest, math.Inf(1)
	}
	if rdpTotalVariation(c) <= delta {
		return 0, 1 + rdpNearOne
	}
	logDelta := math.Log(delta)
	objective := func(a float64) float64 { return rdpEpsilonAt(rdpAt(c, a), a, logDelta) }
	a := rdpSearch(objective, rdpIsExact(c))
	epsilon = max(0, objective(a))
	if largest <= epsilon {
		return largest, math.Inf(1)
	}
	return epsilon, 1 + a
}

// rdpDelta minimises over orders; it is 0 only when no loss passes epsilon.
func rdpDelta(c rdpCurve, epsilon float64) float64 {
	if rdpAt(c, math.Inf(1)) <= epsilon {
		return 0
	}
	objective := func(a float64) float64 { return rdpLogDeltaAt(rdpAt(c, a), a, epsilon) }
	a := rdpSearch(objective, rdpIsExact(c))
	delta := math.Exp(objective(a)) * (1 + rdpSlack)
	return max(min(1, delta, rdpTotalVariation(c)), math.SmallestNonzeroFloat64)
}

// rdpAnswer bounds the answer from above.
func rdpAnswer(e privacy.Event, adj privacy.Adjacency, a ask) (privacy.Interval, error) {
	if a.forDelta {
		return RDP{}.Delta(e, adj, a.low)
	}
	return RDP{}.Epsilon(e, adj, a.low)
}
