package accountant

import (
	"cmp"
	"errors"
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// BoundedRange evaluates repeated bounded-range steps (the exponential mechanism
// and its kin) by optimal adaptive composition: the adversary may choose each
// step after seeing the ones before, and the bounds hold for the worst choice.
// It handles n runs of boundedrange(c), alone or inside one poisson node, and is
// tight from both sides. Mixtures with other events are for [PLD].
//
// The theory is by Dong, Durfee and Rogers, "Optimal differential privacy
// composition for exponential mechanisms" (2020): of all c-bounded-range
// mechanisms those with two outcomes are worst, and δ follows from a backward
// recursion over the remaining steps. How the recursion is bounded from both
// sides is said at brTable; boundedrange(c) means the same under add-remove and
// replace-one adjacency, so both get the same answer.
//
// Sampling. With P and Q the outputs when the record is in the sample and when
// it is not, removing a record compares (1−q)Q+qP with Q, and for γ = e^ε ≥ 1
//
//	H_γ((1−q)Q+qP ‖ Q) = q·H_γ'(P‖Q), γ' = 1+(γ−1)/q
//
// (Balle, Barthe, Gaboardi 2018, Theorem 2). Adding one compares Q with the
// mixture: (1−γ(1−q))₊·H_γ”(Q‖P), γ” = γq/(1−γ(1−q)). There the factor is at
// most q, γ” ≥ γ', and the worst H is the same for (Q,P) as for (P,Q), so it is
// never larger. Replacing a record compares (1−q)R+qP with (1−q)R+qQ, and the
// same theorem bounds it by q times a mean of H_γ'(P‖R) and H_γ'(P‖Q), each
// covered by the leaf's claim. Other records' sampling only averages over such
// pairs, and H is jointly convex.
type BoundedRange struct {
	// Tolerance is the relative width of ε's interval that is aimed at; 0 means
	// 5e-4. The ends are guaranteed whatever it is.
	Tolerance float64
}

// Name implements [Accountant].
func (BoundedRange) Name() string { return "bounded-range" }

// Epsilon implements [Accountant].
func (b BoundedRange) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	p, rate, err := b.profile(e, adj)
	if err := cmp.Or(err, privacy.CheckDelta(delta)); err != nil {
		return privacy.Interval{}, err
	}
	inner := delta / rate
	if rate == 0 || inner >= 1 {
		return privacy.Interval{}, nil
	}
	// The quotient may be rounded up; ε for a smaller δ is not smaller.
	_, hi := p.epsilon(inner * (1 - 0x1p-52))
	lo, _ := p.epsilon(inner * (1 + 0x1p-52))
	return privacy.Interval{
		Lower: brSampled(lo, rate) * (1 - 0x1p-48),
		Upper: brSampled(hi, rate) * (1 + 0x1p-48),
	}, nil
}

// Delta implements [Accountant].
func (b BoundedRange) Delta(e privacy.Event, adj privacy.Adjacency, epsilon float64) (privacy.Interval, error) {
	p, rate, err := b.profile(e, adj)
	if err := cmp.Or(err, privacy.CheckEpsilon(epsilon)); err != nil {
		return privacy.Interval{}, err
	}
	if rate == 0 {
		return privacy.Interval{}, nil
	}
	inner := brUnsampled(epsilon, rate)
	return privacy.Interval{
		Lower: rate * p.lowerDelta(inner*(1+0x1p-48)),
		Upper: rate * p.upperDelta(inner*(1-0x1p-48)),
	}, nil
}

// brSampled is ln(1+q(e^ε−1)), brUnsampled its inverse.
func brSampled(eps, q float64) float64 {
	if eps > 700 {
		return max(0, eps+math.Log(q))
	}
	return math.Log1p(q * math.Expm1(eps))
}

func brUnsampled(eps, q float64) float64 {
	if x := math.Expm1(eps) / q; !math.IsInf(x, 1) {
		return math.Log1p(x)
	}
	return eps - math.Log(q)
}

// profile finds the steps of an event and the rate at which they are sampled.
func (b BoundedRange) profile(e privacy.Event, adj privacy.Adjacency) (*brProfile, float64, error) {
	if _, err := privacy.ParseAdjacency(string(adj)); err != nil {
		return nil, 0, err
	}
	err := supported(b.Name(), e, func(n privacy.Event) string {
		switch n.(type) {
		case privacy.BoundedRange, privacy.Compose, privacy.Repeat, privacy.Poisson:
			return ""
		}
		return "it composes equal bounded-range steps only; use the pld or rdp accountant"
	})
	if err != nil {
		return nil, 0, err
	}
	terms, err := privacy.Terms(e)
	if err != nil {
		return nil, 0, err
	}
	rate := 1.0
	if len(terms) == 1 && terms[0].N == 1 {
		if s, ok := terms[0].Event.(privacy.Poisson); ok {
			rate = s.Q
			if terms, err = privacy.Terms(s.Event); err != nil {
				return nil, 0, err
			}
		}
	}
	if len(terms) == 0 {
		return nil, 0, nil
	}
	step, ok := terms[0].Event.(privacy.BoundedRange)
	if !ok || len(terms) > 1 {
		return nil, 0, b.refuseMix(e)
	}
	p, err := brCached(brKey{step.C, terms[0].N, b.Tolerance})
	if errors.Is(err, errBRSteps) || errors.Is(err, errBRRange) {
		return nil, 0, b.refuse(e, err.Error()+" is beyond the recursion; use the pld or rdp accountant",
			func(n privacy.Event) bool { _, ok := n.(privacy.BoundedRange); return ok })
	}
	return p, rate, err
}

// refuseMix names what keeps an event of the right nodes from being one run of
// equal steps: a sampling node if there is one, else a step of another range.
func (b BoundedRange) refuseMix(e privacy.Event) error {
	if err := b.refuse(e, "a sampled part that is repeated, nested or composed with others needs the pld accountant",
		func(n privacy.Event) bool { p, ok := n.(privacy.Poisson); return ok && p.Q > 0 && p.Q < 1 }); err != nil {
		return err
	}
	first := privacy.BoundedRange{C: -1}
	return b.refuse(e, "its range differs from that of the steps before it; the pld accountant handles mixtures",
		func(n privacy.Event) bool {
			s, ok := n.(privacy.BoundedRange)
			if ok && first.C < 0 {
				first = s
			}
			return ok && s != first
		})
}

// refuse names the first node that is the reason, nil when none is.
func (b BoundedRange) refuse(e privacy.Event, why string, reason func(privacy.Event) bool) error {
	return privacy.Walk(e, func(n privacy.Event, offset int) error {
		if reason(n) {
			return &UnsupportedError{b.Name(), n.Node(), e.String(), offset, why}
		}
		return nil
	})
}

type brKey struct {
	c     float64
	steps int64
	tol   float64
}

// brProfiles keeps profiles: a calibration or a plot asks many times about few of them.
var brProfiles = memo[brKey, *brProfile]{size: 16}

func brCached(k brKey) (*brProfile, error) {
	return brProfiles.get(k, func() (*brProfile, error) { return newBRProfile(k.c, k.steps, k.tol) })
}
