package accountant

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// filterDrawStep draws a step whose exact ρ is a rational number.
func filterDrawStep(t *rapid.T) (privacy.Event, *big.Rat) {
	n := rapid.Int64Range(1, 1000).Draw(t, "n")
	exact := new(big.Rat)
	var leaf privacy.Event
	if rapid.Bool().Draw(t, "gaussian") {
		sigma := rapid.Float64Range(0.5, 100).Draw(t, "sigma")
		exact.SetFloat64(sigma)
		exact.Mul(exact, exact).Inv(exact).Quo(exact, big.NewRat(2, 1))
		leaf = privacy.Gaussian{Sigma: sigma}
	} else {
		rho := rapid.Float64Range(0, 0.1).Draw(t, "rho")
		exact.SetFloat64(rho)
		leaf = privacy.ZCDP{Rho: rho}
	}
	return privacy.Repeat{N: n, Event: leaf}, exact.Mul(exact, big.NewRat(n, 1))
}

// A full budget takes no more steps, however small: a sum that rounds down to
// the budget has passed it.
func TestFilterTinyStepsAreCharged(t *testing.T) {
	r, err := NewRDPFilterAt(1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Spend(privacy.Pure{Epsilon: 1}, privacy.AddRemove); err != nil {
		t.Error(err)
	}
	for _, rho := range []float64{1e-17, 1e-300, 5e-324} {
		if r.CanSpend(privacy.Pure{Epsilon: rho}, privacy.AddRemove) || r.Spend(privacy.Pure{Epsilon: rho}, privacy.AddRemove) == nil {
			t.Errorf("a step of ε=%v fit into a spent budget", rho)
		}
	}
	if err := r.Spend(privacy.Compose{}, privacy.AddRemove); err != nil {
		t.Errorf("a step that touches nothing was refused: %v", err)
	}
}

// Whatever is asked, at some order the granted charges, summed exactly, stay within
// the filter's budget, and a refused step changes nothing.
func TestFilterRDPNeverPassesTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := math.Exp(rapid.Float64Range(-3, 3).Draw(t, "log epsilon"))
		f, err := NewRDPFilter(epsilon, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		sums := make([]*big.Float, len(f.orders))
		for i := range sums {
			sums[i] = new(big.Float).SetPrec(400)
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			e, _ := filterDrawStep(t)
			if rapid.Bool().Draw(t, "sampled") {
				e = privacy.Poisson{Q: rapid.Float64Range(1e-4, 0.5).Draw(t, "q"), Event: e}
			}
			charges, err := f.charges(e, privacy.AddRemove)
			if err != nil {
				t.Fatal(err)
			}
			before, fits := slices.Clone(f.orders), f.CanSpend(e, privacy.AddRemove)
			err = f.Spend(e, privacy.AddRemove)
			if fits != (err == nil) {
				t.Fatalf("CanSpend said %v, Spend %v", fits, err)
			}
			if err != nil {
				var over *ExceededError
				if !errors.As(err, &over) || !slices.Equal(before, f.orders) {
					t.Fatalf("%v, or the filter changed", err)
				}
				continue
			}
			within := false
			for i, o := range f.orders {
				if math.IsInf(charges[i], 1) {
					sums[i].SetInf(false)
				} else {
					sums[i].Add(sums[i], big.NewFloat(charges[i]))
				}
				within = within || sums[i].Cmp(big.NewFloat(o.budget)) <= 0
			}
			if !within {
				t.Fatal("no order is within its budget")
			}
			if spent := f.Epsilon(); !(spent <= epsilon*(1+1e-12)) || f.Spent() > 1 {
				t.Fatalf("ε spent is %v of %v, a share of %v", spent, epsilon, f.Spent())
			}
		}
	})
}

// Each order's budget, with its share of δ, converts to no more than ε.
func TestFilterRDPBudgetsConvert(t *testing.T) {
	for _, epsilon := range []float64{0, 1e-6, 0.01, 1, 8, 1e6} {
		for _, delta := range []float64{1e-15, 1e-6, 0.3} {
			f, err := NewRDPFilter(epsilon, delta)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.orders) != filterOrders+1 {
				t.Fatalf("%d orders", len(f.orders))
			}
			for _, o := range f.orders {
				if !(o.a > 0) || o.budget < 0 {
					t.Errorf("ε=%v δ=%v: order %v has budget %v", epsilon, delta, 1+o.a, o.budget)
				}
				got := rdpEpsilonAt(o.budget, o.a, math.Log(delta/filterOrders))
				if o.budget > 0 && got > epsilon {
					t.Errorf("ε=%v δ=%v: order %v converts to %v", epsilon, delta, 1+o.a, got)
				}
			}
		}
	}
}

