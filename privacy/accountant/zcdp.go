package accountant

import (
	"cmp"
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// ZCDP accounts by zero-concentrated differential privacy (Bun, Steinke 2016):
// each event gets the least ρ with D_α ≤ ρα at all orders α > 1, and these add
// up, also when each step depends on the results before it. It is coarser than
// [RDP] and knows no sampling; its use is that a budget of ρ is one number,
// easy to state. It bounds from above only: Lower is always 0.
type ZCDP struct{}

// Name implements [Accountant].
func (ZCDP) Name() string { return "zcdp" }

// Epsilon implements [Accountant]. The conversion of Balle et al. 2020 is
// minimised over all real orders.
func (ZCDP) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	rho, err := zcdpRho(e, adj)
	if err := cmp.Or(err, privacy.CheckDelta(delta)); err != nil {
		return privacy.Interval{}, err
	}
	epsilon, _ := rdpEpsilon(rdpZCDP{rho}, delta, false)
	return privacy.Interval{Upper: epsilon}, nil
}

// Delta implements [Accountant].
func (ZCDP) Delta(e privacy.Event, adj privacy.Adjacency, epsilon float64) (privacy.Interval, error) {
	rho, err := zcdpRho(e, adj)
	if err := cmp.Or(err, privacy.CheckEpsilon(epsilon)); err != nil {
		return privacy.Interval{}, err
	}
	return privacy.Interval{Upper: rdpDelta(rdpZCDP{rho}, epsilon, false)}, nil
}

// zcdpRho checks an event and gives its ρ, rounded up.
func zcdpRho(e privacy.Event, adj privacy.Adjacency) (float64, error) {
	adj, err := privacy.ParseAdjacency(string(adj))
	if err != nil {
		return 0, err
	}
	if err := supported("zcdp", e, zcdpRefuse); err != nil {
		return 0, err
	}
	return zcdpSum(e, adj)
}

func zcdpRefuse(e privacy.Event) string {
	switch e := e.(type) {
	case privacy.Approx:
		return refuseApprox(e)
	case privacy.Poisson:
		if e.Q > 0 && e.Q < 1 {
			return "no ρ short of the unsampled one holds at all orders; use the rdp or pld accountant"
		}
	case privacy.FixedSize:
		if e.M < e.N {
			return "no ρ short of the unsampled one holds at all orders; use the rdp accountant"
		}
	}
	return ""
}

func zcdpSum(e privacy.Event, adj privacy.Adjacency) (float64, error) {
	terms, err := privacy.Terms(e)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, t := range terms {
		rho, err := zcdpNode(t.Event, adj)
		if err != nil {
			return 0, err
		}
		sum = rdpAddUp(sum, rdpMulUp(float64(t.N), rho))
	}
	return sum, nil
}

func zcdpNode(e privacy.Event, adj privacy.Adjacency) (float64, error) {
	switch e := e.(type) {
	case privacy.Gaussian:
		return zcdpGaussian(e.Sigma), nil
	case privacy.Laplace:
		return zcdpLaplace(1 / e.B), nil
	case privacy.Pure:
		return zcdpResponse(e.Epsilon, 2), nil
	case privacy.RandomizedResponse:
		return zcdpResponse(e.Epsilon, float64(e.K)), nil
	case privacy.BoundedRange:
		return zcdpRange(e.C), nil
	case privacy.ZCDP:
		return e.Rho, nil
	case privacy.Parallel:
		return zcdpParallel(e, adj)
	default:
		return math.Inf(1), nil
	}
}

// zcdpParallel: a record is in one part; replacing it can touch two.
func zcdpParallel(e privacy.Parallel, adj privacy.Adjacency) (float64, error) {
	var parts twoLargest
	for _, p := range e.Events {
		rho, err := zcdpSum(p, adj)
		if err != nil {
			return 0, err
		}
		parts.add(rho)
	}
	if adj == privacy.ReplaceOne {
		return rdpAddUp(parts.first, parts.second), nil
	}
	return parts.first, nil
}

