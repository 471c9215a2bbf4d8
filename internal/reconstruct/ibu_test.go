package reconstruct

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func likelihood(c *Counts, cells []float64) (sum float64) {
	seen := append([]float64(nil), cells...)
	plain(seen, c.channel.axes())
	for i, n := range c.cells {
		if n > 0 {
			sum += float64(n) / float64(c.rows) * math.Log(seen[i])
		}
	}
	return sum
}

// simplex calls fn with all distributions over n cells whose entries are multiples of 1/steps.
func simplex(n, steps int, fn func([]float64)) {
	x := make([]float64, n)
	var fill func(i, left int)
	fill = func(i, left int) {
		if i == n-1 {
			x[i] = float64(left) / float64(steps)
			fn(x)
			return
		}
		for k := range left + 1 {
			x[i] = float64(k) / float64(steps)
			fill(i+1, left-k)
		}
	}
	fill(0, steps)
}

// TestLikeliestIsTheMaximum tries all distributions on a grid: none is better than the
// estimate, and none is better than an early one by more than its gap.
func TestLikeliestIsTheMaximum(t *testing.T) {
	for _, c := range []Channel{
		{Domains: []int{2}, Keep: []float64{0.7}},
		{Domains: []int{3}, Keep: []float64{0.5}},
		{Domains: []int{2, 2}, Keep: []float64{0.8, 0.6}},
		{Domains: []int{1, 4}, Keep: []float64{1, 0.4}},
	} {
		r := rand.New(rand.NewPCG(3, 4))
		for range 12 {
			n, err := NewCounts(c)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n.cells {
				n.cells[i] = r.Int64N(20)
				n.rows += n.cells[i]
			}
			best, err := IBU(context.Background(), n, IBUOptions{Stop: MaxLikelihood, Tolerance: 1e-10, MaxEvaluations: 100_000})
			if err != nil {
				t.Fatal(err)
			}
			early, err := IBU(context.Background(), n, IBUOptions{Iterations: 3})
			if err != nil {
				t.Fatal(err)
			}
			if early.Iterations > 3 || math.Abs(early.Likelihood-likelihood(n, early.Cells)) > 1e-12 {
				t.Errorf("%d iterations of 3, likelihood %v, want %v", early.Iterations, early.Likelihood, likelihood(n, early.Cells))
			}
			simplex(len(n.cells), 40, func(x []float64) {
				l := likelihood(n, x)
				if l > best.Likelihood+1e-10 {
					t.Fatalf("%v: %v has likelihood %v, and the likeliest %v has %v", n.cells, x, l, best.Cells, best.Likelihood)
				}
				if l > early.Likelihood+early.Gap+1e-12 {
					t.Fatalf("%v: %v has likelihood %v, and the gap at %v is %v", n.cells, x, l, early.Likelihood, early.Gap)
				}
			})
		}
	}
}

// TestLikeliestIsUnbiasedInside: where the inverse is a distribution, it is the likeliest.
func TestLikeliestIsUnbiasedInside(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		c := channels(t)
		n := counts(t, c)
		for i := range n.cells { // not far from even
			n.cells[i] += 100
			n.rows += 100
		}
		want, err := unbiased(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range want {
			if v < 0.1/float64(len(want)) {
				return
			}
		}
		if len(want) > 4 {
			found++
		}
		got, err := IBU(context.Background(), n, IBUOptions{Stop: MaxLikelihood, Tolerance: 1e-11, MaxEvaluations: 300})
		if err != nil {
			t.Fatal(err)
		}
		best := likelihood(n, want)
		if got.Likelihood > best+1e-12 || got.Likelihood+got.Gap < best-1e-12 {
			t.Fatalf("likelihood %v with a gap of %v, and the inverse has %v", got.Likelihood, got.Gap, best)
		}
		warm := newClimb(n.channel)
		if warm.begin(n.cells, n.rows, want); warm.gap > 1e-9 {
			t.Fatalf("the inverse has a gap of %v", warm.gap)
		}
	})
	if found < 10 && !testing.Short() || found == 0 {
		t.Errorf("only %d inverses were distributions: the test tests little", found)
	}
}

// TestLikelihoodNeverFalls, with strides and without, and from any start.
func TestLikelihoodNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := counts(t, channels(t))
		last := math.Inf(-1)
		up := begun(n)
		for range 60 {
			if up.likelihood < last-1e-12 {
				t.Fatalf("the likelihood fell from %v to %v by a stride of %d", last, up.likelihood, up.stride)
			}
			last = up.likelihood
			up.step()
			sum := 0.
			for _, v := range up.cells {
				if !(v >= 0) {
					t.Fatalf("cell %v", v)
				}
				sum += v
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Fatalf("cells add up to %v", sum)
			}
		}
	})
}

func begun(n *Counts) *climb {
	c := newClimb(n.channel)
	c.begin(n.cells, n.rows, nil)
	return c
}

// population returns a distribution of rows that are much alike, over columns of two
// values.
func population(columns int) []float64 {
	cells := make([]float64, 1<<columns)
	for i, w := range []float64{0.4, 0.3, 0.2, 0.1} {
		for cell := range cells {
			p := w
			for c := range columns {
				yes := 0.1 + 0.8*float64((i*7+c*c*3)%5)/4
				if cell>>c&1 == 1 {
					p *= yes
				} else {
					p *= 1 - yes
				}
			}
			cells[cell] += p
		}
	}
	return cells
}

