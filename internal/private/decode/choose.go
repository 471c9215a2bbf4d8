package decode

import (
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Chooser picks a token from a noisy sum of probabilities. The noisy vector is already
// private, so this is post-processing: anything goes.
type Chooser string

// The ways there are.
const (
	// ArgMax takes the largest, as published.
	ArgMax Chooser = "argmax"
	// Sample projects to the simplex and draws from it.
	Sample Chooser = "sample"
	// Nucleus draws from the least set of largest entries of the projection that hold
	// nine tenths of it.
	Nucleus Chooser = "nucleus"
)

func (c Chooser) check() error {
	switch c {
	case "", ArgMax, Sample, Nucleus:
		return nil
	}
	return fmt.Errorf("unknown choice %q: one of %s, %s, %s", c, ArgMax, Sample, Nucleus)
}

func (c Chooser) pick(noisy []int64, prompts int, s *noise.Stream) (int, error) {
	if c == "" || c == ArgMax {
		return mechanism.Largest(noisy), nil
	}
	p := project(noisy, int64(prompts)<<mass)
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(min(1, max(-1, p[b]-p[a]))) })
	var total int64
	for _, v := range p {
		total += v
	}
	if c == Nucleus {
		total -= total / 10
	}
	at := int64(s.Uint64n(uint64(max(total, 1))))
	for _, i := range order {
		if at -= p[i]; at < 0 {
			return i, nil
		}
	}
	return order[0], nil
}

// project finds the point closest to values among those without a negative entry that
// add up to total (Duchi et al. 2008, "Efficient projections onto the l1-ball"), except for
// rounding to whole steps.
func project(values []int64, total int64) []int64 {
	sorted := slices.Clone(values)
	slices.SortFunc(sorted, func(a, b int64) int { return int(min(1, max(-1, b-a))) })
	var sum, shift int64
	for i, v := range sorted {
		sum += v
		if candidate := (sum - total) / int64(i+1); i == 0 || v > candidate {
			shift = candidate
		}
	}
	out := make([]int64, len(values))
	for i, v := range values {
		out[i] = max(0, v-shift)
	}
	return out
}
