package accountant

import (
	"math"
	"math/big"

	"github.com/sotto-dp/sotto/privacy"
)

// approxPair dominates every (ε,δ)-DP mechanism, and is one; see approx.go.
func approxPair(epsilon, delta float64) discretePair {
	if epsilon == 0 {
		return discretePair{list: []atom{{0, 1 - delta}}, alone: delta}
	}
	d := purePair(epsilon)
	for i := range d.list {
		d.list[i].mass *= 1 - delta
	}
	d.alone = delta
	return d
}

// between encloses the ε of e at a δ known to be in [low, high]; a negative δ
// stands for one that no ε reaches.
func (p PLD) between(e privacy.Event, adj privacy.Adjacency, low, high float64) (privacy.Interval, error) {
	out := privacy.Interval{Lower: math.Inf(1), Upper: math.Inf(1)}
	switch {
	case high < 0:
		return out, nil
	case low >= 1:
		return privacy.Interval{}, nil
	case low >= 0 && high < 1 && high-low <= low*massError:
		return p.evaluate(e, adj, query{delta: low, top: high})
	}
	if out.Lower = 0; high < 1 {
		a, err := p.evaluate(e, adj, query{delta: high, top: high})
		if err != nil {
			return out, err
		}
		out.Lower = a.Lower
	}
	if low >= 0 {
		a, err := p.evaluate(e, adj, query{delta: low, top: low})
		if err != nil {
			return out, err
		}
		out.Upper = a.Upper
	}
	return out, nil
}

// conditioned answers for a composition of approx leaves and a rest.
func (p PLD) conditioned(rest privacy.Event, s survival, adj privacy.Adjacency, q query) (privacy.Interval, error) {
	largest, _, err := supremum(rest, adj)
	if err != nil {
		return privacy.Interval{}, err
	}
	if q.wantDelta {
		if q.epsilon >= largest {
			return s.outer(privacy.Interval{}), nil
		}
		in, err := p.evaluate(rest, adj, q)
		return s.outer(in), err
	}
	low, high := s.inner(q.delta, q.top)
	out, err := p.between(rest, adj, low, high)
	if low >= 0 {
		out.Upper = math.Min(out.Upper, largest)
		out.Lower = math.Min(out.Lower, largest)
	}
	return out, err
}

// crude makes plds of terms whose losses, of thousands, fit no grid. It states only the
// largest finite loss and the probability of a failure, as one approx leaf does.
func (b builder) crude(terms []privacy.Term) (fixedSource, error) {
	*b.gap = true
	rest, s, _ := apart(terms)
	top, _, err := supremum(rest, b.adj)
	if err != nil {
		return fixedSource{}, err
	}
	up := nonPrivateSource.(fixedSource).up[remove]
	if !math.IsInf(top, 1) {
		d := approxPair(top, s.outer(privacy.Interval{}).Upper)
		up = pld{grid{h: 2 * top, off: top}, -1, []float64{d.list[0].mass, d.list[1].mass * (1 + massError)}, d.alone}
	}
	low := nothingSource.(fixedSource).low[remove]
	return fixedSource{[2]pld{up, up}, [2]pld{low, low}, 1, true}, nil
}

// draw is the rate of one sample, as a fraction.
type draw struct{ num, den float64 }

// onePlainDraw reports whether terms are one sample of a composition of leaves,
// with approx leaves among them.
func onePlainDraw(terms []privacy.Term) (d draw, inner privacy.Event, ok bool) {
	if len(terms) != 1 || terms[0].N != 1 {
		return d, nil, false
	}
	switch e := terms[0].Event.(type) {
	case privacy.Poisson:
		d, inner = draw{e.Q, 1}, e.Event
	case privacy.FixedSize:
		d, inner = draw{float64(e.M), float64(e.N)}, e.Event
	default:
		return d, nil, false
	}
	in, err := privacy.Terms(inner)
	if err != nil {
		return d, nil, false
	}
	if _, _, nested := onePlainDraw(in); nested { // one draw at the product of the rates
		return d, inner, true
	}
	for _, t := range in {
		if _, is := t.Event.(privacy.Approx); is {
			ok = true
		} else if privacy.Children(t.Event) != nil {
			return d, nil, false
		}
	}
	return d, inner, ok
}

// amplified answers for one sample at rate q of a composition of leaves: its ε at
// δ is ln(1+q(e^ε'−1)) for the ε' at δ/q inside. Removing a record has exactly
// that profile; adding one has none above it, since leaves are symmetric; and
// replacing one has none above it either (Balle, Barthe, Gaboardi 2018, Theorems
// 2 and 8 to 10; the argument is at [BoundedRange]). The division is exact where
// it can be, so that a sample of approx(ε,δ) is finite at qδ itself.
func (p PLD) amplified(d draw, inner privacy.Event, adj privacy.Adjacency, q query) (privacy.Interval, error) {
	quotient := func(delta float64, mode big.RoundingMode) *big.Float {
		x := exactly(delta, mode)
		return x.Quo(x.Mul(x, exactly(d.den, mode)), exactly(d.num, mode))
	}
	low, high := below(quotient(q.delta, big.ToNegativeInf)), above(quotient(q.top, big.ToPositiveInf))
	in, err := p.between(inner, adj, low, high)
	if err != nil {
		return in, err
	}
	s := sampling{d.num / d.den, remove}
	return privacy.Interval{Lower: s.out(in.Lower) * (1 - massError), Upper: s.out(in.Upper) * (1 + massError)}, nil
}

// allInfinite answers where infinite losses alone decide: they exceed δ, or no
// finite loss is above ε.
func allInfinite(parts []part, q query) (answer privacy.Interval, ok bool) {
	var low, up float64
	for _, p := range parts {
		low = union(low, p.low.inf, float64(p.n)) * (1 - massError)
		up = union(up, p.up.inf, float64(p.n)) * (1 + massError)
	}
	if !q.wantDelta {
		return privacy.Interval{Lower: math.Inf(1), Upper: math.Inf(1)}, low >= q.top
	}
	_, hi := support(parts)
	return privacy.Interval{Lower: low, Upper: math.Min(1, up)}, q.epsilon > hi+massError*(1+math.Abs(hi))
}

// failure estimates the P-mass at infinite loss that an event has in a direction. Precision
// is chosen by it; no bound rests on it.
func failure(e privacy.Event, adj privacy.Adjacency, dir direction) float64 {
	terms, err := privacy.Terms(e)
	if err != nil {
		return 0
	}
	all := 0.0
	for _, t := range terms {
		v := 0.0
		switch e := t.Event.(type) {
		case privacy.NonPrivate:
			v = 1
		case privacy.Approx:
			v = e.Delta
		case privacy.Poisson:
			if e.Q == 1 || dir != add {
				v = e.Q * failure(e.Event, adj, dir)
			}
		case privacy.FixedSize:
			v = float64(e.M) / float64(e.N) * failure(e.Event, adj, dir)
		case privacy.Parallel:
			var parts twoLargest
			for _, c := range e.Events {
				parts.add(failure(c, adj, dir))
			}
			if v = parts.first; adj == privacy.ReplaceOne {
				v = union(v, parts.second, 1)
			}
		}
		all = union(all, v, float64(t.N))
	}
	return all
}
