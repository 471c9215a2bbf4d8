package accountant

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// rounding covers the arithmetic of worstOf: δ and absolute errors of sums of some thousand
// products.
func rounding(delta float64) float64 { return delta*1e-9 + 1e-13 }

// quick are the accountants as the oracles ask them: coarse ones answer sooner, and their
// ends hold as those of fine ones do.
func quick(tolerance float64) []Accountant {
	return []Accountant{
		PLD{Tolerance: tolerance},
		RDP{},
		Auto{Tolerance: tolerance},
	}
}

// TestPlainEnumeratedEvents: on hundreds of random nested events no upper end of any
// accountant is below what a mechanism that fits the event really costs, with all its
// outcomes listed, and no lower end is above an upper one.
//
// It cannot pass by accident: the same comparison with upper ends that are 3 % too small
// must fail for a good part of the events, for the numerical accountant, and with a sampling
// rate that is taken for a tenth less.
func TestPlainEnumeratedEvents(t *testing.T) {
	t.Parallel()
	enumerated(t, 220)
}

// TestLongEnumeratedEvents has more of them.
func TestLongEnumeratedEvents(t *testing.T) {
	t.Parallel()
	enumerated(t, 2200)
}

// enumerated compares so many events.
func enumerated(t *testing.T, trees int) {
	t.Helper()
	w := &world{Rand: rand.New(rand.NewPCG(1, 2))}
	compared, sharp, planted, rates := 0, 0, 0, 0
	for range trees {
		w.adj, w.sharp = privacy.AddRemove, w.IntN(3) > 0
		if w.IntN(3) == 0 {
			w.adj = privacy.ReplaceOne
		}
		tolerance := 0.5
		if w.sharp && w.IntN(3) == 0 {
			tolerance = 0.05
		}
		e := w.event(2 + w.IntN(2))
		list := w.list(e)
		if len(list) == 0 {
			continue
		}
		delta := w.between(1e-10, 0.3)
		if w.IntN(10) == 0 {
			delta = 0
		}
		asked := false
		for _, a := range quick(tolerance) {
			got, err := a.Epsilon(e, w.adj, delta)
			if unsupported(t, a, e, err) {
				continue
			}
			asked = true
			if !(got.Lower <= got.Upper) {
				t.Fatalf("%s: %s at δ = %v: ε between %v and %v", a.Name(), e, delta, got.Lower, got.Upper)
			}
			if truth := worstOf(list, w.adj, got.Upper); truth > delta+rounding(delta) {
				t.Fatalf("%s: %s, %s: ε ≤ %v at δ = %v, but a mechanism of this description has δ = %v there", a.Name(), e, w.adj, got.Upper, delta, truth)
			}
			if a.Name() == "pld" && tolerance < 0.1 && worstOf(list, w.adj, got.Upper*0.97) > delta+rounding(delta) {
				planted++
			}
		}
		if !asked {
			continue
		}
		compared++
		fine := tolerance < 0.1
		if fine {
			sharp++
		}
		if less := cheaper(e); fine && w.adj == privacy.AddRemove && less != nil {
			if got, err := (PLD{Tolerance: tolerance}).Epsilon(less, w.adj, delta); err == nil && worstOf(list, w.adj, got.Upper) > delta+rounding(delta) {
				rates++
			}
		}
		if w.IntN(8) > 0 {
			continue
		}
		epsilon := w.uniform(0, 2)
		truth := worstOf(list, w.adj, epsilon)
		for _, a := range quick(tolerance) {
			got, err := a.Delta(e, w.adj, epsilon)
			if !unsupported(t, a, e, err) && (got.Upper < truth-rounding(truth) || !(got.Lower <= got.Upper)) {
				t.Fatalf("%s: %s, %s: δ between %v and %v at ε = %v, but a mechanism of this description has %v", a.Name(), e, w.adj, got.Lower, got.Upper, epsilon, truth)
			}
		}
	}
	t.Logf("%d events compared, %d of them with narrow intervals; ends that are 3 %% too small fail on %d of these, rates a tenth too small on %d", compared, sharp, planted, rates)
	expect.Min(t, "compared", compared, trees*7/8)
	expect.Min(t, "planted", planted, sharp/6)
	expect.Min(t, "rates", rates, sharp/20)
}

