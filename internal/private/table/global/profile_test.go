package global_test

import (
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
	"pgregory.net/rapid"
)

func released(t testing.TB, o global.Settings, rows []record) global.Profile {
	t.Helper()
	m := newMechanism(t, o)
	r, err := m.Release(sumsOf(t, m, rows), noise.KeyFromSeed(7))
	if err != nil {
		t.Fatal(err)
	}
	return r.Profile()
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-5 }

// TestWithoutNoise: what a profile releases is what it should, except for noise.
func TestWithoutNoise(t *testing.T) {
	o := global.Settings{
		Noise:  global.None,
		Groups: []schema.Group{{Column: "y"}, {Column: "x", Cuts: []float64{20}}},
		Columns: []global.Column{
			{Name: "x", Statistic: global.Moments},
			{Name: "z", Statistic: global.Quantiles, Quantiles: []float64{0.75, 0.5}, Cells: 8},
			{Name: "kind", Statistic: global.Histogram},
			{Name: "one", Statistic: global.Mode},
			{Name: "y", Statistic: global.Given},
		},
	}
	at := func(x float64) int32 { return int32(x * table.Steps) } // from the middle, in half widths
	for _, uncentred := range []bool{false, true} {
		o.Uncentred = uncentred
		p := released(t, o, []record{
			{at(0.5), at(-0.9), 0, 0, 1}, {at(0.5), at(-0.9), 2, 0, 1}, {at(0.9), at(0.1), 2, 0, 1}, {at(0.1), at(0.6), 1, 0, 1},
		})
		about := expect.At(t, "groups")
		expect.Len(about, "p.Groups", p.Groups, 4)
		expect.Equal(about, "p.Groups[3].Where", p.Groups[3].Where, "y = No, x ≥ 20")
		expect.Equal(about, "p.Groups[0].Where", p.Groups[0].Where, "y = Yes, x < 20")
		g := p.Groups[3]
		x, z, kind := g.Columns[0], g.Columns[1], g.Columns[2]
		// x is 25, 25, 29, 21: mean 25, variance 8.
		about = expect.At(t, "uncentred %v", uncentred)
		expect.Equal(about, "g.Count", g.Count, 4)
		expect.True(about, "near(x.Mean, 25)", near(x.Mean, 25), x.Mean)
		expect.Max(about, "math.Abs(x.Deviation-math.Sqrt(8))", math.Abs(x.Deviation-math.Sqrt(8)), 1e-5)
		// Cells of z are 1 wide: -3.6 is in the first, 0.4 in the fifth, 2.4 in the seventh.
		about = expect.At(t, "z")
		expect.Len(about, "z.Quantiles", z.Quantiles, 2)
		expect.True(about, "near(z.Quantiles[0], 0.5)", near(z.Quantiles[0], 0.5), z.Quantiles[0])
		expect.True(about, "near(z.Quantiles[1], -3.5)", near(z.Quantiles[1], -3.5), z.Quantiles[1], -3.5)
		about = expect.At(t, "kind")
		expect.Equal(about, "kind.Mode", kind.Mode, 2)
		expect.Len(about, "kind.Counts", kind.Counts, 3)
		expect.Equal(about, "kind.Counts[1]", kind.Counts[1], 1)
		want := schema.Row{{Number: x.Mean}, {Number: z.Quantiles[1]}, {Code: 2, Discrete: true}, {Discrete: true}, {Code: 1, Discrete: true}}
		for i, v := range g.Row {
			if v != want[i] {
				t.Errorf("the row has %+v in column %d, want %+v", v, i, want[i])
			}
		}
		// An empty group: the edge of what it allows or the middle, and no error.
		e := p.Groups[1]
		about = expect.At(t, "the empty group")
		expect.Equal(about, "e.Count", e.Count, 0)
		expect.Equal(about, "e.Columns[0].Mean", e.Columns[0].Mean, 20)
		expect.Equal(about, "e.Row[4].Code", e.Row[4].Code, 0)
	}
}

