package accountant

import "math"

// rdpGaussMoment bounds log(E_Q[(1 + q(r−1))^α] − 1) from above for the
// Poisson-sampled Gaussian, r = P/Q the likelihood ratio of N(τ,1) against
// N(0,1), at any real order α = 1 + a > 1 and 0 < q < 1. It returns +Inf when
// that would take more than rdpMaxNodes nodes.
//
// With s = q(r−1) and y = 1+s, E_Q[s] = 0 turns the moment into an integral of
// a function that is never negative and has no cancellation,
//
//	G = y^α − 1 − αs = y·(y^a − 1 − a·log y) + a·(y·log y − s).
//
// The trapezoidal rule with step h is exact to a factor that is proven, not
// estimated. Write r = e^w, w = τt − τ²/2, and G = αa·(q(e^w−1))²·∫_0^1 (1−u)·
// (1 + uq(e^w−1))^{α−2} du. On the line Im t = b let v = τb < π. There
// |e^w − 1|² ≤ (e^{Re w}−1)² + v²·e^{Re w}; the inner base has modulus at most its
// value at Re w and at least cos(v/2) times it; |φ(t)| = e^{b²/2}·φ(Re t). So the
// integral of |φG| over that line is at most κ·e^{b²/2}·(I + v²R) with
// I = E[G], R = E[e^w·G/(e^w−1)²] and κ = cos(v/2)^{−(2−α)₊}, and by Trefethen,
// Weideman 2014, Theorem 5.1, the rule is off by at most η·(I + v²R),
// η = 2κ·e^{b²/2}/(e^{2πb/h} − 1). The same holds for R alone with R in place of
// I + v²R. Nodes that are left out are bounded and added.
func rdpGaussMoment(q, tau, a float64) float64 {
	g := rdpGaussNodes{q: q, tau: tau, a: a}
	g.choose()
	if 20/g.h > rdpMaxNodes || !g.sum() {
		return math.Inf(1)
	}
	// I ≤ (T + ηv²R)/(1−η) and R ≤ T_R/(1−η).
	over := math.Log(g.eta) + 2*math.Log(g.v) + g.spread.log() - 2*math.Log1p(-g.eta)
	total := rdpLogAdd(g.total.log(), over) - math.Log1p(-g.eta) + math.Log(g.h)
	return total + rdpEps*(20+math.Abs(g.total.top)+(1+g.a)*max(0, total))
}

// rdpMaxNodes bounds the work at one order. It is passed for σ below about
// 0.005, where the bound by convexity that is then used instead is within
// 2·log(1/q)·σ² of the exact value, relatively.
const rdpMaxNodes = 1 << 14

// rdpGaussNodes is the state of one quadrature.
type rdpGaussNodes struct {
	q, tau, a float64

	h, v, eta float64
	// The integrand has its peaks near t = 0 and t = peak. Nodes between them
	// and further than jump from both are left out.
	peak, jump float64
	// left is log G as w → −∞, the largest value for w < 0.
	left          float64
	total, spread rdpLogSum
}

func (g *rdpGaussNodes) choose() {
	// b maximises 2πb/h − b²/2 within the strip, and h makes that 42.
	const strip = 0.85 * math.Pi
	b := min(math.Sqrt(84), strip/g.tau)
	g.h = 2 * math.Pi * b / (42 + b*b/2)
	g.v = g.tau * b
	kappa := math.Pow(math.Cos(g.v/2), min(g.a-1, 0))
	g.eta = 2 * kappa * math.Exp(b*b/2-2*math.Pi*b/g.h)
	g.left = rdpLogExcess(g.a, -g.q, math.Log1p(-g.q))
	g.peak = (1 + g.a) * g.tau
	g.jump = math.Sqrt(2 * (45 + (1+g.a)*math.Ln2 + max(0, -g.left) + math.Log1p(g.peak)))
}

// node adds the node at t to the sums and returns its value φ(t)·G, as a
// factor and an exponent, with w and the factor e^w/(e^w−1)² of R.
func (g *rdpGaussNodes) node(t float64) (m, exponent, w, spread float64) {
	alpha := 1 + g.a
	w = g.tau*t - g.tau*g.tau/2
	s, logY := rdpSampledRatio(g.q, w)
	exponent = -t*t/2 - logSqrt2Pi
	switch grown := g.a * logY; {
	case grown > 1:
		// G = y^α·(1 − (1 + αs)/y^α) with s/y = 1 − 1/y.
		m = 1 + alpha*math.Expm1(-logY)*math.Exp(-grown) - math.Exp(-alpha*logY)
		exponent += alpha * logY
	case math.Abs(s) > 0.1:
		m = rdpExpm2(grown) + g.a*(logY+math.Expm1(-logY))
		exponent += logY
	default:
		m = (1+s)*rdpExpm2(grown) + g.a*rdpEntropy(s)
	}
	g.total.addScaled(m, exponent)
	if spread = rdpSpread(w); math.IsInf(spread, 1) {
		// The limit of G/(e^w−1)² as w → 0.
		g.spread.addScaled(g.a*alpha/2*g.q*g.q, exponent)
		return m, exponent, w, 0
	}
	g.spread.addScaled(m*spread, exponent)
	return m, exponent, w, spread
}

