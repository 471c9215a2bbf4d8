package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// atMost returns the greatest count whose probability, or that of a lower one, is at most
// 1e-9 for n trials of probability p: what a test rejects at, so that it is wrong with that
// probability if seeds were drawn anew.
func atMost(n int, p float64) int {
	k := 0
	for binomialTail(n, k, p) <= 1e-9 {
		k++
	}
	return k - 1
}

// scoreModel is of simulated scores: an effect of each seed, one of each item, one of both.
type scoreModel struct {
	seeds, items           int
	ofSeed, ofItem, ofBoth float64
	// binary turns them into right or wrong.
	binary bool
}

func (s scoreModel) draw(r *rand.Rand) [][]float64 {
	item := make([]float64, s.items)
	for j := range item {
		item[j] = s.ofItem * r.NormFloat64()
	}
	out := make([][]float64, s.seeds)
	for i := range out {
		seed := s.ofSeed * r.NormFloat64()
		out[i] = make([]float64, s.items)
		for j := range out[i] {
			v := seed + item[j] + s.ofBoth*r.NormFloat64()
			if s.binary {
				v = math.Round(normal(1e9 * v))
			}
			out[i][j] = v
		}
	}
	return out
}

func (s scoreModel) mean() float64 {
	if s.binary {
		return 0.5
	}
	return 0
}

// TestPlainCrossedCovers simulates tables of known mean. An interval that covers with a
// probability of 0.92 or more fails here with one of less than 1e-9; resampling single
// scores, seeds alone, or seeds with items anew for each does fail.
func TestPlainCrossedCovers(t *testing.T) {
	const times = 400
	for name, s := range map[string]scoreModel{
		"three seeds": {seeds: 3, items: 30, ofSeed: 0.2, ofItem: 1, ofBoth: 0.5},
		"both":        {seeds: 6, items: 40, ofSeed: 0.15, ofItem: 1, ofBoth: 0.7},
		"binary":      {seeds: 10, items: 40, ofSeed: 0.2, ofItem: 1, ofBoth: 0.7, binary: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(s.seeds)))
			o := Options{Resamples: 300}
			covered, single, seedsAlone, anew, length := 0, 0, 0, 0, 0.0
			for i := range times {
				table := s.draw(r)
				o.Seed = uint64(i)
				in, err := Crossed(table, o)
				if err != nil {
					t.Fatal(err)
				}
				var all, means []float64
				for _, row := range table {
					all, means = append(all, row...), append(means, Mean(row))
				}
				pooled, err := percentile(all, o)
				if err != nil {
					t.Fatal(err)
				}
				bySeed, err := percentile(means, o)
				if err != nil {
					t.Fatal(err)
				}
				covered += holds(in, s.mean())
				single += holds(pooled, s.mean())
				seedsAlone += holds(bySeed, s.mean())
				anew += holds(nested(table, o), s.mean())
				length += (in.High - in.Low) / times
			}
			limit := atMost(times, 0.92)
			t.Logf("of %d intervals %d cover, %d of single scores, %d of seeds, %d with items anew; %d reject; mean length %.3f",
				times, covered, single, seedsAlone, anew, limit, length)
			if covered <= limit {
				t.Errorf("%d of %d intervals cover", covered, times)
			}
			if max(single, seedsAlone, anew) > limit {
				t.Errorf("wrong intervals pass: %d of single scores, %d of seeds, %d with items anew", single, seedsAlone, anew)
			}
			if !s.binary {
				// Wide intervals cover too. Student's widest factor here is 4.3 / 1.96.
				truth := 2 * 1.96 * math.Sqrt(s.ofSeed*s.ofSeed/float64(s.seeds)+
					s.ofItem*s.ofItem/float64(s.items)+s.ofBoth*s.ofBoth/float64(s.seeds*s.items))
				if length > 2*truth {
					t.Errorf("intervals are %v long, and %v for known variances", length, truth)
				}
			}
		})
	}
}

// nested returns the interval that takes items of different seeds for different items.
func nested(table [][]float64, o Options) Interval {
	random := o.stream(0)
	means := make([]float64, o.Resamples)
	for r := range means {
		for range table {
			row := table[random.IntN(len(table))]
			for range row {
				means[r] += row[random.IntN(len(row))] / float64(len(table)*len(row))
			}
		}
	}
	slices.Sort(means)
	return Interval{quantile(means, 0.025), quantile(means, 0.975)}
}

func holds(in Interval, v float64) int {
	if in.Low <= v && v <= in.High {
		return 1
	}
	return 0
}

