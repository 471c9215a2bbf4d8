package tabletest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// TB is what the suite needs of a test.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// Source is a kind of source that is tested.
type Source struct {
	// Put stores a table and opens it with the options, whose schema and unit name its
	// columns. It sets Format, Table, Query and Private as need be.
	Put func(t Table, o table.Options) (*table.Data, error)
	// Types that the source has.
	Types []Type
	// AsText: everything is text to the source.
	AsText bool
	// Unordered: rows need not come in the order in which they were put.
	Unordered bool
	// Cases is how many random tables are tried.
	Cases int
}

// Run runs the suite.
func Run(tb TB, s Source) {
	tb.Helper()
	for i := range s.Cases {
		s.readsWhatWasPut(tb, uint64(i))
	}
	s.cutsTheSameBatches(tb)
	s.knowsUnits(tb)
	s.keepsQuiet(tb)
	s.ends(tb)
	s.hasAFingerprint(tb)
	s.hasASketch(tb)
}

// readsWhatWasPut: rows of a random table are as in the reference, and those
// that the schema refuses are refused.
func (s Source) readsWhatWasPut(tb TB, seed uint64) {
	tb.Helper()
	r := random{noise.KeyFromSeed(seed).Stream("tabletest")}
	t, of := r.table(s.Types, r.n(40))
	if len(t.Rows) == 0 && s.AsText {
		t.Rows = append(t.Rows, make([]any, len(t.Columns)))
	}
	discrete := r.n(2) == 0
	columns := r.columns(of)
	for _, on := range []origin.OnError{table.Skip, table.Fail} {
		d, err := s.Put(t, table.Options{Schema: of, Discrete: discrete, OnError: on})
		if err != nil {
			tb.Fatalf("table %d: %v", seed, err)
		}
		want, refused := expected(t, of, columns, discrete, s.AsText)
		err = s.compare(d, columns, want, refused, on)
		if err != nil {
			tb.Errorf("table %d, on error %s: %v\n%+v\n%+v", seed, on, err, t, of)
		}
		if err := d.Close(); err != nil {
			tb.Errorf("closing: %v", err)
		}
	}
}

func (s Source) compare(d *table.Data, columns []int, want []row, refused []int64, on origin.OnError) error {
	got, err := scan(d, columns, 2)
	if err := judge(d, err, refused, on, !s.Unordered); err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	if err == nil && !sameRows(got, want) {
		return fmt.Errorf("scanned %v, want %v", got, want)
	}
	return nil
}

// judge compares what was refused with what should have been.
func judge(d *table.Data, err error, refused []int64, on origin.OnError, named bool) error {
	var known *table.RefusedError
	switch {
	case err != nil && !errors.As(err, &known):
		return err
	case (err != nil) != (on == table.Fail && len(refused) > 0):
		return fmt.Errorf("%d rows are refused, and the error is %w", len(refused), err)
	}
	p := d.Problems()
	if p.Count != int64(len(refused)) {
		return fmt.Errorf("%d rows are refused, want %d", p.Count, len(refused))
	}
	if !named {
		return nil
	}
	for i, problem := range p.First {
		if problem.Ordinal != refused[i] {
			return fmt.Errorf("row %d is refused, want %d", problem.Ordinal, refused[i])
		}
	}
	return nil
}

