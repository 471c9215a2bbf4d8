package private

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	pub "github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// fixed is a table of 60 rows made of remainders.
func fixed(classes int) rows {
	r := rows{s: mixed(classes)}
	for i := range int32(60) {
		r.values = append(r.values, []int32{(i%7 - 3) * table.Steps / 3, (i%5 - 2) * table.Steps / 2, (i*i/3 + i%7/4) % int32(classes), i % 3, (i % 11) * table.Steps / 11})
	}
	return r
}

func train(t rapid.TB, r rows, s Settings, key noise.Key) *Release {
	t.Helper()
	out, err := Train(context.Background(), r, r.s, s, key)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// noiseOf is what is added to the coefficients, over what the event says.
func noiseOf(t rapid.TB, p params, s Settings, theta []float64, seed uint64) []float64 {
	t.Helper()
	noisy := slices.Clone(theta)
	if err := p.add(s, noise.KeyFromSeed(seed), noisy); err != nil {
		t.Fatal(err)
	}
	scale := s.Multiplier * p.sensitivity
	if s.Noise == Laplace {
		scale *= math.Sqrt(float64(len(theta)))
	}
	for j := range noisy {
		noisy[j] = (noisy[j] - theta[j]) / scale
	}
	return noisy
}

// TestTrainAddsNoise: what comes out is the minimum with that noise, and nothing else.
func TestTrainAddsNoise(t *testing.T) {
	for _, classes := range []int{2, 3} {
		s := Settings{Size: 60, Ridge: 2, Multiplier: 3, Noise: Gaussian}
		r := fixed(classes)
		_, p := problemOf(t, r, s)
		theta := minimum(t, r, s)
		if err := p.add(s, noise.KeyFromSeed(9), theta); err != nil {
			t.Fatal(err)
		}
		for j := range theta {
			theta[j] *= p.entry
		}
		got := train(t, r, s, noise.KeyFromSeed(9)).Model().Weights()
		if classes == 2 {
			got = got[1:]
		}
		if !slices.Equal(slices.Concat(got...), theta) {
			t.Errorf("with %d classes: %v, want %v", classes, got, theta)
		}
	}
}

// TestLaw: the noise is what the event says. For n draws the mean square of normal noise
// of scale 1 has a standard deviation of √(2/n), and the mean absolute value of Laplace
// noise one of √(1/n). Seven of these have a false-reject rate below 1e-9 (1e-11 for a
// normal law, and n is 9000 and more), and half the distance to the scales 0.9 and 1.1 is
// more. The grid adds 0.1 % at most.
func TestLaw(t *testing.T) {
	for _, c := range []struct {
		noise   Noise
		classes int
	}{{Gaussian, 2}, {Laplace, 2}, {Gaussian, 3}} {
		s := Settings{Size: 60, Ridge: 2, Multiplier: 3, Noise: c.noise}
		r := fixed(c.classes)
		theta := minimum(t, r, s)
		_, p := problemOf(t, r, s)
		var draws []float64
		for seed := uint64(0); len(draws) < 9000; seed++ {
			draws = append(draws, noiseOf(t, p, s, theta, seed)...)
		}
		accept := func(factor float64) bool {
			var size, mean float64
			for _, x := range draws {
				x *= factor
				mean += x
				if c.noise == Gaussian {
					size += x * x
				} else {
					size += math.Abs(x)
				}
			}
			n := float64(len(draws))
			deviation, of := math.Sqrt(2/n), 1.0
			if c.noise == Laplace {
				deviation, of = math.Sqrt(1/n), math.Sqrt2
			}
			return math.Abs(size/n-1) < 7*deviation+0.002 && math.Abs(mean/n) < 7*of/math.Sqrt(n)
		}
		if !accept(1) {
			t.Errorf("%s noise with %d classes has another law", c.noise, c.classes)
		}
		for _, wrong := range []float64{0.9, 1.1} {
			if accept(wrong) {
				t.Errorf("%s noise of %v times the scale is not distinguished", c.noise, wrong)
			}
		}
	}
}

// TestNoiseCoversWhatRuns: what noise is scaled by is at least the sensitivity and what
// rounding to the grid can add, and not much more.
func TestNoiseCoversWhatRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Settings{
			Size:       rapid.Int64Range(1, 1e7).Draw(t, "size"),
			Ridge:      rapid.SampledFrom([]float64{0.3, 1, 77, 1e5}).Draw(t, "ridge"),
			Multiplier: rapid.Float64Range(0.01, 100).Draw(t, "multiplier"),
			Noise:      rapid.SampledFrom([]Noise{Gaussian, Laplace}).Draw(t, "noise"),
		}
		sch := mixed(rapid.IntRange(2, 4).Draw(t, "classes"))
		if s.Check(sch) != nil {
			t.Skip("no guarantee is claimed")
		}
		form, err := pub.NewForm(sch, false)
		if err != nil {
			t.Fatal(err)
		}
		p := s.params(form)
		mechanism, err := p.mechanism(s)
		if err != nil {
			t.Fatal(err)
		}
		d := float64(p.size)
		lipschitz := 1.0
		if p.outcomes > 1 {
			lipschitz = math.Sqrt2
		}
		bound := (lipschitz+2*p.tolerance)/s.Ridge + math.Sqrt(d)*mechanism.Granularity()
		if s.Noise == Laplace {
			bound *= math.Sqrt(d)
		}
		if ratio := mechanism.Scale() / s.Multiplier / bound; !(ratio > 1-1e-12 && ratio < 1.01) {
			t.Fatalf("noise is %v of what it must be", ratio)
		}
		if p.tolerance < 5*p.rounding {
			t.Fatalf("descent may not end: %v, %v", p.tolerance, p.rounding)
		}
	})
}

