package global_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// everything asks for noise of every kind, on few numbers.
func everything() global.Settings {
	return global.Settings{
		Groups: []schema.Group{{Column: "y"}, {Column: "kind"}},
		Count:  20,
		Columns: []global.Column{
			{Name: "x", Statistic: global.Moments, Multiplier: 2, Squares: 0.5},
			{Name: "z", Statistic: global.Mean, Multiplier: 30, Count: 9},
			{Name: "kind", Statistic: global.Given},
			{Name: "one", Statistic: global.Histogram, Multiplier: 14},
			{Name: "y", Statistic: global.Given},
		},
	}
}

// fit is Pearson's statistic of draws against noise of a scale, in 16 bins of about equal
// probability; noise is rounded to whole numbers, and so are the ends of bins.
func fit(kind global.Noise, draws []float64, scale float64) float64 {
	const bins = 16
	var ends []float64
	for k := 1; k < bins; k++ {
		low, high := -50*scale, 50*scale
		for range 80 {
			if x := (low + high) / 2; cdf(kind, x, scale) < float64(k)/bins {
				low = x
			} else {
				high = x
			}
		}
		ends = append(ends, math.Floor(low)+0.5)
	}
	seen := make([]float64, bins)
	for _, d := range draws {
		k := 0
		for k < len(ends) && d > ends[k] {
			k++
		}
		seen[k]++
	}
	statistic, before := 0., 0.
	for k := range seen {
		upTo := 1.
		if k < len(ends) {
			upTo = cdf(kind, ends[k], scale)
		}
		want := (upTo - before) * float64(len(draws))
		statistic += (seen[k] - want) * (seen[k] - want) / want
		before = upTo
	}
	return statistic
}

// beyondChance is above the 1 − 1e-10 quantile of the χ² law with 15 degrees of freedom,
// 79.1 (to which it is close for counts of 1500 in a bin).
const beyondChance = 85

// TestNoiseOfEveryNumber: each released number, in empty groups too, has noise of its own
// scale: so large, not a tenth more or less, and independent of the others. Keys are
// fixed, so that the test has one outcome; of other keys, one in 10^9 would fail it.
func TestNoiseOfEveryNumber(t *testing.T) {
	for kind, rows := range map[global.Noise]int{global.Laplace: 0, global.Gaussian: 3} {
		o := everything()
		o.Noise, o.RowsPerUnit = kind, rows
		m := newMechanism(t, o)
		c := float64(max(1, rows))
		parts := []struct {
			name  string
			scale float64
		}{
			{"count", 20 * c},
			{"sum of x", 2 * c * global.Unit},
			{"squares of x", 0.5 * c * global.Unit},
			{"sum of z", 30 * c * global.Unit},
			{"count for z", 9 * c},
			{"count of a value", 14 * c},
		}
		draws := make([][]float64, len(parts))
		const rounds = 3000
		for seed := range rounds {
			// One row, in the second group; the others are empty.
			s := sumsOf(t, m, []record{{table.Steps, -table.Steps, 1, 0, 0}})
			exact := []float64{1, global.Unit, global.Unit, -global.Unit, 1, 1}
			for g, got := range m.Numbers(s, noise.KeyFromSeed(uint64(seed))) {
				for i, x := range got {
					if g == 1 {
						x -= exact[i]
					}
					draws[i] = append(draws[i], x)
				}
			}
		}
		for i, p := range parts {
			if f := fit(kind, draws[i], p.scale); f > beyondChance {
				t.Errorf("%s, %s: χ² = %.0f", kind, p.name, f)
			}
			for _, wrong := range []float64{0.9, 1.1} {
				if f := fit(kind, draws[i], wrong*p.scale); f < beyondChance {
					t.Errorf("%s, %s: noise of %v times the scale passes, χ² = %.0f", kind, p.name, wrong, f)
				}
			}
			for j := range i {
				dependent(t, parts[i].name, parts[j].name, draws[i], draws[j])
			}
			// A group's noise against that of the next.
			dependent(t, p.name, "the next group's", draws[i][:len(draws[i])-1], draws[i][1:])
		}
	}
}

// dependent compares the signs of two columns of draws: of n independent pairs n/2 agree,
// give or take √n/2 for each standard deviation. Seven of them are 3e-12.
func dependent(t *testing.T, a, b string, x, y []float64) {
	t.Helper()
	n, agree := 0., 0.
	for i := range x {
		if x[i] != 0 && y[i] != 0 {
			n++
			if x[i] > 0 == (y[i] > 0) {
				agree++
			}
		}
	}
	if z := (agree - n/2) / (math.Sqrt(n) / 2); math.Abs(z) > 7 {
		t.Errorf("the noise of %s and %s agrees in %v of %v", a, b, agree, n)
	}
}

