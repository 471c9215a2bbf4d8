package accountant

import (
	"cmp"
	"math"
	"math/big"

	"github.com/sotto-dp/sotto/privacy"
)

// An (ε,δ)-differentially private mechanism is dominated by one that fails with
// probability δ, and then shows its input, and otherwise is randomised response
// with odds e^ε (Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan 2016). So P has
// mass δ on an outcome that Q never has, Q as much on one that P never has, and
// what is left of both is the pair of pure(ε).
//
// In a composition failures stand apart from the rest. With D = 1 − Π(1−δᵢ) the
// probability of any failure: an outcome of P with a failure in it has no mass
// under Q, and counts in full; without one, P and Q are (1−D) times the pair
// where every approx(ε,δ) is pure(ε). Hence, for every event composed with them,
//
//	δ(ε) = D + (1−D)·δ_rest(ε).
//
// For approx leaves alone this is the optimal composition theorem of the papers
// above. It is used wherever approx leaves are terms of a composition; below a
// sampling node the pair itself enters (approxPair), failures included.

// survival encloses Π(1−δᵢ)^nᵢ, the probability 1−D that nothing fails.
type survival struct{ low, top *big.Float }

// survivalBits holds 1−δ exactly for every float64 δ.
const survivalBits = 2000

func exactly(v float64, mode big.RoundingMode) *big.Float {
	return new(big.Float).SetPrec(survivalBits).SetMode(mode).SetFloat64(v)
}

// apart takes the approx leaves out of a composition: rest has pure(ε) in their
// place. It reports false when there are none.
func apart(terms []privacy.Term) (rest privacy.Event, s survival, ok bool) {
	s = survival{exactly(1, big.ToNegativeInf), exactly(1, big.ToPositiveInf)}
	var parts privacy.Compose
	for _, t := range terms {
		e := t.Event
		if a, is := e.(privacy.Approx); is {
			ok = true
			s.fail(a.Delta, t.N)
			if a.Epsilon == 0 {
				continue
			}
			e = privacy.Pure{Epsilon: a.Epsilon}
		}
		parts.Events = append(parts.Events, privacy.Repeat{N: t.N, Event: e})
	}
	return parts, s, ok
}

// fail takes n more chances to fail into account.
func (s survival) fail(delta float64, n int64) {
	for _, v := range []*big.Float{s.low, s.top} {
		one, square := exactly(1, v.Mode()), exactly(delta, v.Mode())
		square.Sub(one, square)
		for k := n; k > 0; k >>= 1 {
			if k&1 == 1 {
				v.Mul(v, square)
			}
			square.Mul(square, square)
		}
	}
}

// inner encloses the δ that is left to the rest when there is δ in all: 1 −
// (1−δ)/(1−D), which grows with 1−D. It is below 0 when failures alone exceed δ.
func (s survival) inner(delta, top float64) (low, high float64) {
	at := func(delta float64, alive *big.Float, down, up big.RoundingMode) *big.Float {
		lost := new(big.Float).SetPrec(survivalBits).SetMode(up)
		lost.Quo(lost.Sub(exactly(1, up), exactly(delta, up)), alive)
		return new(big.Float).SetPrec(survivalBits).SetMode(down).Sub(exactly(1, down), lost)
	}
	return below(at(delta, s.low, big.ToNegativeInf, big.ToPositiveInf)),
		above(at(top, s.top, big.ToPositiveInf, big.ToNegativeInf))
}

// outer encloses the δ in all for a δ of the rest: 1 − (1−D)·(1−δ_rest).
func (s survival) outer(rest privacy.Interval) privacy.Interval {
	at := func(delta float64, alive *big.Float, down, up big.RoundingMode) *big.Float {
		kept := new(big.Float).SetPrec(survivalBits).SetMode(up)
		kept.Mul(kept.Sub(exactly(1, up), exactly(delta, up)), alive)
		return new(big.Float).SetPrec(survivalBits).SetMode(down).Sub(exactly(1, down), kept)
	}
	return privacy.Interval{
		Lower: math.Max(0, below(at(rest.Lower, s.top, big.ToNegativeInf, big.ToPositiveInf))),
		Upper: math.Min(1, above(at(rest.Upper, s.low, big.ToPositiveInf, big.ToNegativeInf))),
	}
}

// below returns the largest float64 that is not above x.
func below(x *big.Float) float64 {
	v, accuracy := x.Float64()
	if accuracy == big.Above {
		v = math.Nextafter(v, math.Inf(-1))
	}
	return v
}

// above returns the least float64 that is not below x.
func above(x *big.Float) float64 {
	v, accuracy := x.Float64()
	if accuracy == big.Below {
		v = math.Nextafter(v, math.Inf(1))
	}
	return v
}

// refuseApprox returns the reason why a leaf has no Rényi divergence.
func refuseApprox(e privacy.Event) string {
	if a, ok := e.(privacy.Approx); ok && a.Delta > 0 {
		return "with δ above 0 no Rényi divergence is bounded; use the pld or auto accountant, and a planned budget instead of a filter"
	}
	return ""
}

// Conditioning evaluates a composition with approx(ε,δ) leaves given that none of
// them fails, by any accountant, and adds the probability of a failure exactly.
// So an accountant that has no theorem for δ still bounds the rest of a
// composition. The leaves have to be terms of it, not below a sampling or
// parallel node.
type Conditioning struct {
	Inner Accountant
}

// Name implements [Accountant].
func (c Conditioning) Name() string { return c.Inner.Name() + "+approx" }

// split takes an event apart, after the checks.
func (c Conditioning) split(e privacy.Event, adj privacy.Adjacency) (privacy.Event, survival, error) {
	if _, err := privacy.ParseAdjacency(string(adj)); err != nil {
		return nil, survival{}, err
	}
	if err := privacy.Validate(e); err != nil {
		return nil, survival{}, err
	}
	terms, err := privacy.Terms(e)
	if err != nil {
		return nil, survival{}, err
	}
	rest, s, ok := apart(terms)
	if !ok {
		return nil, survival{}, &UnsupportedError{c.Name(), e.Node(), e.String(), 0, "it is for compositions with approx(ε, δ) among their terms, and there is none; use the " + c.Inner.Name() + " accountant"}
	}
	return rest, s, nil
}

// Epsilon implements [Accountant].
func (c Conditioning) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	rest, s, err := c.split(e, adj)
	if err := cmp.Or(err, privacy.CheckDelta(delta)); err != nil {
		return privacy.Interval{}, err
	}
	low, high := s.inner(delta, delta)
	out, err := c.Inner.Epsilon(rest, adj, math.Max(0, low))
	if err != nil {
		return privacy.Interval{}, err
	}
	switch {
	case high < 0:
		out.Lower = math.Inf(1)
	case out.Lower > 0 && high > low:
		again, err := c.Inner.Epsilon(rest, adj, high)
		if err != nil {
			return privacy.Interval{}, err
		}
		out.Lower = again.Lower
	}
	if low < 0 {
		out.Upper = math.Inf(1)
	}
	return out, nil
}

// Delta implements [Accountant].
func (c Conditioning) Delta(e privacy.Event, adj privacy.Adjacency, epsilon float64) (privacy.Interval, error) {
	rest, s, err := c.split(e, adj)
	if err != nil {
		return privacy.Interval{}, err
	}
	in, err := c.Inner.Delta(rest, adj, epsilon)
	if err != nil {
		return privacy.Interval{}, err
	}
	return s.outer(in), nil
}
