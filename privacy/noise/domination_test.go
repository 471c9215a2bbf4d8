package noise

import (
	"math"
	"testing"
)

// hockeyStick returns δ(ε) of integer noise with distribution function cdf at
// shift d: the sum of (P(Y=y) - e^ε·P(Y=y-d))₊.
func hockeyStick(cdf func(int64) float64, d int64, eps float64, reach int64) float64 {
	pmf := func(y int64) float64 {
		if y > 0 { // by symmetry, to keep relative precision in the tail
			y = -y
		}
		return cdf(y) - cdf(y-1)
	}
	sum := 0.0
	for y := -reach; y <= reach; y++ {
		sum += max(0, pmf(y)-math.Exp(eps)*pmf(y-d))
	}
	return sum
}

// gaussianDelta returns the exact δ(ε) of the continuous Gaussian mechanism (Balle and Wang
// 2018, theorem 8) with multiplier σ.
func gaussianDelta(sigma, eps float64) float64 {
	return normalCDF(1/(2*sigma)-eps*sigma) - math.Exp(eps)*normalCDF(-1/(2*sigma)-eps*sigma)
}

// laplaceDelta returns the exact δ(ε) of the continuous Laplace mechanism.
func laplaceDelta(b, eps float64) float64 {
	return max(0, -math.Expm1((eps-1/b)/2))
}

// Rounded noise is never worse than what the events gaussian(σ) and laplace(b)
// are charged. Discrete noise is: that is why nothing charges it so.
func TestRoundedNoiseIsDominated(t *testing.T) {
	worst := 0.0
	for _, sigma := range []float64{0.5, 1, 3} {
		for _, d := range []int64{1, 2, 5, 16} {
			for _, eps := range []float64{0, 0.1, 0.5, 1, 2} {
				steps := sigma * float64(d)
				reach := int64(40*steps) + 60
				want := gaussianDelta(sigma, eps)
				got := hockeyStick(func(m int64) float64 { return normalCDF((float64(m) + 0.5) / steps) }, d, eps, reach)
				if got > want*(1+1e-9)+1e-14 {
					t.Errorf("rounded gaussian, multiplier %v, Δ = %d steps, ε = %v: δ = %v exceeds %v", sigma, d, eps, got, want)
				}
				want = laplaceDelta(sigma, eps)
				got = hockeyStick(func(m int64) float64 { return laplaceCDF((float64(m) + 0.5) / steps) }, d, eps, reach)
				if got > want*(1+1e-9)+1e-14 {
					t.Errorf("rounded laplace, multiplier %v, Δ = %d steps, ε = %v: δ = %v exceeds %v", sigma, d, eps, got, want)
				}
				if want > 0 {
					discrete := hockeyStick(func(m int64) float64 { return discreteLaplaceCDF(steps, m) }, d, eps, reach)
					worst = max(worst, discrete/want)
				}
			}
		}
	}
	if worst <= 1.01 {
		t.Errorf("discrete laplace exceeds the continuous δ by %v: the comment on it is wrong", worst)
	}
}

// The number in the comment on DiscreteLaplace: total variation at shift 1.
func TestDiscreteTotalVariation(t *testing.T) {
	for _, eps := range []float64{0.5, 1, 2} {
		tv := hockeyStick(func(m int64) float64 { return discreteLaplaceCDF(1/eps, m) }, 1, 0, 200)
		if math.Abs(tv-math.Tanh(eps/2)) > 1e-12 || tv <= -math.Expm1(-eps/2) {
			t.Errorf("discrete laplace at ε = %v: %v", eps, tv)
		}
	}
}
