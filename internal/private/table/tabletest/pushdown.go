package tabletest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// aggregatesNothing: no rows are no error.
func (s Source) aggregatesNothing(tb TB) {
	tb.Helper()
	t, of := people(0, 1)
	d, err := s.Put(t, table.Options{Schema: of})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	defer d.Close()
	q := table.Query{Layout: table.Layout{Sums: []int{0}, Squares: []int{0}, Histograms: []table.Histogram{{Column: 0, Cells: 9, Grid: true}}}}
	if !d.CanAggregate(q) {
		tb.Fatalf("a plain query is not pushed down")
	}
	totals, err := d.Aggregate(context.Background(), q)
	if err != nil || slices.ContainsFunc(seal.Cells(totals), func(n int64) bool { return n != 0 }) {
		tb.Errorf("no rows add up to something: %v", err)
	}
}

// draws: rows are drawn independently of each other at the rate that was asked for, the
// same ones by the same key and in every statement of a query.
//
// The number of drawn rows is binomial; six standard deviations and a half reject a right
// source with probability below 1e-10 (Gaussian tail, doubled for the skew at this size).
func (s Source) draws(tb TB) {
	tb.Helper()
	const rate = 0.5
	count := s.DrawRows
	if count == 0 {
		count = 8000
	}
	rows := float64(count)
	t, of := people(count, 5)
	d, err := s.Put(t, table.Options{Schema: of})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	defer d.Close()
	layout := table.Layout{Sums: []int{0}, Histograms: []table.Histogram{{Column: 0, Cells: 50, Grid: true}}}
	draw := func(seed uint64, rate float64) []int64 {
		q := table.Query{Layout: layout, Rate: rate, Key: noise.KeyFromSeed(seed)}
		if !d.CanAggregate(q) {
			tb.Fatalf("rows are not drawn there")
		}
		totals, err := d.Aggregate(context.Background(), q)
		if err != nil {
			tb.Fatalf("%v", err)
		}
		cells := seal.Cells(totals)
		sum := int64(0)
		for _, n := range cells[2:] {
			sum += n
		}
		if sum != cells[0] {
			tb.Errorf("statements of one query see %d and %d rows", cells[0], sum)
		}
		return cells
	}
	one, again, other := draw(1, rate), draw(1, rate), draw(2, rate)
	if !slices.Equal(one, again) {
		tb.Errorf("the same key draws other rows")
	}
	if slices.Equal(one, other) {
		tb.Errorf("another key draws the same rows")
	}
	deviation := math.Sqrt(rows * rate * (1 - rate))
	inRange := func(n int64, rate float64) bool { return math.Abs(float64(n)-rows*rate) < 6.5*deviation }
	if !inRange(one[0], rate) || !inRange(other[0], rate) {
		tb.Errorf("%d and %d of %d rows are drawn at rate %v", one[0], other[0], count, rate)
	}
	// A rate that is off by ten deviations is told apart, whatever the number of rows.
	off := 10 * deviation / rows
	if inRange(draw(3, rate-off)[0], rate) || inRange(draw(3, rate+off)[0], rate) {
		tb.Errorf("a rate that is wrong by %.2f would pass", off)
	}
	// Rows that are drawn are not those of a pattern: of neighbours, as many as of others.
	both := float64(one[2]) / rows * 50
	if math.Abs(both-rate) > 6.5*math.Sqrt(rate*(1-rate)/(rows/50)) {
		tb.Errorf("the share that is drawn in one cell is %.3f", both)
	}
}

// boundsUnits: at most so many rows of each unit are used, all of them if there are no
// more, and units are drawn as a whole.
func (s Source) boundsUnits(tb TB) {
	tb.Helper()
	const units = 40
	t := Table{Columns: []Column{{"who", Text}, {"x", Integer}}}
	of := schema.Schema{Name: "units", Columns: []schema.Column{
		{Name: "who", Kind: schema.Categorical}, {Name: "x", Kind: schema.Numeric, Low: 0, High: 100},
	}}
	want := make([]int64, units)
	for u := range units {
		name := fmt.Sprintf("person %d", u)
		of.Columns[0].Values = append(of.Columns[0].Values, name)
		for i := range 1 + u%5 {
			t.Rows = append(t.Rows, []any{name, int64(i)})
			want[u] = min(int64(i+1), 2)
		}
		// Refused rows take no place of others.
		t.Rows = append(t.Rows, []any{name, int64(1000)})
	}
	d, err := s.Put(t, table.Options{Schema: of, Unit: "who", OnError: table.Skip})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	defer d.Close()
	counts := func(rate float64, seed uint64) []int64 {
		q := table.Query{Layout: table.Layout{By: []table.Partition{{Column: 0, Classes: units}}, Sums: []int{1}}, RowsPerUnit: 2, Rate: rate, Key: noise.KeyFromSeed(seed)}
		if !d.CanAggregate(q) {
			tb.Fatalf("units are not bounded there")
		}
		totals, err := d.Aggregate(context.Background(), q)
		if err != nil {
			tb.Fatalf("%v", err)
		}
		var out []int64
		for i := 0; i < len(seal.Cells(totals)); i += 2 {
			out = append(out, seal.Cells(totals)[i])
		}
		return out
	}
	if got := counts(1, 1); !slices.Equal(got, want) {
		tb.Errorf("rows of units: %v, want %v", got, want)
	}
	drawn := 0
	for seed := range uint64(10) {
		for u, n := range counts(0.5, seed) {
			switch n {
			case 0:
			case want[u]:
				drawn++
			default:
				tb.Errorf("a unit is drawn in part: %d rows of %d", n, want[u])
			}
		}
	}
	// 400 draws at rate one half: seven standard deviations, below 1e-11.
	if math.Abs(float64(drawn)-200) > 7*math.Sqrt(100) {
		tb.Errorf("%d of 400 units are drawn at rate 0.5", drawn)
	}
}

// SameSums compares what a source adds up by itself with what a scan adds up to.
func SameSums(d *table.Data, l table.Layout) error {
	q := table.Query{Layout: l}
	if !d.CanAggregate(q) {
		return errors.New("the source does not add up by itself")
	}
	totals, err := d.Aggregate(context.Background(), q)
	if err != nil {
		return err
	}
	rows, err := scan(d, l.Columns(), 1)
	if err != nil {
		return err
	}
	if want := total(l, l.Columns(), rows); !slices.Equal(seal.Cells(totals), want) {
		return fmt.Errorf("added up %v, and scanned %v", seal.Cells(totals), want)
	}
	return nil
}
