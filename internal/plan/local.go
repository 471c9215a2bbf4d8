package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/table/local"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/schema"
)

// How a row's ε is shared out over its columns.
const (
	// SplitEqual gives every column of more than one value the same. The default.
	SplitEqual = "equal"
	// SplitWeights gives in proportion to weights.
	SplitWeights = "weights"
	// SplitOptimal makes the sum of the predicted variances of all combinations of values
	// the least: columns of more values get more.
	SplitOptimal = "optimal"
)

// LocalRequest is what a user says about perturbing a table.
type LocalRequest struct {
	// Schema of the table, all of whose columns are discrete. Required.
	Schema schema.Schema
	// Epsilon of a row. Required.
	Epsilon float64
	// Weights of columns; those that are not named have 1. None: by Split.
	Weights map[string]float64
	// Split is SplitEqual by default, or SplitWeights if there are weights.
	Split string
	// Rows is the declared number of rows, for predictions. Optional.
	Rows int64
}

// Local fixes how a table is perturbed, except for randomness and data. It is public.
type Local struct {
	Schema schema.Schema `json:"schema"`
	// Epsilon is what a row may cost, with δ = 0.
	Epsilon float64 `json:"epsilon"`
	Split   string  `json:"split"`
	// Rows is the declared number of rows, 0 if nothing was said.
	Rows     int64          `json:"rows,omitempty"`
	Settings local.Settings `json:"settings"`
}

// NewLocal makes a plan that keeps to the ε of a request.
func NewLocal(r LocalRequest) (Local, error) {
	weights, err := r.weights()
	if err != nil {
		return Local{}, err
	}
	l := Local{Schema: r.Schema.WithDefaults(), Epsilon: r.Epsilon, Split: r.Split, Rows: r.Rows}
	if l.Settings.Domains, err = reconstruct.Domains(l.Schema); err != nil {
		return Local{}, wrong("%v", err)
	}
	l.Settings.Epsilons = make([]float64, len(weights))
	if err := l.share(weights); err != nil {
		return Local{}, err
	}
	if err := l.Check(); err != nil {
		return Local{}, wrong("%v", err)
	}
	return l, nil
}

// weights checks the request, and returns a weight for every column.
func (r *LocalRequest) weights() ([]float64, error) {
	for _, p := range r.Schema.WithDefaults().Check() {
		if !p.Warning {
			return nil, wrong("the schema cannot be used: %s: %s; %s", p.Where, p.What, p.Fix)
		}
	}
	if err := privacy.CheckEpsilon(r.Epsilon); err != nil {
		return nil, wrong("%v", err)
	}
	if r.Rows < 0 {
		return nil, wrong("the number of rows (%d) must not be negative", r.Rows)
	}
	if len(r.Weights) > 0 {
		setDefault(&r.Split, SplitWeights)
	}
	setDefault(&r.Split, SplitEqual)
	if !slices.Contains([]string{SplitEqual, SplitWeights, SplitOptimal}, r.Split) {
		return nil, wrong("unknown split %q: %s, %s or %s", r.Split, SplitEqual, SplitWeights, SplitOptimal)
	}
	if len(r.Weights) > 0 && r.Split != SplitWeights {
		return nil, wrong("weights and the split %s are two ways to share out ε: give one of them", r.Split)
	}
	out := make([]float64, len(r.Schema.Columns))
	for i := range out {
		out[i] = 1
	}
	for _, name := range slices.Sorted(maps.Keys(r.Weights)) {
		i, err := r.Schema.Named(name)
		if err != nil {
			return nil, wrong("weights: %v", err)
		}
		if out[i] = r.Weights[name]; !(out[i] > 0) || math.IsInf(out[i], 1) {
			return nil, wrong("the weight %v of column %q must be positive: leave the column out of the schema if it is worth nothing", out[i], name)
		}
	}
	return out, nil
}

// share gives each column its part of ε, so that the accountant finds that they cost no
// more together. Columns of one value cost nothing.
func (l *Local) share(weights []float64) error {
	total := 0.
	for i, d := range l.Settings.Domains {
		if d == 1 {
			weights[i] = 0
		}
		total += weights[i]
	}
	if total == 0 {
		return wrong("every column of the schema has one value: there is nothing to perturb")
	}
	for i, w := range weights {
		l.Settings.Epsilons[i] = l.Epsilon * (w / total)
	}
	if l.Split == SplitOptimal {
		l.Settings.Epsilons = optimal(l.Settings.Domains, l.Epsilon)
	}
	if err := l.Settings.Check(); err != nil {
		return wrong("ε = %v shared out over the columns is too little or too much: %v", l.Epsilon, err)
	}
	for shrink := 0x1p-52; ; shrink *= 2 {
		cost, err := accountant.Auto{}.Epsilon(l.Event(), l.Adjacency(), 0)
		if err != nil {
			return fmt.Errorf("planning to perturb: %w", err)
		}
		if cost.Upper <= l.Epsilon {
			return nil
		}
		// The sum of parts was rounded up.
		for i := range l.Settings.Epsilons {
			l.Settings.Epsilons[i] *= 1 - shrink
		}
	}
}

// optimal shares out ε so that the product of the columns' gains is least, which is what
// the predicted variances add up to (reconstruct.Channel.CellError). With u = e^−ε and k = d−1
// the logarithm of a gain is
//
//	ln((1+(k−1)u)² + ku²) − 2·ln(1−u),
//
// a sum of convex functions of ε (logarithms of sums of exponentials), so that the least
// is where all have the same slope, and slopes shrink as ε grows.
func optimal(domains []int, epsilon float64) []float64 {
	out := make([]float64, len(domains))
	fill := func(slope float64) (total float64) {
		for i, d := range domains {
			if d > 1 {
				out[i] = halve(0, epsilon, func(e float64) bool { return logSlope(e, d) > slope })
				total += out[i]
			}
		}
		return total
	}
	slope := halve(-800, 100, func(s float64) bool { return fill(s) > epsilon })
	total := fill(slope)
	for i := range out {
		out[i] *= epsilon / total
	}
	return out
}

// logSlope is the logarithm of minus the slope of a gain's logarithm, 2ku(1+ku) over
// ((1+(k−1)u)²+ku²)(1−u).
func logSlope(epsilon float64, d int) float64 {
	u, k := math.Exp(-epsilon), float64(d-1)
	a := 1 + (k-1)*u
	return math.Log(2*k) - epsilon + math.Log1p(k*u) - math.Log(a*a+k*u*u) - math.Log(-math.Expm1(-epsilon))
}

// halve finds where a condition that holds at low and not at high stops to hold.
func halve(low, high float64, holds func(float64) bool) float64 {
	for range 100 {
		if middle := low + (high-low)/2; holds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low + (high-low)/2
}
