package accountant

import (
	"fmt"
	"math"
	"sync"

	"github.com/sotto-dp/sotto/privacy"
)

// ExceededError says that a step would pass a filter's bound. Nothing was
// charged, and the step must not run.
type ExceededError struct {
	// Event is the step that was refused.
	Event privacy.Event
	// Measure names what is counted: "ρ", or a divergence and its order.
	Measure string
	// Spent, Charge and Budget are in that measure.
	Spent, Charge, Budget float64
}

// Error says what was asked and what is left.
func (e *ExceededError) Error() string {
	return fmt.Sprintf("%s costs %.6g of %s, but %.6g of %.6g is spent: take fewer or noisier steps, or a larger budget",
		e.Event, e.Charge, e.Measure, e.Spent, e.Budget)
}

// ZCDPFilter spends a budget of ρ step by step. Each step may be chosen by all
// results so far, including whether to go on at all; whatever is chosen, all
// results together are ρ-zCDP as long as every step was charged before it ran
// (Whitehouse, Ramdas, Rogers, Wu 2023; at each order by itself, Feldman, Zrnic
// 2021).
//
// The guarantee is the whole budget, not what [ZCDPFilter.Spent] shows when a
// run stops: that figure may depend on results.
//
// The zero value has no budget. A ZCDPFilter may be used by several goroutines.
type ZCDPFilter struct {
	budget float64

	mu    sync.Mutex
	spent float64
	adj   privacy.Adjacency
}

// NewZCDPFilter makes a filter with a budget of ρ.
func NewZCDPFilter(rho float64) (*ZCDPFilter, error) {
	if !(rho >= 0) || math.IsInf(rho, 1) {
		return nil, fmt.Errorf("ρ is %v, it should be a finite number of at least 0", rho)
	}
	return &ZCDPFilter{budget: rho}, nil
}

// NewZCDPFilterFor makes a filter with the largest ρ that implies (ε,δ).
func NewZCDPFilterFor(epsilon, delta float64) (*ZCDPFilter, error) {
	if err := filterCheck(epsilon, delta); err != nil {
		return nil, err
	}
	return NewZCDPFilter(filterRho(epsilon, delta))
}

func filterCheck(epsilon, delta float64) error {
	if err := privacy.CheckEpsilon(epsilon); err != nil {
		return err
	}
	if err := privacy.CheckDelta(delta); err != nil {
		return err
	}
	if delta == 0 {
		return fmt.Errorf("δ is 0, but only δ > 0 leaves a concentrated guarantee anything to spend (a common choice is 1e-6)")
	}
	return nil
}

// filterRho is the largest ρ whose ε at δ is at most epsilon, rounded down.
func filterRho(epsilon, delta float64) float64 {
	within := func(rho float64) bool {
		got, _ := rdpEpsilon(rdpZCDP{rho}, delta, false)
		return got <= epsilon
	}
	low, high := 0.0, math.SmallestNonzeroFloat64
	for high = 1e-300; within(high) && high < 1e300; high *= 16 {
		low = high
	}
	for range 80 {
		mid := low + (high-low)/2
		if mid == low || mid == high {
			break
		}
		if within(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// Spend charges a step before it runs. If the step does not fit, it returns an
// [*ExceededError] and charges nothing. All steps of a filter are under one
// adjacency, that of the first.
func (f *ZCDPFilter) Spend(e privacy.Event, adj privacy.Adjacency) error {
	charge, err := zcdpRho(e, adj)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if adj, err = filterAdjacency(f.adj, adj); err != nil {
		return err
	}
	after := rdpAddUp(f.spent, charge)
	if !(after <= f.budget) {
		return &ExceededError{e, "ρ", f.spent, charge, f.budget}
	}
	f.spent, f.adj = after, adj
	return nil
}

// filterAdjacency settles the adjacency of a filter with the first step.
func filterAdjacency(settled, asked privacy.Adjacency) (privacy.Adjacency, error) {
	asked, err := privacy.ParseAdjacency(string(asked))
	switch {
	case err != nil:
		return settled, err
	case settled != "" && settled != asked:
		return settled, fmt.Errorf("a step under %s cannot join steps under %s: use one adjacency for one budget", asked, settled)
	}
	return asked, nil
}

// Fits reports whether Spend would succeed now.
func (f *ZCDPFilter) Fits(e privacy.Event, adj privacy.Adjacency) bool {
	charge, err := zcdpRho(e, adj)
	if err != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err = filterAdjacency(f.adj, adj)
	return err == nil && rdpAddUp(f.spent, charge) <= f.budget
}

// Budget is the ρ that all steps together keep to.
func (f *ZCDPFilter) Budget() float64 { return f.budget }

// Spent is the ρ charged so far, rounded up.
func (f *ZCDPFilter) Spent() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spent
}

// Epsilon is the ε at δ of what was charged so far. It tells how far a run has
// come; a claim about the results is about the whole budget.
func (f *ZCDPFilter) Epsilon(delta float64) (float64, error) {
	if err := privacy.CheckDelta(delta); err != nil {
		return 0, err
	}
	epsilon, _ := rdpEpsilon(rdpZCDP{f.Spent()}, delta, false)
	return epsilon, nil
}
