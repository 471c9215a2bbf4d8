package accountant

import (
	"math"
	"testing"
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
				t.Errorf("%s: δ(%g) is %v, rounded up %v", dir, epsilon, want, got)
			}
			if got := low.delta(epsilon); got > want*(1+1e-9) || got < want*(1-5e-3) {
				t.Errorf("%s: δ(%g) is %v, rounded down %v", dir, epsilon, want, got)
			}
		}
	}
}
