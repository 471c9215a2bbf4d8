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
type RDP struct {
	// Published keeps to what papers that use the order-wise bound for sampling
	// without replacement compute (Wang, Balle, Kasiviswanathan 2019, Theorem
	// 9), and to whole orders from 2 to 256. The default is never larger.
	Published bool
}

// Name implements [Accountant].
func (RDP) Name() string { return "rdp" }

// Epsilon implements [Accountant].
func (r RDP) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	epsilon, _, err := r.minimum(e, adj, delta)
	return privacy.Interval{Upper: epsilon}, err
}

// minimum returns the least ε, and the order that gives it.
func (r RDP) minimum(e privacy.Event, adj privacy.Adjacency, delta float64) (epsilon, order float64, err error) {
	c, err := rdpNew(e, adj, r.Published)
	if err := cmp.Or(err, privacy.CheckDelta(delta)); err != nil {
		return 0, 0, err
	}
	epsilon, order = rdpEpsilon(c, delta, r.Published)
	return epsilon, order, nil
}

// Delta implements [Accountant].
func (r RDP) Delta(e privacy.Event, adj privacy.Adjacency, epsilon float64) (privacy.Interval, error) {
	c, err := rdpNew(e, adj, r.Published)
	if err := cmp.Or(err, privacy.CheckEpsilon(epsilon)); err != nil {
		return privacy.Interval{}, err
	}
	return privacy.Interval{Upper: rdpDelta(c, epsilon, r.Published)}, nil
}

// Order returns the order α > 1 that gives Epsilon, +Inf when the largest loss does: the
// one at which a filter for such an event should watch.
func (r RDP) Order(e privacy.Event, adj privacy.Adjacency, delta float64) (float64, error) {
	_, order, err := r.minimum(e, adj, delta)
	return order, err
}

// rdpEpsilon minimises over orders.
func rdpEpsilon(c rdpCurve, delta float64, published bool) (epsilon, order float64) {
	largest := rdpAt(c, math.Inf(1))
	if delta == 0 || largest == 0 {
		return largest, math.Inf(1)
	}
	if rdpTotalVariation(c) <= delta {
		return 0, 1 + rdpNearOne
	}
	logDelta := math.Log(delta)
	objective := func(a float64) float64 { return rdpEpsilonAt(rdpAt(c, a), a, logDelta) }
	a := rdpBest(objective, c, published)
	epsilon = max(0, objective(a))
	if largest <= epsilon {
		return largest, math.Inf(1)
	}
	return epsilon, 1 + a
}

// rdpBest finds the order, less 1, at which an objective of a curve is least.
func rdpBest(objective func(a float64) float64, c rdpCurve, published bool) float64 {
	if published {
		return rdpSearchWhole(objective)
	}
	return rdpSearch(objective, rdpIsExact(c))
}

// rdpDelta minimises over orders; it is 0 only when no loss passes epsilon.
func rdpDelta(c rdpCurve, epsilon float64, published bool) float64 {
	if rdpAt(c, math.Inf(1)) <= epsilon {
		return 0
	}
	objective := func(a float64) float64 { return rdpLogDeltaAt(rdpAt(c, a), a, epsilon) }
	a := rdpBest(objective, c, published)
	delta := math.Exp(objective(a)) * (1 + rdpSlack)
	return max(min(1, delta, rdpTotalVariation(c)), math.SmallestNonzeroFloat64)
}
