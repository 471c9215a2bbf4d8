package count

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/privacytest"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// discrete is the probability of a value of discrete Laplace noise.
func discrete(y int64, b float64) float64 {
	a := math.Exp(-1 / b)
	return (1 - a) / (1 + a) * math.Exp(-math.Abs(float64(y))/b)
}

// rounded is the probability of a value of Laplace noise that was rounded.
func rounded(y int64, b float64) float64 {
	if y == 0 {
		return -math.Expm1(-0.5 / b)
	}
	return math.Exp(-math.Abs(float64(y))/b) * math.Sinh(0.5/b)
}

// law is an exact distribution of outputs.
type law map[string]float64

// excess is the least δ at which p and q are (ε,δ)-indistinguishable.
func excess(p, q law, epsilon float64) float64 {
	one := func(p, q law) (sum float64) {
		for x, px := range p {
			sum += max(0, px-math.Exp(epsilon)*q[x])
		}
		return sum
	}
	return max(one(p, q), one(q, p))
}

// each calls fn with all vectors of n values of noise up to reach.
func each(n int, reach int64, fn func([]int64)) {
	v := make([]int64, n)
	var fill func(int)
	fill = func(i int) {
		if i == n {
			fn(v)
			return
		}
		for v[i] = -reach; v[i] <= reach; v[i]++ {
			fill(i + 1)
		}
	}
	fill(0)
}

// labelsLaw is the exact distribution of what is released, with the code that runs and
// every value of its noise.
func labelsLaw(counts map[string]int, threshold int64, b float64, limit int) law {
	var labels []string
	for l, n := range counts {
		if n > 0 {
			labels = append(labels, l)
		}
	}
	slices.Sort(labels)
	out := law{}
	each(len(labels), int64(math.Ceil(30*b)), func(v []int64) {
		p, next := 1.0, 0
		h := histogram{threshold: threshold, draw: func() int64 { next++; return v[next-1] }}
		var passed []string
		for i, l := range labels {
			p *= discrete(v[i], b)
			if h.passes(exactly(counts[l])) {
				passed = append(passed, l)
			}
		}
		out[strings.Join(h.order(passed, limit), ",")] += p
	})
	return out
}

// TestLabelsLaw compares the exact laws of what neighbouring data sets release, a unit
// more under a known label and under a new one, with the event; and sees when the
// threshold or the noise is too small.
func TestLabelsLaw(t *testing.T) {
	const tiny = 1e-11 // the noise beyond 30 scales, and rounding
	for _, epsilon := range []float64{1, 2} {
		for _, delta := range []float64{0.2, 0.02, 1e-4} {
			b, err := scale(epsilon)
			if err != nil {
				t.Fatal(err)
			}
			limit := threshold(b, delta)
			seen := map[string]float64{}
			for _, labels := range []int{0, 1} {
				for _, n := range []int{0, 1, 2, int(limit) - 1, int(limit)} {
					for m := range 3 {
						d := map[string]int{"a": n, "b": m}
						more := map[string]int{"a": n + 1, "b": m}
						p, q := labelsLaw(d, limit, b, labels), labelsLaw(more, limit, b, labels)
						if x := excess(p, q, epsilon); x > delta+tiny {
							t.Errorf("ε = %v, δ = %v: %v against one more a needs δ = %v", epsilon, delta, d, x)
						}
						low := func(d map[string]int) law { return labelsLaw(d, limit-1, b, labels) }
						small := func(d map[string]int) law { return labelsLaw(d, limit, b*0.8, labels) }
						seen["threshold"] = max(seen["threshold"], excess(low(d), low(more), epsilon))
						seen["scale"] = max(seen["scale"], excess(small(d), small(more), epsilon))
					}
				}
			}
			if limit > 2 && seen["threshold"] <= delta+tiny {
				t.Errorf("ε = %v, δ = %v: a threshold of %d would do, so %d is too large", epsilon, delta, limit-1, limit)
			}
			// A large δ makes up for less noise.
			if delta < 0.1 && seen["scale"] <= delta+tiny {
				t.Errorf("ε = %v, δ = %v: the test accepts noise of scale ×0.8", epsilon, delta)
			}
		}
	}
}

// TestSizesLaw: the exact law of two noisy sizes, cut off at 0 as they are.
func TestSizesLaw(t *testing.T) {
	const epsilon, tiny = 1.0, 1e-11
	sizesLaw := func(n, m int64, b float64) law {
		out := law{}
		each(2, int64(30*b), func(v []int64) {
			out[fmt.Sprint(max(0, n+v[0]), max(0, m+v[1]))] += rounded(v[0], b) * rounded(v[1], b)
		})
		return out
	}
	for n := range int64(4) {
		for m := range int64(3) {
			if x := excess(sizesLaw(n, m, 1), sizesLaw(n+1, m, 1), epsilon); x > tiny {
				t.Errorf("%d and %d, one more: δ = %v", n, m, x)
			}
		}
	}
	if x := excess(sizesLaw(3, 1, 0.8), sizesLaw(4, 1, 0.8), epsilon); x < 1e-3 {
		t.Error("the test accepts noise of scale ×0.8")
	}
}

