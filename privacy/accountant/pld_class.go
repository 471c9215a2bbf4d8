package accountant

import "math"

// Leaves that stand for a whole class of mechanisms enter through their
// profile: the least upper bound on δ(ε) over the class.

// fromProfile makes an upper pld from upper bounds d[i] on δ at ε = i·h, for a
// class that is closed under exchanging P and Q: the dots of the convex hull of
// the bounds in e^ε, connected. The true profile is convex and below every
// bound, hence below the hull. The last bound becomes mass at infinity. By the
// symmetry, the P-mass at loss −ℓ is the Q-mass at ℓ, which is e^−ℓ times the
// P-mass there.
func fromProfile(h float64, d []float64) pld {
	n := len(d)
	// The slope from i to j in e^ε, times e^loss at its left or its right end.
	fromLeft := func(i, j int) float64 { return (d[j] - d[i]) / math.Expm1(float64(j-i)*h) }
	fromRight := func(i, j int) float64 { return (d[j] - d[i]) / -math.Expm1(-float64(j-i)*h) }
	hull := make([]int, 0, n)
	for j := range n {
		for len(hull) >= 2 {
			a, b := hull[len(hull)-2], hull[len(hull)-1]
			if fromRight(a, b) < fromLeft(b, j) {
				break
			}
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, j)
	}
	out := pld{grid{h: h}, 1 - n, make([]float64, 2*n-1), d[n-1]}
	total := d[n-1]
	for i, k := range hull {
		if k == 0 {
			continue
		}
		// The bend of the hull at k, and what rounding may hide of it.
		right := 0.0
		if i+1 < len(hull) {
			right = fromLeft(k, hull[i+1])
		}
		m := math.Max(0, right-fromRight(hull[i-1], k))*(1+massError) + 4*roundoff*d[k]/-math.Expm1(-h)
		back := m * math.Exp(-float64(k)*h)
		out.m[n-1+k], out.m[n-1-k] = m, back
		total += m + back
	}
	out.m[n-1] = math.Max(0, 1-total) * (1 + massError)
	return out
}

// zcdpDelta returns an upper bound on the δ of any ρ-zCDP mechanism at ε ≥ 0 (Canonne,
// Kamath, Steinke 2020, Corollary 13, at the best order found; any order gives a bound).
func zcdpDelta(rho, epsilon float64) float64 {
	at := func(a float64) float64 {
		return (a-1)*(a*rho-epsilon) + (a-1)*math.Log1p(-1/a) - math.Log(a)
	}
	// Derivative: (2α−1)ρ − ε + ln(1−1/α), increasing in α.
	lo, hi := 1+1e-9, 2+epsilon/rho
	for range 80 {
		mid := (lo + hi) / 2
		if (2*mid-1)*rho-epsilon+math.Log1p(-1/mid) > 0 {
			hi = mid
		} else {
			lo = mid
		}
	}
	return math.Min(1, math.Exp(at(hi))*(1+massError))
}

// zcdpSource returns the class of ρ-zCDP mechanisms. A Gaussian is one of them, which gives
// the lower bound.
func zcdpSource(rho float64) source {
	sd := math.Sqrt(2 * rho)
	g := grid{h: sd / 100}
	// At ε = ρ + t·sd, δ < e^(−t²/2).
	d := make([]float64, g.cell(rho+40*sd)+2)
	for i := range d {
		d[i] = zcdpDelta(rho, g.at(i))
	}
	up := fromProfile(g.h, d)
	_, low := leafSource{gaussianPair{sd}, 1}.build(remove, g, 1e-290)
	return fixedSource{[2]pld{up, up}, [2]pld{low, low}, 1, true}
}