// What the filters leave of a budget for many equal steps, against the best
// that is known when all steps are fixed in advance.
func TestFilterAllowsNearlyAsManySteps(t *testing.T) {
	for _, c := range []struct {
		expr  string
		share float64
	}{
		{"gaussian(30)", 0.75},
		{"poisson(0.01, gaussian(1))", 0.3},
		{"pure(0.05)", 0.7},
		{"boundedrange(0.1)", 0.75},
	} {
		e := rdpParse(t, c.expr)
		fixed := 0
		for n := int64(1); ; n *= 2 {
			if rdpUpper(t, privacy.Repeat{N: n, Event: e}, privacy.AddRemove, 1e-6) > 2 {
				low, high := n/2, n
				for high-low > 1 {
					mid := (low + high) / 2
					if rdpUpper(t, privacy.Repeat{N: mid, Event: e}, privacy.AddRemove, 1e-6) > 2 {
						high = mid
					} else {
						low = mid
					}
				}
				fixed = int(low)
				break
			}
		}
		f, err := NewRDPFilter(2, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		steps := 0
		for f.Spend(e, privacy.AddRemove) == nil {
			steps++
		}
		if steps > fixed || float64(steps) < c.share*float64(fixed) {
			t.Errorf("%s: %d steps, %d when fixed in advance", c.expr, steps, fixed)
		}
		// At the order for the whole plan all of it fits, except for rounding.
		order, err := RDP{}.Order(privacy.Repeat{N: int64(fixed), Event: e}, privacy.AddRemove, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		at, err := NewRDPFilterAt(2, 1e-6, order)
		if err != nil {
			t.Fatal(err)
		}
		planned := 0
		for at.Spend(e, privacy.AddRemove) == nil {
			planned++
		}
		if planned > fixed+1 || planned < fixed-1 {
			t.Errorf("%s: %d steps at order %v, %d when fixed in advance", c.expr, planned, order, fixed)
		}
	}
}

// filterTree plays randomised response against a filter, the size of each step
// picked by the results before it, and returns the exact δ at ε of all results:
// the sum over them of (P − e^ε·Q)₊.
func filterTree(f *RDPFilter, epsilon, p, q float64, pick func(depth int, up int) float64, depth, up int) float64 {
	step := pick(depth, up)
	next := &RDPFilter{orders: slices.Clone(f.orders)}
	if step == 0 || next.Spend(privacy.Pure{Epsilon: step}, privacy.AddRemove) != nil {
		return max(0, p-math.Exp(epsilon)*q)
	}
	yes := 1 / (1 + math.Exp(-step))
	return filterTree(next, epsilon, p*yes, q*(1-yes), pick, depth+1, up+1) +
		filterTree(next, epsilon, p*(1-yes), q*yes, pick, depth+1, up)
}

// Strategies that look at the results cannot get past (ε,δ). The same strategies
// do get past it when the budgets are three times too large.
func TestFilterRDPHoldsAgainstAdaptiveSteps(t *testing.T) {
	const epsilon, delta = 1, 0.02
	caught := false
	for name, pick := range map[string]func(depth, up int) float64{
		"equal": func(depth, _ int) float64 { return 0.25 },
		"press on when ahead": func(depth, up int) float64 {
			if 2*up > depth {
				return 0.35
			}
			return 0.2
		},
		"stop when ahead": func(depth, up int) float64 {
			if 2*up-depth >= 4 {
				return 0
			}
			return 0.3
		},
		"one last large step": func(depth, up int) float64 {
			if depth > 6 {
				return 0.6
			}
			return 0.2
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, scale := range []float64{1, 3} {
				f, err := NewRDPFilter(epsilon, delta)
				if err != nil {
					t.Fatal(err)
				}
				for i := range f.orders {
					f.orders[i].budget *= scale
				}
				bounded := func(depth, up int) float64 {
					if depth == 14 {
						return 0
					}
					return pick(depth, up)
				}
				got := filterTree(f, epsilon, 1, 1, bounded, 0, 0)
				if scale == 1 && got > delta {
					t.Errorf("δ is %v, above %v", got, delta)
				}
				caught = caught || scale > 1 && got > delta
			}
		})
	}
	if !caught {
		t.Error("no strategy passed the bound of a filter that is three times too generous")
	}
}

func TestFilterConcurrentSpending(t *testing.T) {
	r, err := NewRDPFilterAt(1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	step := privacy.Pure{Epsilon: 1. / 32}
	var wg sync.WaitGroup
	var mu sync.Mutex
	granted := 0
	for range 8 {
		wg.Go(func() {
			for range 10 {
				if r.Spend(step, privacy.AddRemove) == nil {
					mu.Lock()
					granted++
					mu.Unlock()
				}
				_, _ = r.CanSpend(step, privacy.AddRemove), r.Epsilon()
			}
		})
	}
	wg.Wait()
	if granted != 32 || r.Spent() != 1 {
		t.Errorf("%d steps of 1/32 granted, %v spent of 1", granted, r.Spent())
	}
}

func TestFilterErrors(t *testing.T) {
	for _, bad := range []error{
		second(NewRDPFilter(1, 0)),
		second(NewRDPFilter(1, 1)),
		second(NewRDPFilter(math.Inf(1), 1e-6)),
		second(NewRDPFilterAt(1, 1e-6, 1)),
		second(NewRDPFilterAt(1, 1e-6, math.NaN())),
		second(NewRDPFilterAt(1, 0, 2)),
	} {
		if bad == nil {
			t.Error("a budget that means nothing was accepted")
		}
	}
	r, _ := NewRDPFilter(1, 1e-6)
	for _, spend := range []func(privacy.Event, privacy.Adjacency) error{r.Spend} {
		if err := spend(privacy.Gaussian{Sigma: 10}, privacy.AddRemove); err != nil {
			t.Error(err)
		}
		if spend(privacy.Gaussian{Sigma: 10}, privacy.ReplaceOne) == nil {
			t.Error("two adjacencies were mixed")
		}
		var over *ExceededError
		if err := spend(privacy.NonPrivate{}, privacy.AddRemove); !errors.As(err, &over) || !math.IsInf(over.Charge, 1) {
			t.Error(err)
		}
		var unsupported *UnsupportedError
		if err := spend(privacy.FixedSize{N: 9, M: 3, Event: privacy.Pure{Epsilon: 1}}, privacy.AddRemove); !errors.As(err, &unsupported) {
			t.Error(err)
		}
		if spend(privacy.Gaussian{Sigma: -1}, privacy.AddRemove) == nil {
			t.Error("a step that is not valid was accepted")
		}
	}
	if new(RDPFilter).CanSpend(privacy.Pure{Epsilon: 1}, privacy.AddRemove) {
		t.Error("a filter without budget let a step pass")
	}
}

func second[T any](_ T, err error) error { return err }

// filterRho returns the largest ρ that implies (ε,δ).
func TestFilterRho(t *testing.T) {
	for _, c := range []struct{ epsilon, delta float64 }{{1, 1e-6}, {0.01, 1e-10}, {50, 1e-3}, {1e5, 1e-6}} {
		rho := filterRho(c.epsilon, c.delta)
		got, err := RDP{}.Epsilon(privacy.ZCDP{Rho: rho}, privacy.AddRemove, c.delta)
		at := expect.At(t, "%+v: back from ρ=%v", c, rho)
		expect.NoError(at, err)
		expect.Within(at, "got.Upper", got.Upper, c.epsilon*(1-1e-6), c.epsilon)
	}
}

func ExampleRDPFilter() {
	filter, err := NewRDPFilter(1, 1e-6)
	if err != nil {
		fmt.Println(err)
		return
	}
	step := privacy.Gaussian{Sigma: 10}
	steps := 0
	for filter.Spend(step, privacy.AddRemove) == nil {
		steps++ // run the step, and perhaps stop early
	}
	fmt.Println(steps, "steps")
	// Output: 3 steps
}
