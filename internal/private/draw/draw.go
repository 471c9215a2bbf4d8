package draw

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/method/scheme"
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

// ErrSize says that a fixed-size scheme was made for another number of units.
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

// Draw makes the draws of a text under a sampling scheme: one, or one for each of steps tokens. No
// record is read.
//
// Each draw has streams of its own, named by text and step: no two draws of a run share
// randomness.
func (d *Drawer) Draw(sampling scheme.Scheme, text Text, steps int) ([]Sample, error) {
	if err := sampling.Check(); err != nil {
		return nil, err
	}
	if sampling.Per == scheme.PerText {
		steps = 1
	}
	samples := make([]Sample, steps)
	for step := range samples {
		var err error
		if samples[step], err = d.step(sampling, text, uint64(step)); err != nil {
			return nil, err
		}
	}
	return samples, nil
}

// DrawStep makes the draw of one step, counted from 0, as [Drawer.Draw] makes it among others, and
// none of the others. A scheme that draws once for a text has one step.
func (d *Drawer) DrawStep(sampling scheme.Scheme, text Text, step int64) (Sample, error) {
	if err := sampling.Check(); err != nil {
		return Sample{}, err
	}
	if step < 0 || sampling.Per == scheme.PerText && step > 0 {
		return Sample{}, fmt.Errorf("there is no draw %d of a text by this scheme", step+1)
	}
	return d.step(sampling, text, uint64(step))
}

// step makes one draw, whose streams are named by text and step.
func (d *Drawer) step(sampling scheme.Scheme, text Text, step uint64) (Sample, error) {
	units, err := d.units(sampling, text, step)
	if err != nil {
		return Sample{}, err
	}
	choose := d.key.Stream("choose", text.Index, step)
	refs := make([]seal.Ref, len(units))
	for i, unit := range units {
		if refs[i], err = d.pool.Choose(text.Part, unit, choose); err != nil {
			return Sample{}, err
		}
	}
	return layOut(sampling, refs, d.key.Stream("prompts", text.Index, step))
}

// CheckSize returns [ErrSize] if a fixed-size scheme is for another number of units than a
// part of the pool has. Under the adjacency of such schemes that number is public: it may be
// looked at before anything is charged.
func CheckSize(pool Pool, sampling scheme.Scheme, part int) error {
	if sampling.Kind == scheme.FixedSize && int64(seal.Exactly(pool.Size(part))) != sampling.Of {
		return ErrSize
	}
	return nil
}

func (d *Drawer) units(sampling scheme.Scheme, text Text, step uint64) ([]int, error) {
	n := seal.Exactly(d.pool.Size(text.Part))
	switch sampling.Kind {
	case scheme.FixedSize:
		if err := CheckSize(d.pool, sampling, text.Part); err != nil {
			return nil, err
		}
		return d.key.Stream("draw", text.Index, step).Subset(int(sampling.Take), n)
	case scheme.Disjoint:
		return d.batch(sampling, text, n)
	}
	rate, err := noise.ProbabilityFloat(sampling.Rate)
	if err != nil {
		return nil, err
	}
	return noise.NewInclusion(rate).Draw(d.key.Stream("draw", text.Index, step), n, nil)
}

// chunk bounds the memory that spreading a part over batches takes.
const chunk = 1 << 16

// batch returns the units of a text's batch. All texts of a part under one scheme read the
// same spread, which names its stream.
func (d *Drawer) batch(sampling scheme.Scheme, text Text, n int) ([]int, error) {
	if text.Place >= sampling.Batches {
		return nil, fmt.Errorf("text %d of a part cannot have a batch of its own: there are %d", text.Place+1, sampling.Batches)
	}
	const ahead = 16
	at := spread{text.Part, sampling.Batches}
	have := d.batches[at]
	if text.Place >= int64(len(have)) {
		have = make([][]int, min(sampling.Batches, text.Place+ahead))
		s := d.key.Stream("batches", uint64(at.part), uint64(at.batches))
		var bins []int
		for from := 0; from < n; from += chunk {
			var err error
			bins, err = s.Assign(min(chunk, n-from), int(sampling.Batches), bins[:0])
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
func layOut(sampling scheme.Scheme, refs []seal.Ref, s *noise.Stream) (Sample, error) {
	if sampling.Prompts == 0 {
		prompts := make([][]seal.Ref, len(refs))
		for i, r := range refs {
			prompts[i] = []seal.Ref{r}
		}
		return Sample{Prompts: prompts}, nil
	}
	bins, err := s.Assign(len(refs), sampling.Prompts, nil)
	if err != nil {
		return Sample{}, err
	}
	all := make([][]seal.Ref, sampling.Prompts)
	for i, bin := range bins {
		all[bin] = append(all[bin], refs[i])
	}
	var out Sample
	for _, prompt := range all {
		switch {
		case len(prompt) == 0:
			out.Empty++
			continue
		case len(prompt) > sampling.PerPrompt:
			kept, err := s.Subset(sampling.PerPrompt, len(prompt))
			if err != nil {
				return Sample{}, err
			}
			for i, k := range kept {
				prompt[i] = prompt[k]
			}
			prompt = prompt[:sampling.PerPrompt]
		}
		out.Prompts = append(out.Prompts, prompt)
	}
	return out, nil
}
