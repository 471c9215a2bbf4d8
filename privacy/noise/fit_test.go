package noise

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"testing"

	"github.com/sotto-dp/sotto/internal/privacytest"
)

// falseReject is the probability with which a correct sampler fails one
// goodness-of-fit test; missBound the probability, proven for each test from
// its own numbers, with which a sampler at scale ×0.9 or ×1.1 passes it.
const (
	falseReject = 1e-9
	missBound   = 1e-9
)

// fit is a goodness-of-fit test of a sampler whose outcomes fall into bins.
//
// The events tested are listed at the function events. For an event of
// probability p, Chernoff's bound says that its frequency f among n draws has
// P(n·KL(f‖p) > T) ≤ 2·exp(-T). The test rejects if any of the E events
// exceeds T = ln(2E/falseReject). By the union bound, which needs no
// asymptotics, a correct sampler is rejected with probability ≤ falseReject.
type fit struct {
	name  string
	draws int
	// doubtful is the number of draws on the slow paths. 0 means 1000.
	doubtful int
	// bins returns the probabilities of the bins at a scale.
	bins func(scale float64) []float64
	// sampler returns a function that draws a bin, at a scale. A bin outside
	// the range is an impossible outcome.
	sampler func(t testing.TB, scale float64) func(*Stream) int
}

// events turns values per bin into values per event: the bins, the runs of
// first bins, and what is left when equally many are cut off at both ends. The
// last kind sees the scale of a symmetric law best.
func events(bins []float64) []float64 {
	out := slices.Clone(bins)
	sum := 0.0
	for _, b := range bins[:len(bins)-1] {
		sum += b
		out = append(out, sum)
	}
	sum = 0
	for i := (len(bins) - 1) / 2; i > 0; i-- {
		j := len(bins) - 1 - i
		sum += bins[i]
		if j != i {
			sum += bins[j]
		}
		out = append(out, sum)
	}
	return out
}

func threshold(numEvents int) float64 {
	return math.Log(2 * float64(numEvents) / falseReject)
}

// excess returns the largest statistic over its threshold; above 1 rejects.
func (f fit) excess(t testing.TB, s *Stream, scale float64, draws int) float64 {
	t.Helper()
	want := f.bins(1)
	counts := make([]float64, len(want))
	draw := f.sampler(t, scale)
	for range draws {
		b := draw(s)
		if b < 0 || b >= len(counts) {
			return math.Inf(1)
		}
		counts[b]++
	}
	p, got := events(want), events(counts)
	worst := 0.0
	for i := range p {
		f := got[i] / float64(draws)
		worst = max(worst, float64(draws)*privacytest.KL(f, min(p[i], 1))/threshold(len(p)))
	}
	return worst
}

// miss bounds the probability that a sampler at another scale is accepted: for
// the event that tells the two apart best, the frequency must reach the edge of
// the accepted interval, which Chernoff's bound limits.
func (f fit) miss(scale float64) float64 {
	right, wrong := f.bins(1), f.bins(scale)
	if len(wrong) > len(right) {
		tail := 0.0
		for _, p := range wrong[len(right):] {
			tail += p
		}
		return math.Pow(1-tail, float64(f.draws))
	}
	wrong = append(wrong, make([]float64, len(right)-len(wrong))...)
	p, q := events(right), events(wrong)
	limit := threshold(len(p)) / float64(f.draws)
	best := 1.0
	for i := range p {
		inside, outside := min(p[i], 1), min(q[i], 1)
		if privacytest.KL(outside, inside) <= limit {
			continue
		}
		for range 60 {
			mid := (inside + outside) / 2
			if privacytest.KL(mid, min(p[i], 1)) <= limit {
				inside = mid
			} else {
				outside = mid
			}
		}
		best = min(best, math.Exp(-float64(f.draws)*privacytest.KL(outside, min(q[i], 1))))
	}
	return best
}

// run accepts the sampler with a fresh key, on ordinary draws and on draws
// whose 64-bit decisions are made to look doubtful, and rejects it at the wrong
// scales.
func (f fit) run(t *testing.T) {
	t.Helper()
	t.Run(f.name, func(t *testing.T) {
		sum := 0.0
		for _, p := range f.bins(1) {
			sum += p
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("bins add up to %v", sum)
		}
		key := freshKey(t)
		if x := f.excess(t, key.Stream("fit"), 1, f.draws); x > 1 {
			t.Errorf("rejected: statistic is %.3f times the threshold (false reject rate %.0e)", x, falseReject)
		}
		doubtful := key.Stream("doubtful")
		doubtful.widen = 1 << 61
		n := f.doubtful
		if n == 0 {
			n = 1000
		}
		if x := f.excess(t, doubtful, 1, n); x > 1 {
			t.Errorf("rejected when refined: statistic is %.3f times the threshold", x)
		}
		for i, scale := range []float64{0.9, 1.1} {
			miss := f.miss(scale)
			if miss > missBound {
				t.Errorf("test too weak: accepts scale ×%v with probability up to %.1e", scale, miss)
			}
			x := f.excess(t, key.Stream("wrong scale", uint64(i)), scale, f.draws)
			if x <= 1 {
				t.Errorf("accepted scale ×%v: statistic is %.3f times the threshold", scale, x)
			}
			t.Logf("scale ×%v rejected at %.0f times the threshold, miss ≤ %.0e", scale, x, miss)
		}
	})
}

func freshKey(t testing.TB) Key {
	t.Helper()
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// integerFit bins an integer-valued law with distribution function cdf(scale,
// m) = P(Y ≤ m) at the given edges.
func integerFit(name string, draws int, edges []int64, cdf func(scale float64, m int64) float64,
	sampler func(t testing.TB, scale float64) func(*Stream) int64,
) fit {
	slices.Sort(edges)
	edges = slices.Compact(edges)
	return fit{
		name:  name,
		draws: draws,
		bins: func(scale float64) []float64 {
			out := make([]float64, 0, len(edges)+1)
			prev := 0.0
			for _, e := range edges {
				c := cdf(scale, e)
				out = append(out, c-prev)
				prev = c
			}
			return append(out, 1-prev)
		},
		sampler: func(t testing.TB, scale float64) func(*Stream) int {
			draw := sampler(t, scale)
			return func(s *Stream) int {
				y := draw(s)
				return sort.Search(len(edges), func(i int) bool { return y <= edges[i] })
			}
		},
	}
}

// spread returns edges for a symmetric law of the given scale.
func spread(scale float64) []int64 {
	var out []int64
	for _, x := range []float64{-4, -3, -2, -1.5, -1, -0.6, -0.3, 0, 0.3, 0.6, 1, 1.5, 2, 3, 4} {
		m := int64(math.Floor(x * scale))
		out = append(out, m, m-1)
	}
	return out
}

func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

func laplaceCDF(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / 2
	}
	return 1 - math.Exp(-x)/2
}

func discreteLaplaceCDF(b float64, m int64) float64 {
	norm := 1 + math.Exp(-1/b)
	if m < 0 {
		return math.Exp(float64(m)/b) / norm
	}
	return 1 - math.Exp(-float64(m+1)/b)/norm
}

func label(name string, x float64) string { return fmt.Sprintf("%s %.4g", name, x) }
