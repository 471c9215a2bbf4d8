package decode

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// normal is the distribution function.
func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// largestOf are the chances of each value to be the largest once the question is asked:
// ∫ φ(z) Π_j Φ(z + (x_i−x_j)/s) dz, by the trapezoidal rule, which for such integrands is
// exact to the last digits. Ties of rounded noise have probabilities around 2^-30.
func largestOf(q mechanism.Query) []float64 {
	out := make([]float64, len(q.Values))
	deviation := q.Sensitivity * q.Sigma
	const h, reach = 0.125, 9.0
	for i, x := range q.Values {
		for z := -reach; z <= reach; z += h {
			f := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * h
			for j, y := range q.Values {
				if j != i {
					f *= normal(z + float64(x-y)/deviation)
				}
			}
			out[i] += f
		}
	}
	return out
}

func exponents(c mechanism.Selection) []float64 {
	top := slices.Max(c.Scores)
	out := make([]float64, len(c.Scores))
	for i, n := range c.Scores {
		out[i] = math.Ldexp(float64(n-top), -c.Exponent) * c.Rate
	}
	return out
}

func softmaxOf(c mechanism.Selection) []float64 {
	out := exponents(c)
	total := 0.0
	for i, x := range out {
		out[i] = math.Exp(x)
		total += out[i]
	}
	for i := range out {
		out[i] /= total
	}
	return out
}

// noisyMaxOf lists which coins of permute-and-flip show heads, of which one wins.
func noisyMaxOf(c mechanism.Selection) []float64 {
	heads := exponents(c)
	out := make([]float64, len(heads))
	for coins := 1; coins < 1<<len(heads); coins++ {
		p, n := 1.0, 0
		for i, x := range heads {
			if coins>>i&1 == 1 {
				p *= math.Exp(x)
				n++
			} else {
				p *= -math.Expm1(x)
			}
		}
		for i := range out {
			if coins>>i&1 == 1 {
				out[i] += p / float64(n)
			}
		}
	}
	return out
}

// walk runs an algorithm on all answers from a few cells for each number, and hands over
// what it gave with the probability of these answers. The cells do not depend on the
// numbers: to see answers in cells only is post-processing, so whatever is declared for
// the algorithm holds for what walk finds, without any error of discretisation.
func walk(run func(asker) (int, error), cells func(q mechanism.Query) []float64, visit func(result int, probability float64)) {
	var path []int
	for {
		probability, at := 1.0, 0
		var width []int
		result, err := run(func(q mechanism.Query) error {
			edges := cells(q)
			for i, x := range q.Values {
				if at == len(path) {
					path = append(path, 0)
				}
				width = append(width, len(edges)+1)
				p, answer := cell(edges, path[at], float64(x), q.Sensitivity*q.Sigma)
				probability *= p
				q.Values[i] = answer
				at++
			}
			return nil
		})
		if err != nil {
			panic(err)
		}
		visit(result, probability)
		path = path[:at]
		for len(path) > 0 && path[len(path)-1] == width[len(path)-1]-1 {
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			return
		}
		path[len(path)-1]++
	}
}

// cell is the probability that x with noise, rounded, falls into a cell between edges, and
// the number that stands for the cell.
func cell(edges []float64, at int, x, deviation float64) (float64, int64) {
	low, high := math.Inf(-1), math.Inf(1)
	if at > 0 {
		low = edges[at-1]
	}
	if at < len(edges) {
		high = edges[at]
	}
	p := normal((high-x)/deviation) - normal((low-x)/deviation)
	switch {
	case math.IsInf(low, -1):
		return p, int64(math.Ceil(high)) - 1
	case math.IsInf(high, 1):
		return p, int64(math.Ceil(low))
	}
	return p, int64((low + high) / 2)
}

// radiusChances lists all paths of a pick, with answers in cells.
func radiusChances(r *Radius, c cloud) []float64 {
	out := make([]float64, c.width)
	t := float64((8*c.size + 5) / 10)
	targets := map[int]float64{}
	walk(func(ask asker) (int, error) {
		target, err := r.search(c, ask)
		return int(target), err
	}, func(mechanism.Query) []float64 {
		return []float64{math.Ldexp(t*t, counts)}
	}, func(target int, p float64) { targets[target] += p })
	for target, chance := range targets {
		walk(func(ask asker) (int, error) {
			return r.refine(c, int64(target), ask)
		}, func(q mechanism.Query) []float64 {
			if len(q.Values) == 1 {
				return []float64{math.Ldexp(0.55*float64(c.size), counts)}
			}
			whole := math.Ldexp(1, mass)
			var edges []float64
			for x := 0.1; x < float64(c.size); x += 0.4 {
				edges = append(edges, x*whole)
			}
			return edges
		}, func(pick int, p float64) { out[pick] += chance * p })
	}
	return out
}

// views for the comparison of chances with picks.
func someViews(prompts int) []View {
	a, b, c := math.Log(0.6), math.Log(0.3), math.Log(0.1)
	view := View{
		Public: []float64{b, a, c}, Base: []float64{b, a, c},
		Prompts: [][]float64{{a, b, c}, {a, c, b}}, Empty: prompts - 2,
	}
	level := View{
		Public: []float64{c, c, a}, Base: []float64{b, b, b},
		Prompts: [][]float64{{0, -30, -30}, {-30, 0, -30}}, Empty: prompts - 2,
	}
	return []View{view, level}
}

