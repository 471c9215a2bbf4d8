package global_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
	"pgregory.net/rapid"
)

// cellsOf adds records up by the definition of a layout, one cell at a time.
func cellsOf(l table.Layout, rows []record) []int64 {
	out := make([]int64, l.Groups()*l.Cells())
	bin := func(cuts []int32, s int32) int {
		n := 0
		for _, c := range cuts {
			if c <= s {
				n++
			}
		}
		return n
	}
	for _, r := range rows {
		g := 0
		for _, p := range l.By {
			code := int(r[p.Column])
			if p.Cuts != nil {
				code = bin(p.Cuts, r[p.Column])
			}
			if p.Class != nil {
				code = int(p.Class[code])
			}
			g = g*p.Classes + code
		}
		cell := g * l.Cells()
		add := func(n int64) { out[cell] += n; cell++ }
		add(1)
		for _, i := range l.Sums {
			add(int64(r[i]))
		}
		for _, i := range l.Squares {
			add(int64(r[i])*int64(r[i])/(1<<29) - table.Steps)
		}
		for _, h := range l.Histograms {
			at := int(r[h.Column])
			switch {
			case h.Grid:
				// The cells are [k·2^31/n, (k+1)·2^31/n), and the last has its end too.
				for at = 0; at < h.Cells-1 && (int64(r[h.Column])+table.Steps)*int64(h.Cells) >= int64(at+1)<<31; at++ {
				}
			case h.Edges != nil:
				at = bin(h.Edges, r[h.Column])
			}
			out[cell+at]++
			cell += h.Cells
		}
	}
	return out
}

func sumsOf(t interface{ Fatal(...any) }, m *global.Mechanism, rows []record) *global.Sums {
	s := m.NewSums()
	if err := s.Add(batch(m, rows)); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSumsAreWhatTheLayoutSays: however rows are cut into batches and merged.
func TestSumsAreWhatTheLayoutSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := global.New(tiny(), settings().Draw(t, "settings"))
		if err != nil {
			t.Fatal(err)
		}
		rows := records().Draw(t, "rows")
		want := cellsOf(m.Layout(), rows)
		if got := global.CellsOf(sumsOf(t, m, rows)); !slices.Equal(got, want) {
			t.Fatalf("in one batch %v, want %v", got, want)
		}
		cut := rapid.IntRange(0, len(rows)).Draw(t, "cut")
		a, b := sumsOf(t, m, rows[:cut]), m.NewSums()
		// The second part is picked from all rows.
		var rest []int
		for i := cut; i < len(rows); i++ {
			rest = append(rest, i)
		}
		if err := b.AddRows(batch(m, rows), rest); err != nil {
			t.Fatal(err)
		}
		b, err = m.Import(b.Export())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Merge(a); err != nil {
			t.Fatal(err)
		}
		if got := global.CellsOf(b); !slices.Equal(got, want) {
			t.Fatalf("in parts %v, want %v", got, want)
		}
	})
}

// TestOneRowMovesOneGroup: what the noise has to hide. Without a row, one group changes:
// its count by one, each sum by at most Steps, and one cell of each histogram by one.
func TestOneRowMovesOneGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := global.New(tiny(), settings().Draw(t, "settings"))
		if err != nil {
			t.Fatal(err)
		}
		rows := append(records().Draw(t, "rows"), records().Filter(func(r []record) bool { return len(r) > 0 }).Draw(t, "row")[0])
		at := rapid.IntRange(0, len(rows)-1).Draw(t, "gone")
		with := global.CellsOf(sumsOf(t, m, rows))
		without := global.CellsOf(sumsOf(t, m, slices.Delete(slices.Clone(rows), at, at+1)))
		l, changed := m.Layout(), 0
		for g := range l.Groups() {
			a, b := with[g*l.Cells():(g+1)*l.Cells()], without[g*l.Cells():(g+1)*l.Cells()]
			if slices.Equal(a, b) {
				continue
			}
			changed++
			if a[0]-b[0] != 1 {
				t.Fatalf("the count moves by %d", a[0]-b[0])
			}
			n := 1 + len(l.Sums) + len(l.Squares)
			for i := 1; i < n; i++ {
				if d := a[i] - b[i]; d > table.Steps || d < -table.Steps {
					t.Fatalf("a sum moves by %d", d)
				}
			}
			for k, i := range l.Sums {
				// In units, centred or not, a row does no more than one.
				if d := m.Sum(i, a[1+k], a[0]) - m.Sum(i, b[1+k], b[0]); d > global.Unit || d < -global.Unit {
					t.Fatalf("a sum in units moves by %d", d)
				}
			}
			for _, h := range l.Histograms {
				one := 0
				for i := n; i < n+h.Cells; i++ {
					if d := a[i] - b[i]; d < 0 || d > 1 {
						t.Fatalf("a count moves by %d", d)
					} else if d == 1 {
						one++
					}
				}
				if one != 1 {
					t.Fatalf("%d counts of a histogram move", one)
				}
				n += h.Cells
			}
		}
		if changed != 1 {
			t.Fatalf("%d groups change", changed)
		}
	})
}

