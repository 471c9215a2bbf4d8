package accountant

import (
	"fmt"
	"math"
	"math/big"

	"github.com/sotto-dp/sotto/privacy"
)

// builder turns events into sources of plds.
type builder struct {
	adj       privacy.Adjacency
	tolerance float64
	// alone: of two records that are exchanged, one has no effect, as where they are sampled.
	// It is about lower ends, under replace-one.
	alone bool
	// gap is set when a part stands for a class of mechanisms, so that the upper
	// and the lower end come from different ones and need not meet.
	gap *bool
}

// composition makes a source for every term.
func (b builder) composition(terms []privacy.Term, q query) (*pldRun, error) {
	r := &pldRun{gap: b.gap}
	var mu2, rho float64
	for _, t := range terms {
		n := float64(t.N)
		switch e := t.Event.(type) {
		case privacy.Gaussian:
			mu2 += n / e.Sigma / e.Sigma
			continue
		case privacy.ZCDP:
			rho += n * e.Rho
			*b.gap = true
			continue
		}
		tail := 1e-24
		if !q.wantDelta {
			tail = math.Max(1e-290, q.spare()*1e-8/n/float64(len(terms)))
		}
		list, counts, err := b.source(t, tail)
		if err != nil {
			return nil, err
		}
		r.sources = append(r.sources, list...)
		r.counts = append(r.counts, counts...)
	}
	if mu2 > 0 {
		r.sources = append(r.sources, leafSource{gaussianPair{math.Sqrt(mu2)}, 1})
		r.counts = append(r.counts, 1)
	}
	if rho > 0 {
		r.sources = append(r.sources, zcdpSource(rho))
		r.counts = append(r.counts, 1)
	}
	return r, nil
}

// leaf returns the pair of a leaf that is one mechanism, not a class of them.
func leaf(e privacy.Event) (pair, bool) {
	switch e := e.(type) {
	case privacy.Gaussian:
		return gaussianPair{1 / e.Sigma}, true
	case privacy.Laplace:
		return laplacePair{1 / e.B}, true
	case privacy.Pure:
		return purePair(e.Epsilon), true
	case privacy.Approx:
		return approxPair(e.Epsilon, e.Delta), true
	case privacy.RandomizedResponse:
		return responsePair(e.Epsilon, e.K), true
	}
	return nil, false
}

// source makes the sources of one term, with their counts.
func (b builder) source(t privacy.Term, tail float64) ([]source, []int64, error) {
	if p, ok := leaf(t.Event); ok {
		_, hi := p.span(0.5)
		switch {
		case hi == 0 && p.infinite() == 0: // ε = 0 reveals nothing about anyone
			return nil, nil, nil
		case hi > 0 && hi < minLoss:
			*b.gap = true
			up, low := approxPair(minLoss, p.infinite()), approxPair(0, p.infinite())
			return []source{boundSource{leafSource{up, 1}, leafSource{low, 1}}}, []int64{t.N}, nil
		}
		return []source{leafSource{p, 1}}, []int64{t.N}, nil
	}
	var s source
	var err error
	switch t.Event.(type) {
	case privacy.BoundedRange, privacy.Parallel:
		*b.gap = true
	}
	switch e := t.Event.(type) {
	case privacy.BoundedRange:
		return boundedRangeSources(e.C, t.N, b.tolerance, tail)
	case privacy.NonPrivate:
		s = nonPrivateSource
	case privacy.Poisson:
		s, err = b.sampled(e.Q, e.Event, tail)
	case privacy.FixedSize:
		// Under replace-one, m of n without replacement has the profile of
		// Poisson sampling at rate m/n (Balle, Barthe, Gaboardi 2018, Theorem 9).
		s, err = b.sampled(float64(e.M)/float64(e.N), e.Event, tail)
	case privacy.Parallel:
		s, err = b.parallel(e, tail)
	default:
		return nil, nil, fmt.Errorf("internal error: %s is not a term", t.Event)
	}
	if err != nil {
		return nil, nil, err
	}
	return []source{s}, []int64{t.N}, nil
}

// minLoss is the least loss that grids are made for; leaves below it are
// rounded up to it.
const minLoss = 1e-15

// minRate is the least rate of sampling that grids are made for; lower ones are
// rounded up to it.
const minRate = 1e-18

// nothingSource reveals nothing: its loss is 0.
var nothingSource = func() source {
	d := pld{grid{1, 0}, 0, []float64{1}, 0}
	return fixedSource{[2]pld{d, d}, [2]pld{d, d}, 1, true}
}()

// nonPrivateSource reveals its input: all loss is infinite.
var nonPrivateSource = func() source {
	d := pld{grid{1, 0}, 0, []float64{0}, 1}
	return fixedSource{[2]pld{d, d}, [2]pld{d, d}, 1, true}
}()