// TestOrderOfBatches: the same key and the same rows give the same model however they
// arrive.
func TestOrderOfBatches(t *testing.T) {
	s := Settings{Size: 60, Ridge: 2, Multiplier: 1}
	want := train(t, fixed(3), s, noise.KeyFromSeed(1))
	r := fixed(3)
	r.size, r.backwards = 7, true
	got := train(t, r, s, noise.KeyFromSeed(1))
	for k := range want.Model().Weights() {
		if !slices.Equal(want.Model().Weights()[k], got.Model().Weights()[k]) {
			t.Fatal("the order of batches changes the model")
		}
	}
	if !strings.Contains(got.Event().String(), "gaussian(1)") {
		t.Errorf("the event is %v", got.Event())
	}
}

// TestNoRows: an empty table is noise, not an error.
func TestNoRows(t *testing.T) {
	s := Settings{Size: 60, Ridge: 2, Multiplier: 1}
	for _, w := range train(t, rows{s: mixed(3)}, s, noise.KeyFromSeed(1)).Model().Weights() {
		if slices.Max(w) == 0 {
			t.Error("no noise")
		}
	}
}

// TestNumericLabel: a numeric label with edges has the class of its bin.
func TestNumericLabel(t *testing.T) {
	s := numbers(1, 2)
	s.Columns[1] = schema.Column{Name: "y", Kind: schema.Numeric, Low: 0, High: 10, Edges: []float64{3, 7}}
	r := rows{s: s, values: [][]int32{{0, -table.Steps}, {0, table.NewScale(s.Columns[1]).Steps(3)}, {0, table.Steps}, {0, 0}}}
	problem, _ := problemOf(t, r, Settings{Size: 10, Ridge: 1})
	if want := []uint16{0, 1, 2, 1}; !slices.Equal(problem.Classes, want) {
		t.Errorf("classes %v, want %v", problem.Classes, want)
	}
}

// TestPlan: what is planned costs no more than was asked, and not much less.
func TestPlan(t *testing.T) {
	for _, c := range []struct {
		r     Request
		noise Noise
	}{
		{Request{Epsilon: 1, Delta: 1e-6, Size: 30000}, Gaussian},
		{Request{Epsilon: 1, Size: 30000}, Laplace},
		{Request{Epsilon: 120, Delta: 1e-6, Size: 1000}, Laplace},
		{Request{Epsilon: 3, Delta: 1e-6, Size: 10_000_000}, Gaussian},
	} {
		c.r.Schema = mixed(2)
		if c.noise == Gaussian {
			c.r.Schema = numbers(40, 2)
		}
		s, err := New(c.r)
		if err != nil {
			t.Errorf("%+v: %v", c.r.Epsilon, err)
			continue
		}
		got, err := accountant.Auto{}.Epsilon(s.Event(), privacy.AddRemove, c.r.Delta)
		if err != nil {
			t.Fatal(err)
		}
		at := expect.At(t, "ε = %v, δ = %v", c.r.Epsilon, c.r.Delta)
		expect.Equal(at, "s.Noise", s.Noise, c.noise)
		expect.Max(at, "got.Upper", got.Upper, c.r.Epsilon)
		expect.Min(at, "got.Upper", got.Upper, 0.98*c.r.Epsilon)
		if err := s.Check(c.r.Schema); err != nil {
			t.Error(err)
		}
	}
}

