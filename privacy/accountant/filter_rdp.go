package accountant

import (
	"fmt"
	"math"
	"sync"

	"github.com/sotto-dp/sotto/privacy"
)

// RDPFilter spends an (ε,δ) budget step by step, with the Rényi curve of every
// step, sampled steps included. Each step may be chosen by all results so far;
// whatever is chosen, all results together are (ε,δ)-differentially private.
//
// It watches a fixed set of k orders, each with the budget B of divergence that
// converts to ε at δ/k, and the largest loss with budget ε. It continues while at
// least one of them is within its budget after the step.
//
// Proof. For each order α let M_α run the same steps but stop before the charges
// at α pass B_α. Its charges stay within B_α whatever is chosen, so its results
// have divergence D_α ≤ B_α (Feldman, Zrnic 2021; Lécuyer 2021), and by the
// conversion of Balle et al. 2020 its loss L has E[(1 − e^{ε−L})₊] ≤ δ/k. The
// largest loss within ε means L ≤ ε, and that this expectation is 0. When the filter stops,
// some order is within budget, and as charges only grow it was so all along: the
// run is one of M_α, results and loss the same. Which α depends on the results,
// so the expectation for the run is at most the sum of those for all M_α, which
// is at most δ; and a run with E[(1 − e^{ε−L})₊] ≤ δ for both directions of
// adjacency is (ε,δ)-differentially private. ∎
//
// Without the split of δ the claim would be false: the order that survives is
// picked by the results.
//
// The zero value has no budget. An RDPFilter may be used by several goroutines.
type RDPFilter struct {
	epsilon, delta float64
	share          float64       // of δ, for each finite order
	orders         []filterOrder // the last one is the largest loss

	mu  sync.Mutex
	adj privacy.Adjacency
}

// filterOrder holds the budget and the charges at order 1 + a.
type filterOrder struct{ a, budget, spent float64 }

// filterOrders is the number of orders when none are named.
const filterOrders = 16

// NewRDPFilter makes a filter for an (ε,δ) budget and steps of any kind. It
// watches 16 orders; when the steps are known in kind, [NewRDPFilterAt] with the
// one order that suits them leaves more to spend.
func NewRDPFilter(epsilon, delta float64) (*RDPFilter, error) {
	if err := filterCheck(epsilon, delta); err != nil {
		return nil, err
	}
	return newRDPFilter(epsilon, delta, filterSpread(epsilon, delta/filterOrders)), nil
}

// NewRDPFilterAt makes a filter for an (ε,δ) budget that watches the given
// orders, all above 1. They must be chosen before any result is seen, such as by
// [RDP.Order] for the run as planned. With one order all of δ is spent there: a
// run that takes all its planned steps fits, and one that stops early or takes
// other steps is covered too.
func NewRDPFilterAt(epsilon, delta float64, orders ...float64) (*RDPFilter, error) {
	if err := filterCheck(epsilon, delta); err != nil {
		return nil, err
	}
	var finite []float64
	for _, o := range orders {
		if !(o > 1) {
			return nil, fmt.Errorf("a Rényi order is %v, it should be above 1 (RDP.Order finds one for a planned event)", o)
		}
		if !math.IsInf(o, 1) {
			finite = append(finite, o-1)
		}
	}
	return newRDPFilter(epsilon, delta, finite), nil
}

// FilterOrders returns the orders that [NewRDPFilter] watches for an (ε,δ) budget, for
// filters whose budget may be raised later: the orders have to stay.
func FilterOrders(epsilon, delta float64) []float64 {
	orders := filterSpread(epsilon, delta/filterOrders)
	for i := range orders {
		orders[i]++
	}
	return orders
}

func newRDPFilter(epsilon, delta float64, orders []float64) *RDPFilter {
	f := &RDPFilter{epsilon: epsilon, delta: delta, share: delta / float64(max(1, len(orders)))}
	for _, a := range orders {
		f.orders = append(f.orders, filterOrder{a: a, budget: max(0, filterBudget(a, epsilon, f.share))})
	}
	f.orders = append(f.orders, filterOrder{a: math.Inf(1), budget: epsilon})
	return f
}

