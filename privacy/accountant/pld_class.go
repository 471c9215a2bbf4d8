package accountant

import "math"

// Leaves that stand for a whole class of mechanisms enter through their
// profile: the least upper bound on δ(ε) over the class.

// fromProfile makes an upper pld from upper bounds d[i] on δ at the losses
// at(lo+i): the dots of their convex hull in e^ε, connected. The true profile is
// convex and below every bound, hence below the hull. The last bound becomes
// mass at infinity.
func fromProfile(g grid, lo int, d []float64) pld {
	n := len(d)
	// slope from i to j, times e^loss(i)
	slope := func(i, j int) float64 { return (d[j] - d[i]) / math.Expm1(float64(j-i)*g.h) }
	hull := make([]int, 0, n)
	for j := range n {
		for len(hull) >= 2 {
			a, b := hull[len(hull)-2], hull[len(hull)-1]
			if slope(a, b)*math.Exp(float64(b-a)*g.h) < slope(b, j) {
				break
			}
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, j)
	}
	out := pld{g, lo, make([]float64, n), d[n-1]}
	total := d[n-1]
	for i, k := range hull {
		// Bend of the hull at k: slope to the right minus slope from the left;
		// left of the first point the profile is continued to δ = 1 at e^ε = 0.
		var right, left float64
		if i+1 < len(hull) {
			right = slope(k, hull[i+1])
		}
		if i > 0 {
			j := hull[i-1]
			left = slope(j, k) * math.Exp(float64(k-j)*g.h)
		} else {
			left = -math.Max(0, 1-d[0])
		}
		m := math.Max(0, right-left) * (1 + massError)
		m += 4 * roundoff * d[k] / -math.Expm1(-g.h)
		out.m[k] = m
		total += m
	}
	if total < 1 {
		out.inf += (1 - total) * (1 + massError)
	}
	return out
}

// zcdpDelta is an upper bound on the δ of any ρ-zCDP mechanism at ε ≥ 0
// (Canonne, Kamath, Steinke 2020, Corollary 13, at the best order found; any
// order gives a bound).
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

// zcdpSource is the class of ρ-zCDP mechanisms. A Gaussian is one of them, which
// gives the lower bound.
func zcdpSource(rho float64) source {
	sd := math.Sqrt(2 * rho)
	g := grid{h: sd / 100}
	// At ε = ρ + t·sd, δ < e^(−t²/2).
	top := g.cell(rho+40*sd) + 1
	d := make([]float64, 2*top+1)
	for i := range top + 1 {
		e := g.at(i)
		v := zcdpDelta(rho, e)
		d[top+i] = v
		// δ(−ε) = 1 − e^−ε + e^−ε·δ(ε), for the class is closed under swapping.
		d[top-i] = math.Min(1, -math.Expm1(-e)+math.Exp(-e)*v)
	}
	up := fromProfile(g, -top, d)
	_, low := leafSource{gaussianPair{sd}, 1}.build(remove, g, 1e-290)
	return fixedSource{[2]pld{up, up}, [2]pld{low, low}, 1, true}
}
