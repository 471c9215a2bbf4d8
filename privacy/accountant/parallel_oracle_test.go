package accountant

import (
	"math/rand/v2"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// Neighbours under replace-one, all of them: for random nested events of leaves whose worst mechanism is
// randomised response, every place that two records can have in every partition, and for every leaf which of
// them has an effect. Each is a mechanism that fits the event, with two data sets, and all its outcomes listed.
// So what any of them costs is at most ε, and a lower end has to be below the worst of them.

// maxWorlds and maxListed bound what is listed of an event; larger ones are left out.
const maxWorlds, maxListed = 3000, 300_000

// worlds lists the neighbours, and nil if there are too many.
func worlds(e privacy.Event) [][]outcomeTriple {
	switch e := e.(type) {
	case privacy.Compose:
		all := [][]outcomeTriple{{{1, 1, 1}}}
		for _, part := range e.Events {
			all = crossed(all, worlds(part), func(a, b outcomeTriple) outcomeTriple {
				return outcomeTriple{a.none * b.none, a.one * b.one, a.other * b.other}
			})
		}
		return all
	case privacy.Repeat:
		all := privacy.Compose{}
		for range e.N {
			all.Events = append(all.Events, e.Event)
		}
		return worlds(all)
	case privacy.Poisson:
		var all [][]outcomeTriple
		for _, w := range worlds(e.Event) {
			all = append(all, drawn(w, e.Q))
		}
		return all
	case privacy.Parallel:
		var all [][]outcomeTriple
		for i, x := range e.Events {
			for j, y := range e.Events {
				here := worlds(x)
				if i != j {
					here = crossed(here, worlds(y), func(a, b outcomeTriple) outcomeTriple {
						return outcomeTriple{a.none * b.none, a.one * b.none, a.none * b.other}
					})
				}
				if len(here) == 0 {
					return nil
				}
				all = append(all, here...)
			}
		}
		return all
	case privacy.Approx:
		var all [][]outcomeTriple
		for _, w := range responses(e.Epsilon, 2) {
			d := e.Delta
			for i, s := range w {
				w[i] = outcomeTriple{(1 - d) * s.none, (1 - d) * s.one, (1 - d) * s.other}
			}
			// A failure shows which input there was.
			quiet, loud := outcomeTriple{d, d, 0}, outcomeTriple{0, 0, d}
			if w[0].none == w[0].other {
				quiet, loud = outcomeTriple{d, 0, d}, outcomeTriple{0, d, 0}
			}
			all = append(all, append(w, quiet, loud))
		}
		return all
	case privacy.RandomizedResponse:
		return responses(e.Epsilon, e.K)
	case privacy.Pure:
		return responses(e.Epsilon, 2)
	}
	return nil
}

// responses is randomised response on the records where the second or the first is as good as none.
func responses(epsilon float64, k int64) [][]outcomeTriple {
	return [][]outcomeTriple{responded(epsilon, k, [3]int64{1, 0, 1}), responded(epsilon, k, [3]int64{1, 1, 0})}
}

// crossed runs all of one list beside all of another.
func crossed(first, second [][]outcomeTriple, join func(a, b outcomeTriple) outcomeTriple) [][]outcomeTriple {
	if len(first)*len(second) > maxWorlds {
		return nil
	}
	var all [][]outcomeTriple
	total := 0
	for _, a := range first {
		for _, b := range second {
			if total += len(a) * len(b); total > maxListed {
				return nil
			}
			out := make([]outcomeTriple, 0, len(a)*len(b))
			for _, s := range a {
				for _, u := range b {
					out = append(out, join(s, u))
				}
			}
			all = append(all, out)
		}
	}
	return all
}

// worstWorld is the largest δ at ε of all neighbours.
func worstWorld(all [][]outcomeTriple, epsilon float64) (delta float64) {
	for _, list := range all {
		delta = max(delta, worstOf(list, privacy.ReplaceOne, epsilon))
	}
	return delta
}

// nested draws an event with partitions in it.
func (w *world) nested(depth int) privacy.Event {
	if depth == 0 || w.IntN(5) == 0 {
		e := w.between(0.05, 3)
		switch w.IntN(5) {
		case 0, 1:
			return privacy.Poisson{Q: w.between(0.05, 1), Event: privacy.Pure{Epsilon: e}}
		case 2:
			return privacy.Approx{Epsilon: e, Delta: w.between(1e-4, 1e-1)}
		case 3:
			return privacy.RandomizedResponse{Epsilon: e, K: 2 + w.Int64N(3)}
		}
		return privacy.Pure{Epsilon: e}
	}
	switch w.IntN(8) {
	case 0:
		return privacy.Compose{Events: []privacy.Event{w.nested(depth - 1), w.nested(depth - 1)}}
	case 1:
		return privacy.Poisson{Q: w.between(0.05, 1), Event: w.nested(depth - 1)}
	}
	parts := []privacy.Event{w.nested(depth - 1), w.nested(0)}
	if _, ok := parts[0].(privacy.Parallel); ok { // else the two are one partition
		if parts[0] = (privacy.Compose{Events: []privacy.Event{parts[0], w.nested(0)}}); w.IntN(3) == 0 {
			parts[0] = privacy.Poisson{Q: w.between(0.05, 1), Event: parts[0]}
		}
	}
	if w.IntN(4) == 0 {
		parts = append(parts, w.nested(0))
	}
	return privacy.Parallel{Events: parts}
}

// TestPlainNestedPartitions: on random events with partitions within partitions, under replace-one, no lower
// end is above what the worst of all neighbours costs, and no upper end is below it. Lower ends are not just 0:
// most of them are within a fifth of the worst neighbours, and ends that are a tenth larger fail often.
func TestPlainNestedPartitions(t *testing.T) {
	t.Parallel()
	comparePartitions(t, 80)
}

// TestLongNestedPartitions has more of them.
func TestLongNestedPartitions(t *testing.T) {
	t.Parallel()
	comparePartitions(t, 240)
}

// comparePartitions compares so many events.
func comparePartitions(t *testing.T, events int) {
	t.Helper()
	const tolerance = 0.05
	w := &world{Rand: rand.New(rand.NewPCG(3, 4))}
	compared, within, tight, planted, deep := 0, 0, 0, 0, 0
	for compared < events {
		e := w.nested(2 + w.IntN(3))
		if !hasPartition(e) {
			continue
		}
		all := worlds(e)
		if len(all) == 0 {
			continue
		}
		compared++
		if nestedPartitions(e) > 1 {
			deep++
		}
		delta := w.between(1e-6, 0.2)
		for _, a := range []Accountant{PLD{Tolerance: tolerance}, Auto{Tolerance: tolerance}} {
			got, err := a.Epsilon(e, privacy.ReplaceOne, delta)
			if err != nil {
				t.Fatal(err)
			}
			if !(got.Lower <= got.Upper) {
				t.Fatalf("%s: %s at δ = %v: ε between %v and %v", a.Name(), e, delta, got.Lower, got.Upper)
			}
			below := got.Lower * (1 - 1e-9)
			if got.Lower > 0 && worstWorld(all, below) < delta-rounding(delta) {
				t.Fatalf("%s: %s at δ = %v: ε ≥ %v, and no neighbours have more than δ = %v there", a.Name(), e, delta, got.Lower, worstWorld(all, below))
			}
			if worstWorld(all, got.Upper) > delta+rounding(delta) {
				t.Fatalf("%s: %s at δ = %v: ε ≤ %v, and there are neighbours with δ = %v", a.Name(), e, delta, got.Upper, worstWorld(all, got.Upper))
			}
			if a.Name() != "pld" {
				continue
			}
			truth := worstEpsilon(all, delta)
			switch {
			case truth == 0:
				continue
			case got.Lower >= 0.8*truth:
				tight++
			}
			within++
			if got.Lower*1.1 > truth {
				planted++
			}
		}
		epsilon := w.uniform(0, 2)
		got, err := PLD{Tolerance: tolerance}.Delta(e, privacy.ReplaceOne, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if truth := worstWorld(all, epsilon); got.Lower > truth+rounding(truth) || got.Upper < truth-rounding(truth) {
			t.Fatalf("%s at ε = %v: δ between %v and %v, and of all neighbours the worst have %v", e, epsilon, got.Lower, got.Upper, truth)
		}
	}
	t.Logf("%d events, %d with partitions within partitions; of %d with an ε above 0, %d lower ends are within a fifth, and %d fail if they are a tenth larger", compared, deep, within, tight, planted)
	expect.Min(t, "deep", deep, events/4)
	expect.Min(t, "tight", tight, within*4/5)
	expect.Min(t, "planted", planted, within/2)
}

// nestedPartitions returns how many partitions of an event lie within each other, other than directly, where
// they are one.
func nestedPartitions(e privacy.Event) int {
	var deepest func(e privacy.Event) int
	deepest = func(e privacy.Event) (deep int) {
		for _, child := range privacy.Children(e) {
			deep = max(deep, deepest(child))
		}
		if _, ok := e.(privacy.Parallel); ok {
			deep++
		}
		return deep
	}
	return deepest(privacy.Canonical(e))
}

// worstEpsilon is the least ε at which all neighbours have at most δ, by bisection.
func worstEpsilon(all [][]outcomeTriple, delta float64) float64 {
	if worstWorld(all, 0) <= delta {
		return 0
	}
	lo, hi := 0.0, 1.0
	for worstWorld(all, hi) > delta && hi < 1e3 {
		lo, hi = hi, 2*hi
	}
	for range 30 {
		if mid := (lo + hi) / 2; worstWorld(all, mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