// TestPicksHaveTheirChances runs what is released: frequencies of picks against the
// chances that the checks compute with. A right method fails with probability at most
// 1e-9 (Chernoff's bound, over all methods, views and candidates).
func TestPicksHaveTheirChances(t *testing.T) {
	const picks = 6000
	key, err := noise.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	count := func(s subject, v View, at ...uint64) []float64 {
		out := make([]float64, len(v.Public))
		for i := range picks {
			pick, err := s.Select(v, key.Stream("picks "+s.Name(), append(at, uint64(i))...))
			if err != nil {
				t.Fatal(err)
			}
			out[pick]++
		}
		return out
	}
	misfit := func(counts, chances []float64) float64 {
		worst := 0.0
		for i, n := range counts {
			worst = max(worst, picks*divergence(n/picks, min(1, chances[i]))/math.Log(2*100/1e-9))
		}
		return worst
	}
	const fewer = 2 // noise against that of the same method with half of it
	for at, c := range []struct{ right, wrong subject }{
		{gaussianSubject(&Gaussian{Draw: oneEach(3), Sigma: 0.7}), gaussianSubject(&Gaussian{Draw: oneEach(3), Sigma: 0.7 / fewer})},
		{noisyMaxSubject(&NoisyMax{Draw: oneEach(3), Epsilon: 1.3}), noisyMaxSubject(&NoisyMax{Draw: oneEach(3), Epsilon: 1.3 * fewer})},
		{clippedSubject(&Clipped{Draw: perText(0.5), Expected: 2, Range: 2, Temperature: 1, Candidates: 3}), clippedSubject(&Clipped{Draw: perText(0.5), Expected: 2, Range: 1, Temperature: 1, Candidates: 3})},
		{mixingSubject(&Mixing{Draw: perText(0.5), Expected: 2, Range: 2, Temperature: 1, Candidates: 3}), mixingSubject(&Mixing{Draw: perText(0.5), Expected: 2, Range: 1, Temperature: 1, Candidates: 3})},
	} {
		found := false
		for i, v := range someViews(3) {
			if err := c.right.Check(); err != nil {
				t.Fatal(err)
			}
			counts := count(c.right, v, uint64(at), uint64(i))
			if x := misfit(counts, c.right.chances(v)); x > 1 {
				t.Errorf("%s: %v picks where %v are right, %.1f times the limit", c.right.Name(), counts, c.right.chances(v), x)
			}
			found = found || misfit(counts, c.wrong.chances(v)) > 1
		}
		if !found {
			t.Errorf("%s: picks pass for those with other noise", c.right.Name())
		}
	}
}

func divergence(f, p float64) float64 {
	term := func(a, b float64) float64 {
		switch {
		case a <= 0:
			return 0
		case b <= 0:
			return math.Inf(1)
		}
		return a * math.Log(a/b)
	}
	return max(0, term(f, p)+term(1-f, 1-p))
}

// TestRadiusWalk: probabilities of all paths add up, and agree with picks where cells do
// not matter.
func TestRadiusWalk(t *testing.T) {
	r := &Radius{Draw: oneEach(3), Sigma0: 3, Sigma1: 0.9, Sigma2: 2, Lambda: 0.2, Rounds: 1}
	for _, v := range someViews(3) {
		v.Public, v.Base = v.Public[:2], v.Base[:2]
		for i := range v.Prompts {
			v.Prompts[i] = v.Prompts[i][:2]
		}
		total := 0.0
		for _, p := range radiusChances(r, newCloud(v)) {
			total += p
		}
		if math.Abs(total-1) > 1e-9 {
			t.Error(fmt.Errorf("paths add up to %v", total))
		}
	}
}

// TestExtremeSettings: settings that Check allows pick something, without noise to speak
// of the right thing.
func TestExtremeSettings(t *testing.T) {
	v := someViews(3)[0] // the prompts are for the first candidate
	v.Prompts = append(v.Prompts, v.Prompts[0])
	v.Empty = 0
	for _, c := range []struct {
		method Method
		sure   bool
	}{
		{&Gaussian{Draw: oneEach(3), Sigma: 1e-300}, true},
		{&Gaussian{Draw: oneEach(3), Sigma: 1e4}, false},
		{&NoisyMax{Draw: oneEach(3), Epsilon: 1e300}, true},
		{&NoisyMax{Draw: oneEach(3), Epsilon: minRate}, false},
		{&Radius{Draw: oneEach(3), Sigma0: 1e-300, Sigma1: 1e-300, Sigma2: 1e-300, Rounds: 50}, true},
		{&Radius{Draw: oneEach(3), Sigma0: loudest, Sigma1: loudest, Sigma2: loudest, Lambda: 1e300, Rounds: 50}, false},
		{&Clipped{Draw: perText(1), Expected: 1e-6, Range: 1e300, Temperature: 1e-3, Candidates: 1}, true},
		{&Clipped{Draw: perText(1), Expected: 1e3, Range: 1e-6, Temperature: 1e3, Candidates: 1}, false},
		{&Mixing{Draw: perText(1), Expected: 1e-6, Range: 1e300, Temperature: 1e-3, MaxLambda: farthest, Candidates: 2}, true},
		{&Mixing{Draw: perText(1), Expected: heaviest, Range: 1e-6, Temperature: 1e3, MaxLambda: 1e-300}, false},
		{&PublishedMixing{Draw: scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 3, Of: 3}, Order: 2, Beta: 1e-300}, false},
		{&PublishedMixing{Draw: scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 3, Of: 3}, Order: 1000, Beta: 1e300, MaxLambda: farthest}, true},
	} {
		if err := c.method.Check(); err != nil {
			t.Errorf("%+v: %v", c.method, err)
		}
		for i := range uint64(20) {
			pick, err := c.method.Select(v, noise.KeyFromSeed(i).Stream("pick"))
			at := expect.At(t, "%+v", c.method)
			expect.NoError(at, err)
			expect.Within(at, "pick", pick, 0, 2)
			if c.sure {
				expect.Equal(at, "pick", pick, 0)
			}
		}
	}
}
