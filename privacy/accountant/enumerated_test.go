package accountant

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/sotto-dp/sotto/privacy"
)

// Random nested events, each with a mechanism that fits it and whose outcomes are few
// enough to list. Nothing here uses dominating pairs, losses or grids: a mechanism is run
// on three inputs, one without the record, one with it and one with another in its place,
// and the probabilities of all its outcomes are multiplied out. What a sample does is taken
// from its definition, and what a later step does may depend on every outcome before.

// outcomeTriple is one outcome with its probability on the three inputs.
type outcomeTriple struct{ none, one, other float64 }

// world draws events and lists mechanisms.
type world struct {
	*rand.Rand
	adj privacy.Adjacency
	// sharp mechanisms are the worst of their event where that is known.
	sharp bool
}

const maxOutcomes = 3000

func (w *world) between(lo, hi float64) float64 {
	return math.Exp(w.uniform(math.Log(lo), math.Log(hi)))
}

func (w *world) uniform(lo, hi float64) float64 { return lo + (hi-lo)*w.Float64() }

// event draws a tree of a depth.
func (w *world) event(depth int) privacy.Event {
	if depth == 0 || w.IntN(4) == 0 {
		return w.leaf()
	}
	switch w.IntN(8) {
	case 0, 1:
		parts := []privacy.Event{w.event(depth - 1), w.event(depth - 1)}
		return privacy.Compose{Events: parts}
	case 2, 3:
		return privacy.Repeat{N: 1 + w.Int64N(3), Event: w.event(depth - 1)}
	case 4:
		return privacy.Parallel{Events: []privacy.Event{w.event(depth - 1), w.event(depth - 1)}}
	case 5:
		if w.adj == privacy.ReplaceOne {
			n := 2 + w.Int64N(20)
			return privacy.FixedSize{N: n, M: 1 + w.Int64N(n), Event: w.event(depth - 1)}
		}
	}
	return privacy.Poisson{Q: w.between(1e-3, 1), Event: w.event(depth - 1)}
}

func (w *world) leaf() privacy.Event {
	e := w.between(0.01, 4)
	if w.IntN(20) == 0 {
		e = w.between(1e-9, 40)
	}
	switch w.IntN(8) {
	case 0:
		return privacy.Gaussian{Sigma: 1 / e}
	case 1:
		return privacy.Laplace{B: 1 / e}
	case 2:
		return privacy.Approx{Epsilon: e, Delta: w.between(1e-8, 1e-2)}
	case 3:
		return privacy.RandomizedResponse{Epsilon: e, K: 2 + w.Int64N(5)}
	case 4:
		return privacy.ZCDP{Rho: e * e / 2}
	case 5:
		return privacy.Pure{Epsilon: e}
	}
	return privacy.BoundedRange{C: e}
}

// list runs a mechanism that fits an event, adaptively: what it does next is drawn anew
// after each outcome.
func (w *world) list(e privacy.Event) []outcomeTriple {
	switch e := e.(type) {
	case privacy.Compose:
		out := []outcomeTriple{{1, 1, 1}}
		for _, part := range e.Events {
			out = w.then(out, part)
		}
		return out
	case privacy.Repeat:
		out := []outcomeTriple{{1, 1, 1}}
		for range e.N {
			out = w.then(out, e.Event)
		}
		return out
	case privacy.Poisson:
		return drawn(w.list(e.Event), e.Q)
	case privacy.FixedSize:
		// The other records are of no effect: one that is drawn in place of this one is as
		// good as none.
		return drawn(w.list(e.Event), float64(e.M)/float64(e.N))
	case privacy.Parallel:
		return w.parted(e)
	}
	return w.mechanism(e)
}

// then runs an event after every outcome so far, a fresh mechanism for each.
func (w *world) then(before []outcomeTriple, e privacy.Event) []outcomeTriple {
	var out []outcomeTriple
	for _, b := range before {
		for _, s := range w.list(e) {
			out = append(out, outcomeTriple{b.none * s.none, b.one * s.one, b.other * s.other})
		}
		if len(out) > maxOutcomes {
			return nil
		}
	}
	return out
}

// drawn keeps the record, or the one in its place, with probability q.
func drawn(in []outcomeTriple, q float64) []outcomeTriple {
	out := make([]outcomeTriple, len(in))
	for i, s := range in {
		out[i] = outcomeTriple{s.none, (1-q)*s.none + q*s.one, (1-q)*s.none + q*s.other}
	}
	return out
}

// parted puts the record into one part, and the other one into the same or another.
func (w *world) parted(e privacy.Parallel) []outcomeTriple {
	i, j := w.IntN(len(e.Events)), w.IntN(len(e.Events))
	if w.adj != privacy.ReplaceOne || i == j {
		return w.list(e.Events[i])
	}
	var out []outcomeTriple
	second := w.list(e.Events[j])
	for _, a := range w.list(e.Events[i]) {
		for _, b := range second {
			out = append(out, outcomeTriple{a.none * b.none, a.one * b.none, a.none * b.other})
		}
	}
	if len(out) > maxOutcomes {
		return nil
	}
	return out
}