// expBig encloses exp(-x) by its series at x/2^64, squared 64 times, to 300 bits; the
// relative error is far below 2^-100.
func expBig(x *big.Float) *big.Float {
	const halvings = 64
	f := func(v float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(v) }
	small := new(big.Float).SetPrec(400).SetMantExp(x, -halvings)
	sum, term := f(1), f(1)
	for i := 1; i < 40; i++ {
		term.Mul(term, small)
		term.Quo(term, f(-float64(i)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// TestThreshold: at the threshold a single unit passes with probability at most δ, in
// arithmetic of 400 bits, and two below it does not.
func TestThreshold(t *testing.T) {
	passing := func(limit int64, b, delta float64) bool {
		x := new(big.Float).SetPrec(400).Quo(big.NewFloat(1).SetPrec(400), big.NewFloat(b).SetPrec(400))
		k := new(big.Float).SetPrec(400).SetInt64(limit - 1)
		tail := expBig(k.Mul(k, x))
		bound := expBig(x)
		bound.Add(bound, big.NewFloat(1)).Mul(bound, big.NewFloat(delta))
		return tail.Cmp(bound) <= 0
	}
	for _, epsilon := range []float64{1e-9, 1e-3, 0.1, 0.3, 1, 2, 3.7, 10} {
		for _, delta := range []float64{0.9, 0.5, 0.2, 1e-3, 1e-6, 1e-12, 1e-300} {
			b, err := scale(epsilon)
			if err != nil {
				t.Fatal(err)
			}
			limit := threshold(b, delta)
			if !passing(limit, b, delta) {
				t.Errorf("ε = %v, δ = %v: one unit passes %d too often", epsilon, delta, limit)
			}
			if epsilon >= 1e-3 && limit > 3 && passing(limit-2, b, delta) {
				t.Errorf("ε = %v, δ = %v: %d is larger than needed", epsilon, delta, limit)
			}
		}
	}
}

// TestSizesNoise: what Sizes adds has the law of its event, and not that at ×0.9 or
// ×1.1. The events tested are |noise| ≤ k.
func TestSizesNoise(t *testing.T) {
	const n, epsilon = 40_000, 0.2
	d := dataset(t, []string{"a", "b"}, []int{500, 500}, record.Options{Labels: []string{"a", "b"}})
	s := noise.KeyFromSeed(5).Stream("sizes")
	reach := []int64{0, 2, 5, 8, 12, 20}
	hits := make([]int, len(reach))
	for range n / 2 {
		sizes, _, err := Sizes(d, epsilon, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range sizes {
			for i, k := range reach {
				if size >= 500-k && size <= 500+k {
					hits[i]++
				}
			}
		}
	}
	inside := func(b float64) (p []float64) {
		for _, k := range reach {
			p = append(p, -math.Expm1(-(float64(k)+0.5)/b))
		}
		return p
	}
	if w := privacytest.Misfit(n, hits, inside(1/epsilon)); w > 1 {
		t.Errorf("not Laplace noise of scale %v: %.2f", 1/epsilon, w)
	}
	for _, wrong := range []float64{0.9, 1.1} {
		if w := privacytest.Misfit(n, hits, inside(wrong/epsilon)); w < 1 {
			t.Errorf("the test accepts scale ×%v: %.2f", wrong, w)
		}
	}
}

// TestLabelsNoise: labels of a count pass as often as the law says, and not as at ×0.8
// or ×1.25. (The sampler's own test, in package noise, tells ×0.9 and ×1.1 apart; here a
// draw is a label with its records, and 20,000 a count leave 7 standard deviations
// between the statistic at these scales and its limit.)
func TestLabelsNoise(t *testing.T) {
	const epsilon, delta, each, passes = 1, 0.05, 100, 200
	b, err := scale(epsilon)
	if err != nil {
		t.Fatal(err)
	}
	limit := int(threshold(b, delta))
	above := []int{-2, -1, 1, 2}
	var labels []string
	var counts []int
	for i, a := range above {
		for j := range each {
			labels, counts = append(labels, fmt.Sprintf("%d %d", i, j)), append(counts, limit+a)
		}
	}
	d := dataset(t, labels, counts, record.Options{})
	s := noise.KeyFromSeed(6).Stream("labels")
	hits := make([]int, len(above))
	for range passes {
		found, _, err := Labels(context.Background(), d, LabelOptions{Epsilon: epsilon, Delta: delta}, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range found {
			hits[l[0]-'0']++
		}
	}
	pass := func(b float64) (p []float64) {
		a := math.Exp(-1 / b)
		for _, x := range above {
			if x >= 0 {
				p = append(p, 1-math.Pow(a, float64(x+1))/(1+a))
			} else {
				p = append(p, math.Pow(a, float64(-x))/(1+a))
			}
		}
		return p
	}
	if w := privacytest.Misfit(each*passes, hits, pass(b)); w > 1 {
		t.Errorf("%v of %d do not fit scale %v: %.2f", hits, each*passes, b, w)
	}
	for _, wrong := range []float64{0.8, 1.25} {
		if w := privacytest.Misfit(each*passes, hits, pass(b*wrong)); w < 1 {
			t.Errorf("the test accepts scale ×%v: %.2f", wrong, w)
		}
	}
}

// TestOrderTellsNoCounts: labels come in the order of what was released, and ties in
// that of their texts, whatever the order of counting.
func TestOrderTellsNoCounts(t *testing.T) {
	for _, at := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		labels, noisy := []string{"x", "b", "a"}, []int64{9, 5, 5}
		h := histogram{}
		var in []string
		for _, i := range at {
			in, h.passed = append(in, labels[i]), append(h.passed, noisy[i])
		}
		if got := h.order(in, 0); !slices.Equal(got, []string{"x", "a", "b"}) {
			t.Errorf("got %q", got)
		}
	}
}
