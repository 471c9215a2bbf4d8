package ledger

import (
	"cmp"
	"math"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// BestComposition chooses the composition of a budget for an expected use: n charges of an
// event, each decided after looking at earlier releases. It returns the budget with the
// composition that admits the most of them, and how many it admits.
//
// For a few charges, sums admit the most, and they admit every event. For many, a Rényi
// filter at the best single order does: it spends all of δ at that order, which has to be
// fixed beforehand.
func BestComposition(b Budget, use privacy.Event, n int64) (Budget, int64, error) {
	b.Adjacency = cmp.Or(b.Adjacency, privacy.AddRemove)
	if err := privacy.Validate(use); err != nil {
		return b, 0, err
	}
	terms, err := privacy.Terms(use)
	if err != nil {
		return b, 0, err
	}
	p := &prices{adjacency: b.Adjacency, known: map[string]price{}}
	cost, err := p.Price(terms, b.Epsilon, b.Delta)
	if err != nil {
		return b, 0, err
	}
	b.Composition, b.Orders = Sums, nil
	sums := fitting(func(k int64) bool {
		return cost.check() == nil && newExactCost().plus(cost, k).within(decimal(b.Epsilon), decimal(b.Delta))
	})
	if sums >= n || b.Delta == 0 {
		return b, sums, nil
	}
	filtered := fitting(func(k int64) bool {
		got, err := accountant.RDP{}.Epsilon(privacy.Repeat{N: k, Event: use}, b.Adjacency, b.Delta)
		return err == nil && got.Upper <= b.Epsilon
	})
	if filtered <= sums {
		return b, sums, nil
	}
	order, err := accountant.RDP{}.Order(privacy.Repeat{N: filtered, Event: use}, b.Adjacency, b.Delta)
	if err != nil || math.IsInf(order, 1) {
		return b, sums, err
	}
	f, err := accountant.NewRDPFilterAt(b.Epsilon, b.Delta, order)
	if err != nil {
		return b, sums, err
	}
	admitted := fitting(func(k int64) bool { return f.CanSpend(privacy.Repeat{N: k, Event: use}, b.Adjacency) })
	if admitted <= sums {
		return b, sums, nil
	}
	b.Composition, b.Orders = Adaptive, []float64{order}
	return b, admitted, nil
}

// fitting returns the largest number of charges that fit, up to 2^31.
func fitting(fits func(int64) bool) int64 {
	if !fits(1) {
		return 0
	}
	low, high := int64(1), int64(2)
	for ; high < math.MaxInt32 && fits(high); high *= 2 {
		low = high
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