// mechanism lists a mechanism that keeps what a leaf claims, for all three inputs.
func (w *world) mechanism(e privacy.Event) []outcomeTriple {
	switch e := e.(type) {
	case privacy.Gaussian:
		phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
		return w.cut(e.Sigma, phi)
	case privacy.Laplace:
		return w.cut(e.B, func(x float64) float64 {
			if x < 0 {
				return math.Exp(x) / 2
			}
			return 1 - math.Exp(-x)/2
		})
	case privacy.Pure:
		return w.respond(e.Epsilon)
	case privacy.ZCDP: // ε-DP is ε²/2-zCDP (Bun, Steinke 2016, Proposition 1.4)
		return w.respond(math.Sqrt(2 * e.Rho))
	case privacy.Approx:
		d := e.Delta
		out := []outcomeTriple{{d, 0, 0}, {0, d, 0}, {0, 0, d}}
		for _, s := range w.respond(e.Epsilon) {
			out = append(out, outcomeTriple{(1 - d) * s.none, (1 - d) * s.one, (1 - d) * s.other})
		}
		return out
	case privacy.RandomizedResponse:
		return responded(e.Epsilon, e.K, w.inputs(e.K))
	case privacy.BoundedRange:
		return w.exponential(e.C)
	}
	panic(fmt.Sprintf("no mechanism for %v", e))
}

// inputs are those of randomised response: without the record, with it, with the other.
func (w *world) inputs(k int64) [3]int64 {
	if w.sharp || k == 2 {
		if w.adj == privacy.ReplaceOne && w.IntN(2) == 0 {
			return [3]int64{1, 0, 1}
		}
		return [3]int64{1, 0, min(2, k-1)}
	}
	return [3]int64{w.Int64N(k), w.Int64N(k), w.Int64N(k)}
}

// respond is randomised response, over two values for the worst.
func (w *world) respond(epsilon float64) []outcomeTriple {
	k := int64(2)
	if !w.sharp {
		k += w.Int64N(3)
	}
	return responded(epsilon, k, w.inputs(k))
}

func responded(epsilon float64, k int64, in [3]int64) []outcomeTriple {
	truth := 1 / (1 + float64(k-1)*math.Exp(-epsilon))
	p := func(out, in int64) float64 {
		if out == in {
			return truth
		}
		return truth * math.Exp(-epsilon)
	}
	var list []outcomeTriple
	for y := range min(k, 3) {
		list = append(list, outcomeTriple{p(y, in[0]), p(y, in[1]), p(y, in[2])})
	}
	if k > 3 {
		rest := float64(k-3) * truth * math.Exp(-epsilon)
		if max(in[0], in[1], in[2]) > 2 { // list the others too
			for y := int64(3); y < k; y++ {
				list = append(list, outcomeTriple{p(y, in[0]), p(y, in[1]), p(y, in[2])})
			}
			return list
		}
		list = append(list, outcomeTriple{rest, rest, rest})
	}
	return list
}

// cut is noise of a scale on a number that one record moves by at most 1, of which only
// the interval is released that it lies in.
func (w *world) cut(scale float64, cdf func(float64) float64) []outcomeTriple {
	one, other := 1.0, 0.0
	if w.adj == privacy.ReplaceOne && w.IntN(2) == 0 { // all three within 1
		one = w.uniform(0, 1)
		other = one - w.uniform(0, 1)
	}
	const cuts = 5
	at := make([]float64, cuts)
	for i := range at {
		at[i] = (float64(i)-(cuts-1)/2.0)*scale*1.1 + 0.5 + scale*w.uniform(-0.3, 0.3)
	}
	out := make([]outcomeTriple, 0, cuts+1)
	for i := 0; i <= cuts; i++ {
		mass := func(mean float64) float64 {
			low, up := math.Inf(-1), math.Inf(1)
			if i < cuts {
				up = (at[i] - mean) / scale
			}
			if i > 0 {
				low = (at[i-1] - mean) / scale
			}
			if low > 0 { // both tails are alike, and only the lower one keeps its digits
				low, up = -up, -low
			}
			return cdf(up) - cdf(low)
		}
		out = append(out, outcomeTriple{mass(0), mass(one), mass(other)})
	}
	return out
}

// exponential is the exponential mechanism on scores that one record, and one in place of
// another, move by vectors of a range of at most c.
func (w *world) exponential(c float64) []outcomeTriple {
	k := 2
	if !w.sharp {
		k += w.IntN(3)
	}
	weights := func(shift func(i int) float64, base []float64) []float64 {
		out, sum := make([]float64, k), 0.0
		for i := range out {
			out[i] = math.Exp(base[i] + shift(i))
			sum += out[i]
		}
		for i := range out {
			out[i] /= sum
		}
		return out
	}
	base, first, second := make([]float64, k), make([]float64, k), make([]float64, k)
	span := c
	if w.adj == privacy.ReplaceOne && w.IntN(2) == 0 {
		span = c / 2 // so that the two differ by a range of c at most
	}
	for i := range base {
		base[i] = w.uniform(-c, c) / 2
		first[i], second[i] = w.uniform(0, span), w.uniform(0, span)
	}
	if w.sharp { // two outcomes at the ends of the range, with ratios near e^±c/2
		base = []float64{-span / 4, span / 4}
		base[0] += w.uniform(-0.1, 0.1) * c
		first, second = []float64{span, 0}, []float64{0, span}
	}
	if span == c {
		clear(second)
	}
	none := weights(func(int) float64 { return 0 }, base)
	one := weights(func(i int) float64 { return first[i] }, base)
	other := weights(func(i int) float64 { return second[i] }, base)
	out := make([]outcomeTriple, k)
	for i := range out {
		out[i] = outcomeTriple{none[i], one[i], other[i]}
	}
	return out
}

// worstOf is δ at ε over both directions, in ordinary arithmetic: each term is right to
// about 1e-14 of its probability.
func worstOf(list []outcomeTriple, adj privacy.Adjacency, epsilon float64) float64 {
	g := math.Exp(epsilon)
	var there, back float64
	for _, s := range list {
		other := s.none
		if adj == privacy.ReplaceOne {
			other = s.other
		}
		there += math.Max(0, s.one-g*other)
		back += math.Max(0, other-g*s.one)
	}
	return math.Max(there, back)
}