// TestQuantilesAreDrawnByRank: choices follow the exponential mechanism, at its rate and
// not at a tenth more or less.
func TestQuantilesAreDrawnByRank(t *testing.T) {
	o := nothing(0, global.Column{Name: "x", Statistic: global.Quantiles, Quantiles: []float64{0.25}, Cells: 8, Range: 3})
	o.RowsPerUnit = 2 // each row tilts by half the range
	m := newMechanism(t, o)
	var rows []record
	for i := range 8 {
		rows = append(rows, record{0: int32(-table.Steps + i*table.Steps/4)})
	}
	const rounds = 25000
	seen := make([]float64, 8)
	for seed := range rounds {
		r, err := m.Release(sumsOf(t, m, rows), noise.KeyFromSeed(uint64(seed)))
		if err != nil {
			t.Fatal(err)
		}
		q := r.Profile().Groups[0].Columns[0].Quantiles[0]
		seen[int((q-10)/20*8)]++
	}
	statistic := func(c float64) float64 {
		out := 0.
		for i, p := range softmax(global.RankScores([]int64{1, 1, 1, 1, 1, 1, 1, 1}, 250), c/1500) {
			want := p * rounds
			out += (seen[i] - want) * (seen[i] - want) / want
		}
		return out
	}
	const beyond = 65 // the 1 − 1e-11 quantile for 7 degrees of freedom is 63.6
	if f := statistic(1.5); f > beyond {
		t.Errorf("χ² = %.0f", f)
	}
	for _, wrong := range []float64{1.35, 1.65} {
		if f := statistic(wrong); f < beyond {
			t.Errorf("a range of %v passes, χ² = %.0f", wrong, f)
		}
	}
}

// TestSamplesAreThePlannedShare: units are kept at the rate, and of each unit so many
// rows, any of them alike.
func TestSamplesAreThePlannedShare(t *testing.T) {
	within := func(what string, got, n, p float64) {
		t.Helper()
		sd := math.Sqrt(n * p * (1 - p))
		if math.Abs(got-n*p) > 6.5*sd { // 8e-11
			t.Errorf("%s: %v of %v, want %v of them", what, got, n, p)
		}
		if math.Abs(got-n*p*0.9) < 6.5*sd || math.Abs(got-n*p*1.1) < 6.5*sd {
			t.Errorf("%s: %v of %v could be a tenth more or less than %v", what, got, n, p)
		}
	}
	// Rows of kinds 0, 1, 2: of three different units, or all of one.
	var rows []record
	var units []table.Unit
	for i := range 30 {
		rows = append(rows, record{2: int32(i % 3)})
		units = append(units, table.Unit{uint64(i / 3)})
	}
	const rounds = 3000
	o := nothing(1, global.Column{Name: "kind", Statistic: global.Mode, Multiplier: 1})
	for _, c := range []struct {
		name  string
		rate  float64
		perU  int
		share float64 // of rows that are used
	}{
		{"rows", 0.3, 0, 0.3},
		{"units, one row", 1, 1, 1. / 3},
		{"units, two rows", 1, 2, 2. / 3},
		{"units, sampled", 0.8, 2, 1.6 / 3},
	} {
		o.Rate, o.RowsPerUnit = c.rate, c.perU
		m := newMechanism(t, o)
		src := source{m: m, rows: rows}
		if c.perU > 0 {
			src.units = units
		}
		var used [4]float64 // all, and of each kind
		squares := 0.
		for seed := range rounds {
			s, err := m.Collect(t.Context(), src, noise.KeyFromSeed(uint64(seed)), 2)
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range global.CellsOf(s)[:4] {
				used[i] += float64(n)
			}
			n := float64(global.CellsOf(s)[0])
			squares += n * n
		}
		// Rows are kept independently, in one batch as in another: the number of them has
		// the variance of 30 coins, within a quarter (nine standard errors).
		if mean := used[0] / rounds; c.perU == 0 {
			if v := squares/rounds - mean*mean; math.Abs(v/(30*c.rate*(1-c.rate))-1) > 0.25 {
				t.Errorf("%s: the number of rows has the variance %v", c.name, v)
			}
		}
		for kind := range 3 {
			within(c.name, used[kind+1], rounds*10, c.share)
		}
		if c.perU > 0 && c.rate == 1 && used[0] != float64(rounds*10*c.perU) {
			t.Errorf("%s: %v rows are used, want %d of each unit", c.name, used[0], c.perU)
		}
	}
}