// filterBudget returns the divergence at order 1 + a that converts to ε at δ, rounded down;
// it is negative when none does.
func filterBudget(a, epsilon, delta float64) float64 {
	cost := rdpEpsilonAt(0, a, math.Log(delta))
	return epsilon - cost - 4*rdpEps*(epsilon+math.Abs(cost))
}

// filterSpread picks the orders: least is where the conversion alone takes all
// of ε, best is the one for a Gaussian run, and the distance from least is laid
// out in steps of √2 around that of best.
func filterSpread(epsilon, delta float64) []float64 {
	_, order := rdpEpsilon(rdpZCDP{filterRho(epsilon, delta)}, delta)
	best := order - 1
	if !(best > 0) || math.IsInf(best, 1) {
		best = 1
	}
	_, high := bisect(0, best, 100, func(a float64) bool { return !(filterBudget(a, epsilon, delta) > 0) })
	orders := make([]float64, filterOrders)
	for i := range orders {
		orders[i] = high + (best-high)*math.Pow(2, float64(i-6)/2)
	}
	return orders
}

// charges evaluates a step at the filter's orders.
func (f *RDPFilter) charges(e privacy.Event, adj privacy.Adjacency) ([]float64, error) {
	c, err := rdpNew(e, adj)
	if err != nil {
		return nil, err
	}
	charges := make([]float64, len(f.orders))
	for i := range f.orders { // what is spent at them is behind the lock
		charges[i] = rdpAt(c, f.orders[i].a)
	}
	return charges, nil
}

// Spend charges a step before it runs. If the step does not fit, it returns an
// [*ExceededError] and charges nothing. The first step fixes the adjacency of all.
func (f *RDPFilter) Spend(e privacy.Event, adj privacy.Adjacency) error {
	charges, err := f.charges(e, adj)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if adj, err = filterAdjacency(f.adj, adj); err != nil {
		return err
	}
	if !f.fits(charges) {
		return f.exceeded(e, charges)
	}
	f.adj = adj
	for i := range f.orders {
		f.orders[i].spent = rdpAddUp(f.orders[i].spent, charges[i])
	}
	return nil
}

// CanSpend reports whether Spend would succeed now.
func (f *RDPFilter) CanSpend(e privacy.Event, adj privacy.Adjacency) bool {
	charges, err := f.charges(e, adj)
	if err != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err = filterAdjacency(f.adj, adj)
	return err == nil && f.fits(charges)
}

func (f *RDPFilter) fits(charges []float64) bool {
	for i, o := range f.orders {
		if rdpAddUp(o.spent, charges[i]) <= o.budget {
			return true
		}
	}
	return false
}

// exceeded reports the order that came closest.
func (f *RDPFilter) exceeded(e privacy.Event, charges []float64) error {
	err := &ExceededError{Event: e, Measure: "a budget of nothing"}
	closest := math.Inf(1)
	for i, o := range f.orders {
		if over := (o.spent + charges[i]) / o.budget; over < closest || i == 0 {
			closest = over
			err.Measure = fmt.Sprintf("the Rényi divergence of order %.4g", 1+o.a)
			if math.IsInf(o.a, 1) {
				err.Measure = "the largest privacy loss"
			}
			err.Spent, err.Charge, err.Budget = o.spent, charges[i], o.budget
		}
	}
	return err
}

// Spent returns the share of the budget charged so far, from 0 to 1, at the order where it
// is least.
func (f *RDPFilter) Spent() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	share := 1.0
	for _, o := range f.orders {
		if o.spent == 0 {
			return 0
		}
		share = min(share, o.spent/o.budget)
	}
	return share
}

// Epsilon returns the ε, at the budget's δ, of the charges so far. It shows progress;
// claims about the results must state the whole budget.
func (f *RDPFilter) Epsilon() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	epsilon := math.Inf(1)
	for _, o := range f.orders {
		if o.spent == 0 {
			return 0
		}
		epsilon = min(epsilon, rdpEpsilonAt(o.spent, o.a, math.Log(f.share)))
	}
	return max(0, epsilon)
}
