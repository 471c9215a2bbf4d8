package accountant

import (
	"math"
	"slices"
)

// rdpEpsilonAt turns D_α ≤ d at α = 1 + a into ε: Balle et al. 2020, Theorem
// 21, in the form of Canonne, Kamath, Steinke 2020, Proposition 12,
// ε = d + log((α−1)/α) − (log δ + log α)/(α−1). The bound holds for negative ε
// too, so a negative value means ε = 0. Rounding is covered.
func rdpEpsilonAt(d, a, logDelta float64) float64 {
	if math.IsInf(d, 1) || math.IsInf(a, 1) {
		return d
	}
	l := math.Log1p(a)
	shift := -math.Log1p(1 / a) // log a − log(1+a) loses its digits at large orders
	return d + shift - (logDelta+l)/a + rdpEps*(d-shift+(l-logDelta)/a)
}

// rdpLogDeltaAt returns the same bound solved for log δ.
func rdpLogDeltaAt(d, a, epsilon float64) float64 {
	if math.IsInf(d, 1) {
		return 0
	}
	l := math.Log1p(a)
	shift := -math.Log1p(1 / a)
	return a*(d-epsilon+shift) - l + rdpEps*(a*(d+epsilon-shift)+l)
}

// rdpNearOne stands for order 1: D_α − D_1 is below any digit that matters to a
// total variation.
const rdpNearOne = 1e-6

// rdpTotalVariation bounds δ at ε = 0, the total variation distance, by the
// divergence of order 1 (which no D_α is below): Pinsker, and Bretagnolle,
// Huber 1979.
func rdpTotalVariation(c rdpCurve) float64 {
	d := rdpAt(c, rdpNearOne)
	if math.IsInf(d, 1) {
		return 1
	}
	return min(math.Sqrt(d/2), math.Sqrt(-math.Expm1(-d))) * (1 + rdpEps)
}

// rdpSearch minimises f over a > 0. For an exact curve (α−1)·D_α is convex in α,
// and so is (α−1)·log(α−1) − α·log α; hence both objectives, a convex function
// and one divided by α−1, have one valley. A curve that is the least of several
// bounds can have more, and is looked over from small orders on. Every order
// gives a valid bound, so the search can only cost tightness.
func rdpSearch(f func(float64) float64, exact bool) float64 {
	best, low := 0.0, f(1) // best is the logarithm of a
	try := func(u float64) float64 {
		v := f(math.Exp(u))
		if v < low {
			best, low = u, v
		}
		return v
	}
	const short, dense = 1.0, 1.0 / 8
	if !exact {
		for u := -6.0; u < 14 && u < best+5; u += short {
			try(u)
		}
	}
	for _, step := range []float64{4, short} {
		for from := math.NaN(); from != best && math.Abs(best) < 600; {
			from = best
			if try(from + step); best == from {
				try(from - step)
			}
		}
	}
	wide := short
	if !exact {
		wide = dense
		for u, centre := dense-short, best; u < short; u += dense {
			try(centre + u)
		}
	}
	rdpNarrow(try, best-wide, best, best+wide, low)
	a := math.Exp(best)
	if a < 1<<40 {
		// Bounds that are only known at whole orders are least there.
		for _, whole := range []float64{math.Floor(a), math.Ceil(a)} {
			if whole < 1 {
				continue
			}
			if v := f(whole); v < low {
				a, low = whole, v
			}
		}
	}
	return a
}

// rdpNarrow closes in on the minimum of f between left and right, mid being the
// lowest point known: by parabolas where they make progress, else by golden
// sections.
func rdpNarrow(f func(float64) float64, left, mid, right, low float64) {
	const tolerance = 2e-5
	golden := (3 - math.Sqrt(5)) / 2
	second, third := mid, mid
	lowSecond, lowThird := low, low
	step, before := 0.0, 0.0
	for range 60 {
		centre := (left + right) / 2
		if math.Abs(mid-centre) <= 2*tolerance-(right-left)/2 {
			return
		}
		parabola := false
		if math.Abs(before) > tolerance {
			r := (mid - second) * (low - lowThird)
			q := (mid - third) * (low - lowSecond)
			p := (mid-third)*q - (mid-second)*r
			q = 2 * (q - r)
			if q > 0 {
				p = -p
			}
			q = math.Abs(q)
			if math.Abs(p) < math.Abs(q*before/2) && p > q*(left-mid) && p < q*(right-mid) {
				before, step = step, p/q
				parabola = true
			}
		}
		if !parabola {
			if before = right - mid; mid >= centre {
				before = left - mid
			}
			step = golden * before
		}
		if math.Abs(step) < tolerance {
			step = math.Copysign(tolerance, step)
		}
		x := mid + step
		v := f(x)
		switch {
		case v <= low:
			if x >= mid {
				left = mid
			} else {
				right = mid
			}
			second, third, mid = mid, second, x
			lowSecond, lowThird, low = low, lowSecond, v
		default:
			if x < mid {
				left = x
			} else {
				right = x
			}
			if v <= lowSecond || second == mid {
				second, third = x, second
				lowSecond, lowThird = v, lowSecond
			} else if v <= lowThird || third == mid || third == second {
				third, lowThird = x, v
			}
		}
	}
}

// rdpIsExact reports whether a curve is a divergence, or the largest of some, at
// every order.
func rdpIsExact(c rdpCurve) bool {
	switch c := c.(type) {
	case *rdpSampling:
		_, gauss := c.inner.(rdpGaussian)
		_, response := c.inner.(rdpResponse)
		return !c.replace && (gauss || response)
	case rdpSum:
		for _, t := range c {
			if !rdpIsExact(t.curve) {
				return false
			}
		}
	case rdpParallel:
		for _, p := range slices.Concat(c.parts, c.moved) {
			if !rdpIsExact(p) {
				return false
			}
		}
	}
	return true
}
