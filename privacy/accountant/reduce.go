package accountant

import (
	"errors"
	"math"
	"math/big"
	"slices"

	"github.com/sotto-dp/sotto/privacy"
)

// The normal form. An event is reduced as long as one of these holds, each of which gives
// the exact answer from exact answers:
//
//   - a composition with one partition costs as much as with the worst of its parts ([byPart]);
//   - approx leaves of a composition fail or do not, apart from the rest ([apart]);
//   - one sample of leaves amplifies the whole ([solver.amplified]), which is done where what is
//     inside has a closed form, or reduces further.
//
// What is left is a composition of leaves, of repeated samples and of partitions, for the
// solvers: the closed form of Gaussians, optimal composition of equal bounded-range steps,
// numerical composition and Rényi divergences.

// ask is a question about δ(ε), which falls. It asks for ε where δ is known to lie in
// [low, high], or for δ at such an ε. The answer's upper end is for low, its lower one for
// high. A δ below 0 stands for one that no ε reaches.
type ask struct {
	low, high float64
	forDelta  bool
}

// enclose answers for any δ.
func (s solver) enclose(e privacy.Event, a ask) (Result, error) {
	switch {
	case a.forDelta || a.low >= 0 && a.high < 1 && a.high-a.low <= a.low*massError:
		return s.reduce(e, a)
	case a.high < 0:
		return Result{Interval: privacy.Interval{Lower: math.Inf(1), Upper: math.Inf(1)}, Accountant: "pld", Why: "failures alone exceed δ"}, nil
	case a.low >= 1:
		return Result{Accountant: "pld", Why: "δ is at least that of showing the sample"}, nil
	}
	out := Result{Interval: privacy.Interval{Upper: math.Inf(1)}, Accountant: "pld", Why: "failures alone may exceed δ"}
	if a.low >= 0 {
		got, err := s.reduce(e, ask{low: a.low, high: a.low})
		if err != nil {
			return out, err
		}
		out = got
	}
	out.Lower = 0
	if a.high < 1 {
		got, err := s.reduce(e, ask{low: a.high, high: a.high})
		if err != nil {
			return out, err
		}
		out.Lower = got.Lower
	}
	return out, nil
}

// reduce brings an event to its normal form and asks the solvers.
func (s solver) reduce(e privacy.Event, a ask) (Result, error) {
	terms, err := privacy.Terms(e)
	if err != nil {
		return Result{}, err
	}
	if len(terms) == 0 {
		return Result{Accountant: "auto", Why: "no part of the event reads a record"}, nil
	}
	var got Result
	if parts := byPart(terms, s.adj); parts != nil {
		got, err = s.worst(parts, a)
	} else if rest, alive, ok := apart(terms); ok {
		got, err = s.conditioned(rest, alive, a)
	} else if d, inner, ok := oneDraw(terms); ok && s.closed(inner) {
		got, err = s.amplified(d, inner, a)
	} else {
		got, err = s.compose(e, terms, a)
	}
	if long := (*tooLongError)(nil); !s.bounds || err != nil && !errors.As(err, &long) || err == nil && s.narrow(got) {
		return got, err
	}
	return s.bound(e, terms, a, got, err)
}

// worst answers by the part that costs the most.
func (s solver) worst(parts []privacy.Event, a ask) (Result, error) {
	var worst Result
	for i, part := range parts {
		r, err := s.reduce(part, a)
		if err != nil {
			return Result{}, err
		}
		lower := max(worst.Lower, r.Lower)
		if i == 0 || r.Upper > worst.Upper {
			worst = r
		}
		worst.Lower = lower
	}
	return worst, nil
}

