package noise

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func mustProbability(t testing.TB, p float64) Probability {
	t.Helper()
	out, err := ProbabilityFloat(p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Invalid parameters give errors that name the parameter.
func TestInvalidParameters(t *testing.T) {
	s := KeyFromSeed(1).Stream("invalid")
	nan, inf := math.NaN(), math.Inf(1)
	gaussian := func(o Options) error { _, err := NewGaussian(o); return err }
	laplace := func(o Options) error { _, err := NewLaplace(o); return err }
	probability := func(p float64) error { _, err := ProbabilityFloat(p); return err }
	selector := func(rate float64) error { _, err := NewSelector(SelectorOptions{Rate: rate}); return err }
	rat := func(f func(*big.Rat) error, values ...*big.Rat) []error {
		var out []error
		for _, v := range values {
			out = append(out, f(v))
		}
		return out
	}
	huge := new(big.Rat).SetInt(new(big.Int).Lsh(one, 100))
	cases := []struct {
		names string
		errs  []error
	}{
		{"Multiplier", []error{
			gaussian(Options{Multiplier: nan, Sensitivity: 1}), gaussian(Options{Multiplier: inf, Sensitivity: 1}),
			gaussian(Options{Multiplier: -1, Sensitivity: 1}), gaussian(Options{Sensitivity: 1}),
			laplace(Options{Multiplier: nan, Sensitivity: 1}), laplace(Options{Sensitivity: 1}),
			gaussian(Options{Multiplier: 1e300, Sensitivity: 1}),
			laplace(Options{Multiplier: 1, Sensitivity: 1, Grid: Grid{62}}),
		}},
		{"Sensitivity", []error{
			gaussian(Options{Multiplier: 1, Sensitivity: nan}), gaussian(Options{Multiplier: 1, Sensitivity: -inf}),
			gaussian(Options{Multiplier: 1}), laplace(Options{Multiplier: 1, Sensitivity: -2}),
		}},
		{"probability", []error{
			probability(nan), probability(inf), probability(-1e-300), probability(math.Nextafter(1, 2)),
		}},
		{"Rate", []error{selector(nan), selector(inf), selector(-1)}},
		{"scale", slices.Concat(
			rat(func(r *big.Rat) error { _, err := NewDiscreteLaplace(r); return err }, nil, big.NewRat(0, 1), huge),
			rat(func(r *big.Rat) error { _, err := NewRoundedLaplace(r); return err }, nil, big.NewRat(0, 1), huge),
		)},
		{"sigma", rat(func(r *big.Rat) error { _, err := NewRoundedGaussian(r); return err }, nil, big.NewRat(0, 1), huge)},
		{"grid exponent k", []error{
			func() error { _, err := NewGrid(63); return err }(),
			func() error { _, err := NewGrid(-63); return err }(),
		}},
		{"n = -1", []error{
			func() error { _, err := NewInclusion(Probability{}).Draw(s, -1, nil); return err }(),
			func() error { _, err := s.Permutation(-1); return err }(),
			func() error { _, err := s.Assign(-1, 2, nil); return err }(),
			func() error { _, err := s.Subset(0, -1); return err }(),
		}},
		{"bins", []error{func() error { _, err := s.Assign(1, 0, nil); return err }()}},
		{"m = 3", []error{func() error { _, err := s.Subset(3, 2); return err }()}},
		{"scores", []error{
			func() error { _, err := (&Selector{}).Softmax(s, nil); return err }(),
			func() error { _, err := (&Selector{}).PermuteAndFlip(s, nil); return err }(),
		}},
		{"sensitivity l2", []error{func() error { _, err := (Grid{}).RoundedL2(nan, 1); return err }()}},
		{"dimension d", []error{func() error { _, err := (Grid{}).RoundedL1(1, 0); return err }()}},
		{"n must be", []error{
			func() error { _, err := s.BigBelow(nil); return err }(),
			func() error { _, err := s.BigBelow(new(big.Int)); return err }(),
		}},
	}
	for _, c := range cases {
		for i, err := range c.errs {
			if err == nil || !strings.Contains(err.Error(), c.names) {
				t.Errorf("case %d for %q: error is %v", i, c.names, err)
			}
		}
	}
}

// Values that cannot be released are refused before anything is drawn, and the
// error shows where, not what.
func TestAdditiveRefusesOverflow(t *testing.T) {
	a, err := NewGaussian(Options{Multiplier: 1, Sensitivity: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := KeyFromSeed(1).Stream("overflow")
	values := []int64{5, 4611686018427387999, 7}
	err = a.AddTo(s, values)
	if err == nil {
		t.Fatal("no err")
	}
	expect.Contains(t, "err.Error", err.Error(), "value 1")
	expect.Equal(t, "strings.Contains(err.Error(), \"4611686018427387999\")", strings.Contains(err.Error(), "4611686018427387999"), false)
	if !slices.Equal(values, []int64{5, 4611686018427387999, 7}) {
		t.Errorf("values changed to %v", values)
	}
	for _, x := range []float64{math.NaN(), math.Inf(-1), 1e30} {
		if _, err := a.Release(s, x); err == nil {
			t.Errorf("released %v", x)
		}
	}
	coarse, err := NewGaussian(Options{Multiplier: 1, Sensitivity: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := coarse.Release(s, 1); err == nil || !strings.Contains(err.Error(), "sensitivity") {
		t.Errorf("released with a sensitivity of 0.3 steps: %v", err)
	}
}

// The noise is never smaller than asked, whatever the factors round to.
func TestScaleIsNeverSmaller(t *testing.T) {
	for _, o := range []Options{
		{Multiplier: 0.1, Sensitivity: 0.3, Grid: Grid{20}},
		{Multiplier: math.Sqrt2, Sensitivity: math.Pi, Grid: Grid{40}},
		{Multiplier: 1e-3, Sensitivity: 1e-5, Grid: Grid{-5}},
	} {
		a, err := NewGaussian(o)
		if err != nil {
			t.Fatal(err)
		}
		asked := new(big.Rat).Mul(new(big.Rat).SetFloat64(o.Multiplier), new(big.Rat).SetFloat64(o.Sensitivity))
		if used := new(big.Rat).Mul(a.scale, o.Grid.step()); used.Cmp(asked) != 0 {
			t.Errorf("%+v: uses σ = %v, asked %v", o, used, asked)
		}
		shown := new(big.Rat).SetFloat64(a.Scale())
		if shown.Cmp(asked) > 0 || math.Abs(a.Scale()/(o.Multiplier*o.Sensitivity)-1) > 1e-15 {
			t.Errorf("%+v: shows σ = %v", o, a.Scale())
		}
		if a.Granularity() != math.Ldexp(1, -o.Grid.k) || a.Grid() != o.Grid {
			t.Errorf("%+v: granularity %v", o, a.Granularity())
		}
	}
}

func TestExtremeParameters(t *testing.T) {
	s := freshKey(t).Stream("extreme")
	tiny := new(big.Rat).SetFrac(one, new(big.Int).Lsh(one, 2000))
	rg, err := NewRoundedGaussian(tiny)
	if err != nil {
		t.Fatal(err)
	}
	dl, err := NewDiscreteLaplace(tiny)
	if err != nil {
		t.Fatal(err)
	}
	rl, err := NewRoundedLaplace(tiny)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		for _, d := range []drawer{rg, dl, rl} {
			if y := d.Draw(s); y != 0 {
				t.Fatalf("%T of scale 2^-2000 or less drew %d", d, y)
			}
		}
	}
	widest := big.NewRat(maxScale, 1)
	wide, err := NewRoundedGaussian(widest)
	if err != nil {
		t.Fatal(err)
	}
	var largest int64
	for range 1000 {
		y := wide.Draw(s)
		largest = max(largest, y, -y)
	}
	// P(all of 1000 within 1.5σ) < 1e-62; P(any beyond 12σ) < 4e-30.
	if largest < maxScale*3/2 || largest > maxScale*12 {
		t.Errorf("1000 draws at σ = 2^46 reach %v σ", float64(largest)/maxScale)
	}
}

func TestExtremeRates(t *testing.T) {
	s := freshKey(t).Stream("rates")
	draw := func(q float64, n int) []int {
		out, err := NewInclusion(mustProbability(t, q)).Draw(s, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(out) || len(slices.Compact(slices.Clone(out))) != len(out) {
			t.Fatalf("q = %v: indices are not increasing", q)
		}
		if len(out) > 0 && (out[0] < 0 || out[len(out)-1] >= n) {
			t.Fatalf("q = %v: index out of range", q)
		}
		return out
	}
	if got := draw(1, 130); len(got) != 130 {
		t.Errorf("q = 1 includes %d of 130", len(got))
	}
	for _, q := range []float64{0, 5e-324, 1e-300, 1e-40} {
		if got := draw(q, 10_000_000); len(got) != 0 {
			t.Errorf("q = %v includes %v", q, got)
		}
	}
	if got := draw(math.Nextafter(1, 0), 100_000); len(got) != 100_000 {
		t.Errorf("q = 1-2^-53 includes %d of 100000", len(got)) // fails with probability 1e-11
	}
	for _, n := range []int{0, 1, 63, 64, 65} {
		draw(0.5, n)
		draw(0.001, n)
	}
	// Expect 10000; a Chernoff bound puts 9000 and 11000 beyond 1e-20.
	if got := len(draw(1e-3, 10_000_000)); got < 9000 || got > 11_000 {
		t.Errorf("q = 1e-3 includes %d of ten million", got)
	}
	// q = 1e-9 over ten million: 300 draws expect 3; above 60 has probability < 1e-50.
	total := 0
	for range 300 {
		total += len(draw(1e-9, 10_000_000))
	}
	if total > 60 {
		t.Errorf("q = 1e-9 includes %d of 3e9", total)
	}
}

func TestExactProbabilities(t *testing.T) {
	for _, p := range []float64{0, 5e-324, 1e-30, 0.1, 1.0 / 3, 0.5, math.Nextafter(1, 0), 1} {
		if got := mustProbability(t, p).Rat(); got.Cmp(new(big.Rat).SetFloat64(p)) != 0 {
			t.Errorf("%v became %v", p, got)
		}
	}
	s := KeyFromSeed(1).Stream("sure")
	for range 1000 {
		if s.Bernoulli(Probability{}) || !s.Bernoulli(mustProbability(t, 1)) {
			t.Fatal("a certain event did not go its way")
		}
	}
}

func TestOneCandidate(t *testing.T) {
	s := KeyFromSeed(1).Stream("one")
	for _, rate := range []float64{0, 5e-324, 1e-9, 1, 1e300, math.MaxFloat64} {
		sel, err := NewSelector(SelectorOptions{Rate: rate})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int64{math.MinInt64, 0, math.MaxInt64} {
			for _, f := range []choice{(*Selector).Softmax, (*Selector).PermuteAndFlip} {
				if i, err := f(sel, s, []int64{n}); i != 0 || err != nil {
					t.Errorf("rate %v, score %d: %d, %v", rate, n, i, err)
				}
			}
		}
	}
	// A gap of 1e300 nats never lets the worse candidate win; a rate of 5e-324
	// makes both equally likely, whatever int64 scores they have.
	steep, err := NewSelector(SelectorOptions{Rate: 1e300})
	if err != nil {
		t.Fatal(err)
	}
	flat, err := NewSelector(SelectorOptions{Rate: 5e-324})
	if err != nil {
		t.Fatal(err)
	}
	wins := 0
	for range 200 {
		if i, err := steep.Softmax(s, []int64{0, 1, 0}); i != 1 || err != nil {
			t.Fatalf("steep: %d, %v", i, err)
		}
		i, err := flat.Softmax(s, []int64{math.MinInt64, math.MaxInt64})
		if err != nil {
			t.Fatal(err)
		}
		wins += i
	}
	if wins < 30 || wins > 170 {
		t.Errorf("flat: the better of two equal candidates won %d of 200", wins)
	}
}

// The common paths allocate nothing.
func TestNoAllocations(t *testing.T) {
	s := KeyFromSeed(1).Stream("allocations")
	grid := Grid{20}
	g, err := NewGaussian(Options{Multiplier: 0.7, Sensitivity: 1, Grid: grid})
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLaplace(Options{Multiplier: 0.7, Sensitivity: 1, Grid: grid})
	if err != nil {
		t.Fatal(err)
	}
	sel, err := NewSelector(SelectorOptions{Grid: grid})
	if err != nil {
		t.Fatal(err)
	}
	few, often := NewInclusion(mustProbability(t, 1e-3)), NewInclusion(mustProbability(t, 0.25))
	scores, values, indices := make([]int64, 100), make([]int64, 100), make([]int, 0, 4096)
	for i := range scores {
		scores[i] = int64(i) << 18
	}
	for name, f := range map[string]func(){
		"rounded gaussian": func() { _ = g.AddTo(s, values) },
		"laplace":          func() { l.Draw(s) },
		"release":          func() { _, _ = g.Release(s, 0.5) },
		"softmax":          func() { _, _ = sel.Softmax(s, scores) },
		"permute and flip": func() { _, _ = sel.PermuteAndFlip(s, scores) },
		"rare inclusion":   func() { indices, _ = few.Draw(s, 2000, indices[:0]) },
		"often inclusion":  func() { indices, _ = often.Draw(s, 2000, indices[:0]) },
		"assign":           func() { indices, _ = s.Assign(100, 7, indices[:0]) },
		"below n":          func() { s.Uint64n(1000003) },
	} {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(200, f); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
