package accountant

import (
	"math"
	"math/big"

	"github.com/sotto-dp/sotto/privacy"
)

// Exact profiles by other means than the accountants': closed forms, and sums
// over all outcomes of mechanisms with few of them, in 200-bit arithmetic.

const exactBits = 200

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(exactBits).SetFloat64(x) }

// bigExp is e^x by its series, after halving x until it is small.
func bigExp(x *big.Float) *big.Float {
	y := new(big.Float).SetPrec(exactBits).Set(x)
	halvings := 0
	for y.MantExp(nil) > -20 {
		y.Quo(y, bigFloat(2))
		if halvings++; halvings > 60 {
			break
		}
	}
	sum, term := bigFloat(1), bigFloat(1)
	for k := 1; k < 30; k++ {
		term.Mul(term, y).Quo(term, bigFloat(float64(k)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

func bigAdd(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(exactBits).Add(a, b) }
func bigMul(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(exactBits).Mul(a, b) }
func bigQuo(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(exactBits).Quo(a, b) }
func bigSub(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(exactBits).Sub(a, b) }

// outcome is one output of a mechanism with its probability on two inputs.
type outcome struct{ p, q *big.Float }

// twoPoint is binary randomised response, the worst ε-DP mechanism.
func twoPoint(epsilon float64) []outcome {
	e := bigExp(bigFloat(epsilon))
	z := bigAdd(bigFloat(1), e)
	hi, lo := bigQuo(e, z), bigQuo(bigFloat(1), z)
	return []outcome{{hi, lo}, {lo, hi}}
}

// response is k-ary randomised response, with the outputs that both inputs give
// alike as one outcome.
func response(epsilon float64, k int64) []outcome {
	e := bigExp(bigFloat(epsilon))
	z := bigAdd(e, bigFloat(float64(k-1)))
	hi, lo := bigQuo(e, z), bigQuo(bigFloat(1), z)
	rest := bigQuo(bigFloat(float64(k-2)), z)
	return []outcome{{hi, lo}, {lo, hi}, {rest, rest}}
}

// failing returns the worst (ε,δ)-DP mechanism: it reveals its input with probability δ and
// is the worst ε-DP one otherwise.
func failing(epsilon, delta float64) []outcome {
	d, rest := bigFloat(delta), bigSub(bigFloat(1), bigFloat(delta))
	out := []outcome{{d, bigFloat(0)}, {bigFloat(0), d}}
	for _, o := range twoPoint(epsilon) {
		out = append(out, outcome{bigMul(rest, o.p), bigMul(rest, o.q)})
	}
	return out
}

// sampled returns what a sampled mechanism shows of a record, when it is there (P) and when
// it is not (Q).
func sampled(rate float64, list []outcome) []outcome {
	r, s := bigFloat(rate), bigSub(bigFloat(1), bigFloat(rate))
	out := make([]outcome, len(list))
	for i, o := range list {
		out[i] = outcome{bigAdd(bigMul(r, o.p), bigMul(s, o.q)), o.q}
	}
	return out
}

func swapped(list []outcome) []outcome {
	out := make([]outcome, len(list))
	for i, o := range list {
		out[i] = outcome{o.q, o.p}
	}
	return out
}

// product lists all outcomes of running a, then b.
func product(a, b []outcome) []outcome {
	out := make([]outcome, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, outcome{bigMul(x.p, y.p), bigMul(x.q, y.q)})
		}
	}
	return out
}

// runs composes n runs of a mechanism with two or three outcomes, by counts.
func runs(n int64, list []outcome) []outcome {
	pows := func(x *big.Float) []*big.Float {
		out := []*big.Float{bigFloat(1)}
		for range n {
			out = append(out, bigMul(out[len(out)-1], x))
		}
		return out
	}
	third := outcome{bigFloat(0), bigFloat(0)}
	if len(list) == 3 {
		third = list[2]
	}
	p0, q0, p1, q1, p2, q2 := pows(list[0].p), pows(list[0].q), pows(list[1].p), pows(list[1].q), pows(third.p), pows(third.q)
	var out []outcome
	for i := int64(0); i <= n; i++ {
		for j := int64(0); i+j <= n; j++ {
			k := n - i - j
			if len(list) == 2 && k > 0 {
				continue
			}
			ways := new(big.Int).Mul(new(big.Int).Binomial(n, i), new(big.Int).Binomial(n-i, j))
			w := new(big.Float).SetPrec(exactBits).SetInt(ways)
			out = append(out, outcome{bigMul(w, bigMul(p0[i], bigMul(p1[j], p2[k]))), bigMul(w, bigMul(q0[i], bigMul(q1[j], q2[k])))})
		}
	}
	return out
}

// hockeyStick is δ(ε) = Σ (P − e^ε Q)₊.
func hockeyStick(list []outcome, epsilon float64) float64 {
	e := bigExp(bigFloat(epsilon))
	sum := bigFloat(0)
	for _, o := range list {
		if d := bigSub(o.p, bigMul(e, o.q)); d.Sign() > 0 {
			sum.Add(sum, d)
		}
	}
	f, _ := sum.Float64()
	return f
}

// laplaceDelta returns the closed form for one Laplace mechanism.
func laplaceDelta(b, epsilon float64) float64 {
	return math.Max(0, -math.Expm1((epsilon-1/b)/2))
}

// gaussianDelta returns the closed form of Balle and Wang for one Gaussian, good where
// nothing cancels.
func gaussianDelta(sigma, epsilon float64) float64 {
	phi := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	return phi(1/(2*sigma)-epsilon*sigma) - math.Exp(epsilon)*phi(-1/(2*sigma)-epsilon*sigma)
}

// exactCase is an event with its exact profile, the larger of both directions.
type exactCase struct {
	event string
	adj   privacy.Adjacency
	delta func(epsilon float64) float64
}

func discrete(list []outcome) func(float64) float64 {
	back := swapped(list)
	return func(epsilon float64) float64 { return math.Max(hockeyStick(list, epsilon), hockeyStick(back, epsilon)) }
}

var exactCases = []exactCase{
	{event: "gaussian(1)", delta: func(e float64) float64 { return gaussianDelta(1, e) }},
	{event: "gaussian(0.5)", delta: func(e float64) float64 { return gaussianDelta(0.5, e) }},
	// pure(0) costs nothing, but keeps the closed form out: the grid has to agree.
	{event: "compose(gaussian(1), pure(0))", delta: func(e float64) float64 { return gaussianDelta(1, e) }},
	{event: "compose(repeat(7, gaussian(3)), pure(0))", delta: func(e float64) float64 { return gaussianDelta(3/math.Sqrt(7), e) }},
	{event: "compose(gaussian(2), gaussian(3), repeat(2, gaussian(5)))", delta: func(e float64) float64 {
		return gaussianDelta(1/math.Sqrt(1./4+1./9+2./25), e)
	}},
	{event: "poisson(1, poisson(1, gaussian(1)))", delta: func(e float64) float64 { return gaussianDelta(1, e) }},
	// Cut tails leave no loss below 0 when a record is added, and ε is 0 above δ = q.
	{event: "poisson(0.0625, gaussian(0.1))", delta: func(e float64) float64 {
		return 0.0625 * gaussianDelta(0.1, math.Log1p(math.Expm1(e)/0.0625))
	}},
	{event: "laplace(1)", delta: func(e float64) float64 { return laplaceDelta(1, e) }},
	{event: "laplace(0.2)", delta: func(e float64) float64 { return laplaceDelta(0.2, e) }},
	{event: "laplace(20)", delta: func(e float64) float64 { return laplaceDelta(20, e) }},
	{event: "pure(1)", delta: discrete(twoPoint(1))},
	{event: "repeat(30, pure(0.1))", delta: discrete(runs(30, twoPoint(0.1)))},
	{event: "repeat(200, pure(0.05))", delta: discrete(runs(200, twoPoint(0.05)))},
	{event: "compose(pure(1), repeat(2, pure(0.3)))", delta: discrete(product(twoPoint(1), runs(2, twoPoint(0.3))))},
	{event: "rr(1, 4)", delta: discrete(response(1, 4))},
	{event: "repeat(40, rr(0.5, 10))", delta: discrete(runs(40, response(0.5, 10)))},
	{event: "poisson(0.1, pure(2))", delta: discrete(sampled(0.1, twoPoint(2)))},
	{event: "repeat(60, poisson(0.05, pure(1)))", delta: discrete(runs(60, sampled(0.05, twoPoint(1))))},
	{event: "repeat(25, poisson(0.2, rr(1, 5)))", delta: discrete(runs(25, sampled(0.2, response(1, 5))))},
	// Sampling of a composed mechanism.
	{event: "poisson(0.3, repeat(8, pure(0.4)))", delta: discrete(sampled(0.3, runs(8, twoPoint(0.4))))},
	{event: "repeat(2, poisson(0.3, repeat(4, pure(0.5))))", delta: discrete(product(sampled(0.3, runs(4, twoPoint(0.5))), sampled(0.3, runs(4, twoPoint(0.5)))))},
	{event: "poisson(0.5, poisson(0.5, pure(1)))", delta: discrete(sampled(0.25, twoPoint(1)))},
	{event: "compose(pure(0.5), poisson(0.25, compose(pure(1), rr(0.7, 3))))", delta: discrete(product(twoPoint(0.5), sampled(0.25, product(twoPoint(1), response(0.7, 3)))))},
	{event: "parallel(pure(0.2), repeat(30, pure(0.1)))", delta: discrete(runs(30, twoPoint(0.1)))},
	{event: "parallel(pure(0.2), pure(0.1))", adj: privacy.ReplaceOne, delta: discrete(product(twoPoint(0.2), twoPoint(0.1)))},
	{event: "repeat(30, pure(0.1))", adj: privacy.ReplaceOne, delta: discrete(runs(30, twoPoint(0.1)))},
	{event: "approx(1, 1e-3)", delta: discrete(failing(1, 1e-3))},
	{event: "approx(0, 1e-6)", delta: discrete(failing(0, 1e-6))},
	{event: "repeat(3, approx(0.7, 1e-6))", delta: discrete(product(failing(0.7, 1e-6), product(failing(0.7, 1e-6), failing(0.7, 1e-6))))},
	{event: "repeat(2, approx(0.4, 2e-6))", adj: privacy.ReplaceOne, delta: discrete(product(failing(0.4, 2e-6), failing(0.4, 2e-6)))},
	{event: "compose(approx(0, 1e-6), gaussian(1))", delta: func(e float64) float64 {
		return 1e-6 + (1-1e-6)*gaussianDelta(1, math.Min(e, 30))
	}},
	{event: "compose(approx(1, 1e-6), repeat(30, pure(0.1)))", delta: discrete(product(failing(1, 1e-6), runs(30, twoPoint(0.1))))},
	{event: "poisson(0.1, approx(2, 1e-4))", delta: discrete(sampled(0.1, failing(2, 1e-4)))},
	{event: "repeat(2, poisson(0.3, approx(1, 1e-4)))", delta: discrete(product(sampled(0.3, failing(1, 1e-4)), sampled(0.3, failing(1, 1e-4))))},
	{event: "repeat(2, poisson(0.3, approx(0, 1e-4)))", delta: discrete(product(sampled(0.3, failing(0, 1e-4)), sampled(0.3, failing(0, 1e-4))))},
	{event: "compose(pure(0.5), poisson(0.25, repeat(2, approx(1, 1e-3))))", delta: discrete(product(twoPoint(0.5), sampled(0.25, product(failing(1, 1e-3), failing(1, 1e-3)))))},
	{event: "compose(approx(0.5, 1e-5), poisson(0.25, compose(rr(1, 3), approx(1, 1e-3))))", delta: discrete(product(failing(0.5, 1e-5), sampled(0.25, product(response(1, 3), failing(1, 1e-3)))))},
	{event: "parallel(approx(0.2, 1e-6), repeat(30, pure(0.1)))", delta: func(e float64) float64 {
		return math.Max(discrete(failing(0.2, 1e-6))(e), discrete(runs(30, twoPoint(0.1)))(e))
	}},
	{event: "parallel(approx(0.2, 1e-6), approx(0.1, 1e-7))", adj: privacy.ReplaceOne, delta: discrete(product(failing(0.2, 1e-6), failing(0.1, 1e-7)))},
	{event: "fixedsize(10, 3, approx(1, 1e-4))", adj: privacy.ReplaceOne, delta: discrete(sampled(0.3, failing(1, 1e-4)))},
	{event: "poisson(0.1, nonprivate())", delta: func(float64) float64 { return 0.1 }},
	{event: "compose()", delta: func(float64) float64 { return 0 }},
	{event: "compose(poisson(0, nonprivate()), gaussian(1))", delta: func(e float64) float64 { return gaussianDelta(1, e) }},
}

// invert solves a decreasing profile for the ε at δ.
func invert(delta func(float64) float64, target float64) float64 {
	if delta(0) <= target {
		return 0
	}
	lo, hi := 0.0, 1.0
	for delta(hi) > target {
		if lo, hi = hi, hi*2; hi > 1e6 {
			return math.Inf(1)
		}
	}
	for range 80 {
		if mid := (lo + hi) / 2; delta(mid) > target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