// TestReleaseOnce: sums serve one release, and units must be distinguished in both places or
// in none.
func TestReleaseOnce(t *testing.T) {
	m := newMechanism(t, all())
	s := sumsOf(t, m, []record{yes})
	if _, err := m.Release(s, noise.KeyFromSeed(1)); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{second(m.Release(s, noise.KeyFromSeed(2))), s.Add(batch(m, []record{yes})), m.NewSums().Merge(s)} {
		if err == nil || !strings.Contains(err.Error(), "sums of its own") {
			t.Errorf("after a release: %v", err)
		}
	}
	for _, n := range global.CellsOf(s) {
		if n != 0 {
			t.Error("sums are kept after a release")
		}
	}
	if _, err := m.Collect(t.Context(), source{m: m, rows: []record{yes}, units: []table.Unit{{1}}}, noise.KeyFromSeed(1), 1); err == nil {
		t.Error("units of a table were ignored")
	}
	o := all()
	o.Rate = 0.5
	m = newMechanism(t, o)
	if _, err := m.Collect(t.Context(), anonymousBatches{m}, noise.KeyFromSeed(1), 1); err == nil {
		t.Error("two batches were sampled alike")
	}
	o.Rate, o.RowsPerUnit = 0, 2
	m = newMechanism(t, o)
	if _, err := m.Collect(t.Context(), source{m: m, rows: []record{yes}}, noise.KeyFromSeed(1), 1); err == nil {
		t.Error("rows without units were taken for units")
	}
}

// anonymousBatches hands out batches that cannot be distinguished.
type anonymousBatches struct{ m *global.Mechanism }

func (s anonymousBatches) Scan(_ context.Context, _ []int, _ int, each func(int, *table.Batch) error) error {
	for range 2 {
		if err := each(0, batch(s.m, []record{yes})); err != nil {
			return err
		}
	}
	return nil
}

func second[T any](_ T, err error) error { return err }

// TestPrivateOrNot: a seed has no privacy guarantee, and no noise neither.
func TestPrivateOrNot(t *testing.T) {
	key, err := noise.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	o := all()
	m := newMechanism(t, o)
	r, err := m.Release(m.NewSums(), key)
	at := expect.At(t, "with a key")
	expect.NoError(at, err)
	expect.True(at, "r.Private()", r.Private())
	expect.Equal(at, "r.Event().String", r.Event().String(), o.Event().String())
	if r, err := m.Release(m.NewSums(), noise.KeyFromSeed(1)); err != nil || r.Private() {
		t.Errorf("with a seed: %v, %v", r.Private(), err)
	}
	o.Noise = global.None
	m = newMechanism(t, o)
	r, err = m.Release(m.NewSums(), key)
	at = expect.At(t, "without noise")
	expect.NoError(at, err)
	expect.True(at, "not r.Private()", !r.Private())
	expect.Equal(at, "r.Event().Node", r.Event().Node(), "nonprivate")
}

// TestModesAreDrawnByCounts: draws follow permute-and-flip, or the exponential mechanism,
// at their rate and not at a tenth more or less; and in a group that does not allow a
// value it is never drawn.
func TestModesAreDrawnByCounts(t *testing.T) {
	rows := append(make([]record, 14), record{2: 1}, record{2: 1}, record{2: 2}, record{2: 2}, record{2: 2}, record{2: 2})
	for _, kind := range []global.Noise{global.Laplace, global.Gaussian} {
		o := nothing(0, global.Column{Name: "kind", Statistic: global.Mode, Range: 0.96})
		o.Noise, o.RowsPerUnit = kind, 3 // each row tilts by a third of the range
		mo := newModel(t, o)
		const rounds = 30000
		seen := make([]float64, 3)
		for seed := range rounds {
			r, err := mo.m.Release(sumsOf(t, mo.m, rows), noise.KeyFromSeed(uint64(seed)))
			if err != nil {
				t.Fatal(err)
			}
			seen[r.Profile().Groups[0].Columns[2].Mode]++
		}
		statistic := func(c float64) float64 {
			out := 0.
			for i, p := range mo.drawn([]int64{14, 2, 4}, c) {
				out += (seen[i] - p*rounds) * (seen[i] - p*rounds) / (p * rounds)
			}
			return out
		}
		const beyond = 46 // the 1 − 1e-10 quantile for 2 degrees of freedom
		if f := statistic(0.32); f > beyond {
			t.Errorf("%s: χ² = %.0f", kind, f)
		}
		for _, wrong := range []float64{0.9, 1.1} {
			if f := statistic(0.32 * wrong); f < beyond {
				t.Errorf("%s: %v times the range passes, χ² = %.0f", kind, wrong, f)
			}
		}
		o.Groups = []schema.Group{{Column: "kind", Classes: [][]string{{"a"}, {"b", "c"}}}}
		for seed := range 200 {
			m := newMechanism(t, o)
			r, err := m.Release(sumsOf(t, m, rows), noise.KeyFromSeed(uint64(seed)))
			if err != nil {
				t.Fatal(err)
			}
			if g := r.Profile().Groups; g[0].Columns[2].Mode != 0 || g[1].Columns[2].Mode == 0 {
				t.Fatalf("%s: a value that the group does not allow: %+v", kind, g)
			}
		}
	}
}
