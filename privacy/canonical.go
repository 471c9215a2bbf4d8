package privacy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Canonical rewrites an event so that equal mechanisms print equally. It uses
// identities that hold for every accountant and both adjacencies, and that
// change no parameter:
//
//   - compose is associative, commutative and counts: its parts are flattened,
//     equal ones become one repeat, and the rest is sorted;
//   - repeat(n, repeat(m, e)) = repeat(nm, e); repeat over compose goes inside;
//   - compose(e) = parallel(e) = repeat(1, e) = poisson(1, e) = e, and
//     fixedsize(n, n, e) = e;
//   - approx(ε, 0) = pure(ε), by definition;
//   - poisson(0, e) = compose(): no record is ever read;
//   - parallel is flattened, sorted, and keeps at most two equal parts, for a
//     replaced record touches at most two.
func Canonical(e Event) Event {
	terms := map[string]*Repeat{}
	if !gather(e, 1, terms) {
		return e
	}
	parts := make([]Event, 0, len(terms))
	for _, k := range slices.Sorted(maps.Keys(terms)) {
		if t := terms[k]; t.N == 1 {
			parts = append(parts, t.Event)
		} else {
			parts = append(parts, *t)
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return Compose{parts}
}

// Term is one part of a composition and how often it runs.
type Term struct {
	Event Event
	N     int64
}

// Terms returns the parts that e composes, in canonical order: each a leaf, a
// sampling or a parallel node, itself canonical, with its multiplicity. It fails
// when nested repeats multiply to more than 2^53.
func Terms(e Event) ([]Term, error) {
	if !gather(e, 1, map[string]*Repeat{}) {
		return nil, fmt.Errorf("%s: repeats multiply to more than 2^53 runs of one event", e.Node())
	}
	var parts []Event
	switch c := Canonical(e).(type) {
	case Compose:
		parts = c.Events
	default:
		parts = []Event{c}
	}
	terms := make([]Term, len(parts))
	for i, p := range parts {
		if r, ok := p.(Repeat); ok {
			terms[i] = Term{r.Event, r.N}
		} else {
			terms[i] = Term{p, 1}
		}
	}
	return terms, nil
}

// gather adds e, n times, to the terms of a composition. It reports false when
// a count would pass 2^53, and the event has to stay as it is.
func gather(e Event, n int64, terms map[string]*Repeat) bool {
	switch v := e.(type) {
	case Compose:
		for _, c := range v.Events {
			if !gather(c, n, terms) {
				return false
			}
		}
		return true
	case Repeat:
		if v.N > (1<<53)/n {
			return false
		}
		return gather(v.Event, n*v.N, terms)
	case Approx:
		if v.Delta == 0 {
			e = Pure{v.Epsilon}
		}
	case Poisson:
		if v.Q == 0 {
			return true
		}
		inner := Canonical(v.Event)
		if v.Q == 1 {
			return gather(inner, n, terms)
		}
		if nothing(inner) {
			return true
		}
		e = Poisson{v.Q, inner}
	case FixedSize:
		inner := Canonical(v.Event)
		if v.N == v.M {
			return gather(inner, n, terms)
		}
		if nothing(inner) {
			return true
		}
		e = FixedSize{v.N, v.M, inner}
	case Parallel:
		p := canonicalParallel(v)
		if _, ok := p.(Parallel); !ok {
			return gather(p, n, terms)
		}
		e = p
	}
	k := sortKey(e)
	if t, ok := terms[k]; ok {
		if t.N > 1<<53-n {
			return false
		}
		t.N += n
	} else {
		terms[k] = &Repeat{n, e}
	}
	return true
}

func nothing(e Event) bool {
	c, ok := e.(Compose)
	return ok && len(c.Events) == 0
}

func canonicalParallel(v Parallel) Event {
	var parts []Event
	for _, c := range v.Events {
		c = Canonical(c)
		if p, ok := c.(Parallel); ok {
			parts = append(parts, p.Events...)
		} else if !nothing(c) {
			parts = append(parts, c)
		}
	}
	slices.SortFunc(parts, func(a, b Event) int { return strings.Compare(sortKey(a), sortKey(b)) })
	kept := parts[:0:0]
	for i, p := range parts {
		if i >= 2 && sortKey(parts[i-2]) == sortKey(p) {
			continue
		}
		kept = append(kept, p)
	}
	switch len(kept) {
	case 0:
		return Compose{}
	case 1:
		return kept[0]
	}
	return Parallel{kept}
}

// sortKey identifies an event exactly: its text, which round-trips.
func sortKey(e Event) string { return e.String() }
