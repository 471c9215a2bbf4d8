package accountant

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/privacy"
)

// Total composes events as they come, for a ledger: equal events are counted,
// not stored again, so the cost of an answer depends on how many different
// events there are.
//
// It composes a plan: the events may use each other's outputs, but which events
// there are must not depend on them. For events that are chosen after looking
// at earlier releases use [RDPFilter].
type Total struct {
	adj   privacy.Adjacency
	terms map[string]privacy.Term
	last  map[float64]privacy.Interval // answers for the present terms, by δ
}

// maxComposed is up to how many different events are composed numerically.
// Beyond, the Rényi bound answers, which adds up.
const maxComposed = 12

// NewTotal starts an empty composition.
func NewTotal(adj privacy.Adjacency) *Total {
	return &Total{adj: adj, terms: map[string]privacy.Term{}}
}

// Add takes n more runs of e into account, or fewer for a negative n.
func (t *Total) Add(e privacy.Event, n int64) error {
	if err := privacy.Validate(e); err != nil {
		return err
	}
	terms, err := privacy.Terms(e)
	if err != nil {
		return err
	}
	t.last = nil
	for _, term := range terms {
		k := term.Event.String()
		sum := t.terms[k]
		sum.Event = term.Event
		sum.N += n * term.N
		if sum.N == 0 {
			delete(t.terms, k)
		} else {
			t.terms[k] = sum
		}
	}
	return nil
}

// Event is everything that was added, as one event.
func (t *Total) Event() privacy.Event {
	c := privacy.Compose{}
	for _, k := range slices.Sorted(maps.Keys(t.terms)) {
		if s := t.terms[k]; s.N == 1 {
			c.Events = append(c.Events, s.Event)
		} else {
			c.Events = append(c.Events, privacy.Repeat{N: s.N, Event: s.Event})
		}
	}
	return c
}

// Epsilon encloses the ε of everything that was added.
func (t *Total) Epsilon(delta float64) (privacy.Interval, error) {
	if got, ok := t.last[delta]; ok {
		return got, nil
	}
	var got privacy.Interval
	var err error
	if len(t.terms) > maxComposed {
		got, err = t.quick(delta)
	}
	// An approx leaf below a sampling node has no Rényi bound.
	if unsupported := (*UnsupportedError)(nil); len(t.terms) <= maxComposed || errors.As(err, &unsupported) {
		got, err = Auto{}.Epsilon(t.Event(), t.adj, delta)
	}
	if err != nil {
		return got, err
	}
	t.remember(delta, got)
	return got, nil
}

// quick returns the Rényi bound.
func (t *Total) quick(delta float64) (privacy.Interval, error) {
	r, err := solver{adj: t.adj, bounds: true}.answer(RDP{}.Name(), t.Event(), ask{delta, delta, false})
	return r.Interval, err
}

// Within reports whether ε is at most a limit. Often a quick bound decides, and nothing
// else is computed.
func (t *Total) Within(epsilon, delta float64) (bool, error) {
	if got, ok := t.last[delta]; ok {
		return got.Upper <= epsilon, nil
	}
	if quick, err := t.quick(delta); err == nil && quick.Upper <= epsilon {
		return true, nil
	}
	got, err := t.Epsilon(delta)
	return err == nil && got.Upper <= epsilon, err
}

func (t *Total) remember(delta float64, got privacy.Interval) {
	if math.IsNaN(delta) {
		return
	}
	if t.last == nil {
		t.last = map[float64]privacy.Interval{}
	}
	t.last[delta] = got
}
