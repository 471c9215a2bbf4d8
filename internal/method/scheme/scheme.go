// Package scheme describes how records are drawn for a text: how many, how often, and how
// they are laid out as prompts. A [Scheme] is a public value.
//
// The scheme that runs (package draw) is the scheme that is accounted. No other
// place in the program writes poisson(q, …) or fixedsize(n, m, …).
package scheme

import (
	"fmt"

	"github.com/sotto-dp/sotto/privacy"
)

// Kind is a way to draw.
type Kind string

// The ways there are.
const (
	// Poisson keeps each unit independently with probability Rate.
	Poisson Kind = "poisson"
	// FixedSize draws Take of exactly Of units without replacement. It is for
	// replace-one adjacency, under which the number of units is public.
	FixedSize Kind = "fixed-size"
	// Disjoint puts each unit into one of Batches, uniformly and independently; each
	// text has a batch of its own.
	Disjoint Kind = "disjoint"
)

// Per says how long a draw is kept.
type Per string

// The schedules there are.
const (
	// PerText means that one draw serves the whole text.
	PerText Per = "text"
	// PerToken means that each token has a fresh draw.
	PerToken Per = "token"
)

// Scheme says which units are drawn for a text, how often, and how their records are laid
// out as prompts.
type Scheme struct {
	Kind Kind `json:"kind"`
	Per  Per  `json:"per"`
	// Rate of Poisson draws: the very number that is accounted.
	Rate float64 `json:"rate,omitempty"`
	// Take of Of units are drawn in a fixed size.
	Take int64 `json:"take,omitempty"`
	Of   int64 `json:"of,omitempty"`
	// Batches that the units are spread over.
	Batches int64 `json:"batches,omitempty"`
	// Prompts that drawn records are assigned to; 0 gives each record its own.
	Prompts int `json:"prompts,omitempty"`
	// PerPrompt is the most records that a prompt holds; it goes with Prompts.
	PerPrompt int `json:"per_prompt,omitempty"`
}

// Check reports what is wrong with a scheme.
func (s Scheme) Check() error {
	switch s.Kind {
	case Poisson:
		if !(s.Rate > 0 && s.Rate <= 1) {
			return fmt.Errorf("a sampling rate of %v is not in (0, 1]: the expected number of drawn records must not exceed the number of records", s.Rate)
		}
	case FixedSize:
		if s.Take < 1 || s.Take > s.Of {
			return fmt.Errorf("cannot draw %d of %d units", s.Take, s.Of)
		}
	case Disjoint:
		if s.Batches < 1 {
			return fmt.Errorf("disjoint batches need a number of batches, not %d", s.Batches)
		}
		if s.Per == PerToken {
			return fmt.Errorf("a disjoint batch serves a whole text: draw per text")
		}
	default:
		return fmt.Errorf("unknown way to draw %q: one of poisson, fixed-size, disjoint", s.Kind)
	}
	if s.Per != PerText && s.Per != PerToken {
		return fmt.Errorf("a draw is per text or per token, not %q", s.Per)
	}
	if s.Prompts < 0 || s.PerPrompt < 0 || (s.Prompts > 0) != (s.PerPrompt > 0) {
		return fmt.Errorf("prompts (%d) and records per prompt (%d) go together", s.Prompts, s.PerPrompt)
	}
	return nil
}

// Event returns the cost of a text of at most steps tokens, each chosen by a step on the
// drawn records.
func (s Scheme) Event(step privacy.Event, steps int64) privacy.Event {
	if s.Per == PerToken {
		return privacy.Repeat{N: steps, Event: s.sampled(step)}
	}
	return s.sampled(privacy.Repeat{N: steps, Event: step})
}

func (s Scheme) sampled(e privacy.Event) privacy.Event {
	switch s.Kind {
	case Poisson:
		return privacy.Poisson{Q: s.Rate, Event: e}
	case FixedSize:
		return privacy.FixedSize{N: s.Of, M: s.Take, Event: e}
	}
	return e
}

// Texts returns the cost of n texts from the same units. Of disjoint batches a unit is in
// one, independently of the others, so that under add-remove adjacency all texts
// together cost what one does; other draws are made one after the other.
func (s Scheme) Texts(text privacy.Event, n int64) privacy.Event {
	if s.Kind == Disjoint {
		return text
	}
	return privacy.Repeat{N: n, Event: text}
}

// Adjacency returns the adjacency under which the scheme's theorem holds.
func (s Scheme) Adjacency() privacy.Adjacency {
	if s.Kind == FixedSize {
		return privacy.ReplaceOne
	}
	return privacy.AddRemove
}

// Exchanges reports whether one unit exchanges what a prompt contributes for something else,
// instead of adding or removing it: where prompts hold several records, or where the size of
// the draw is fixed and adjacent data sets have one unit replaced. Sensitivities follow from
// it.
func (s Scheme) Exchanges() bool { return s.Prompts > 0 || s.Kind == FixedSize }

// Expected returns how many of n units a draw has on average.
func (s Scheme) Expected(n int64) float64 {
	switch s.Kind {
	case FixedSize:
		return float64(s.Take)
	case Disjoint:
		return float64(n) / float64(s.Batches)
	}
	return s.Rate * float64(n)
}
