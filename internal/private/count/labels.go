package count

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// LabelOptions say what finding labels may cost.
type LabelOptions struct {
	// Epsilon is how well a unit hides among others of its label. Required, positive.
	Epsilon float64
	// Delta is the probability with which a label that only one unit has may be
	// released. Required, between 0 and 1.
	Delta float64
	// Max is how many labels are released at most, those with the largest noisy
	// counts; 0 for all that pass.
	Max int
	// MinCount is a noisy count below which nothing is released, if that is more than δ asks
	// for: public.
	MinCount int64
}

// Labels releases labels that enough units have, those with larger noisy counts first.
//
// Every unit has one label (record.Data.Conditions). To the count of every label that
// any unit has, discrete Laplace noise of scale 1/ε is added; a label passes if the sum
// reaches the threshold t, for which P(1 + noise ≥ t) ≤ δ.
//
// Theorem: the event, parallel(approx(ε,δ), …) over all labels there could be, holds.
// Proof: the units of one label are one part; all labels there could be, as sets of
// units, are a partition. For one label, let c be its count, and let it release its
// noisy sum if c > 0 and the sum reaches t, and nothing otherwise. One unit more or
// less, c and c+1:
//
//   - c > 0: both sums have discrete Laplace noise of scale at least 1/ε, and the
//     probabilities of any release differ by a factor of at most exp(ε) (Ghosh,
//     Roughgarden, Sundararajan 2009).
//   - c = 0: without the unit nothing is released; with it something is, with
//     probability p ≤ δ. So for any set of outcomes the probabilities differ by at
//     most δ: it is (0,δ)-differentially private.
//
// Both are (ε,δ)-differentially private. What is returned is a function of what the
// labels release: they are ordered by their noisy sums, then by their text, and cut off
// after Max. A unit that is exchanged for another touches at most two labels, which is
// what parallel means for the other adjacency.
func Labels(ctx context.Context, d *record.Data, o LabelOptions, s *noise.Stream) ([]string, privacy.Event, error) {
	return find(ctx, "labels", d.Conditions, o, s)
}

// Endings releases the last words of texts that enough units have.
//
// The theorem and its proof are as for [Labels]: every unit has one ending at most
// (record.Data.Endings), so that the units of each ending there could be are a partition,
// with those that have none. MinCount only drops what was released.
func Endings(ctx context.Context, d *record.Data, words int, o LabelOptions, s *noise.Stream) ([]string, privacy.Event, error) {
	by := func(ctx context.Context, choose func(seal.Count) bool) ([]seal.Record, error) {
		return d.Endings(ctx, words, choose)
	}
	return find(ctx, "endings", by, o, s)
}

// find releases what enough units have, as they are counted.
func find(ctx context.Context, what string, count func(context.Context, func(seal.Count) bool) ([]seal.Record, error), o LabelOptions, s *noise.Stream) ([]string, privacy.Event, error) {
	b, err := scale(o.Epsilon)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !(o.Delta > 0 && o.Delta < 1):
		return nil, nil, fmt.Errorf("δ = %v: to find %s it must lie between 0 and 1, for example 1e-6; without it, give a public list", o.Delta, what)
	case o.Max < 0:
		return nil, nil, fmt.Errorf("at most %d %s: it must be 0 for all, or more", o.Max, what)
	}
	laplace, err := noise.NewDiscreteLaplace(new(big.Rat).SetFloat64(b))
	if err != nil {
		return nil, nil, fmt.Errorf("finding %s: %w", what, err)
	}
	h := histogram{threshold: max(threshold(b, o.Delta), o.MinCount), draw: func() int64 { return laplace.Draw(s) }}
	records, err := count(ctx, h.passes)
	if err != nil {
		return nil, nil, fmt.Errorf("finding %s: %w", what, err)
	}
	labels := make([]string, len(records))
	for i, r := range records {
		labels[i] = seal.Condition(r)
	}
	leaf := privacy.Approx{Epsilon: o.Epsilon, Delta: o.Delta}
	return h.order(labels, o.Max), privacy.Parallel{Events: []privacy.Event{leaf, leaf}}, nil
}

// threshold is 1 + k for a k that noise of scale b reaches with probability at most δ.
// The discrete Laplace law has P(Y ≥ k) = a^k/(1+a) with a = exp(-1/b), for k ≥ 0; so
// k = b·(-ln δ - ln(1+a)), rounded up by more than the arithmetic can be off: each term
// has a relative error below 2^-51, and so has their difference against |ln δ| + 1.
func threshold(b, delta float64) int64 {
	a := math.Exp(-1 / b)
	k := b * (-math.Log(delta) - math.Log1p(a))
	slack := b * (-math.Log(delta) + 1) * 0x1p-48
	return 1 + int64(math.Ceil(max(1, k+slack)))
}

// histogram decides which labels pass.
type histogram struct {
	threshold int64
	draw      func() int64
	passed    []int64 // the noisy counts of those that did
}

func (h *histogram) passes(units seal.Count) bool {
	noisy := int64(seal.Exactly(units)) + h.draw()
	if noisy < h.threshold {
		return false
	}
	h.passed = append(h.passed, noisy)
	return true
}

// order puts the labels that passed, given as they were counted, into the order in
// which they are released.
func (h *histogram) order(labels []string, limit int) []string {
	at := make([]int, len(labels))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int {
		return cmp.Or(cmp.Compare(h.passed[j], h.passed[i]), strings.Compare(labels[i], labels[j]))
	})
	if limit > 0 && limit < len(at) {
		at = at[:limit]
	}
	out := make([]string, len(at))
	for i, j := range at {
		out[i] = labels[j]
	}
	return out
}
