package accountant

import "math"

// rdpEpsilonAt turns D_α ≤ d at α = 1 + a into ε: Balle et al. 2020, Theorem
// 21, in the form of Canonne, Kamath, Steinke 2020, Proposition 12,
// ε = d + log((α−1)/α) − (log δ + log α)/(α−1). The bound holds for negative ε
// too, so a negative value means ε = 0. Rounding is covered.
func rdpEpsilonAt(d, a, logDelta float64) float64 {
	if math.IsInf(d, 1) || math.IsInf(a, 1) {
		return d
	}
	l := math.Log1p(a)
	shift := math.Log(a) - l
	return d + shift - (logDelta+l)/a + rdpEps*(d-shift+(l-logDelta)/a)
}

// rdpLogDeltaAt is the same bound solved for log δ.
func rdpLogDeltaAt(d, a, epsilon float64) float64 {
	if math.IsInf(d, 1) {
		return 0
	}
	l := math.Log1p(a)
	shift := math.Log(a) - l
	return a*(d-epsilon+shift) - l + rdpEps*(a*(d+epsilon-shift)+l)
}

// rdpTotalVariation bounds δ at ε = 0, the total variation distance, by the
// divergence of order 1 (which no D_α is below): Pinsker, and Bretagnolle,
// Huber 1979.
func rdpTotalVariation(c rdpCurve) float64 {
	d := rdpAt(c, 1e-6)
	if math.IsInf(d, 1) {
		return 1
	}
	return min(math.Sqrt(d/2), math.Sqrt(-math.Expm1(-d))) * (1 + rdpEps)
}

// rdpSearch minimises f over a > 0. For an exact curve (α−1)·D_α is convex in α,
// and so is (α−1)·log(α−1) − α·log α; hence both objectives, a convex function
// and one divided by α−1, have one valley. Every order gives a valid bound, so
// where a curve is not exact the search can only cost tightness.
func rdpSearch(f func(float64) float64) float64 {
	best, low := 0.0, math.Inf(1)
	try := func(u float64) float64 {
		v := f(math.Exp(u))
		if v < low {
			best, low = u, v
		}
		return v
	}
	const coarse, fine = 4.5, 1.5
	for u := -6 * coarse; u <= 5*coarse; u += coarse {
		try(u)
	}
	for step, limit := fine, 500.0; math.Abs(best) < limit; {
		at := best
		try(at - step)
		try(at + step)
		if best == at {
			break
		}
	}
	left, right := best-fine, best+fine
	golden := (math.Sqrt(5) - 1) / 2
	x, y := right-golden*(right-left), left+golden*(right-left)
	fx, fy := try(x), try(y)
	for right-left > 3e-5 {
		if fx <= fy {
			right, y, fy = y, x, fx
			x = right - golden*(right-left)
			fx = try(x)
		} else {
			left, x, fx = x, y, fy
			y = left + golden*(right-left)
			fy = try(y)
		}
	}
	a := math.Exp(best)
	if a < 1<<40 {
		// Bounds that are only known at whole orders are least there.
		for _, whole := range []float64{math.Floor(a), math.Ceil(a)} {
			if whole >= 1 && f(whole) < low {
				a, low = whole, f(whole)
			}
		}
	}
	return a
}

// rdpSearchWhole minimises f over the orders 2 to 256.
func rdpSearchWhole(f func(float64) float64) float64 {
	best, low := 1.0, math.Inf(1)
	for a := 1.0; a < 256; a++ {
		if v := f(a); v < low {
			best, low = a, v
		}
	}
	return best
}
