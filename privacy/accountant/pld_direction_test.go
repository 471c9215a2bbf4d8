package accountant

import (
	"math"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// Each direction of a sampled Gaussian has a closed form of its own. The larger
// one decides ε, so the other has to be held against its own value.
func TestDirectionsOfSampling(t *testing.T) {
	const sigma, q = 0.8, 0.2
	exact := map[direction]func(gamma float64) float64{
		remove: func(gamma float64) float64 {
			return q * gaussianDelta(sigma, math.Log((gamma-1+q)/q))
		},
		add: func(gamma float64) float64 {
			rest := 1 - gamma*(1-q)
			return rest * gaussianDelta(sigma, math.Log(gamma*q/rest))
		},
	}
	for dir, delta := range exact {
		up, low := leafSource{gaussianPair{1 / sigma}, q}.build(dir, grid{h: 1e-3}, 1e-15)
		for _, epsilon := range []float64{-0.15, -0.05, 0, 0.05, 0.1, 0.15, 0.2} {
			want := delta(math.Exp(epsilon))
			if got := up.delta(epsilon); got < want*(1-1e-9) || got > want*(1+1e-3) {
				t.Errorf("direction %d: δ(%g) is %v, rounded up %v", dir, epsilon, want, got)
			}
			if got := low.delta(epsilon); got > want*(1+1e-9) || got < want*(1-5e-3) {
				t.Errorf("direction %d: δ(%g) is %v, rounded down %v", dir, epsilon, want, got)
			}
		}
	}
}

// A sampled leaf that fails: outcomes that only one side has become finite losses
// in one direction, and those of the other side stay infinite in the other.
func TestDirectionsOfFailures(t *testing.T) {
	const epsilon, delta, q = 0.7, 0.01, 0.3
	list := sampled(q, failing(epsilon, delta))
	for dir, outcomes := range map[direction][]outcome{remove: list, add: swapped(list)} {
		up, low := leafSource{approxPair(epsilon, delta), q}.build(dir, grid{h: 1e-4}, 1e-15)
		// Losses lie between ln(1−q) = −0.357 and ln(1+q(e^ε−1)) = 0.264 when a record
		// is removed, and between −0.264 and 0.357 when one is added.
		for _, at := range []float64{-0.5, -0.355, -0.3, -0.1, 0, 0.1, 0.25, 0.3, 0.355, 0.5} {
			want := hockeyStick(outcomes, at)
			if got := up.delta(at); got < want*(1-1e-9) || got > want*(1+2e-3)+1e-9 {
				t.Errorf("direction %d: δ(%g) is %v, rounded up %v", dir, at, want, got)
			}
			if got := low.delta(at); got > want*(1+1e-9) || got < want*(1-5e-3)-1e-5 {
				t.Errorf("direction %d: δ(%g) is %v, rounded down %v", dir, at, want, got)
			}
		}
	}
}

// TestSampledLowerEndFitsMemory: losses far above a fine grid count as the largest on it.
func TestSampledLowerEndFitsMemory(t *testing.T) {
	wide := pld{grid{h: 1}, 0, []float64{0.5, 0, 0.3}, 0.1}
	low := sampling{1e-3, remove}.apply(wide, grid{h: 1e-12}, false)
	mass := low.inf
	for _, m := range low.m {
		mass += m
	}
	expect.Max(t, "low.loss at the top", low.loss(len(low.m)-1), 2e-3)
	expect.Max(t, "mass", mass, 1)
	expect.Max(t, "low.delta(0)", low.delta(0), wide.delta(0))
}
