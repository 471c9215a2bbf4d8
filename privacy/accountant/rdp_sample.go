package accountant

import "math"

// rdpSampling bounds what sampling leaves of an inner curve: poisson(q,e) under
// either adjacency, and fixedsize(n,m,e) with q = m/n under replace-one.
//
// # Add/remove
//
// Let Q be the output without the record, P with it, r = P/Q, y = 1−q+qr. One
// direction has the moment A = E_Q[y^α], the other B = E_Q[y^{1−α}]. At integer
// orders A is a binomial sum of the moments of r, and exact (Abadi et al. 2016).
//
// Lemma. For every pair and α ≥ 2, B ≤ max(A, A'), A' being A with P and Q
// exchanged. So the binomial sum over a curve that bounds both directions
// bounds both directions, without the factor 3 of Zhu, Wang 2019 or the
// conditions under which they drop it.
//
// Proof. As functions of r the three moments are expectations under Q of
// A(r) = y^α, A'(r) = r·(1−q+q/r)^α and B(r) = y^{1−α}. All are 1 at r = 1 and
// E_Q[r−1] = 0, so it is enough to compare second derivatives, divided by
// α(α−1)q²: y^{α−2}, r^{−1−α}·z^{α−2} with z = q+(1−q)r, and y^{−α−1}. Take
// λ = 3(1−q)/(3+2(α−2)q), which lies in [0,1]. By the inequality of means
// λ·y^{α−2} + (1−λ)·r^{−1−α}·z^{α−2} is at least e^{L}·y^{−α−1} with
// L = (λ(α−2)+α+1)·log y + (1−λ)(α−2)·log z − (1−λ)(α+1)·u, u = log r. Both
// logarithms are convex in u, L is 0 at u = 0, and so is its slope, by the
// choice of λ; hence L ≥ 0, and B − 1 ≤ λ(A−1) + (1−λ)(A'−1). ∎
//
// For pairs with an involution that exchanges P and Q (gaussian, laplace, rr,
// pure, and products of them) B ≤ A at every order α > 1: Mironov, Talwar,
// Zhang 2019, Theorem 5.
//
// # Replace-one
//
// A sample misses the record with probability 1−q. The outputs are
// (1−q)A + qB against (1−q)A + qC with A, B, C pairwise adjacent (package
// privacy says what a leaf claims there). If one pair (P,Q) dominates them all,
// advanced joint convexity (Balle, Barthe, Gaboardi 2018, Theorem 2) bounds the
// hockey-stick divergence of every order s ≥ 1, in both directions, by that of
// (1−q)Q + qP against Q. Writing the power divergence as an integral of
// hockey-sticks gives, with A(r), B(r) as above less their tangents at r = 1,
//
//	moment − 1 ≤ E_Q[A(r); r>1] + E_Q[B(r); r>1],
//
// and, because A″ ≥ α(α−1)q²·g for r < 1 with g = (1−q)^{(α−2)₊} while
// B″ ≤ α(α−1)q² for r > 1,
//
//	moment − 1 ≤ (A−1) + α(α−1)q²/4·((1−g)·χ + (1+g)·E),
//
// χ = E_Q[(r−1)²] and E = E_Q[(r−1)²·sign(r−1)] ≤ χ. Without a dominating pair
// the order-wise bound of Wang, Balle, Kasiviswanathan 2019, Theorem 9, holds:
// its proof is about such triples A, B, C.
//
// # Both
//
// E_Q[(P/Q)^α] is jointly convex in (P,Q), so log(1 + q(e^{(α−1)D_α} − 1))
// bounds the sampled (α−1)D_α at every order. Between integer orders
// (α−1)D_α is convex in α and 0 at α = 1, so it lies below the chord.
type rdpSampling struct {
	q       float64
	inner   rdpCurve
	replace bool
	// largest bounds the loss: log(1 + q(e^ε − 1)) for an inner loss of ε (Li,
	// Qardaji, Su 2012; under replace-one by the hockey-sticks above).
	largest float64

	later   []float64         // bounds at rdpLater, from the last
	moments [][2]float64      // of inner at whole orders from 2, see innerMoment
	sums    map[int64]float64 // at whole orders, of binomial or of threefold: one inner curve needs one of them
}

