package count

import (
	"fmt"
	"math"
	"math/big"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Sizes releases the number of units of each part, with noise: whole numbers, not below
// 0. Epsilon is what it may cost.
//
// Theorem: the event, parallel(laplace(1/ε), …), holds. Proof: the parts are disjoint
// sets of units, and which part a unit is in depends on that unit alone. The number of
// units in one part changes by at most one when a unit comes, goes or is exchanged, so
// that continuous Laplace noise of scale 1/ε makes it laplace(1/ε). What runs is that
// noise rounded to whole numbers (noise.RoundedLaplace), and what is below 0 becomes 0:
// post-processing. The event names the scale that runs, 1/ε rounded up.
func Sizes(d *record.Data, epsilon float64, s *noise.Stream) ([]int64, privacy.Event, error) {
	b, err := scale(epsilon)
	if err != nil {
		return nil, nil, err
	}
	laplace, err := noise.NewLaplace(noise.Options{Multiplier: b, Sensitivity: 1})
	if err != nil {
		return nil, nil, fmt.Errorf("counting units: %w", err)
	}
	sizes := make([]int64, d.Parts())
	for part := range sizes {
		sizes[part] = int64(seal.Exactly(d.Size(part)))
	}
	if err := laplace.AddTo(s, sizes); err != nil {
		return nil, nil, fmt.Errorf("counting units: %w", err)
	}
	each := make([]privacy.Event, len(sizes))
	for part := range sizes {
		sizes[part] = max(0, sizes[part])
		each[part] = privacy.Laplace{B: b}
	}
	return sizes, privacy.Canonical(privacy.Parallel{Events: each}), nil
}

// minEpsilon is the smallest ε: the noise of a smaller one is larger than any data set.
const minEpsilon = 1e-12

// scale is the least float64 b with 1/b ≤ ε: noise of that scale costs no more than ε.
func scale(epsilon float64) (float64, error) {
	if !(epsilon >= minEpsilon) || math.IsInf(epsilon, 1) {
		return 0, fmt.Errorf("ε = %v cannot be spent on counting: it must be a number from %v on, for example 0.1", epsilon, minEpsilon)
	}
	b := 1 / epsilon
	product := new(big.Rat).SetFloat64(b)
	if product.Mul(product, new(big.Rat).SetFloat64(epsilon)).Cmp(big.NewRat(1, 1)) < 0 {
		b = math.Nextafter(b, math.Inf(1))
	}
	return b, nil
}
