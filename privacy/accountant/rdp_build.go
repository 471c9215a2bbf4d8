package accountant

import (
	"cmp"
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// rdpSum composes: Rényi divergences add up, also when each step depends on the
// results before it (Mironov 2017, Proposition 1).
type rdpSum []rdpTerm

type rdpTerm struct {
	n     float64
	curve rdpCurve
}

func (c rdpSum) at(a float64) float64 {
	sum := 0.0
	for _, t := range c {
		sum = rdpAddUp(sum, rdpMulUp(t.n, t.curve.at(a)))
	}
	return sum
}

// rdpParallel runs each part on records of its own. Under add/remove one part
// sees the record, so the largest curve counts at each order. Under replace-one
// a record either changes within its part, or leaves one part and joins
// another, which is one record less here and one more there.
type rdpParallel struct {
	parts []rdpCurve
	// moved holds the parts' curves for one record more or less; nil under
	// add/remove.
	moved []rdpCurve
}

func (c rdpParallel) at(a float64) float64 {
	top := 0.0
	for _, p := range c.parts {
		top = max(top, p.at(a))
	}
	var moved twoLargest
	for _, p := range c.moved {
		moved.add(p.at(a))
	}
	return max(top, rdpAddUp(moved.first, moved.second))
}

// twoLargest are the two largest of some numbers of at least 0: what the two parts cost that a
// replaced record is in.
type twoLargest struct{ first, second float64 }

func (t *twoLargest) add(v float64) {
	if v > t.first {
		t.first, t.second = v, t.first
	} else {
		t.second = max(t.second, v)
	}
}

// rdpBuilder turns events into curves.
type rdpBuilder struct{ adj privacy.Adjacency }

func (b rdpBuilder) curve(e privacy.Event) (rdpCurve, error) {
	terms, err := privacy.Terms(e)
	if err != nil {
		return nil, err
	}
	var sum rdpSum
	rho := 0.0
	for _, t := range terms {
		if g, ok := t.Event.(privacy.Gaussian); ok {
			rho = rdpAddUp(rho, rdpMulUp(float64(t.N), 0.5/(g.Sigma*g.Sigma)))
			continue
		}
		c, err := b.node(t.Event)
		if err != nil {
			return nil, err
		}
		sum = append(sum, rdpTerm{float64(t.N), c})
	}
	if rho > 0 {
		sum = append(sum, rdpTerm{1, rdpGaussian{rho}})
	}
	if len(sum) == 1 && sum[0].n == 1 {
		return sum[0].curve, nil
	}
	return sum, nil
}

// node handles one term of a composition, in canonical form.
func (b rdpBuilder) node(e privacy.Event) (rdpCurve, error) {
	switch e := e.(type) {
	case privacy.Laplace:
		return rdpLaplace{1 / e.B}, nil
	case privacy.Pure:
		return rdpResponse{e.Epsilon, 2}, nil
	case privacy.RandomizedResponse:
		return rdpResponse{e.Epsilon, float64(e.K)}, nil
	case privacy.BoundedRange:
		return rdpRange{e.C}, nil
	case privacy.ZCDP:
		return rdpZCDP{e.Rho}, nil
	case privacy.Poisson:
		return b.poisson(e)
	case privacy.FixedSize:
		if in, ok := e.Event.(privacy.FixedSize); ok && in.N == e.M {
			return b.node(privacy.FixedSize{N: e.N, M: in.M, Event: in.Event})
		}
		inner, err := b.curve(e.Event)
		if err != nil {
			return nil, err
		}
		return rdpSample(float64(e.M)/float64(e.N)*(1+rdpEps), inner, true), nil
	case privacy.Parallel:
		return b.parallel(e)
	default:
		return rdpNonPrivate{}, nil
	}
}

func (b rdpBuilder) poisson(e privacy.Poisson) (rdpCurve, error) {
	switch in := e.Event.(type) {
	case privacy.Poisson:
		// Kept by both of two independent draws.
		return b.poisson(privacy.Poisson{Q: min(1, e.Q*in.Q*(1+rdpEps)), Event: in.Event})
	case privacy.Parallel:
		if b.adj == privacy.AddRemove {
			// The record is in one part, and so is what sampling does to it.
			parts := make([]privacy.Event, len(in.Events))
			for i, p := range in.Events {
				parts[i] = privacy.Poisson{Q: e.Q, Event: p}
			}
			return b.parallel(privacy.Parallel{Events: parts})
		}
	}
	inner, err := b.curve(e.Event)
	if err != nil {
		return nil, err
	}
	return rdpSample(e.Q, inner, b.adj == privacy.ReplaceOne), nil
}

func (b rdpBuilder) parallel(e privacy.Parallel) (rdpCurve, error) {
	var out rdpParallel
	for _, p := range e.Events {
		c, err := b.curve(p)
		if err != nil {
			return nil, err
		}
		out.parts = append(out.parts, c)
		if b.adj != privacy.ReplaceOne {
			continue
		}
		moved := rdpBuilder{privacy.AddRemove}
		if c, err = moved.curve(p); err != nil {
			return nil, err
		}
		out.moved = append(out.moved, c)
	}
	return out, nil
}

// rdpNew checks an event and builds its curve.
func rdpNew(e privacy.Event, adj privacy.Adjacency) (rdpCurve, error) {
	adj, err := privacy.ParseAdjacency(string(adj))
	if err != nil {
		return nil, err
	}
	draws := refuseDraws(adj)
	refuse := func(n privacy.Event) string { return cmp.Or(draws(n), refuseApprox(n)) }
	if err := supported("rdp", e, refuse); err != nil {
		return nil, err
	}
	return rdpBuilder{adj}.curve(e)
}

// rdpSlack covers the rounding of the curves above, relatively. rdpTiny stands
// for a divergence that may have lost its digits to underflow.
const (
	rdpSlack = 1e-12
	rdpTiny  = 1e-290
)

// rdpAt returns a curve with its rounding covered. The largest loss is not widened: it is
// exact for leaves, and sums are rounded up.
func rdpAt(c rdpCurve, a float64) float64 {
	d := c.at(a)
	switch {
	case math.IsInf(a, 1):
		return d
	case d < rdpTiny && c.at(math.Inf(1)) == 0:
		return 0
	}
	return max(d*(1+rdpSlack), rdpTiny)
}

// refuseApprox returns the reason why a leaf has no Rényi divergence.
func refuseApprox(e privacy.Event) string {
	if a, ok := e.(privacy.Approx); ok && a.Delta > 0 {
		return "with δ above 0 no Rényi divergence is bounded; use the pld or auto accountant, and a planned budget instead of a filter"
	}
	return ""
}