// TestProfilesAreFeasible: whatever the noise does, values are within what their group
// allows, and are numbers.
func TestProfilesAreFeasible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := settings().Draw(t, "settings")
		o.Noise = rapid.SampledFrom([]global.Noise{global.Laplace, global.Gaussian}).Draw(t, "noise")
		huge := rapid.SampledFrom([]float64{1, 1 << 24}).Draw(t, "times")
		o.Count *= huge
		for i := range o.Columns {
			c := &o.Columns[i]
			c.Multiplier, c.Squares, c.Count = c.Multiplier*huge, c.Squares*huge, c.Count*huge
			c.Range /= huge
		}
		m, err := global.New(tiny(), o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Release(sumsOf(t, m, records().Draw(t, "rows")), noise.KeyFromSeed(rapid.Uint64().Draw(t, "seed")))
		if err != nil {
			t.Fatal(err)
		}
		s := tiny()
		for _, g := range r.Profile().Groups {
			expect.Len(t, "g.Row", g.Row, len(s.Columns))
			expect.True(t, "not math.IsNaN(g.Count)", !math.IsNaN(g.Count), g.Count)
			expect.True(t, "not math.IsNaN(g.CountError)", !math.IsNaN(g.CountError), g.CountError)
			for i, v := range g.Row {
				c, e := s.Columns[i], g.Columns[i]
				low, high := c.Low, c.High
				if c.Name == "x" {
					for _, cut := range []struct {
						words     string
						low, high float64
					}{{"x < 15", 10, 15}, {"15 ≤ x < 20", 15, 20}, {"x ≥ 20", 20, 30}} {
						if strings.Contains(g.Where, cut.words) {
							low, high = cut.low, cut.high
						}
					}
				}
				switch {
				case v.Discrete && (v.Code < 0 || v.Code >= len(c.Domain())):
					t.Fatalf("%s has the code %d", c.Name, v.Code)
				case !v.Discrete && !(v.Number >= low && v.Number <= high):
					t.Fatalf("%s is %v in %q", c.Name, v.Number, g.Where)
				case math.IsNaN(e.Error) || math.IsNaN(e.Deviation) || e.Deviation < 0 || e.Deviation > (c.High-c.Low)/2:
					t.Fatalf("%+v", e)
				}
				if c.Name == "kind" && v.Discrete && strings.Contains(g.Where, "kind = b") && v.Code != 1 {
					t.Fatalf("kind is %d in %q", v.Code, g.Where)
				}
			}
			if text := s.Text(g.Row); text == "" {
				t.Fatal("a row without words")
			}
		}
	})
}

// TestCountsAreWeighed: everything that counts rows makes the count, those with less noise
// more; the error is that of the result. 3000 releases with fixed keys.
func TestCountsAreWeighed(t *testing.T) {
	o := nothing(10, global.Column{Name: "kind", Statistic: global.Mode, Multiplier: 4}, global.Column{Name: "y", Statistic: global.Histogram, Multiplier: 7})
	m := newMechanism(t, o)
	squares, said := 0., 0.
	const rounds = 3000
	for seed := range rounds {
		r, err := m.Release(sumsOf(t, m, make([]record, 100)), noise.KeyFromSeed(uint64(seed)))
		if err != nil {
			t.Fatal(err)
		}
		g := r.Profile().Groups[0]
		squares += (g.Count - 100) * (g.Count - 100)
		said = g.CountError
	}
	if want := math.Sqrt(1 / (1/200. + 1/96. + 1/196.)); !near(said, want) {
		t.Errorf("the count's error is said to be %v, want %v", said, want)
	}
	if got := math.Sqrt(squares / rounds); math.Abs(got/said-1) > 0.1 {
		t.Errorf("the count is off by %v, said to be %v", got, said)
	}
}

// TestConstantColumns: bounds that leave no room, and a domain of one value.
func TestConstantColumns(t *testing.T) {
	s := schema.Schema{Name: "constant", Columns: []schema.Column{
		{Name: "x", Kind: schema.Numeric, Low: 5, High: 5},
		{Name: "one", Kind: schema.Categorical, Values: []string{"same"}},
	}}
	for _, uncentred := range []bool{false, true} {
		m, err := global.New(s, global.Settings{Count: 1, Uncentred: uncentred, Columns: []global.Column{
			{Name: "x", Statistic: global.Moments, Multiplier: 1, Squares: 1}, {Name: "one", Statistic: global.Mode, Multiplier: 1},
		}})
		if err != nil {
			t.Fatal(err)
		}
		sums := m.NewSums()
		if err := sums.Add(&table.Batch{Rows: 2, Columns: []table.Vector{{Steps: []int32{0, table.NewScale(s.Columns[0]).Steps(5)}}, {Codes: []uint16{0, 0}}}}); err != nil {
			t.Fatal(err)
		}
		r, err := m.Release(sums, noise.KeyFromSeed(1))
		if err != nil {
			t.Fatal(err)
		}
		g := r.Profile().Groups[0]
		expect.Equal(t, "g.Row[0].Number", g.Row[0].Number, 5)
		expect.Equal(t, "g.Row[1].Code", g.Row[1].Code, 0)
		expect.Equal(t, "g.Columns[0].Deviation", g.Columns[0].Deviation, 0)
	}
}
