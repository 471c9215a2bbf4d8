package accountant

import (
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// approxPair dominates every (ε,δ)-DP mechanism, and is one; see reduce.go.
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