// TestMeansCover is the same for independent values from a skewed distribution, where
// one half of the length fails.
func TestMeansCover(t *testing.T) {
	const times = 700
	for name, of := range map[string]func([]float64, Options) (Interval, error){"percentile": percentile, "BCa": BCa} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(2, 0))
			covered, half := 0, 0
			for i := range times {
				values := make([]float64, 40)
				for j := range values {
					values[j] = r.ExpFloat64()
				}
				in, err := of(values, Options{Resamples: 300, Seed: uint64(i)})
				if err != nil {
					t.Fatal(err)
				}
				covered += holds(in, 1)
				middle, radius := (in.Low+in.High)/2, (in.High-in.Low)/4
				half += holds(Interval{middle - radius, middle + radius}, 1)
			}
			limit := atMost(times, 0.91)
			t.Logf("%s: %d of %d cover, %d at half the length; %d reject", name, covered, times, half, limit)
			if covered <= limit || half > limit {
				t.Errorf("%d of %d cover, %d at half the length", covered, times, half)
			}
		})
	}
}

// TestSignFlipLevelAndPower: drawn signs keep the level (a share of 0.05 or less fails
// with a probability below 1e-9), half of the P-value does not, and a planted difference
// is found (one found with a probability of 0.9 or more fails with less than 1e-9).
func TestSignFlipLevelAndPower(t *testing.T) {
	const times, n = 2500, 30
	r := rand.New(rand.NewPCG(3, 0))
	level, halved, found := 0, 0, 0
	for i := range times {
		null, planted := make([]float64, n), make([]float64, n)
		for j := range null {
			null[j] = r.NormFloat64()
			planted[j] = null[j] + 0.8
		}
		o := Options{Resamples: 199, Seed: uint64(i)}
		p, err := SignFlip(null, o)
		if err != nil {
			t.Fatal(err)
		}
		if p <= 0.05 {
			level++
		}
		if p/2 <= 0.05 {
			halved++
		}
		if p, err = SignFlip(planted, o); err != nil {
			t.Fatal(err)
		}
		if p <= 0.05 {
			found++
		}
	}
	limit := times - atMost(times, 0.95)
	t.Logf("of %d: %d at the level, %d halved, %d found; %d reject", times, level, halved, found, limit)
	if level >= limit || halved < limit {
		t.Errorf("P ≤ 0.05 in %d of %d cases without a difference, half of it in %d", level, times, halved)
	}
	if found <= atMost(times, 0.9) {
		t.Errorf("a difference is found in %d of %d cases", found, times)
	}
}

// TestSignFlipIsNeverZero: no drawn signs reach the sum of 60 equal differences, but with
// a probability of 100·2⁻⁵⁹; the one that was observed counts.
func TestSignFlipIsNeverZero(t *testing.T) {
	p, err := SignFlip(slices.Repeat([]float64{1}, 60), Options{Resamples: 100})
	if err != nil || p != 1./101 {
		t.Errorf("P = %v, %v, want 1/101", p, err)
	}
}

// TestCompareByHand has three seeds and two items.
func TestCompareByHand(t *testing.T) {
	a := [][]float64{{1, 1}, {1, 0}, {1, 1}}
	b := [][]float64{{0, 1}, {0, 0}, {1, 0}}
	c, err := Compare(Options{}, PairedScores{a, b})
	if err != nil {
		t.Fatal(err)
	}
	// Each seed differs by a half, so only two of eight choices of signs reach the sum.
	expect.Equal(t, "c.Difference", c.Difference, 0.5)
	expect.Equal(t, "c.P", c.P, 0.25)
	expect.Equal(t, "c.Units", c.Units, "seeds")
	expect.Equal(t, "c.N", c.N, 3)
	c, err = Compare(Options{}, PairedScores{a[:1], b[:1]})
	expect.NoError(t, err)
	expect.Equal(t, "c.Difference", c.Difference, 0.5)
	expect.Equal(t, "c.P", c.P, 1)
	expect.Equal(t, "c.Units", c.Units, "items")
	expect.Equal(t, "c.N", c.N, 2)
	// A second data set without a difference halves the mean; its seeds change nothing.
	c, err = Compare(Options{}, PairedScores{a, b}, PairedScores{b, b})
	expect.NoError(t, err)
	expect.Equal(t, "c.Difference", c.Difference, 0.25)
	expect.Equal(t, "c.P", c.P, 0.25)
	expect.Equal(t, "c.N", c.N, 6)
}

