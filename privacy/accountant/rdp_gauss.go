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
	if (20+min(g.peak, 2*g.jump))/g.h > rdpMaxNodes || !g.sum() {
		return math.Inf(1)
	}
	// I ≤ (T + ηv²R)/(1−η) and R ≤ T_R/(1−η).
	over := math.Log(g.eta) + 2*math.Log(g.v) + g.spread.log() - 2*math.Log1p(-g.eta)
	total := rdpLogAdd(g.total.log(), over) - math.Log1p(-g.eta) + math.Log(g.h)
	return total + rdpEps*(20+math.Abs(g.total.top)+g.a*g.topLogY)
}

// rdpMaxNodes bounds the work at one order. It is passed only for σ below about
// 0.003, where the bound by convexity that is then used instead is within
// 2·log(1/q)·σ² of the exact value, relatively.
const rdpMaxNodes = 1 << 15

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
	topLogY       float64
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

// at gives log(φ(t)·G) and log(e^w/(e^w−1)²) at node k.
func (g *rdpGaussNodes) at(k int) (t, w, value, spread float64) {
	t = float64(k) * g.h
	w = g.tau*t - g.tau*g.tau/2
	s, logY := rdpSampledRatio(g.q, w)
	g.topLogY = max(g.topLogY, logY)
	value = -t*t/2 - math.Log(2*math.Pi)/2 + rdpLogExcess(g.a, s, logY)
	spread = -2 * math.Log(2*math.Sinh(math.Abs(w)/2))
	if math.Abs(w) > 40 {
		spread = -math.Abs(w)
	}
	return t, w, value, spread
}

func (g *rdpGaussNodes) add(value, spread float64) {
	g.total.add(value)
	if math.IsInf(value, -1) {
		// w = 0: the limit of G/(e^w−1)² is αaq²/2.
		value, spread = math.Log(g.a*(1+g.a)/2)+2*math.Log(g.q), 0
	}
	g.spread.add(value + spread)
}

// sum adds all nodes from the left end to the right end, and what lies beyond.
func (g *rdpGaussNodes) sum() bool {
	const negligible = 42
	nodes := 0
	for k := -1; ; k-- {
		t, _, value, spread := g.at(k)
		g.add(value, spread)
		// Further left G ≤ its limit, and φ falls at least geometrically.
		rest := -t*t/2 + g.left - rdpLogExpm1(-t*g.h)
		if rest < g.total.log()-negligible {
			g.total.add(rest)
			g.spread.add(rest + max(spread, 0))
			break
		}
		if nodes++; nodes > rdpMaxNodes {
			return false
		}
	}
	if g.peak > 2*g.jump {
		g.valley()
	}
	for k := 0; ; k++ {
		t, w, value, spread := g.at(k)
		g.add(value, spread)
		// s·G'(s)/G lies between 2 and α, so log(φG) falls at this rate or
		// faster from here on.
		fall := t - g.tau*max(2, 1+g.a)/-math.Expm1(-w)
		if w > 0 && fall > 0 {
			rest := value - rdpLogExpm1(fall*g.h)
			if rest < g.total.log()-negligible {
				g.total.add(rest)
				g.spread.add(rest + spread)
				return true
			}
		}
		if nodes++; nodes > rdpMaxNodes {
			return false
		}
		if t > g.jump && t < g.peak-g.jump {
			k = int((g.peak - g.jump) / g.h)
		}
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