const logSqrt2Pi = 0.9189385332046727

// rdpSpread is e^w/(e^w−1)² = 1/(2·sinh(w/2))².
func rdpSpread(w float64) float64 {
	x := -math.Expm1(-math.Abs(w))
	return (1 - x) / (x * x)
}

// sum adds all nodes from the left end to the right end, and bounds on what
// lies beyond; it gives up past rdpMaxNodes.
func (g *rdpGaussNodes) sum() bool {
	const negligible = 42
	for k := -1; ; k-- {
		t := float64(k) * g.h
		_, _, _, spread := g.node(t)
		if t < -8 {
			// Further left G ≤ its limit, and φ falls at least geometrically.
			rest := -t*t/2 + g.left - rdpLogExpm1(-t*g.h)
			if rest < g.total.log()-negligible {
				g.total.add(rest)
				g.spread.addScaled(max(spread, 1), rest)
				break
			}
		}
		if -k > rdpMaxNodes {
			return false
		}
	}
	if g.peak > 2*g.jump {
		g.valley()
	}
	for k, nodes := 0, 0; nodes < rdpMaxNodes; k, nodes = k+1, nodes+1 {
		t := float64(k) * g.h
		m, exponent, w, spread := g.node(t)
		if t > 7 && w > 0 && nodes%4 == 0 {
			level := g.total.log() - negligible
			if rest := g.beyond(t, exponent); rest+math.Log(m) < level {
				g.total.addScaled(m, rest)
				g.spread.addScaled(m*spread, rest)
				return true
			}
		}
		if t > g.jump && t < g.peak-g.jump {
			k = int((g.peak - g.jump) / g.h)
		}
	}
	return false
}

// beyond bounds the logarithm of the sum of all nodes right of t, where w > 0,
// given that of the node at t; +Inf if they may still grow. By the integral form
// of G, s·G'(s)/G is 2 plus (α−2) times an average of us/(1+us) over u ≤ 1, so
// the slope of log(φG) on [t, 2t] is at most
//
//	−t + τ·(2 + (α−2)₊·s/(1+s))/(1 − e^{−w})
//
// with s taken at 2t and w at t; past the last peak s/(1+s) ≤ 1 is enough.
func (g *rdpGaussNodes) beyond(t, value float64) float64 {
	var rest rdpLogSum
	more := max(0, g.a-1)
	for {
		rise := g.tau / -math.Expm1(g.tau*(g.tau/2-t))
		if fall := t - rise*(2+more); fall > 0 {
			rest.add(value - rdpLogExpm1(fall*g.h))
			return rest.log()
		}
		_, logY := rdpSampledRatio(g.q, g.tau*(2*t-g.tau/2))
		fall := t - rise*(2-more*math.Expm1(-logY))
		if fall <= 0 {
			return math.Inf(1)
		}
		rest.add(value - rdpLogExpm1(fall*g.h))
		value -= fall * t
		t *= 2
	}
}

// valley adds a bound on the nodes between the peaks that are left out.
// G ≤ y^α + αq, and y ≤ 2·max(1−q, q·e^w) gives
// φ·y^α ≤ 2^α·(φ(t) + q^α·e^{aατ²/2}·φ(t−ατ)). In R, e^w/(e^w−1)² < 1 where
// |w| > 1, else y lies in [1/e, e] and G/(e^w−1)² ≤ αa·q²/2·e^{|α−2|}.
func (g *rdpGaussNodes) valley() {
	alpha := 1 + g.a
	tops := alpha*math.Ln2 + rdpSoftplus(alpha*math.Log(g.q)+g.a*g.peak*g.tau/2)
	tops = rdpLogAdd(tops, math.Log(alpha*g.q))
	middle := math.Log(g.a*alpha/2) + 2*math.Log(g.q) + math.Abs(g.a-1) + 1
	scale := math.Log(g.peak/g.h+1) - g.jump*g.jump/2
	g.total.add(tops + scale)
	g.spread.add(rdpLogAdd(tops, middle) + scale)
}
