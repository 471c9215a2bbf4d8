package draw

import (
	"fmt"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
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
	// PerText: one draw serves the whole text.
	PerText Per = "text"
	// PerToken: each token has a fresh draw.
	PerToken Per = "token"
)

// Law says who is drawn for a text, how often, and how the drawn records are laid out
// as prompts. It is a public value.
type Law struct {
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

// Check finds what is wrong with a law.
func (l Law) Check() error {
	switch l.Kind {
	case Poisson:
		if !(l.Rate > 0 && l.Rate <= 1) {
			return fmt.Errorf("a sampling rate of %v is not in (0, 1]: the expected number of drawn records must not exceed the number of records", l.Rate)
		}
	case FixedSize:
		if l.Take < 1 || l.Take > l.Of {
			return fmt.Errorf("cannot draw %d of %d units", l.Take, l.Of)
		}
	case Disjoint:
		if l.Batches < 1 {
			return fmt.Errorf("disjoint batches need a number of batches, not %d", l.Batches)
		}
		if l.Per == PerToken {
			return fmt.Errorf("a disjoint batch serves a whole text: draw per text")
		}
	default:
		return fmt.Errorf("unknown way to draw %q: one of poisson, fixed-size, disjoint", l.Kind)
	}
	if l.Per != PerText && l.Per != PerToken {
		return fmt.Errorf("a draw is per text or per token, not %q", l.Per)
	}
	if l.Prompts < 0 || l.PerPrompt < 0 || (l.Prompts > 0) != (l.PerPrompt > 0) {
		return fmt.Errorf("prompts (%d) and records per prompt (%d) go together", l.Prompts, l.PerPrompt)
	}
	return nil
}

// Event is the cost of a text of at most steps tokens, each chosen by a step on the
// drawn records.
func (l Law) Event(step privacy.Event, steps int64) privacy.Event {
	if l.Per == PerToken {
		return privacy.Repeat{N: steps, Event: l.sampled(step)}
	}
	return l.sampled(privacy.Repeat{N: steps, Event: step})
}

func (l Law) sampled(e privacy.Event) privacy.Event {
	switch l.Kind {
	case Poisson:
		return privacy.Poisson{Q: l.Rate, Event: e}
	case FixedSize:
		return privacy.FixedSize{N: l.Of, M: l.Take, Event: e}
	}
	return e
}

// Texts is the cost of n texts from the same units. Of disjoint batches a unit is in
// one, independently of the others, so that under add-remove adjacency all texts
// together cost what one does; other draws are made one after the other.
func (l Law) Texts(text privacy.Event, n int64) privacy.Event {
	if l.Kind == Disjoint {
		return text
	}
	return privacy.Repeat{N: n, Event: text}
}

// Adjacency is the one that the law's theorem is about.
func (l Law) Adjacency() privacy.Adjacency {
	if l.Kind == FixedSize {
		return privacy.ReplaceOne
	}
	return privacy.AddRemove
}

// Sampler is how certificates call the law.
func (l Law) Sampler() certificate.Sampler {
	switch l.Kind {
	case FixedSize:
		return certificate.SampleFixedSize
	case Disjoint:
		return certificate.SampleDisjoint
	}
	return certificate.SamplePoisson
}

// Expected is the number of units that a draw has on average, of n.
func (l Law) Expected(n int64) float64 {
	switch l.Kind {
	case FixedSize:
		return float64(l.Take)
	case Disjoint:
		return float64(n) / float64(l.Batches)
	}
	return l.Rate * float64(n)
}
