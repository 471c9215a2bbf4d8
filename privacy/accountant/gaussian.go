package accountant

import (
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// allGaussian reports whether every term is a Gaussian, and the μ = 1/σ of the
// one Gaussian that they compose to exactly: μ² = Σ n/σ² (Dong, Roth, Su 2022).
func allGaussian(terms []privacy.Term) (mu float64, ok bool) {
	sum := 0.0
	for _, t := range terms {
		g, isGaussian := t.Event.(privacy.Gaussian)
		if !isGaussian {
			return 0, false
		}
		sum += float64(t.N) / g.Sigma / g.Sigma
	}
	return math.Sqrt(sum), len(terms) > 0
}

// gaussianLogDelta returns the logarithm of the exact profile of a Gaussian with μ = 1/σ
// (Balle, Wang 2018, Theorem 8):
//
//	δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)
//
// Both terms share the factor φ(a), a = ε/μ − μ/2, so with the scaled tail R(z) =
// Φ(−z)/φ(z) it is φ(a)·(R(a) − R(a+μ)), which neither overflows nor loses the small
// difference to underflow.
func gaussianLogDelta(mu, epsilon float64) float64 {
	a := epsilon/mu - mu/2
	if a < -8 {
		// Near 1: ln(1 − (Φ(a) + e^ε·Φ(−a−μ))).
		return math.Log1p(-(upperTail(-a) + math.Exp(-a*a/2-math.Log(math.Sqrt(2*math.Pi)))*mills(a+mu)))
	}
	var d float64
	if mu < 1e-3*(1+math.Abs(a)) {
		// −∫R'(z) dz over [a, a+μ], with R' = zR − 1 < 0.
		for k, t := range gaussNodes {
			z := a + t*mu
			d += gaussWeights[k] * millsSlope(z)
		}
		d *= mu
	} else {
		d = mills(a) - mills(a+mu)
	}
	return -a*a/2 - math.Log(2*math.Pi)/2 + math.Log(d)
}

// mills is Mills' ratio Φ(−z)/φ(z).
func mills(z float64) float64 {
	if z < 25 {
		return upperTail(z) * math.Exp(z*z/2) * math.Sqrt(2*math.Pi)
	}
	// Continued fraction 1/(z+1/(z+2/(z+…))), from the inside.
	f := z
	for k := 40; k > 0; k-- {
		f = z + float64(k)/f
	}
	return 1 / f
}

// millsSlope is 1 − z·R(z) = −R'(z), without cancellation for large z.
func millsSlope(z float64) float64 {
	if z < 4 {
		return 1 - z*mills(z)
	}
	// With R = 1/(z+c): 1 − zR = c/(z+c), c = 1/(z+2/(z+…)).
	f := z
	for k := 200; k > 1; k-- {
		f = z + float64(k)/f
	}
	c := 1 / f
	return c / (z + c)
}

// gaussianAnswer encloses the exact answer by the rounding error of the formula.
func gaussianAnswer(mu float64, a ask) privacy.Interval {
	const relative = 1e-10 // more than a δ in [low, high] is away from low
	if a.forDelta {
		low, up := math.Exp(gaussianLogDelta(mu, a.high)), math.Exp(gaussianLogDelta(mu, a.low))
		return privacy.Interval{Lower: low * (1 - relative), Upper: math.Min(1, math.Max(up*(1+relative), math.SmallestNonzeroFloat64))}
	}
	if a.low == 0 {
		return privacy.Interval{Lower: math.Inf(1), Upper: math.Inf(1)}
	}
	target := math.Log(a.low)
	if gaussianLogDelta(mu, 0)+relative <= target {
		return privacy.Interval{}
	}
	// ε = μ(a + μ/2); δ falls in a. Bracket a, then bisect.
	lo, hi := -mu/2, 1.0
	for gaussianLogDelta(mu, mu*(hi+mu/2)) > target {
		hi = hi*2 + 1
	}
	_, hi = bisect(lo, hi, 200, func(a float64) bool { return gaussianLogDelta(mu, mu*(a+mu/2)) > target })
	epsilon := mu * (hi + mu/2)
	// dδ/dε = −e^ε·Φ(−μ/2−ε/μ), so that −d ln δ/dε = R(a+μ)/(R(a)−R(a+μ)): what
	// a relative error of δ costs in ε.
	slack := epsilon*1e-13 + 2*relative*math.Max(1e-6, mills(hi)/mills(hi+mu)-1)
	return privacy.Interval{Lower: math.Max(0, epsilon-slack), Upper: epsilon + slack}
}