// rdpMinRate, rdpMinRho and rdpMinLoss stand for anything smaller above 0: curves
// grow with q, ρ and ε, so that costs next to nothing, and no square underflows.
const (
	rdpMinRate = 1e-100
	rdpMinRho  = 1e-100
	rdpMinLoss = 1e-50
)

func rdpSample(q float64, inner rdpCurve, replace bool) rdpCurve {
	if q >= 1 {
		return inner
	}
	switch in := inner.(type) {
	case rdpGaussian:
		inner = rdpGaussian{max(in.rho, rdpMinRho)}
	case rdpResponse:
		if in.epsilon > 0 {
			inner = rdpResponse{max(in.epsilon, rdpMinLoss), in.k}
		}
	}
	q = max(q, rdpMinRate)
	loss := inner.at(math.Inf(1))
	return &rdpSampling{
		q: q, inner: inner, replace: replace,
		largest: min(loss, rdpMix(q, loss)*(1+rdpEps)), sums: map[int64]float64{},
	}
}

func (c *rdpSampling) at(a float64) float64 {
	if math.IsInf(a, 1) {
		return c.largest
	}
	d := min(c.bound(a), c.largest)
	if rdpIsExact(c) {
		return d
	}
	// A divergence does not fall with the order, but a bound can.
	for i := len(rdpLater) - 1; i >= 0 && rdpLater[i] > a; i-- {
		if len(c.later) == len(rdpLater)-1-i {
			c.later = append(c.later, c.bound(rdpLater[i]))
		}
		d = min(d, c.later[len(rdpLater)-1-i])
	}
	return d
}

// rdpLater are the orders, less 1, whose bounds are held against smaller ones.
var rdpLater = [...]float64{1, 1.25, 1.5, 2, 3, 5}

// bound returns the least of the bounds known at order 1 + a.
func (c *rdpSampling) bound(a float64) float64 {
	d := c.inner.at(a)
	if d == 0 || math.IsInf(d, 1) {
		return d
	}
	k := rdpMix(c.q, a*d)
	if c.replace {
		k = min(k, c.replaced(a, d))
	} else {
		k = min(k, c.removed(a, d))
	}
	return min(d, k/a)
}

// removed bounds log A at order 1 + a; d is the inner curve there.
func (c *rdpSampling) removed(a, d float64) float64 {
	switch in := c.inner.(type) {
	case rdpGaussian:
		return rdpSampledGauss(c.q, math.Sqrt(2*in.rho), a)
	case rdpResponse:
		up, logUp := rdpSampledRatio(c.q, in.epsilon)
		down, logDown := rdpSampledRatio(c.q, -in.epsilon)
		m := rdpLogAdd(rdpLogExcess(a, up, logUp), in.epsilon+rdpLogExcess(a, down, logDown))
		return rdpSoftplus(m - in.logNorm())
	}
	k := rdpChord(a, c.binomial)
	if a >= 1 {
		// The triangle inequality of L_α(Q) for y = (1−q) + q·r.
		k = min(k, (1+a)*rdpMix(c.q, a*d/(1+a)))
	}
	return k
}

// replaced bounds the log moment under replace-one.
func (c *rdpSampling) replaced(a, d float64) float64 {
	if in, ok := c.inner.(rdpResponse); ok {
		s, logY := rdpSampledRatio(c.q, in.epsilon)
		back := math.Log(rdpExpm2(-a*logY) + a*(s-logY))
		if logY > 30 {
			back = math.Log(a) + logY
		}
		return rdpSoftplus(rdpLogAdd(rdpLogExcess(a, s, logY), back) - in.logNorm())
	}
	if !rdpPaired(c.inner) {
		return rdpChord(a, c.threefold)
	}
	chi := math.Expm1(c.inner.at(1))
	if math.IsInf(chi, 1) {
		return chi
	}
	skew := chi
	if in, ok := c.inner.(rdpGaussian); ok {
		skew = min(skew, rdpGaussSkew(math.Sqrt(2*in.rho)))
	}
	miss := max(a-1, 0) * math.Log1p(-c.q)
	extra := (-math.Expm1(miss)*chi + (1+math.Exp(miss))*skew) / 4
	return rdpLogAdd(c.removed(a, d), math.Log(a)+math.Log1p(a)+2*math.Log(c.q)+math.Log(extra))
}

