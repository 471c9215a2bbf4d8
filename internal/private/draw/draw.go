package draw

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Pool is where units are drawn from. The methods' results can be opened below
// private/ only. A pool decides which unit a draw is of, so that only packages below
// private/ make one: see [Genuine].
type Pool interface {
	// Size is the number of units of a part.
	Size(part int) seal.Count
	// Choose names one record of a unit, uniformly.
	Choose(part, unit int, s *noise.Stream) (seal.Ref, error)
	// Fetch reads records, in the order of the references.
	Fetch(ctx context.Context, refs []seal.Ref) ([]seal.Record, error)
}

// Genuine checks that a pool is of a type that a package below private/ has admitted. One
// of another package could embed it and name the same unit again and again. The error is
// [private.ErrForeign].
func Genuine(p Pool) error {
	if !seal.Admitted(p) {
		return fmt.Errorf("records cannot be drawn from a pool of type %T: %w", p, seal.ErrForeign)
	}
	return nil
}

// ErrSize says that a fixed-size law was made for another number of units.
var ErrSize = errors.New("the data set does not have the declared number of units: under replace-one adjacency the size is public and must be declared exactly")

// Text names a text by its place in the run, which its randomness is derived from.
type Text struct {
	// Index of the text in its run.
	Index uint64
	// Part of the pool it draws from, and its place among the texts of that part.
	Part  int
	Place int64
}

// Sample is what one draw laid out: the records of each prompt that has any.
type Sample struct {
	Prompts [][]seal.Ref
	// Empty prompts have no record.
	Empty int
}

// Drawer draws for the texts of a run. All its randomness comes from the run's key, so
// that it draws the same again after a crash.
type Drawer struct {
	pool Pool
	key  noise.Key
	// batches of a spread: those that texts asked for so far.
	batches map[spread][][]int
}

// spread names the units of a part spread over a number of batches.
type spread struct {
	part    int
	batches int64
}

// NewDrawer draws from a pool with the run's key.
func NewDrawer(pool Pool, key noise.Key) *Drawer {
	return &Drawer{pool: pool, key: key, batches: map[spread][][]int{}}
}

// Fetch reads drawn records.
func (d *Drawer) Fetch(ctx context.Context, refs []seal.Ref) ([]seal.Record, error) {
	return d.pool.Fetch(ctx, refs)
}

// Draw makes the draws of a text under a law: one, or one for each of steps tokens. No
// record is read.
//
// Each draw has streams of its own, named by text and step: no two draws of a run share
// randomness.
func (d *Drawer) Draw(l Law, text Text, steps int) ([]Sample, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	if l.Per == PerText {
		steps = 1
	}
	samples := make([]Sample, steps)
	for step := range samples {
		units, err := d.units(l, text, uint64(step))
		if err != nil {
			return nil, err
		}
		choose := d.key.Stream("choose", text.Index, uint64(step))
		refs := make([]seal.Ref, len(units))
		for i, unit := range units {
			if refs[i], err = d.pool.Choose(text.Part, unit, choose); err != nil {
				return nil, err
			}
		}
		samples[step], err = layOut(l, refs, d.key.Stream("prompts", text.Index, uint64(step)))
		if err != nil {
			return nil, err
		}
	}
	return samples, nil
}

// CheckSize is [ErrSize] if a fixed-size law is for another number of units than a part
// of the pool has. Under the adjacency of such laws that number is public, so that it may
// be looked at before anything is charged.
func CheckSize(pool Pool, l Law, part int) error {
	if l.Kind == FixedSize && int64(seal.Exactly(pool.Size(part))) != l.Of {
		return ErrSize
	}
	return nil
}

func (d *Drawer) units(l Law, text Text, step uint64) ([]int, error) {
	n := seal.Exactly(d.pool.Size(text.Part))
	switch l.Kind {
	case FixedSize:
		if err := CheckSize(d.pool, l, text.Part); err != nil {
			return nil, err
		}
		return d.key.Stream("draw", text.Index, step).Subset(int(l.Take), n)
	case Disjoint:
		return d.batch(l, text, n)
	}
	rate, err := noise.ProbabilityFloat(l.Rate)
	if err != nil {
		return nil, err
	}
	return noise.NewInclusion(rate).Draw(d.key.Stream("draw", text.Index, step), n, nil)
}

// chunk bounds the memory that spreading a part over batches takes.
const chunk = 1 << 16

// batch returns the units of a text's batch. All texts of a part under one law read the
// same spread, which names its stream.
func (d *Drawer) batch(l Law, text Text, n int) ([]int, error) {
	if text.Place >= l.Batches {
		return nil, fmt.Errorf("text %d of a part cannot have a batch of its own: there are %d", text.Place+1, l.Batches)
	}
	const ahead = 16
	at := spread{text.Part, l.Batches}
	have := d.batches[at]
	if text.Place >= int64(len(have)) {
		have = make([][]int, min(l.Batches, text.Place+ahead))
		s := d.key.Stream("batches", uint64(at.part), uint64(at.batches))
		var bins []int
		for from := 0; from < n; from += chunk {
			var err error
			bins, err = s.Assign(min(chunk, n-from), int(l.Batches), bins[:0])
			if err != nil {
				return nil, err
			}
			for i, bin := range bins {
				if bin < len(have) {
					have[bin] = append(have[bin], from+i)
				}
			}
		}
		d.batches[at] = have
	}
	return have[text.Place], nil
}

// layOut assigns records to prompts.
func layOut(l Law, refs []seal.Ref, s *noise.Stream) (Sample, error) {
	if l.Prompts == 0 {
		prompts := make([][]seal.Ref, len(refs))
		for i, r := range refs {
			prompts[i] = []seal.Ref{r}
		}
		return Sample{Prompts: prompts}, nil
	}
	bins, err := s.Assign(len(refs), l.Prompts, nil)
	if err != nil {
		return Sample{}, err
	}
	all := make([][]seal.Ref, l.Prompts)
	for i, bin := range bins {
		all[bin] = append(all[bin], refs[i])
	}
	var out Sample
	for _, prompt := range all {
		switch {
		case len(prompt) == 0:
			out.Empty++
			continue
		case len(prompt) > l.PerPrompt:
			kept, err := s.Subset(l.PerPrompt, len(prompt))
			if err != nil {
				return Sample{}, err
			}
			for i, k := range kept {
				prompt[i] = prompt[k]
			}
			prompt = prompt[:l.PerPrompt]
		}
		out.Prompts = append(out.Prompts, prompt)
	}
	return out, nil
}