// cheaper is an event with all its sampling rates a tenth less, nil if there are none.
func cheaper(e privacy.Event) privacy.Event {
	found := false
	var less func(e privacy.Event) privacy.Event
	less = func(e privacy.Event) privacy.Event {
		switch e := e.(type) {
		case privacy.Compose:
			out := privacy.Compose{}
			for _, c := range e.Events {
				out.Events = append(out.Events, less(c))
			}
			return out
		case privacy.Parallel:
			out := privacy.Parallel{}
			for _, c := range e.Events {
				out.Events = append(out.Events, less(c))
			}
			return out
		case privacy.Repeat:
			return privacy.Repeat{N: e.N, Event: less(e.Event)}
		case privacy.Poisson:
			found = true
			return privacy.Poisson{Q: 0.9 * e.Q, Event: less(e.Event)}
		}
		return e
	}
	if out := less(e); found {
		return out
	}
	return nil
}

// foreign is a file of ε's that dp-accounting computed; testdata/optimistic.py makes it.
type foreign struct {
	Source   string
	Infinite float64 // stands for +Inf
	Cases    []struct {
		Event                           string
		Adjacency                       privacy.Adjacency
		Deltas, Optimistic, Pessimistic []float64
		// Class: one mechanism stands for all that the event describes.
		Class bool
	}
}

func readForeign(t *testing.T) (f foreign) {
	t.Helper()
	file, err := os.Open("testdata/optimistic.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	r, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Cases {
		for _, list := range [][]float64{c.Optimistic, c.Pessimistic} {
			for i, v := range list {
				if v == f.Infinite {
					list[i] = math.Inf(1)
				}
			}
		}
	}
	return f
}

// TestPlainDPAccountingOptimistic: no upper end is below the optimistic ε of dp-accounting,
// and no lower end above its pessimistic one. Both are bounds of another program on the same
// number, so that no tolerance is needed beyond the seven digits of the file (which the
// generator rounded to the safe side). Nor is the upper end of the numerical accountant
// larger than the pessimistic ε by more than the two tolerances.
//
// Ends that are 3 % too small must fail for many events: else the optimistic values are too
// far off to find anything.
func TestPlainDPAccountingOptimistic(t *testing.T) {
	t.Parallel()
	optimistic(t, 5)
}

// TestLongDPAccountingOptimistic has all of them.
func TestLongDPAccountingOptimistic(t *testing.T) {
	t.Parallel()
	optimistic(t, 1)
}

// optimistic compares one of so many events.
func optimistic(t *testing.T, of int) {
	t.Helper()
	f := readForeign(t)
	if len(f.Cases) < 1000 || f.Source == "" {
		t.Fatalf("%d cases of %q", len(f.Cases), f.Source)
	}
	planted, compared := 0, 0
	for k, c := range f.Cases {
		if k%of > 0 {
			continue
		}
		e := mustParse(t, c.Event)
		tolerance := 0.02
		if k%4 > 0 {
			tolerance = 0.3
		}
		for i, delta := range c.Deltas {
			if k%8 > 0 && i == k%2 { // both for some, in the interest of time
				continue
			}
			for _, a := range []Accountant{PLD{Tolerance: tolerance}, RDP{}, Auto{Tolerance: 0.02}} {
				got, err := a.Epsilon(e, c.Adjacency, delta)
				if unsupported(t, a, e, err) {
					continue
				}
				compared++
				if got.Upper < c.Optimistic[i] {
					t.Errorf("%s: %s at δ = %v: ε ≤ %v, but %s is optimistic at %v", a.Name(), c.Event, delta, got.Upper, f.Source, c.Optimistic[i])
				}
				if a.Name() == "pld" && got.Upper*0.97 < c.Optimistic[i] {
					planted++
				}
				if c.Class {
					continue
				}
				if got.Lower > c.Pessimistic[i] {
					t.Errorf("%s: %s at δ = %v: ε ≥ %v, but %s is pessimistic at %v", a.Name(), c.Event, delta, got.Lower, f.Source, c.Pessimistic[i])
				}
				if a.Name() == "pld" && got.Upper > c.Pessimistic[i]*(1+2*tolerance)+1e-4 {
					t.Errorf("%s: %s at δ = %v: ε ≤ %v, far above %v of %s", a.Name(), c.Event, delta, got.Upper, c.Pessimistic[i], f.Source)
				}
			}
		}
	}
	t.Logf("%d comparisons with %s; ends that are 3 %% too small fail in %d of them", compared, f.Source, planted)
	if planted < 150/of {
		t.Errorf("ends that are 3 %% too small fail in %d comparisons only", planted)
	}
}