// rdpGaussSkew bounds E_Q[(r−1)²·sign(r−1)] for r = N(τ,1)/N(0,1) from above.
func rdpGaussSkew(tau float64) float64 {
	if tau < 1e-3 {
		// √(2/π)·τ³·(1 + O(τ²)) is below τ³ here.
		return tau * tau * tau
	}
	x := tau / math.Sqrt(8)
	return math.Exp(tau*tau)*math.Erf(3*x)*(1+rdpEps) - 3*math.Erf(x)*(1-rdpEps)
}

// rdpPaired reports whether one pair, with an involution that exchanges its
// sides, dominates the mechanism. Products of such pairs dominate adaptive
// compositions (Dong, Roth, Su 2022; Zhu, Dong, Wang 2022).
func rdpPaired(c rdpCurve) bool {
	switch c := c.(type) {
	case rdpGaussian, rdpLaplace, rdpResponse:
		return true
	case rdpSum:
		for _, t := range c {
			if !rdpPaired(t.curve) {
				return false
			}
		}
		return true
	}
	return false
}

// rdpMix is log(1 + q(e^x − 1)).
func rdpMix(q, x float64) float64 {
	if x > 40 {
		return rdpLogAdd(math.Log1p(-q), math.Log(q)+x)
	}
	return math.Log1p(q * math.Expm1(x))
}

// rdpSampledRatio gives s = q(e^w − 1) and log(1 + s).
func rdpSampledRatio(q, w float64) (s, logY float64) {
	if w > 300 {
		l := math.Log(q) + w
		return math.Exp(l) - q, rdpLogAdd(math.Log1p(-q), l)
	}
	s = q * math.Expm1(w)
	return s, math.Log1p(s)
}

// rdpLogExcess is log(y^α − 1 − αs) for y = 1 + s, as
// y·(y^a − 1 − a·log y) + a·(y·log y − s), both never negative.
func rdpLogExcess(a, s, logY float64) float64 {
	var entropy float64
	if logY > 30 {
		entropy = logY + math.Log(logY-1)
	} else {
		entropy = math.Log(rdpEntropy(s))
	}
	return rdpLogAdd(logY+rdpLogExpm2(a*logY), math.Log(a)+entropy)
}

// rdpSampledGauss bounds log A for the Poisson-sampled Gaussian with ratio
// N(τ,1)/N(0,1). One dimension is enough by Mironov, Talwar, Zhang 2019,
// Theorem 4, and A is the larger direction by their Theorem 5.
func rdpSampledGauss(q, tau, a float64) float64 {
	z := a * tau * tau / 2
	bound := (1 + a) * rdpMix(q, z)
	if z > 35-math.Log(q) {
		// A ≥ E[(qr)^α] = e^{α(z + log q)}: the triangle inequality is exact to
		// the last digit.
		return bound
	}
	if a <= 63 && a == math.Trunc(a) {
		moment := func(k int64) float64 { return float64(k) * float64(k-1) * tau * tau / 2 }
		s := rdpBinomial{
			n: int64(a) + 1, logQ: math.Log(q), logRest: math.Log1p(-q),
			weight: func(k int64) float64 { return rdpLogExpm1(moment(k)) },
			rate:   func(k int64) float64 { return float64(k) * tau * tau / 2 },
		}
		return min(bound, rdpSoftplus(s.log()))
	}
	return min(bound, rdpSoftplus(rdpGaussMoment(q, tau, a)))
}