// zcdpGaussian is 1/(2σ²), rounded up, and exact where the result is a float64.
func zcdpGaussian(sigma float64) float64 {
	square := sigma * sigma
	if math.FMA(sigma, sigma, -square) < 0 {
		square = math.Nextafter(square, 0)
	}
	rho := 0.5 / square
	if math.FMA(rho, square, -0.5) < 0 {
		rho = math.Nextafter(rho, math.Inf(1))
	}
	return rho
}

// zcdpLaplace returns the least ρ of laplace(1/τ), its divergence of order 1.
//
// With β = α − ½ the curve is (α−1)·D_α = −τ/2 + log C(β²) for C(z) = cosh(τ√z) +
// sinh(τ√z)/(2√z). C is entire of order ½, and −z is a zero of it only if it is an
// eigenvalue of −y″ = λy, y'(0) = y(0)/2, y(τ) = 0, all of which are positive. By
// Hadamard's product log C is a sum of log(1 + z/λ), so it is concave in z = β² > 0 and
// lies below its tangent at β = ½: (α−1)·D_α ≤ ρ·(β² − ¼) = ρα(α−1), where ρ is the limit
// of D_α at α = 1.
func zcdpLaplace(tau float64) float64 {
	return rdpExpm2(-tau) * (1 + 4*rdpEps)
}

// zcdpResponse returns a ρ of rr(ε,k), and with k = 2 of pure(ε).
//
// With β = α − ½ and m = (k−2)/(2e^{ε/2}), (α−1)·D_α is log(cosh(βε) + m) up to a constant.
// While m ≤ 1 all zeros in β² are negative, as cosh(x) = −m only at imaginary x, and the
// argument of zcdpLaplace gives the divergence of order 1, ε(e^ε−1)/(e^ε+k−1); for k = 2
// that is ε·tanh(ε/2). Else D_α/α has its top at an order above 1. As D_α does not fall
// with α, it is at most D_{α″}/α' between two orders α' < α″, and at most ε/α beyond all.
func zcdpResponse(epsilon, k float64) float64 {
	if epsilon == 0 {
		return 0
	}
	c := rdpResponse{epsilon, k}
	pure := epsilon * math.Tanh(epsilon/2) * (1 + 4*rdpEps)
	if k == 2 {
		return pure
	}
	first := epsilon * math.Exp(rdpLogExpm1(epsilon)-c.logNorm()) * (1 + 4*rdpEps)
	if (k-2)/2 <= math.Exp(epsilon/2) {
		return min(pure, first)
	}
	const ratio = 1.002
	top := first
	for order := 1.0; epsilon/order > top; order *= ratio {
		top = max(top, c.at(order*ratio-1)*(1+rdpSlack)/order)
	}
	return min(pure, top)
}

// zcdpRange returns the least ρ of boundedrange(c), its divergence of order 1 at the worst
// t, which is log(sinh(x)/x) + x·coth(x) − 1 for x = c/2 and below the c²/8 of Cesar,
// Rogers 2021.
//
// The curve of rdpRange is a sum over j of g(α) − g(α−1) − g(1) with g(y) = y·log(1 +
// s·y²), s = (x/jπ)². Then g'(y) = G(y²) with G concave, for g″(y)/y = (6s + 2s²y²)/(1 +
// sy²)² falls with y. So d/dα of it, G(α²) − G((α−1)²), is at most (2α−1)·(G(1) − G(0)) =
// (2α−1)·g'(1), and the curve is at most α(α−1)·g'(1).
func zcdpRange(c float64) float64 {
	x := c / 2
	rho := 0.0
	if x < 0.5 {
		power := 1.0
		for j, coefficient := range rdpSinhSeries {
			power *= x * x
			rho += float64(2*j+3) * coefficient * power
		}
	} else {
		rho = rdpLogSinhRatio(x) + x/math.Tanh(x) - 1
	}
	return min(rho*(1+20*rdpEps), rdpMulUp(rdpMulUp(c, c), 0.125))
}