// TestRefusals: settings without a guarantee, and sources that do not fit, are refused in
// words.
func TestRefusals(t *testing.T) {
	good := Settings{Size: 60, Ridge: 2, Multiplier: 1}
	discrete, units := fixed(2), fixed(2)
	discrete.discrete = true
	units.units = make([]table.Unit, 60)
	many := fixed(2)
	for len(many.values) <= 64 {
		many.values = append(many.values, many.values[0])
	}
	for _, c := range []struct {
		words  string
		source rows
		change func(*Settings)
	}{
		{"ridge", fixed(2), func(s *Settings) { s.Ridge = 0 }},
		{"ridge", fixed(2), func(s *Settings) { s.Ridge = math.NaN() }},
		{"raise the ridge", fixed(2), func(s *Settings) { s.Ridge, s.Size = 1e-6, 1<<40 }},
		{"multiplier", fixed(2), func(s *Settings) { s.Multiplier = 0 }},
		{"multiplier", fixed(2), func(s *Settings) { s.Multiplier = math.Inf(1) }},
		{"size", fixed(2), func(s *Settings) { s.Size = 0 }},
		{"unknown noise", fixed(2), func(s *Settings) { s.Noise = "cauchy" }},
		{"has units", units, func(*Settings) {}},
		{"another way", discrete, func(*Settings) {}},
		{"declare its size", many, func(s *Settings) { s.Size = 1 }},
	} {
		s := good
		c.change(&s)
		_, err := Train(context.Background(), c.source, c.source.s, s, noise.KeyFromSeed(1))
		if err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("want an error with %q, got %v", c.words, err)
		}
	}
	for _, r := range []Request{{Epsilon: -1, Size: 5}, {Epsilon: 1, Size: 0}, {Epsilon: 1, Delta: 2, Size: 5}} {
		r.Schema = mixed(2)
		if _, err := New(r); err == nil {
			t.Errorf("a plan for ε = %v, δ = %v, %d rows", r.Epsilon, r.Delta, r.Size)
		}
	}
}

// TestSettingsRoundTrip: settings are kept beside what they made.
func TestSettingsRoundTrip(t *testing.T) {
	s, err := New(Request{Schema: mixed(2), Epsilon: 1, Delta: 1e-6, Size: 1000})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Settings
	if err := json.Unmarshal(data, &back); err != nil || back != s {
		t.Errorf("%s reads back as %+v: %v", data, back, err)
	}
}

// TestUse: with a thousand rows and ε = 5 a model tells classes apart that one column
// tells apart.
func TestUse(t *testing.T) {
	r := rows{s: mixed(2)}
	for i := range int32(1000) {
		y := i % 2
		r.values = append(r.values, []int32{(2*y - 1) * (table.Steps / 2), (i%5 - 2) * table.Steps / 2, y, i % 3, 0})
	}
	s, err := New(Request{Schema: r.s, Epsilon: 5, Size: 1000})
	if err != nil {
		t.Fatal(err)
	}
	model := train(t, r, s, noise.KeyFromSeed(3)).Model()
	for y := range 2 {
		got, err := model.Probabilities(schema.Row{{Number: float64(y) - .5}, {}, {Discrete: true}, {Discrete: true}, {Number: 5}}, nil)
		if err != nil || got[y] != slices.Max(got) {
			t.Errorf("class %d has %v: %v", y, got, err)
		}
	}
}

func ExampleNew() {
	loans := schema.Schema{Name: "loans", Label: "repaid", Columns: []schema.Column{
		{Name: "amount", Kind: schema.Numeric, Low: 0, High: 10000},
		{Name: "repaid", Kind: schema.Categorical, Values: []string{"no", "yes"}},
	}}
	s, err := New(Request{Schema: loans, Epsilon: 0.5, Size: 2000})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s noise of %.3f times the sensitivity\n", s.Noise, s.Multiplier)
	// Output: laplace noise of 2.000 times the sensitivity
}