// TestRankScoresMoveLittle: a row moves the score of a cell by at most the larger share,
// so that any two move apart by at most twice that.
func TestRankScoresMoveLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.Int64Range(0, 9), 2, 12).Draw(t, "counts")
		share := rapid.Int64Range(1, 999).Draw(t, "share")
		before := global.RankScores(counts, share)
		counts[rapid.IntRange(0, len(counts)-1).Draw(t, "at")]++
		low, high := int64(0), int64(0)
		for i, s := range global.RankScores(counts, share) {
			low, high = min(low, s-before[i]), max(high, s-before[i])
			if s > 0 {
				t.Fatalf("a score of %d", s)
			}
		}
		if limit := max(share, 1000-share); low < -limit || high > limit {
			t.Fatalf("scores move by %d to %d, the share is %d", low, high, share)
		}
		if !slices.Contains(global.RankScores(counts, share), 0) {
			t.Fatal("no cell has the rank that is wanted")
		}
	})
}

// TestManyRows: the largest table there may be, and one row more.
func TestManyRows(t *testing.T) {
	m := newMechanism(t, global.Settings{Count: 1, Columns: []global.Column{
		{Name: "x", Statistic: global.Moments, Multiplier: 1, Squares: 1},
		{Name: "z", Statistic: global.Quantiles, Quantiles: []float64{0.999}, Range: 1},
		{Name: "kind", Statistic: global.Mode, Multiplier: 1},
		{Name: "one", Statistic: global.Mode, Multiplier: 1},
		{Name: "y", Statistic: global.Mode, Multiplier: 1},
	}})
	for _, edge := range []int32{-table.Steps, table.Steps} {
		sums := m.NewSums()
		half := sumsOf(t, m, []record{{edge, edge, 1, 0, 1}})
		for range 30 { // 2^30 rows
			if err := half.Merge(must(m.Import(half.Export()))); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := sums.Merge(must(m.Import(half.Export()))); err != nil {
				t.Fatal(err)
			}
		}
		for _, more := range []error{sums.Add(batch(m, []record{{}})), sums.Merge(sumsOf(t, m, []record{{}})), sums.Merge(half)} {
			if more == nil || !strings.Contains(more.Error(), "2147483648 rows") {
				t.Errorf("one row more: %v", more)
			}
		}
		if got := global.CellsOf(sums)[1]; got != int64(edge)<<31 {
			t.Errorf("the sum is %d", got)
		}
		r, err := m.Release(sums, noise.KeyFromSeed(1))
		if err != nil {
			t.Fatal(err)
		}
		g := r.Profile().Groups[0]
		want := 20 + 10*float64(edge)/table.Steps
		at := expect.At(t, "2^31 rows at %v", want)
		expect.Max(at, "g.Columns[0].Mean-want", g.Columns[0].Mean-want, 1e-3)
		expect.Max(at, "want-g.Columns[0].Mean", want-g.Columns[0].Mean, 1e-3)
		expect.Equal(at, "g.Columns[2].Mode", g.Columns[2].Mode, 1)
		expect.Min(at, "g.Count", g.Count, 1<<31-100)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestBillionRows: counts of a billion rows are released to within their noise.
func TestBillionRows(t *testing.T) {
	s := all()
	s.Groups = nil
	s.Columns[4] = global.Column{Name: "y", Statistic: global.Histogram, Multiplier: 1}
	m := newMechanism(t, s)
	one := sumsOf(t, m, []record{{0, 0, 2, 0, 1}})
	cells := global.CellsOf(one)
	for i := range cells {
		cells[i] *= 1e9
	}
	sums := m.NewSums()
	if err := sums.Keep(cells); err != nil {
		t.Fatal(err)
	}
	r, err := m.Release(sums, noise.KeyFromSeed(5))
	if err != nil {
		t.Fatal(err)
	}
	g := r.Profile().Groups[0]
	n := g.Columns[4].Counts
	at := expect.At(t, "counts")
	expect.Min(at, "n[1]", n[1], 1e9-60)
	expect.Max(at, "n[1]", n[1], 1e9+60)
	expect.Max(at, "n[0]", n[0], 60)
}

// TestBatchesThatDoNotFit: a value beyond its range would move a sum by more than the
// noise hides, no matter who encoded it.
func TestBatchesThatDoNotFit(t *testing.T) {
	m := newMechanism(t, all())
	good := []record{{0, 0, 0, 0, 0}}
	for name, b := range map[string]*table.Batch{
		"steps beyond the bounds": batch(m, []record{{table.Steps + 1, 0, 0, 0, 0}}),
		"steps below the bounds":  batch(m, []record{{-table.Steps - 1, 0, 0, 0, 0}}),
		"binned steps beyond":     batch(m, []record{{0, table.Steps + 1, 0, 0, 0}}),
		"a code of no value":      batch(m, []record{{0, 0, 3, 0, 0}}),
		"a code of no class":      batch(m, []record{{0, 0, 0, 0, 2}}),
		"too few columns":         {Rows: 1, Columns: batch(m, good).Columns[1:]},
		"codes for steps":         {Rows: 1, Columns: slices.Repeat([]table.Vector{{Codes: []uint16{0}}}, 5)},
		"fewer values than rows":  {Rows: 2, Columns: batch(m, good).Columns},
		"more values than rows":   {Rows: 0, Columns: batch(m, good).Columns},
	} {
		if err := m.NewSums().Add(b); err == nil {
			t.Errorf("%s: added", name)
		}
	}
	// Each way of adding up looks for itself: here a column has one only.
	for _, c := range []global.Column{
		{Name: "x", Statistic: global.Mean, Multiplier: 1},
		{Name: "x", Statistic: global.Histogram, Multiplier: 1},
		{Name: "x", Statistic: global.Quantiles, Quantiles: []float64{0.5}, Range: 1},
	} {
		s := global.Settings{Count: 1, Columns: append([]global.Column{c}, all().Columns[1:]...), Groups: all().Groups[:1]}
		for _, steps := range []int32{table.Steps + 1, -table.Steps - 1} {
			m := newMechanism(t, s)
			if err := m.NewSums().Add(batch(m, []record{{steps, 0, 0, 0, 0}})); err == nil {
				t.Errorf("%s: %d steps are added", c.Statistic, steps)
			}
		}
	}
	other := newMechanism(t, global.Settings{Count: 1, Columns: all().Columns[:5], Groups: all().Groups[:1]})
	if err := m.NewSums().Merge(other.NewSums()); err == nil {
		t.Error("sums of other settings were merged")
	}
	if _, err := m.Import(make([]byte, 8)); err == nil {
		t.Error("sums of other settings were imported")
	}
	if _, err := m.Release(other.NewSums(), noise.KeyFromSeed(1)); err == nil {
		t.Error("sums of other settings were released")
	}
}

// TestSumsDoNotPrint plants a number and looks for it.
func TestSumsDoNotPrint(t *testing.T) {
	m := newMechanism(t, all())
	s := sumsOf(t, m, slices.Repeat([]record{{4711, 0, 0, 0, 0}}, 4711))
	printed, _ := json.Marshal(map[string]any{"s": s})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		printed = append(printed, fmt.Sprintf(verb, s)...)
	}
	if strings.Contains(string(printed), "4711") || strings.Contains(string(printed), "1267") {
		t.Errorf("sums print: %s", printed)
	}
}

// source hands out records in batches of 7, to workers in turns.
type source struct {
	m     *global.Mechanism
	rows  []record
	units []table.Unit
}

func (s source) Scan(_ context.Context, _ []int, workers int, each func(int, *table.Batch) error) error {
	var wait sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wait.Go(func() {
			for index := w; index*7 < len(s.rows) && errs[w] == nil; index += workers {
				to := min(len(s.rows), index*7+7)
				b := batch(s.m, s.rows[index*7:to])
				b.Index, b.First = int64(index), int64(index*7+1)
				if s.units != nil {
					b.Units = s.units[index*7 : to]
				}
				errs[w] = each(w, b)
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestConcurrentWorkers: the same key makes the same profile, by any number of workers.
func TestConcurrentWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := settings().Draw(t, "settings")
		o.Rate = rapid.SampledFrom([]float64{0, 0.3, 0.9}).Draw(t, "rate")
		o.RowsPerUnit = rapid.IntRange(0, 3).Draw(t, "rows per unit")
		m, err := global.New(tiny(), o)
		if err != nil {
			t.Fatal(err)
		}
		src := source{m: m, rows: records().Draw(t, "rows")}
		if o.RowsPerUnit > 0 {
			src.units = make([]table.Unit, len(src.rows))
			for i := range src.units {
				src.units[i][0] = rapid.Uint64Range(0, 5).Draw(t, "unit")
			}
		}
		key := noise.KeyFromSeed(rapid.Uint64().Draw(t, "seed"))
		var first []byte
		for _, workers := range []int{1, 2, 3} {
			s, err := m.Collect(t.Context(), src, key, workers)
			if err != nil {
				t.Fatal(err)
			}
			r, err := m.Release(s, key)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(r.Profile())
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = text
			}
			if string(first) != string(text) {
				t.Fatalf("with %d workers\n%s\nwith 1\n%s", workers, text, first)
			}
		}
	})
}