// byPart rewrites compose(x, parallel(a, b, …)) as compose(x, a), compose(x, b), … when
// the parallel node is the only one and runs once.
//
// Under add-remove adjacency the record that neighbours differ in is in one part of the
// partition. All other parts run on the same records on both sides, so their outputs can
// be drawn independently of which side it is, given what came before: for each part the
// loss equals that of compose(x, part), and the exact answer is the largest of these (McSherry
// 2009, parallel composition, in its adaptive form). Sampling before it is sampling in the part.
func byPart(terms []privacy.Term, adj privacy.Adjacency) []privacy.Event {
	if adj != privacy.AddRemove {
		return nil
	}
	if p, ok := terms[0].Event.(privacy.Poisson); ok && len(terms) == 1 && terms[0].N == 1 {
		inner, err := privacy.Terms(p.Event)
		if err != nil {
			return nil
		}
		parts := byPart(inner, adj)
		for i, part := range parts {
			parts[i] = privacy.Canonical(privacy.Poisson{Q: p.Q, Event: part})
		}
		return parts
	}
	at := -1
	for i, t := range terms {
		if _, ok := t.Event.(privacy.Parallel); ok {
			if at >= 0 || t.N != 1 {
				return nil
			}
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	var parts []privacy.Event
	seen := map[string]bool{}
	for _, part := range terms[at].Event.(privacy.Parallel).Events {
		c := privacy.Compose{Events: []privacy.Event{part}}
		for i, t := range terms {
			if i != at {
				c.Events = append(c.Events, privacy.Repeat{N: t.N, Event: t.Event})
			}
		}
		whole := privacy.Canonical(c)
		if text := whole.String(); !seen[text] {
			seen[text] = true
			parts = append(parts, whole)
		}
	}
	return parts
}

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

// conditioned answers for a composition of approx leaves and a rest.
func (s solver) conditioned(rest privacy.Event, alive survival, a ask) (Result, error) {
	if a.forDelta {
		out, err := s.reduce(rest, a)
		out.Interval = alive.outer(out.Interval)
		return out, err
	}
	low, high := alive.inner(a.low, a.high)
	out, err := s.enclose(rest, ask{low: low, high: high})
	if err != nil || low < 0 {
		return out, err
	}
	largest, _, err := supremum(rest, s.adj)
	if err != nil {
		return out, err
	}
	return out, out.meet(Result{privacy.Interval{Upper: largest}, out.Accountant, "the largest loss of all"})
}

// drawError bounds the relative rounding of ln(1+q(e^ε−1)) and of its inverse.
const drawError = 0x1p-42

// draw is the rate of one sample, as a fraction.
type draw struct{ num, den float64 }

// oneDraw reports whether terms are one sample, and of what.
func oneDraw(terms []privacy.Term) (d draw, inner privacy.Event, ok bool) {
	if len(terms) == 1 && terms[0].N == 1 {
		switch e := terms[0].Event.(type) {
		case privacy.Poisson:
			return draw{e.Q, 1}, e.Event, true
		case privacy.FixedSize:
			return draw{float64(e.M), float64(e.N)}, e.Event, true
		}
	}
	return d, nil, false
}

// plain reports whether an event is a composition of leaves, or one sample of that. It then
// costs the most when a record is removed, also below a sample.
func plain(e privacy.Event) bool {
	terms, err := privacy.Terms(e)
	if err != nil {
		return false
	}
	if _, inner, ok := oneDraw(terms); ok {
		return plain(inner)
	}
	return !slices.ContainsFunc(terms, func(t privacy.Term) bool { return privacy.Children(t.Event) != nil })
}

// closed reports whether a plain event has a closed form, or reduces to one that may have.
func (s solver) closed(e privacy.Event) bool {
	terms, err := privacy.Terms(e)
	if err != nil || !plain(e) {
		return false
	}
	_, gaussian := allGaussian(terms)
	_, ranges := terms[0].Event.(privacy.BoundedRange)
	_, _, drawn := oneDraw(terms)
	_, _, fails := apart(terms)
	return gaussian || s.ranges && ranges && len(terms) == 1 || drawn || fails
}

// amplified answers for one sample at rate q of a plain event: its ε at δ is ln(1+q(e^ε'−1))
// for the ε' at δ/q inside.
//
// With P and Q the outputs when the record is in the sample and when it is not, removing a
// record compares (1−q)Q+qP with Q, and for γ = e^ε ≥ 1
//
//	H_γ((1−q)Q+qP ‖ Q) = q·H_γ'(P‖Q), γ' = 1+(γ−1)/q
//
// (Balle, Barthe, Gaboardi 2018, Theorem 2). Adding one compares Q with the mixture:
// (1−γ(1−q))₊·H_γ”(Q‖P), γ” = γq/(1−γ(1−q)). There the factor is at most q, γ” ≥ γ', and
// H of (Q,P) is at most that of (P,Q), so it is never larger. Replacing a record compares
// (1−q)R+qP with (1−q)R+qQ, and the same theorem bounds it by q times a mean of H_γ'(P‖R) and
// H_γ'(P‖Q), each covered by what the leaves claim. Other records' sampling only averages over
// such pairs, and H is jointly convex. Without replacement m of n have the same profile (their
// Theorem 9). Under add-remove the upper end holds whatever is sampled (their Theorem 8).
//
// The division is exact where it can be, so that a sample of approx(ε,δ) is finite at qδ.
func (s solver) amplified(d draw, inner privacy.Event, a ask) (Result, error) {
	by := sampling{d.num / d.den, remove}
	if a.forDelta {
		low, high := by.in(a.low)*(1-drawError), by.in(a.high)*(1+drawError)
		out, err := s.reduce(inner, ask{low: low, high: high, forDelta: true})
		largest := by.q // of any δ below a sample
		if d.den != 1 {
			largest = math.Nextafter(largest, 1)
		}
		out.Lower, out.Upper = by.q*out.Lower*(1-drawError), math.Min(largest, by.q*out.Upper*(1+drawError))
		return out, err
	}
	quotient := func(delta float64, mode big.RoundingMode) *big.Float {
		x := exactly(delta, mode)
		return x.Quo(x.Mul(x, exactly(d.den, mode)), exactly(d.num, mode))
	}
	low, high := below(quotient(a.low, big.ToNegativeInf)), above(quotient(a.high, big.ToPositiveInf))
	out, err := s.enclose(inner, ask{low: low, high: high})
	if out.Lower > 0 {
		out.Lower = by.out(out.Lower) * (1 - drawError)
	}
	if out.Upper > 0 {
		out.Upper = math.Nextafter(by.out(out.Upper)*(1+drawError), math.Inf(1))
	}
	return out, err
}
