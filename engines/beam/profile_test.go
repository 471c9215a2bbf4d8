package beam

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// inMemory is a generated table as the main module reads one.
type inMemory struct{ rows }

func (s inMemory) Scan(_ context.Context, columns []int, _ int, each func(int, *table.Batch) error) error {
	r := s.rows
	r.Columns = columns
	return r.Source.Generated.scan(r, func(b *table.Batch) error { return each(0, b) })
}

func mechanism(t testing.TB, s schema.Schema, o global.Settings) *global.Mechanism {
	t.Helper()
	m, err := global.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// profile adds noise to what a job adds up, as a run does.
func profile(ctx context.Context, o global.Settings, j profileJob, key ...noise.Key) (global.Release, error) {
	m, err := global.New(j.Schema, o)
	if err != nil {
		return global.Release{}, err
	}
	if len(key) == 0 {
		fresh, err := noise.NewKey()
		if err != nil {
			return global.Release{}, err
		}
		key = append(key, fresh)
	}
	sums, err := addUp(ctx, m, j)
	if err != nil {
		return global.Release{}, err
	}
	return m.Release(sums, key[0])
}

// both runs a profile of generated rows on prism and in memory, with the same key.
func both(t *testing.T, g *syntheticTable, s schema.Schema, o global.Settings, pieces int) (got, want global.Profile, n int64) {
	t.Helper()
	key := noise.KeyFromSeed(g.Seed + 1)
	m := mechanism(t, s, o)
	source := input{Generated: g}
	job := Job{Run: onPrism, Pieces: pieces, Scratch: t.TempDir()}
	onBeam, err := addUp(t.Context(), m, profileJob{Source: source, Schema: s, Job: job, Workers: key})
	if err != nil {
		t.Fatal(err)
	}
	here, err := m.Collect(t.Context(), inMemory{rows{Source: source, Schema: s}}, key, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(onBeam.Export(), here.Export()) {
		t.Error("the exact sums are different")
	}
	n = counted(m, here)
	a, err := m.Release(onBeam, key)
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Release(here, key)
	if err != nil {
		t.Fatal(err)
	}
	return a.Profile(), b.Profile(), n
}

// counted is how many rows are in sums.
func counted(m *global.Mechanism, s *global.Sums) int64 {
	data, n := s.Export(), int64(0)
	l := m.Layout()
	for g := range l.Groups() {
		n += int64(le64(data[8*g*l.Cells():]))
	}
	return n
}

func le64(b []byte) (v uint64) {
	for i := range 8 {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

func TestMillionsOfRows(t *testing.T) {
	if testing.Short() {
		t.Skip("millions of rows are read")
	}
	g := &syntheticTable{Rows: 10_000_000, Seed: 1}
	if slow {
		g.Rows = 200_000
	}
	s := wide()
	got, want, rows := both(t, g, s, asked(s), 0)
	if !reflect.DeepEqual(got, want) {
		t.Error("the profiles are different")
	}
	if rows != g.Rows {
		t.Errorf("%d rows were counted, of %d", rows, g.Rows)
	}
}

// TestSameAsInMemory: with the same key the sample, the rows of units that are kept, and
// the noise are those that the main module draws, whatever the runner did with the pieces.
func TestSameAsInMemory(t *testing.T) {
	plain := func(*global.Settings) {}
	for _, c := range []struct {
		name      string
		g         syntheticTable
		set       func(*global.Settings)
		pieces    int
		low, high int64 // rows that count
	}{
		{"all rows", syntheticTable{Rows: 100_000}, plain, 0, 100_000, 100_000},
		{"in pieces", syntheticTable{Rows: 100_000}, plain, 5, 100_000, 100_000},
		{"more pieces than blocks", syntheticTable{Rows: 20_000}, plain, 50, 20_000, 20_000},
		{"a block and one row", syntheticTable{Rows: generatedRows + 1}, plain, 0, generatedRows + 1, generatedRows + 1},
		{"one row", syntheticTable{Rows: 1}, plain, 0, 1, 1},
		{"no rows", syntheticTable{}, plain, 0, 0, 0},
		{"gaussian", syntheticTable{Rows: 10_000}, func(o *global.Settings) { o.Noise = global.Gaussian }, 0, 10_000, 10_000},
		// Binomial(10^5, 0.1): 6.5 standard deviations are less than 10^-10.
		{"a sample", syntheticTable{Rows: 100_000}, func(o *global.Settings) { o.Rate = 0.1 }, 3, 9380, 10620},
		{"a small sample of few", syntheticTable{Rows: 10}, func(o *global.Settings) { o.Rate = 1e-9 }, 0, 0, 0},
		{"units", syntheticTable{Rows: 50_000, Units: 1000}, func(o *global.Settings) { o.RowsPerUnit = 3 }, 4, 3000, 3000},
		{"units with fewer rows", syntheticTable{Rows: 1000, Units: 1 << 60}, func(o *global.Settings) { o.RowsPerUnit = 2 }, 0, 1000, 1000},
		{"a sample of units", syntheticTable{Rows: 50_000, Units: 1000}, func(o *global.Settings) { o.RowsPerUnit, o.Rate = 1, 0.5 }, 0, 390, 610},
		{"units, none of them", syntheticTable{Units: 10}, func(o *global.Settings) { o.RowsPerUnit = 1 }, 0, 0, 0},
		{"units, none in the sample", syntheticTable{Rows: 10, Units: 10}, func(o *global.Settings) { o.RowsPerUnit, o.Rate = 1, 1e-9 }, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := wide()
			o := asked(s)
			c.set(&o)
			c.g.Seed = 7
			got, want, rows := both(t, &c.g, s, o, c.pieces)
			if !reflect.DeepEqual(got, want) {
				t.Error("the profiles are different")
			}
			if rows < c.low || rows > c.high {
				t.Errorf("%d rows count, and it should be %d to %d", rows, c.low, c.high)
			}
			if n := len(got.Groups); n != 4 {
				t.Errorf("%d groups, and there are 4, with rows or without", n)
			}
		})
	}
}

// counting asks for histograms of large domains: much noise from one pipeline.
func counting() (schema.Schema, global.Settings) {
	s := schema.Schema{Name: "counting"}
	o := global.Settings{}
	for i := range 8 {
		c := schema.Column{Name: fmt.Sprint("column", i), Kind: schema.Categorical}
		for v := range 1 << 13 {
			c.Values = append(c.Values, fmt.Sprint(v))
		}
		s.Columns = append(s.Columns, c)
		o.Columns = append(o.Columns, global.Column{Name: c.Name, Statistic: global.Histogram, Multiplier: 20})
	}
	return s, o
}

// TestNoiseOfFreshKeys: what comes out without a key given has the noise that was asked
// for, once. The test rejects a right program with probability below 10^-9 (Massart's
// bound on the Kolmogorov-Smirnov distance), and noise 10% too small or too large as well.
func TestNoiseOfFreshKeys(t *testing.T) {
	s, o := counting()
	var drawn []int64
	for range 3 {
		out, err := profile(t.Context(), o, profileJob{Source: input{Generated: &syntheticTable{}}, Schema: s, Job: Job{Run: onPrism}})
		if err != nil {
			t.Fatal(err)
		}
		if !out.Private() {
			t.Error("a profile with a key of the operating system says that it is not private")
		}
		for _, c := range out.Profile().Groups[0].Columns {
			drawn = append(drawn, c.Counts...)
		}
	}
	n := float64(len(drawn))
	critical := math.Sqrt(math.Log(2/1e-9) / (2 * n))
	if d := distance(drawn, 20); d > critical {
		t.Errorf("the noise is %v away from Laplace noise, more than %v", d, critical)
	}
	for _, wrong := range []float64{18, 22, 20 * math.Sqrt2} {
		if d := distance(drawn, wrong); d <= critical {
			t.Errorf("%v numbers cannot tell scale 20 from %v", n, wrong)
		}
	}
	first, second := drawn[:len(drawn)/3], drawn[len(drawn)/3:2*len(drawn)/3]
	if reflect.DeepEqual(first, second) {
		t.Error("two profiles have the same noise")
	}
}

// distance of numbers from the law of rounded Laplace noise.
func distance(drawn []int64, scale float64) float64 {
	counts, low := map[int64]int{}, int64(0)
	for _, x := range drawn {
		counts[x]++
		low = min(low, x)
	}
	below := func(x float64) float64 {
		if x < 0 {
			return math.Exp(x/scale) / 2
		}
		return 1 - math.Exp(-x/scale)/2
	}
	seen, far := 0, 0.
	for x := low; seen < len(drawn); x++ {
		seen += counts[x]
		far = max(far, math.Abs(float64(seen)/float64(len(drawn))-below(float64(x)+0.5)))
	}
	return far
}

// TestSamplingOfFreshKeys: without keys given, samples have the size that the rate says,
// within 6.5 standard deviations (less than 10^-10), which a rate 10% off does not.
func TestSamplingOfFreshKeys(t *testing.T) {
	s := wide()
	for _, units := range []uint64{0, 1 << 62} {
		o := asked(s)
		o.Rate = 0.1
		if units > 0 {
			o.RowsPerUnit = 1
		}
		m := mechanism(t, s, o)
		const n = 100_000
		var before []byte
		for range 2 {
			sums, err := addUp(t.Context(), m, profileJob{Source: input{Generated: &syntheticTable{Rows: n, Units: units}}, Schema: s, Job: Job{Run: onPrism}})
			if err != nil {
				t.Fatal(err)
			}
			sigma := math.Sqrt(n * 0.1 * 0.9)
			if off := math.Abs(float64(counted(m, sums)) - 0.1*n); off > 6.5*sigma || 0.01*n < 2*6.5*sigma*0.8 {
				t.Errorf("a sample is %v rows away from its mean", off)
			}
			if now := sums.Export(); bytes.Equal(now, before) {
				t.Error("two jobs drew the same sample")
			} else {
				before = now
			}
		}
	}
}

func TestRefusedProfiles(t *testing.T) {
	s := wide()
	for _, c := range []struct {
		name, want string
		set        func(*profileJob, *global.Settings)
	}{
		{"no source", "needs files", func(j *profileJob, _ *global.Settings) { j.Source = input{} }},
		{"two sources", "not both", func(j *profileJob, _ *global.Settings) { j.Source.Files = &fileSet{} }},
		{"no files", "name some", func(j *profileJob, _ *global.Settings) { j.Source = input{Files: &fileSet{}} }},
		{"an unknown rule for errors", "on error", func(j *profileJob, _ *global.Settings) { j.Source = input{Files: &fileSet{OnError: "guess"}} }},
		{"too many rows", "ask for 0 to", func(j *profileJob, _ *global.Settings) { j.Source.Generated.Rows = table.MaxRows + 1 }},
		{"no runner", "Job.Run", func(j *profileJob, _ *global.Settings) { j.Job.Run = nil }},
		{"units without a bound", "RowsPerUnit", func(j *profileJob, _ *global.Settings) { j.Unit = "customer" }},
		{"a bound without units", "RowsPerUnit", func(_ *profileJob, o *global.Settings) { o.RowsPerUnit = 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, o := profileJob{Source: input{Generated: &syntheticTable{Rows: 1}}, Schema: s, Job: Job{Run: onPrism}}, asked(s)
			c.set(&j, &o)
			if _, err := profile(t.Context(), o, j); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, and should speak of %q", err, c.want)
			}
		})
	}
}
