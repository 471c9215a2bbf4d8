package accountant

import "math"

// pair is the dominating pair (P,Q) of a leaf. All leaves are symmetric: the
// loss of (Q,P) under Q is distributed as the loss of (P,Q) under P, so one
// description serves both directions.
type pair interface {
	// span returns losses below and above which P has at most tail mass.
	span(tail float64) (lo, hi float64)
	// cell returns P- and Q-mass of the continuous part with loss in (a,b], and
	// the excess of P over e^a·Q there. a may be −∞ (the excess is then P) and
	// b may be +∞.
	cell(a, b float64) (p, q, x float64)
	// atoms lists losses of positive probability with their P-mass.
	atoms() []atom
	// infinite is the P-mass of outcomes that Q never has. By the symmetry Q
	// has as much on outcomes that P never has.
	infinite() float64
}

type atom struct{ loss, mass float64 }

// gaussianPair is N(1,σ²) against N(0,σ²): under P the loss is N(μ²/2, μ²),
// under Q it is N(−μ²/2, μ²), with μ = 1/σ.
type gaussianPair struct{ mu float64 }

func (g gaussianPair) atoms() []atom     { return nil }
func (g gaussianPair) infinite() float64 { return 0 }

func (g gaussianPair) span(tail float64) (lo, hi float64) {
	z := normalQuantile(tail)
	return g.mu * (g.mu/2 - z), g.mu * (g.mu/2 + z)
}

// normalQuantile returns a z with Φ(−z) ≤ tail.
func normalQuantile(tail float64) float64 {
	if tail >= 0.5 {
		return 0
	}
	// Φ(−z) ≤ e^(−z²/2)/2; sharpened by Newton steps that stay on the safe side.
	tail = math.Max(tail, 1e-300)
	z := math.Sqrt(-2 * math.Log(2*tail))
	for range 4 {
		t := upperTail(z)
		if t >= tail {
			break
		}
		next := z - (tail-t)/(math.Exp(-z*z/2)/math.Sqrt(2*math.Pi))*0.5
		if !(next > 0) || upperTail(next) > tail {
			break
		}
		z = next
	}
	return z
}

// upperTail is Φ(−z).
func upperTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// normalMass is Φ(b) − Φ(a) without cancellation between the tails.
func normalMass(a, b float64) float64 {
	switch {
	case a >= 0:
		return math.Max(0, upperTail(a)-upperTail(b))
	case b <= 0:
		return math.Max(0, upperTail(-b)-upperTail(-a))
	}
	return math.Max(0, 1-upperTail(-a)-upperTail(b))
}

// Five-point Gauss–Legendre rule on [0,1].
var (
	gaussNodes   = [5]float64{0.04691007703066800, 0.23076534494715846, 0.5, 0.76923465505284154, 0.95308992296933200}
	gaussWeights = [5]float64{0.11846344252809454, 0.23931433524968324, 0.28444444444444444, 0.23931433524968324, 0.11846344252809454}
)

func (g gaussianPair) cell(a, b float64) (p, q, x float64) {
	za, zb := a/g.mu-g.mu/2, b/g.mu-g.mu/2
	w := zb - za
	if math.IsInf(a, -1) {
		p = normalMass(za, zb)
		return p, normalMass(za+g.mu, zb+g.mu), p
	}
	// The integrands vary on the scales 1, 1/|z| and 1/μ. Where a cell is short
	// against them the quadrature is exact to rounding.
	scale := w * (1 + g.mu + math.Max(math.Abs(za), math.Abs(zb)))
	if scale < 12 {
		parts := int(scale/0.8) + 1
		w /= float64(parts)
		for i := range parts {
			left := za + float64(i)*w
			for k, t := range gaussNodes {
				z := left + t*w
				f := gaussWeights[k] * math.Exp(-z*z/2)
				p += f
				x += f * -math.Expm1(-g.mu*(z-za))
			}
		}
		scale := w / math.Sqrt(2*math.Pi)
		p, x = p*scale, x*scale
		if math.Abs(a) < 600 {
			return p, (p - x) * math.Exp(-a), x
		}
		return p, normalMass(za+g.mu, zb+g.mu), x
	}
	p = normalMass(za, zb)
	q = normalMass(za+g.mu, zb+g.mu)
	x = p
	if q > 0 {
		x = math.Max(0, p-math.Exp(a+math.Log(q)))
	}
	return p, q, x
}

// laplacePair is Lap(1,b) against Lap(0,b): with e = 1/b the loss has an atom of
// P-mass 1/2 at e, one of e^(−e)/2 at −e, and the density e^((ℓ−e)/2)/4 between.
type laplacePair struct{ e float64 }

func (l laplacePair) span(float64) (lo, hi float64) { return -l.e, l.e }
func (l laplacePair) infinite() float64             { return 0 }

func (l laplacePair) atoms() []atom {
	return []atom{{-l.e, math.Exp(-l.e) / 2}, {l.e, 0.5}}
}

func (l laplacePair) cell(a, b float64) (p, q, x float64) {
	from, to := math.Max(a, -l.e), math.Min(b, l.e)
	if to <= from {
		return 0, 0, 0
	}
	g, u := math.Exp((from-l.e)/2), (to-from)/2
	q = math.Exp(-(from+l.e)/2) * -math.Expm1(-u) / 2
	if u < 30 {
		p = g * math.Expm1(u) / 2
		// Excess over e^from·Q, in closed form.
		s := math.Sinh(u / 2)
		x = 2 * g * s * s
	} else { // e^u may overflow, and nothing cancels
		p = math.Exp((to-l.e)/2) * -math.Expm1(-u) / 2
		x = math.Max(0, p-g*-math.Expm1(-u)/2)
	}
	// The rest of the way down to e^a·Q.
	if a < from {
		x += (p - x) * -math.Expm1(a-from)
	}
	return p, q, x
}

// discretePair has atoms only, one of them perhaps at infinite loss.
type discretePair struct {
	list  []atom
	alone float64
}

func (d discretePair) atoms() []atom                       { return d.list }
func (d discretePair) infinite() float64                   { return d.alone }
func (d discretePair) cell(_, _ float64) (p, q, x float64) { return 0, 0, 0 }

func (d discretePair) span(float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, a := range d.list {
		lo, hi = math.Min(lo, a.loss), math.Max(hi, a.loss)
	}
	return lo, hi
}

// purePair dominates every ε-DP mechanism (Kairouz, Oh, Viswanath 2015), and is
// one: binary randomised response.
func purePair(epsilon float64) discretePair { return responsePair(epsilon, 2) }

// responsePair is k-ary randomised response on two different inputs.
func responsePair(epsilon float64, k int64) discretePair {
	// Masses e^ε, 1 and k−2 over e^ε+k−1, written without overflow.
	z := 1 + float64(k-1)*math.Exp(-epsilon)
	list := []atom{{-epsilon, math.Exp(-epsilon) / z}, {epsilon, 1 / z}}
	if k > 2 {
		list = append(list, atom{0, float64(k-2) * math.Exp(-epsilon) / z})
	}
	return discretePair{list: list}
}