// scan collects the rows, in their order.
func scan(d *table.Data, columns []int, workers int) ([]row, error) {
	var mu sync.Mutex
	batches := map[int64][]row{}
	err := d.Scan(context.Background(), columns, workers, func(_ int, b *table.Batch) error {
		rows := make([]row, b.Rows)
		for i := range rows {
			for _, v := range b.Columns {
				rows[i] = append(rows[i], v.At(i))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		batches[b.Index] = rows
		return nil
	})
	var out []row
	indexes := make([]int64, 0, len(batches))
	for i := range batches {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	for _, i := range indexes {
		out = append(out, batches[i]...)
	}
	return out, err
}

// sameRows compares without regard to the order, which databases do not promise.
func sameRows(a, b []row) bool {
	sorted := func(rows []row) []string {
		var out []string
		for _, r := range rows {
			out = append(out, fmt.Sprint(r))
		}
		sort.Strings(out)
		return out
	}
	return slices.Equal(sorted(a), sorted(b))
}

// people is a table that later tests use: a number and who it is of.
func people(rows, units int) (Table, schema.Schema) {
	t := Table{Columns: []Column{{"x", Integer}, {"who", Text}}}
	for i := range rows {
		t.Rows = append(t.Rows, []any{int64(i % 101), fmt.Sprintf("person %d", i%units)})
	}
	return t, schema.Schema{Name: "people", Columns: []schema.Column{
		{Name: "x", Kind: schema.Numeric, Low: 0, High: 100, Clamp: true, Missing: "50"},
	}}
}

// cutsTheSameBatches anyone who reads, and numbers them by their place.
func (s Source) cutsTheSameBatches(tb TB) {
	tb.Helper()
	t, of := people(2*table.BatchRows+17, 5)
	d, err := s.Put(t, table.Options{Schema: of})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	defer d.Close()
	cut := func(workers int) (string, int) {
		var mu sync.Mutex
		lines, rows := []string{}, 0
		err := d.Scan(context.Background(), nil, workers, func(_ int, b *table.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			rows += b.Rows
			lines = append(lines, fmt.Sprintf("%4d %d %d %v", b.Index, b.First, b.Rows, b.Columns[0].Steps[:3]))
			return nil
		})
		if err != nil {
			tb.Fatalf("%v", err)
		}
		sort.Strings(lines)
		return strings.Join(lines, "\n"), rows
	}
	one, rows := cut(1)
	if rows != len(t.Rows) {
		tb.Errorf("%d rows of %d", rows, len(t.Rows))
	}
	for _, workers := range []int{2, 5} {
		if other, _ := cut(workers); other != one {
			tb.Errorf("%d workers see\n%s\nand one sees\n%s", workers, other, one)
		}
	}
	if !strings.HasPrefix(one, "   0 1 ") {
		tb.Errorf("the first batch is %.40s", one)
	}
}

// knowsUnits: rows of a unit have the same hash, others have not, and a row without a unit
// is refused.
func (s Source) knowsUnits(tb TB) {
	tb.Helper()
	t, of := people(300, 7)
	d, err := s.Put(t, table.Options{Schema: of, Unit: "who"})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	counts, mu := map[table.Unit]int{}, sync.Mutex{}
	err = d.Scan(context.Background(), []int{}, 1, func(_ int, b *table.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		for _, u := range b.Units {
			counts[u]++
		}
		return nil
	})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	if len(counts) != 7 {
		tb.Errorf("%d units of 7", len(counts))
	}
	for _, n := range counts {
		if n != 42 && n != 43 {
			tb.Errorf("a unit has %d rows", n)
		}
	}
	d.Close()
	for _, nobody := range []any{nil, ""} {
		t.Rows[4][1] = nobody
		d, err := s.Put(t, table.Options{Schema: of, Unit: "who"})
		if err != nil {
			tb.Fatalf("%v", err)
		}
		err = d.Scan(context.Background(), nil, 1, func(int, *table.Batch) error { return nil })
		at := expect.At(tb, "a row of nobody")
		refused := expect.As[*table.RefusedError](at, err)
		expect.Equal(at, "refused.Problems.Count", refused.Problems.Count, 1)
		expect.Equal(at, "refused.Problems.First[0].Reason", refused.Problems.First[0].Reason, table.UnitMissing)
		d.Close()
	}
}

// keepsQuiet: no error holds content, whatever is wrong with it.
func (s Source) keepsQuiet(tb TB) {
	tb.Helper()
	const secret = "Zaphod42"
	t := Table{Columns: []Column{{"x", Text}, {"y", Text}}, Rows: [][]any{{secret, secret}, {"1", secret}}}
	for _, of := range []schema.Schema{
		{Columns: []schema.Column{{Name: "x", Kind: schema.Numeric, High: 1}}},
		{Columns: []schema.Column{{Name: "y", Kind: schema.Categorical, Values: []string{"a", "b"}}}},
	} {
		d, err := s.Put(t, table.Options{Schema: of})
		if err != nil {
			tb.Fatalf("%v", err)
		}
		err = d.Scan(context.Background(), nil, 2, func(int, *table.Batch) error { return nil })
		printed := fmt.Sprintf("%v %+v %#v %s %v", err, d, d, d, d.Problems())
		expect.True(tb, "an error", err != nil)
		expect.True(tb, "no secret in printed", !strings.Contains(printed, secret), printed)
		expect.True(tb, "no Zaphod in printed", !strings.Contains(printed, "Zaphod"), printed)
		d.Close()
	}
}

var errStop = errors.New("stop")

// ends when its user or a context does.
func (s Source) ends(tb TB) {
	tb.Helper()
	t, of := people(table.BatchRows+1, 5)
	ctx, cancel := context.WithCancel(context.Background())
	for _, c := range []struct {
		each func(int, *table.Batch) error
		want error
	}{
		{func(int, *table.Batch) error { return errStop }, errStop},
		{func(int, *table.Batch) error { cancel(); return nil }, context.Canceled},
	} {
		d, err := s.Put(t, table.Options{Schema: of})
		if err != nil {
			tb.Fatalf("%v", err)
		}
		if err := d.Scan(ctx, nil, 2, c.each); !errors.Is(err, c.want) {
			tb.Errorf("%v comes back as %v", c.want, err)
		}
		d.Close()
	}
}

// hasAFingerprint that stays.
func (s Source) hasAFingerprint(tb TB) {
	tb.Helper()
	t, of := people(30, 5)
	d, err := s.Put(t, table.Options{Schema: of})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	defer d.Close()
	a, err := d.Fingerprint(context.Background())
	if err != nil {
		tb.Fatalf("%v", err)
	}
	b, err := d.Fingerprint(context.Background())
	expect.Equal(tb, "a", a, b)
	expect.NoError(tb, err)
	expect.True(tb, "a other than [32]byte{}", a != [32]byte{}, a)
}