// sampled returns an event run on a sample. Its lower end has one record that is as good as
// none: a sample that leaves a record out has neither of the two.
func (b builder) sampled(rate float64, inner privacy.Event, tail float64) (source, error) {
	if rate < minRate {
		*b.gap = true
		up, err := b.sampled(minRate, inner, tail)
		return boundSource{up, nothingSource}, err
	}
	terms, err := privacy.Terms(inner)
	if err != nil {
		return nil, err
	}
	if mu, ok := allGaussian(terms); ok {
		return leafSource{gaussianPair{mu}, rate}, nil
	}
	if len(terms) == 1 && terms[0].N == 1 {
		switch e := terms[0].Event.(type) {
		case privacy.Poisson: // a sample of a sample
			return b.sampled(rate*e.Q, e.Event, tail)
		default:
			if p, ok := leaf(e); ok {
				if _, hi := p.span(0.5); p.infinite() > 0 || (sampling{rate, remove}).out(hi) >= minLoss {
					return leafSource{p, rate}, nil
				}
			}
		}
	}
	b.alone = true
	f, err := b.whole(terms, math.Min(1e-9, tail/rate))
	if err != nil {
		return nil, err
	}
	f.q = rate
	return f, nil
}

// whole composes terms into plds that hold at every loss.
func (b builder) whole(terms []privacy.Term, tail float64) (fixedSource, error) {
	f := fixedSource{q: 1}
	q := everywhere(tail)
	r, err := b.composition(terms, q)
	if err != nil {
		return f, err
	}
	if len(r.sources) == 0 {
		return nothingSource.(fixedSource), nil
	}
	f.same = r.symmetric()
	for _, dir := range []direction{remove, add} {
		if dir == add && f.same {
			f.up[add], f.low[add] = f.up[remove], f.low[remove]
			break
		}
		var ok bool
		if f.up[dir], f.low[dir], ok = r.whole(dir, q, b.tolerance, tail); !ok {
			return b.crude(terms)
		}
	}
	if b.adj == privacy.ReplaceOne && !f.same {
		up, _, ok := r.whole(exchange, q, b.tolerance, tail)
		if !ok {
			return b.crude(terms)
		}
		f.up[remove], f.up[add] = up, up
	}
	return f, nil
}

// everywhere is a query for plds that hold at every loss.
func everywhere(tail float64) query {
	delta := math.Min(0.1, tail*1e7)
	return query{delta: delta, top: delta}
}

// whole composes a run over all losses, on the finest grid that fits. It reports
// false when none does.
func (r *pldRun) whole(dir direction, q query, tolerance, tail float64) (up, low pld, ok bool) {
	h := r.width(dir, q, tolerance/4)
	for range 30 {
		var grids []grid
		h, grids = r.align(dir, q, h)
		parts := make([]part, len(r.sources))
		cells := 0.0
		for i, s := range r.sources {
			o := s.outline(dir, r.tails(q, i))
			cells = math.Max(cells, (o.hi-o.lo)/h)
		}
		if cells <= maxCells {
			for i, s := range r.sources {
				u, l := s.build(dir, grids[i], r.tails(q, i))
				parts[i] = part{up: u, low: l, n: r.counts[i], shift: snap * u.h}
			}
			if len(parts) == 1 && parts[0].n == 1 {
				return parts[0].up, parts[0].low, true
			}
			if up, low, ok := flatten(parts, tail); ok {
				return up, low, true
			}
		}
		h *= 2
	}
	return up, low, false
}

// supremum returns the largest loss an event can have, which is its ε at δ = 0, rounded up,
// and whether it is known to be attained.
func supremum(e privacy.Event, adj privacy.Adjacency) (top float64, attained bool, err error) {
	terms, err := privacy.Terms(e)
	if err != nil {
		return 0, false, err
	}
	attained = true
	// Sums of whole multiples are exact in this precision, and rounded up once.
	sum := new(big.Float).SetPrec(2000).SetMode(big.ToPositiveInf)
	const inexact = 1 + 1e-15 // what a division or a logarithm may round away
	for _, t := range terms {
		var v float64
		ok := true
		switch e := t.Event.(type) {
		case privacy.Gaussian, privacy.Approx, privacy.NonPrivate: // approx(ε, 0) is a pure term
			v = math.Inf(1)
		case privacy.ZCDP:
			if v = math.Inf(1); e.Rho == 0 {
				v = 0
			}
		case privacy.Laplace:
			v = 1 / e.B * inexact
		case privacy.Pure:
			v = e.Epsilon
		case privacy.BoundedRange:
			v = e.C
		case privacy.RandomizedResponse:
			v = e.Epsilon
		case privacy.Poisson:
			v, ok, err = supremum(e.Event, adj)
			v = sampling{e.Q, remove}.out(v) * inexact
		case privacy.FixedSize:
			v, ok, err = supremum(e.Event, adj)
			v = sampling{float64(e.M) / float64(e.N), remove}.out(v) * inexact
		case privacy.Parallel:
			var parts twoLargest
			for _, c := range e.Events {
				w, o, cerr := supremum(c, adj)
				if cerr != nil {
					return 0, false, cerr
				}
				ok = ok && o
				parts.add(w)
			}
			if v = parts.first; adj == privacy.ReplaceOne {
				v = (v + parts.second) * inexact
				ok = false
			}
		}
		if err != nil {
			return 0, false, err
		}
		attained = attained && ok
		if math.IsInf(v, 1) {
			return v, attained, nil
		}
		run := new(big.Float).SetPrec(2000).SetFloat64(v)
		sum.Add(sum, run.Mul(run, new(big.Float).SetInt64(t.N)))
	}
	return above(sum), attained, nil
}
