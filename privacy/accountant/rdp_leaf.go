package accountant

import "math"

// rdpCurve bounds the Rényi divergence D_α between the outputs on any two
// adjacent inputs, in both directions. Its argument is a = α − 1 > 0, so that
// orders next to 1 lose no digits; a = +Inf asks for the largest loss.
// Implementations are within rdpSlack of exact arithmetic, relatively.
type rdpCurve interface {
	at(a float64) float64
}

// rdpGaussian is gaussian(σ) with ρ = 1/(2σ²): D_α = ρα (Mironov 2017,
// Proposition 7). Several of them are one with the sum of their ρ, for the
// product of their dominating pairs is a Gaussian pair in a rotated frame.
type rdpGaussian struct{ rho float64 }

func (c rdpGaussian) at(a float64) float64 { return c.rho * (1 + a) }

// rdpZCDP is zcdp(ρ): the same curve by definition, but no pair stands behind it.
type rdpZCDP struct{ rho float64 }

func (c rdpZCDP) at(a float64) float64 {
	if c.rho == 0 {
		return 0
	}
	return c.rho * (1 + a)
}

// rdpLaplace is laplace(b) with τ = 1/b: Mironov 2017, Proposition 6, written
// as log(1 + …) with summands that are never negative.
type rdpLaplace struct{ tau float64 }

func (c rdpLaplace) at(a float64) float64 {
	if a*c.tau > 600 {
		// The second summand of α/(2α−1)·e^{aτ} + a/(2α−1)·e^{−ατ} is below
		// e^{−2aτ} of the first: far below the slack.
		if math.IsInf(a, 1) {
			return c.tau
		}
		return c.tau + math.Log1p(-a/(1+2*a))/a
	}
	m := ((1+a)*rdpExpm2(a*c.tau) + a*rdpExpm2(-(1+a)*c.tau)) / (1 + 2*a)
	return min(math.Log1p(m)/a, c.tau)
}

// rdpResponse is rr(ε,k): outputs keep the truth with odds e^ε. With two
// values it is the pair that dominates every ε-differentially private mechanism
// (Kairouz, Oh, Viswanath 2015), so it is pure(ε) too.
type rdpResponse struct{ epsilon, k float64 }

// logNorm is log(e^ε + k − 1).
func (c rdpResponse) logNorm() float64 {
	return rdpLogAdd(c.epsilon, math.Log(c.k-1))
}

// at uses Σ P^α Q^{1−α} − 1 = 4·e^{ε/2}·sinh(αε/2)·sinh(aε/2) / (e^ε + k − 1).
func (c rdpResponse) at(a float64) float64 {
	if c.epsilon == 0 || math.IsInf(a, 1) {
		return c.epsilon
	}
	m := c.epsilon/2 + rdpLogSinh2((1+a)*c.epsilon/2) + rdpLogSinh2(a*c.epsilon/2) - c.logNorm()
	return min(rdpSoftplus(m)/a, c.epsilon)
}

// rdpLogSinh2 is log(2·sinh(x)) for x ≥ 0.
func rdpLogSinh2(x float64) float64 {
	if x > 20 {
		return x
	}
	return math.Log(2 * math.Sinh(x))
}

// rdpRange is boundedrange(c) with x = c/2. For each t in [0,c] the two-point
// pair with likelihood ratios e^t and e^{t−c} attains the largest divergence
// among mechanisms whose log-ratios lie in [t−c, t] (the moment is convex in
// the ratio, so mass moves to the ends). With s = e^t its moment is
//
//	s^a·((e^c − e^{−ac}) − s·(1 − e^{−ac}))/(e^c − 1),
//
// whose only maximum over s > 0 is at s = a(e^c − e^{−ac})/(α(1 − e^{−ac})).
// Put in, and with ψ(x) = log(sinh(x)/x), the sup over t is
//
//	(α−1)·D_α = αψ(αx) − (α−1)ψ((α−1)x) − ψ(x).
//
// The pair for t reversed is the pair for c−t, so this covers both directions.
// A mechanism that picks t adaptively is covered because the bound holds at each
// order for every t.
type rdpRange struct{ c float64 }

func (c rdpRange) at(a float64) float64 {
	if c.c == 0 || math.IsInf(a, 1) {
		return c.c
	}
	x := c.c / 2
	var k float64
	if a < 0.5 {
		// αψ(αx) − ψ(x) = aψ(αx) + (ψ(αx) − ψ(x)), and the difference has the
		// size of a.
		k = a*(rdpLogSinhRatio((1+a)*x)-rdpLogSinhRatio(a*x)) + rdpLogSinhRatioStep(x, a)
	} else {
		big := (1 + a) * rdpLogSinhRatio((1+a)*x)
		k = big - a*rdpLogSinhRatio(a*x) - rdpLogSinhRatio(x)
		k += 4 * rdpEps * big
	}
	// D_α ≤ αc²/8 (Cesar, Rogers 2021) holds beside it and has no cancellation.
	return min(k/a, c.c*c.c/8*(1+a), c.c)
}

// rdpLogSinhRatioStep is ψ((1+a)x) − ψ(x) for ψ(x) = log(sinh(x)/x).
func rdpLogSinhRatioStep(x, a float64) float64 {
	if x < 0.25 {
		// ψ(x) = Σ_j log(1 + x²/(jπ)²), as its series in x².
		z, r, sum := x*x, (1+a)*(1+a), 0.0
		rise, power := a*(2+a), 1.0 // r^j − 1 and z^j, by recurrence
		grow := rise
		for _, coefficient := range rdpSinhSeries {
			power *= z
			sum += coefficient * power * grow
			grow = grow*r + rise
		}
		return sum
	}
	h := a * x
	return math.Log1p(2*math.Pow(math.Sinh(h/2), 2)+math.Sinh(h)/math.Tanh(x)) - math.Log1p(a)
}

// rdpSinhSeries holds the coefficients of log(sinh(x)/x) in powers of x²,
// 2^{2j−1}·B_{2j}/(j·(2j)!).
var rdpSinhSeries = [...]float64{
	1. / 6, -1. / 180, 1. / 2835, -1. / 37800, 1. / 467775,
	-691. / 3831077250, 2. / 127702575, -3617. / 2605132530000,
	43867. / 350813659321125, -174611. / 15313294652906250,
}

// rdpNonPrivate is nonprivate(): nothing holds.
type rdpNonPrivate struct{}

func (rdpNonPrivate) at(float64) float64 { return math.Inf(1) }
