package ledger

import (
	"fmt"
	"math"
	"math/big"
)

// Cost is the cost of a charge to a [Sums] budget: the charged event is (Epsilon,
// Delta)-differentially private. It is fixed when the charge is made and stored with it, so
// neither later releases nor another version of an accountant change it.
type Cost struct {
	// Budget is the name of the budget.
	Budget  string  `json:"budget"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

func (c *Cost) check() error {
	if !(c.Epsilon >= 0) || math.IsInf(c.Epsilon, 1) || !(c.Delta >= 0 && c.Delta < 1) {
		return input("a charge costs ε = %v and δ = %v: these should be finite, at least 0, and δ below 1", c.Epsilon, c.Delta)
	}
	return nil
}

// exactCost is a sum of costs, in the decimals that they print as.
type exactCost struct{ epsilon, delta *big.Rat }

func newExactCost() exactCost { return exactCost{new(big.Rat), new(big.Rat)} }

// add adds a cost n times.
func (s exactCost) add(c Cost, n int64) {
	times := big.NewRat(n, 1)
	if c.Epsilon != 0 {
		s.epsilon.Add(s.epsilon, new(big.Rat).Mul(decimal(c.Epsilon), times))
	}
	if c.Delta != 0 {
		s.delta.Add(s.delta, new(big.Rat).Mul(decimal(c.Delta), times))
	}
}

// plus returns the sum with a cost added n times.
func (s exactCost) plus(c Cost, n int64) exactCost {
	sum := exactCost{new(big.Rat).Set(s.epsilon), new(big.Rat).Set(s.delta)}
	sum.add(c, n)
	return sum
}

// within reports whether both numbers are at most those of an allowance.
func (s exactCost) within(epsilon, delta *big.Rat) bool {
	return s.epsilon.Cmp(epsilon) <= 0 && s.delta.Cmp(delta) <= 0
}

// upper returns the sum of ε's, rounded up but not past a limit that it is within.
func (s exactCost) upper(limit float64) float64 {
	v := roundUp(s.epsilon)
	if v > limit && s.epsilon.Cmp(decimal(limit)) <= 0 {
		return limit
	}
	return v
}

func roundUp(r *big.Rat) float64 {
	v, exact := r.Float64()
	if !exact && decimal(v).Cmp(r) < 0 {
		v = math.Nextafter(v, math.Inf(1))
	}
	return v
}

// roundDown returns the largest number, at least 0, whose decimal is not above r.
func roundDown(r *big.Rat) float64 {
	v, _ := r.Float64()
	for v > 0 && decimal(v).Cmp(r) > 0 {
		v = math.Nextafter(v, 0)
	}
	return max(v, 0)
}

// left returns what a sums budget has left.
func (a *account) left() (epsilon, delta float64) {
	return roundDown(new(big.Rat).Sub(a.epsilon, a.sum.epsilon)), roundDown(new(big.Rat).Sub(a.delta, a.sum.delta))
}

// sumFits prices a charge at the smallest share of what is left, and reports whether n of
// them are within the allowance.
func (a *account) sumFits(m Meter, b *chargedEvent, n int64) (Cost, error) {
	p, ok := m.(Pricer)
	if !ok {
		return Cost{}, fmt.Errorf("budget %q: its meter cannot price single charges", a.Name)
	}
	epsilon, delta := a.left()
	cost, err := p.Price(b.terms, epsilon, delta)
	if err == nil && cost.Epsilon <= epsilon {
		if err = cost.check(); err == nil && a.sum.plus(cost, n).within(a.epsilon, a.delta) {
			cost.Budget = a.Name
			return cost, nil
		}
	}
	if err != nil {
		return Cost{}, fmt.Errorf("budget %q: %w", a.Name, err)
	}
	return Cost{}, a.sumRefusal(p, b, n, cost)
}

// sumRefusal reports what is missing: more ε at the δ that is left, or, where that takes
// much more or does not help, ε and δ in the proportion of the budget.
func (a *account) sumRefusal(p Pricer, b *chargedEvent, n int64, cost Cost) error {
	spent := a.sum.upper(a.Epsilon)
	refused := a.refusal(spent, math.Inf(1))
	refused.SpentDelta = roundUp(a.sum.delta)
	if !math.IsInf(cost.Epsilon, 1) {
		sum := a.sum.plus(cost, n)
		refused.Needed, refused.NeededDelta = Epsilon(roundUp(sum.epsilon)), roundUp(sum.delta)
	}
	fresh, err := p.Price(b.terms, a.Epsilon, a.Delta)
	if err != nil {
		return fmt.Errorf("budget %q: %w", a.Name, err)
	}
	if n == 1 && cost.Epsilon <= 1.1*fresh.Epsilon || math.IsInf(fresh.Epsilon, 1) || fresh.check() != nil {
		return refused
	}
	sum := a.sum.plus(fresh, n)
	if needed := roundUp(sum.epsilon); needed > a.Epsilon || roundUp(sum.delta) > a.Delta {
		refused.Needed, refused.NeededDelta = Epsilon(needed), roundUp(sum.delta)
	}
	return refused
}

// sumOverspent reports whether the costs pass the largest allowance, or an event costs more
// than was charged for it.
func (s *state) sumOverspent(d *dataset, a *account, m Meter) (float64, bool, error) {
	granted := exactCost{decimal(a.max.epsilon), decimal(a.max.delta)}
	spent := roundUp(a.sum.epsilon)
	if !a.sum.within(granted.epsilon, granted.delta) {
		return max(spent, math.Nextafter(a.max.epsilon, math.Inf(1))), true, nil
	}
	checked := map[string]bool{}
	for _, c := range d.charges {
		cost, ok := c.costs[a]
		key := fmt.Sprint(c.Event, cost.Epsilon, cost.Delta)
		if !ok || checked[key] {
			continue
		}
		checked[key] = true
		b, err := s.event(c.Event)
		if err != nil {
			return 0, false, err
		}
		needed, fits, err := m.Allows(b.terms, cost.Epsilon*overspending, cost.Delta)
		if err != nil {
			return 0, false, fmt.Errorf("budget %q: %w", a.Name, err)
		}
		if !fits {
			return spent - cost.Epsilon + needed, true, nil
		}
	}
	return spent, false, nil
}