// TestCompareAverage: the interval and the P-value of five data sets show an effect.
// The sum of 50 differences of mean 1.6 and deviation 1 is more than the 26 that it
// takes for P ≤ 0.05 but with a probability below 1e-12.
func TestCompareAverage(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	var sets []PairedScores
	for range 5 {
		var p PairedScores
		for range 10 {
			effect := 1.6 + r.NormFloat64()
			var a, b []float64
			for range 20 {
				item := 5 * r.NormFloat64()
				a, b = append(a, item+effect), append(b, item)
			}
			p.A, p.B = append(p.A, a), append(p.B, b)
		}
		sets = append(sets, p)
	}
	c, err := Compare(Options{Resamples: 10_000}, sets...)
	if err != nil {
		t.Fatal(err)
	}
	expect.Max(t, "c.P", c.P, 0.05)
	expect.True(t, "c.Interval.Low > 0", c.Interval.Low > 0, c.Interval.Low)
	expect.Max(t, "c.Interval.Low", c.Interval.Low, 1.6)
	expect.Min(t, "c.Interval.High", c.Interval.High, c.Difference)
	expect.Equal(t, "c.N", c.N, 50)
}

func TestCrossedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seeds, items := rapid.IntRange(1, 6).Draw(t, "seeds"), rapid.IntRange(2, 12).Draw(t, "items")
		draw := func(name string) [][]float64 {
			return rapid.SliceOfN(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom([]float64{0, 1}),
				rapid.Float64Range(-3, 3)), items, items), seeds, seeds).Draw(t, name)
		}
		a, b := draw("a"), draw("b")
		o := Options{Resamples: 100, Seed: rapid.Uint64().Draw(t, "seed")}
		forth, err := Compare(o, PairedScores{a, b})
		if err != nil {
			t.Fatal(err)
		}
		again, _ := Compare(o, PairedScores{a, b})
		if forth != again {
			t.Fatalf("%+v, and then %+v", forth, again)
		}
		back, err := Compare(o, PairedScores{b, a})
		if err != nil {
			t.Fatal(err)
		}
		const small = 1e-9
		expect.True(t, "near(forth.Difference, -back.Difference, small)", near(forth.Difference, -back.Difference, small), forth, back)
		expect.True(t, "near(forth.P, back.P, small)", near(forth.P, back.P, small), forth, back)
		expect.True(t, "near(forth.Interval.Low, -back.Interval.High, small)", near(forth.Interval.Low, -back.Interval.High, small), forth, back)
		expect.True(t, "near(forth.Interval.High, -back.Interval.Low, small)", near(forth.Interval.High, -back.Interval.Low, small), forth, back)
		expect.Max(t, "forth.Interval.Low", forth.Interval.Low, forth.Difference)
		expect.Min(t, "forth.Interval.High", forth.Interval.High, forth.Difference)
		expect.True(t, "forth.P > 0 && forth.P <= 1", forth.P > 0 && forth.P <= 1)
		same, err := Compare(o, PairedScores{a, a})
		expect.NoError(t, err)
		expect.Equal(t, "same.Interval", same.Interval, Interval{})
		expect.Equal(t, "same.P", same.P, 1)
	})
}

// BenchmarkCompare has the size of a data set in a suite: ten seeds, 300 items.
func BenchmarkCompare(b *testing.B) {
	s := scoreModel{seeds: 10, items: 300, ofSeed: 0.2, ofItem: 1, ofBoth: 0.7, binary: true}
	r := rand.New(rand.NewPCG(5, 0))
	pair := PairedScores{s.draw(r), s.draw(r)}
	for b.Loop() {
		if _, err := Compare(Options{}, pair); err != nil {
			b.Fatal(err)
		}
	}
}

// percentile returns the bootstrap interval for the mean of independent values whose ends are
// quantiles of resampled means. Scores that share items or seeds are not independent:
// use [Crossed].
func percentile(values []float64, options Options) (Interval, error) {
	o, means, err := resampled(values, options)
	if err != nil {
		return Interval{}, err
	}
	tail := (1 - o.Level) / 2
	return Interval{quantile(means, tail), quantile(means, 1-tail)}, nil
}

// binomialTail returns the probability of at most k successes in n trials.
func binomialTail(n, k int, p float64) float64 {
	sum := 0.0
	for i := range k + 1 {
		sum += math.Exp(logGamma(float64(n+1)) - logGamma(float64(i+1)) - logGamma(float64(n-i+1)) +
			float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(1, sum)
}
