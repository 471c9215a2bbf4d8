package stat

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// skewed values, of which the last digits of the constants below were computed by SciPy
// 1.17.1: scipy.stats.bootstrap with 2,000,000 and, for the level 0.8, 1,000,000
// resamples of its own generator.
var skewed = []float64{0.2, 0.5, 0.9, 0.4, 0.45, 0.7, 0.1, 2.5, 0.3, 0.35, 0.6, 1.1}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

func TestMoments(t *testing.T) {
	if m := Mean(skewed); !near(m, 0.6749999999999999, 1e-15) {
		t.Errorf("mean %v", m)
	}
	if s := Std(skewed); !near(s, 0.6415535122582599, 1e-14) { // numpy.std(ddof=1)
		t.Errorf("standard deviation %v", s)
	}
	if m, s := Mean(nil), Std([]float64{3}); !math.IsNaN(m) || !math.IsNaN(s) {
		t.Errorf("mean of none %v, deviation of one %v", m, s)
	}
}

func TestIntervalsOfSciPy(t *testing.T) {
	for _, c := range []struct {
		name string
		of   func([]float64, Options) (Interval, error)
		at   float64
		want Interval
	}{
		{"percentile", percentile, 0, Interval{0.39166666666666666, 1.0666666666666667}},
		{"percentile", percentile, 0.8, Interval{0.45833333333333337, 0.9125}},
		{"BCa", BCa, 0, Interval{0.43750000000000006, 1.2458333333333333}},
		{"BCa", BCa, 0.8, Interval{0.5, 1.0083333333333333}},
	} {
		got, err := c.of(skewed, Options{Level: c.at, Resamples: 100_000, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		// Resampled means are multiples of 1/240; ends move by two of them at most.
		if !near(got.Low, c.want.Low, 2.01/240) || !near(got.High, c.want.High, 2.01/240) {
			t.Errorf("%s interval %v, want %v", c.name, got, c.want)
		}
	}
}

func TestQuantilesOfStudent(t *testing.T) {
	for _, c := range []struct{ p, degrees, want float64 }{ // scipy.stats.t.ppf
		{0.025, 1, -12.706204736174705},
		{0.025, 4.3, -2.7016948982822315},
		{0.005, 9, -3.2498355415921263},
		{0.05, 123.4, -1.6572956275324373},
		{0.1, 2, -1.8856180831641267},
	} {
		if got := studentQuantile(c.p, c.degrees); !near(got, c.want, 1e-10*-c.want) {
			t.Errorf("quantile %v with %v degrees of freedom is %v, want %v", c.p, c.degrees, got, c.want)
		}
	}
	if got := studentQuantile(0.025, 1e9); !near(got, normalQuantile(0.025), 1e-6) {
		t.Errorf("quantile with many degrees of freedom is %v", got)
	}
}

func TestPValuesOfSciPy(t *testing.T) {
	d := []float64{0.3, -0.1, 0.25, 0.4, 0.05, -0.2, 0.35, 0.15}
	for name, c := range map[string]struct {
		got  func() (float64, error)
		want float64
	}{
		"permutation_test": {func() (float64, error) { return SignFlip(d, Options{}) }, 0.109375},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.got()
			if err != nil || !near(got, c.want, 1e-10) {
				t.Errorf("%v (%v), want %v", got, err, c.want)
			}
		})
	}
}

func TestHolm(t *testing.T) {
	// statsmodels 0.14, multipletests(method="holm").
	got, err := Holm([]float64{0.01, 0.04, 0.03, 0.005, 0.5, 0.04})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.05, 0.12, 0.12, 0.03, 0.5, 0.12} {
		if !near(got[i], want, 1e-15) {
			t.Errorf("adjusted %v", got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 12).Draw(t, "p")
		adjusted, err := Holm(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p {
			if adjusted[i] < p[i] || adjusted[i] > min(1, p[i]*float64(len(p)))+1e-15 {
				t.Fatalf("%v becomes %v", p, adjusted)
			}
			for j := range p {
				if p[i] < p[j] && adjusted[i] > adjusted[j] {
					t.Fatalf("%v becomes %v", p, adjusted)
				}
			}
		}
	})
}

// TestExactTestsKeepTheirLevel goes through all signs that differences can have and
// checks that a P-value of at most α is as rare as it says, for every α, which no
// sampling can get wrong.
func TestExactTestsKeepTheirLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1),
			rapid.SampledFrom([]float64{0, 1, 2, 0.25})), 1, 8).Draw(t, "sizes")
		for name, test := range map[string]func([]float64) (float64, error){
			"sign flip": func(d []float64) (float64, error) { return SignFlip(d, Options{}) },
		} {
			var all []float64
			d := make([]float64, len(sizes))
			for signs := range 1 << len(sizes) {
				for i, v := range sizes {
					d[i] = v * float64(1-2*(signs>>i&1))
				}
				p, err := test(d)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, p)
			}
			for _, level := range all {
				count := 0
				for _, p := range all {
					if p <= level {
						count++
					}
				}
				// Rounding must not decide between equal sums.
				if share := float64(count) / float64(len(all)); share > level*(1+1e-9) {
					t.Fatalf("%s: P ≤ %v in a share %v of all cases", name, level, share)
				}
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		err  func() error
		want string
	}{
		"none":      {func() error { _, err := percentile(nil, Options{}); return err }, "no scores"},
		"one":       {func() error { _, err := BCa([]float64{1}, Options{}); return err }, "at least two"},
		"NaN":       {func() error { _, err := BCa([]float64{1, math.NaN()}, Options{}); return err }, "score 1 is NaN"},
		"level":     {func() error { _, err := BCa(skewed, Options{Level: 95}); return err }, "between 0 and 1"},
		"resamples": {func() error { _, err := BCa(skewed, Options{Resamples: -1}); return err }, "at least 100"},
		"no seeds":  {func() error { _, err := Crossed(nil, Options{}); return err }, "no scores"},
		"no items":  {func() error { _, err := Crossed([][]float64{{}}, Options{}); return err }, "no scores"},
		"one score": {func() error { _, err := Crossed([][]float64{{1}}, Options{}); return err }, "more items or seeds"},
		"ragged":    {func() error { _, err := Crossed([][]float64{{1, 2}, {1}}, Options{}); return err }, "same items"},
		"infinite":  {func() error { _, err := Crossed([][]float64{{1, math.Inf(1)}}, Options{}); return err }, "seed 0"},
		"no sets":   {func() error { _, err := Compare(Options{}); return err }, "no scores"},
		"seeds":     {func() error { _, err := Compare(Options{}, PairedScores{A: [][]float64{{1}}}); return err }, "same seeds"},
		"items": {func() error {
			_, err := Compare(Options{}, PairedScores{[][]float64{{1}}, [][]float64{{1, 2}}})
			return err
		}, "same items"},
		"no flips":    {func() error { _, err := SignFlip(nil, Options{}); return err }, "no scores"},
		"probability": {func() error { _, err := Holm([]float64{2}); return err }, "probabilities"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.err(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestWithin(t *testing.T) {
	for _, c := range [][2]Interval{
		{{-0.1, 1.2}, {0, 1}},
		{{0.2, 0.3}, {0.2, 0.3}},
		{{1.1, 1.2}, {1, 1}},
	} {
		if got := c[0].Within(0, 1); got != c[1] {
			t.Errorf("%v within 0 and 1 is %v", c[0], got)
		}
	}
}