func even(columns int, epsilon float64) Channel {
	var c Channel
	for range columns {
		c.Domains, c.Keep = append(c.Domains, 2), append(c.Keep, 1/(1+math.Exp(-epsilon/float64(columns))))
	}
	return c
}

// observe draws so many perturbed rows from a population.
func observe(c Channel, cells []float64, rows int64, r *rand.Rand) *Counts {
	seen := append([]float64(nil), cells...)
	plain(seen, c.axes())
	run(seen)
	n, err := NewCounts(c)
	if err != nil {
		panic(err)
	}
	p := part{size: len(seen), sums: seen, any: seen}
	for range rows {
		n.cells[p.at(r.Float64(), p.sums)]++
	}
	n.rows = rows
	return n
}

func distance(a, b []float64) (sum float64) {
	for i := range a {
		sum += math.Abs(a[i] - b[i])
	}
	return sum / 2
}

// TestStridesKeepTheWay: after as many iterations, steps of strides are where single
// steps are, and took far fewer evaluations.
func TestStridesKeepTheWay(t *testing.T) {
	const columns, rows = 8, 20_000
	truth := population(columns)
	for _, epsilon := range []float64{2, 8, 20} {
		n := observe(even(columns, epsilon), truth, rows, rand.New(rand.NewPCG(5, 6)))
		fast := begun(n)
		single := begun(n)
		for fast.time < 200 {
			fast.step()
		}
		for single.time < fast.time {
			single.stride, single.good = 1, 0
			single.step()
		}
		moved := distance(single.cells, begun(n).cells)
		if off := distance(fast.cells, single.cells); off > 0.1*moved {
			t.Errorf("ε = %v: after %d iterations strides are off by %v, of a way of %v", epsilon, fast.time, off, moved)
		}
		t.Logf("ε = %v: %d iterations took %d evaluations", epsilon, fast.time, fast.evaluations)
		if fast.evaluations > fast.time {
			t.Errorf("ε = %v: %d iterations took %d evaluations", epsilon, fast.time, fast.evaluations)
		}
	}
}

// TestValidatedIsNearer: with many cells, the estimate that is stopped by rows it has not
// seen is nearer to the truth than the likeliest one and the inverse.
func TestValidatedIsNearer(t *testing.T) {
	const columns, rows = 10, 20_000
	truth := population(columns)
	for _, epsilon := range []float64{2, 10, 20} {
		n := observe(even(columns, epsilon), truth, rows, rand.New(rand.NewPCG(7, 8)))
		inverse, err := Inverse(n)
		if err != nil {
			t.Fatal(err)
		}
		likeliest, err := IBU(context.Background(), n, IBUOptions{Stop: MaxLikelihood, MaxEvaluations: 500})
		if err != nil {
			t.Fatal(err)
		}
		validated, err := IBU(context.Background(), n, IBUOptions{})
		if err != nil {
			t.Fatal(err)
		}
		i, l, v := distance(inverse.Cells, truth), distance(likeliest.Cells, truth), distance(validated.Cells, truth)
		t.Logf("ε = %v: total variation inverse %.3f, likeliest %.3f, validated %.3f after %d", epsilon, i, l, v, validated.Iterations)
		if !(v < l && l < i) {
			t.Errorf("ε = %v: inverse %.3f, likeliest %.3f, validated %.3f", epsilon, i, l, v)
		}
	}
}

// TestNothingPerturbed: a channel that keeps everything gives the shares back.
func TestNothingPerturbed(t *testing.T) {
	n := observe(Channel{Domains: []int{3, 2}, Keep: []float64{1, 1}}, []float64{0.5, 0, 0.2, 0.1, 0, 0.2}, 1000, rand.New(rand.NewPCG(1, 1)))
	for _, o := range []IBUOptions{{}, {Stop: MaxLikelihood}} {
		e, err := IBU(context.Background(), n, o)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "shares", e.Cells, n.shares(), 1e-9)
	}
	e, err := Inverse(n)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "inverse", e.Cells, n.shares(), 1e-12)
}

func TestIBURefuses(t *testing.T) {
	c := even(3, 3)
	empty, err := NewCounts(c)
	if err != nil {
		t.Fatal(err)
	}
	some := observe(c, population(3), 100, rand.New(rand.NewPCG(1, 1)))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, test := range map[string]struct {
		ctx    context.Context
		counts *Counts
		o      IBUOptions
	}{
		"no rows":      {context.Background(), empty, IBUOptions{}},
		"unknown stop": {context.Background(), some, IBUOptions{Stop: "soon"}},
		"negative":     {context.Background(), some, IBUOptions{MaxEvaluations: -1}},
		"cancelled":    {cancelled, some, IBUOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := IBU(test.ctx, test.counts, test.o); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
	if _, err := Inverse(empty); err == nil {
		t.Error("the inverse of nothing: no error")
	}
	if _, err := Errors(empty); err == nil {
		t.Error("errors of nothing: no error")
	}
}
