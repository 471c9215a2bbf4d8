package plan

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// calibrate finds the least noise with which the whole event keeps to ε and δ.
func (r *ProfileRequest) calibrate(o global.Settings, all shares) (global.Settings, error) {
	// Without δ, 1/s is ε within the sample, twice that under replace-one; the accountant
	// rounds up.
	s := (1 + 1e-9) / r.within()
	if r.Adjacency == privacy.ReplaceOne {
		s *= 2
	}
	s, err := minNoise(s, accountant.Target{Epsilon: r.Epsilon, Delta: r.Delta, Adjacency: r.Adjacency}, func(s float64) privacy.Event {
		return r.settings(o, all, s).Event()
	})
	return r.settings(o, all, s), err
}

// minNoise finds the smallest noise with which an event keeps to a target, from a guess that
// is right where there is no δ.
func minNoise(noise float64, target accountant.Target, at func(noise float64) privacy.Event) (float64, error) {
	search := noiseSearch{target: target.Epsilon}
	for range 60 {
		e := at(noise)
		if err := privacy.Validate(e); err != nil {
			return 0, wrong("ε = %v cannot be kept to: %v", target.Epsilon, err)
		}
		got, err := accountant.Auto{}.Epsilon(e, target.Adjacency, target.Delta)
		if err != nil {
			return 0, fmt.Errorf("compute the ε of a plan: %w", err)
		}
		if got.Upper <= target.Epsilon && target.Delta == 0 {
			return noise, nil
		}
		next, done := search.next(noise, got.Upper)
		if done {
			return search.fits.noise, nil
		}
		noise = next
	}
	return 0, about("Epsilon", "no noise keeps to ε = %v and δ = %v: ask for a larger ε, or a smaller δ", target.Epsilon, target.Delta)
}

// noiseSearch looks for the least noise whose ε is within a target, by interpolation: ε is
// about in proportion to a power of the noise.
type noiseSearch struct {
	target      float64
	fits, fails struct{ noise, epsilon float64 }
}

// next takes what a noise costs, and says which to try; or that the least one that fits
// is near enough.
func (b *noiseSearch) next(noise, epsilon float64) (float64, bool) {
	aim := b.target * (1 - 2e-4)
	if epsilon <= b.target {
		b.fits.noise, b.fits.epsilon = noise, epsilon
	} else {
		b.fails.noise, b.fails.epsilon = noise, epsilon
	}
	if b.fits.noise == 0 || b.fails.noise == 0 {
		if epsilon <= b.target && epsilon >= b.target*(1-5e-4) {
			return noise, true
		}
		step := math.Min(math.Max(epsilon/aim, 1./8), 8)
		if epsilon > b.target {
			return noise * math.Max(step, 1.001), false
		}
		return noise * math.Min(step, 0.999), false
	}
	width := math.Log(b.fails.noise / b.fits.noise)
	if b.fits.epsilon >= b.target*(1-5e-4) || -width < 1e-5 {
		return 0, true
	}
	at := math.Log(aim/b.fits.epsilon) / math.Log(b.fails.epsilon/b.fits.epsilon)
	if !(at > 0.02) {
		at = 0.02
	}
	return b.fits.noise * math.Exp(width*math.Min(at, 0.98)), false
}
