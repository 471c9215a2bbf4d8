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
// are charged. Discrete noise is: that is why it is not the default.
func TestRoundedNoiseIsDominated(t *testing.T) {
	worstGaussian, worstLaplace := 0.0, 0.0
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
				discrete := hockeyStick(cachedCDF(steps, reach), d, eps, reach)
				worstGaussian = max(worstGaussian, discrete/want)

				want = laplaceDelta(sigma, eps)
				got = hockeyStick(func(m int64) float64 { return laplaceCDF((float64(m) + 0.5) / steps) }, d, eps, reach)
				if got > want*(1+1e-9)+1e-14 {
					t.Errorf("rounded laplace, multiplier %v, Δ = %d steps, ε = %v: δ = %v exceeds %v", sigma, d, eps, got, want)
				}
				if want > 0 {
					discrete = hockeyStick(func(m int64) float64 { return discreteLaplaceCDF(steps, m) }, d, eps, reach)
					worstLaplace = max(worstLaplace, discrete/want)
				}
			}
		}
	}
	if worstGaussian <= 1.01 || worstLaplace <= 1.01 {
		t.Errorf("discrete noise exceeds the continuous δ by %v (gaussian) and %v (laplace): the comments on it are wrong", worstGaussian, worstLaplace)
	}
	t.Logf("δ of discrete noise reaches %.3f (gaussian) and %.3f (laplace) times the continuous one's", worstGaussian, worstLaplace)
}

// cachedCDF tabulates the discrete Gaussian up to 0, from the tail inwards.
func cachedCDF(sigma float64, reach int64) func(int64) float64 {
	weights, total := make([]float64, reach+3), 1.0
	for y := range weights {
		weights[y] = math.Exp(-float64(y) * float64(y) / (2 * sigma * sigma))
		if y > 0 {
			total += 2 * weights[y]
		}
	}
	table, sum := make([]float64, len(weights)), 0.0
	for y := len(weights) - 1; y >= 0; y-- {
		sum += weights[y]
		table[y] = sum / total
	}
	return func(m int64) float64 {
		if -m >= int64(len(table)) {
			return 0
		}
		return table[-m]
	}
}

// The numbers in the comments on DiscreteGaussian and DiscreteLaplace: total
// variation at shift 1.
func TestDiscreteTotalVariation(t *testing.T) {
	if tv := hockeyStick(cachedCDF(1, 60), 1, 0, 60); math.Abs(tv-0.3989) > 1e-4 {
		t.Errorf("discrete gaussian: %v", tv)
	}
	if tv := gaussianDelta(1, 0); math.Abs(tv-0.3829) > 1e-4 {
		t.Errorf("continuous gaussian: %v", tv)
	}
	for _, eps := range []float64{0.5, 1, 2} {
		tv := hockeyStick(func(m int64) float64 { return discreteLaplaceCDF(1/eps, m) }, 1, 0, 200)
		if math.Abs(tv-math.Tanh(eps/2)) > 1e-12 || tv <= -math.Expm1(-eps/2) {
			t.Errorf("discrete laplace at ε = %v: %v", eps, tv)
		}
	}
}

// Exponential noise on a grid: the tail that noisy maxima need, and its rate.
func TestExponentialTail(t *testing.T) {
	tail := func(b float64, c int64) float64 { return 1 - exponentialCDF(b, c-1) }
	for _, b := range []float64{0.5, 3, 20} {
		for c := int64(-5); c < 30; c++ {
			for d := int64(0); d < 10; d++ {
				if tail(b, c+d) < math.Exp(-float64(d)/b)*tail(b, c)*(1-1e-6)-1e-12 {
					t.Fatalf("scale %v: P(Z ≥ %d) is too small against P(Z ≥ %d)", b, c+d, c)
				}
			}
		}
	}
}
