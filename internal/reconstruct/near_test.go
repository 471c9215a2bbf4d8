package reconstruct

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/privacytest"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// everyRow lists all rows of some domains.
func everyRow(domains []int) (out [][]uint16) {
	out = [][]uint16{nil}
	for _, d := range domains {
		var next [][]uint16
		for _, row := range out {
			for v := range d {
				next = append(next, append(slices.Clone(row), uint16(v)))
			}
		}
		out = next
	}
	return out
}

// chance that Codes draws a row, by the definition: each estimate's new columns given the
// values of its others, or by themselves where it has nothing for those.
func chance(estimates []*Estimate, row []uint16) float64 {
	drawn, out := map[int]bool{}, 1.
	for _, e := range estimates {
		var both, given, alone, all float64
		for cell, p := range e.Cells {
			old, new := true, true
			for i, v := range e.Codes(cell, nil) {
				if same := v == row[e.Columns[i]]; drawn[e.Columns[i]] {
					old = old && same
				} else {
					new = new && same
				}
			}
			all += p
			if old {
				given += p
			}
			if new {
				alone += p
			}
			if old && new {
				both += p
			}
		}
		if given > 0 {
			out *= both / given
		} else {
			out *= alone / all
		}
		for _, c := range e.Columns {
			drawn[c] = true
		}
	}
	return out
}

// law of rows near to one, by the definition.
func law(estimates []*Estimate, n Near, rows [][]uint16) []float64 {
	out, sum := make([]float64, len(rows)), 0.
	for i, row := range rows {
		out[i] = chance(estimates, row)
		for c, v := range row {
			if int(v) != n.Query[c].Code && !slices.Contains(n.Free, c) {
				out[i] *= n.Mismatch
			}
		}
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// chance of a cell as draw has it.
func (f fan) chance(cell int) float64 {
	block := cell / len(f.tail)
	p := f.sums[block]
	if block > 0 {
		p -= f.sums[block-1]
	}
	if p == 0 {
		return 0
	}
	from := block * len(f.tail)
	return p / f.total() * f.cells[cell] * f.tail[cell-from] / dot(f.cells[from:from+len(f.tail)], f.tail)
}

// lawOf returns the law of Near, from the numbers that it draws by.
func lawOf(t interface{ Fatal(args ...any) }, s *Sampler, n Near, rows [][]uint16) []float64 {
	weights, err := s.weigh(n)
	if err != nil {
		t.Fatal(err)
	}
	fans := s.fan(weights)
	out := make([]float64, len(rows))
	for i, row := range rows {
		out[i] = 1
		for k, p := range s.parts {
			given, cell := 0, 0
			if len(p.shared) > 0 {
				given = int(row[s.hub])
			}
			for j, c := range p.fresh {
				cell = cell*p.domains[len(p.shared)+j] + int(row[c])
			}
			out[i] *= fans[k][given].chance(cell)
		}
	}
	return out
}

// someEstimate has some cells of 0, and some large ones.
func someEstimate(t *rapid.T, columns, domains []int) *Estimate {
	e := &Estimate{Columns: columns}
	size := 1
	for _, c := range columns {
		e.Domains = append(e.Domains, domains[c])
		size *= domains[c]
	}
	sum := 0.
	for range size {
		v := rapid.SampledFrom([]float64{0, 0, 1e-9, 1, 1, 2, 30}).Draw(t, "cell")
		e.Cells = append(e.Cells, v)
		sum += v
	}
	if sum == 0 {
		e.Cells[size-1], sum = 1, 1
	}
	for i := range e.Cells {
		e.Cells[i] /= sum
	}
	return e
}

// shapes of estimates of four columns that rows can be drawn near to.
var shapes = [][][]int{
	{{0, 1, 2, 3}},
	{{3, 1, 0, 2}},
	{{1, 0}, {1, 2}, {1, 3}},
	{{0, 1}, {2, 1}, {3, 1}},
	{{0, 1, 3}, {1, 2}},
	{{0}, {1}, {2, 3}},
	{{0, 2}, {1, 3}},
	{{2}, {0, 1}, {3, 1}},
}

func query(codes ...int) schema.Row {
	row := make(schema.Row, len(codes))
	for i, c := range codes {
		row[i] = schema.Value{Code: c, Discrete: true}
	}
	return row
}

// TestNearLaw: the numbers that rows are drawn by follow the definition.
func TestNearLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		domains := []int{rapid.IntRange(1, 3).Draw(t, "values"), 2, 3, rapid.IntRange(1, 4).Draw(t, "values")}
		var estimates []*Estimate
		for _, columns := range rapid.SampledFrom(shapes).Draw(t, "shape") {
			estimates = append(estimates, someEstimate(t, columns, domains))
		}
		s, err := NewSampler(4, estimates...)
		if err != nil {
			t.Fatal(err)
		}
		n := Near{Mismatch: rapid.SampledFrom([]float64{1, 0.5, 0.1, 1e-3, MinMismatch}).Draw(t, "mismatch")}
		for c, d := range domains {
			n.Query = append(n.Query, schema.Value{Code: rapid.IntRange(0, d-1).Draw(t, "query"), Discrete: true})
			if rapid.Bool().Draw(t, "free") {
				n.Free = append(n.Free, c)
			}
		}
		rows := everyRow(domains)
		want := law(estimates, n, rows)
		for i, got := range lawOf(t, s, n, rows) {
			if math.Abs(got-want[i]) > 1e-12+1e-9*want[i] {
				t.Fatalf("row %v near %v has %v instead of %v", rows[i], n, got, want[i])
			}
		}
	})
}

// TestNear: rows come as often as the law says, and not as that of another mismatch; the
// false-reject rate is worst's.
func TestNear(t *testing.T) {
	const n = 100_000
	domains := []int{2, 3, 2}
	dense := &Estimate{Columns: []int{0, 1, 2}, Domains: domains, Cells: []float64{0.2, 0.1, 0, 0.05, 0.1, 0.05, 0.1, 0.1, 0.05, 0, 0.15, 0.1}}
	pair := func(column int) *Estimate {
		e, err := dense.Marginal(2, column)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for name, estimates := range map[string][]*Estimate{"dense": {dense}, "pairs": {pair(0), pair(1)}} {
		t.Run(name, func(t *testing.T) {
			s, err := NewSampler(3, estimates...)
			if err != nil {
				t.Fatal(err)
			}
			near := Near{Query: query(0, 1, 0), Free: []int{2}, Mismatch: 0.2}
			rows := everyRow(domains)
			hits := make([]int, len(rows))
			got, err := s.Near(near, n, noise.KeyFromSeed(4).Stream(name))
			if err != nil {
				t.Fatal(err)
			}
			last := math.MaxInt
			for _, row := range got {
				hits[dense.Cell([]uint16{uint16(row[0].Code), uint16(row[1].Code), uint16(row[2].Code)})]++
				d := near.differs(row)
				if d > last {
					t.Fatalf("a row that differs in %d columns comes after one that does in %d", d, last)
				}
				last = d
			}
			if w := privacytest.Misfit(n, hits, law(estimates, near, rows)); !(w <= 1) {
				t.Errorf("%v of %d do not fit: %.2f", hits, n, w)
			}
			for _, wrong := range []float64{0.18, 0.22} {
				other := near
				other.Mismatch = wrong
				if w := privacytest.Misfit(n, hits, law(estimates, other, rows)); w < 1 {
					t.Errorf("the test accepts a mismatch of %v: %.2f", wrong, w)
				}
			}
		})
	}
}

// TestNearNothing: where no row like the query has a probability, others come.
func TestNearNothing(t *testing.T) {
	e := &Estimate{Columns: []int{0, 1}, Domains: []int{3, 2}, Cells: []float64{0, 0, 0, 0, 0, 1}}
	s, err := NewSampler(2, e)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Near(Near{Query: query(0, 0), Mismatch: MinMismatch}, 20, noise.KeyFromSeed(1).Stream("near"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range got {
		if row[0].Code != 2 || row[1].Code != 1 {
			t.Fatalf("%v was drawn", row)
		}
	}
}

// TestNearManyColumns: products over hundreds of columns do not vanish, and the label is as
// probable as their logarithms say, whatever those of a label are that does not occur.
func TestNearManyColumns(t *testing.T) {
	const columns, mismatch = 401, 1e-3
	estimates := []*Estimate{{Columns: []int{0, 1}, Domains: []int{3, 2}, Cells: []float64{0.499, 0.001, 0.498, 0.002, 0, 0}}}
	for c := 2; c < columns; c++ {
		estimates = append(estimates, &Estimate{Columns: []int{0, c}, Domains: []int{3, 2}, Cells: []float64{0.299, 0.001, 0.299001, 0.000999, 0, 0.4}})
	}
	s, err := NewSampler(columns, estimates...)
	if err != nil {
		t.Fatal(err)
	}
	n := Near{Query: query(slices.Repeat([]int{1}, columns)...), Free: []int{0}, Mismatch: mismatch}
	weights, err := s.weigh(n)
	if err != nil {
		t.Fatal(err)
	}
	label := func(y int) float64 { // the first part has it, and column 1
		first := s.fan(slices.Clone(weights))[0][0]
		return first.chance(2*y) + first.chance(2*y+1)
	}
	log := func(y int) float64 {
		sum := math.Log(0.5)
		for _, e := range estimates {
			other, same := e.Cells[2*y], e.Cells[2*y+1]
			sum += math.Log((mismatch*other + same) / (other + same))
		}
		return sum
	}
	if log(0) > -1000 {
		t.Fatalf("the products are not small: e^%v", log(0))
	}
	if got, want := label(0)/label(1), math.Exp(log(0)-log(1)); !(math.Abs(got/want-1) < 1e-9) {
		t.Errorf("the odds of two labels are %v instead of %v", got, want)
	}
	if p := label(2); p != 0 {
		t.Errorf("a label that does not occur has %v", p)
	}
}

func TestNearRefuses(t *testing.T) {
	e := func(columns ...int) *Estimate {
		out := &Estimate{Columns: columns, Cells: []float64{1}}
		for range columns {
			out.Domains = append(out.Domains, 2)
			out.Cells = append(out.Cells, slices.Repeat([]float64{0}, len(out.Cells))...)
		}
		return out
	}
	stream := noise.KeyFromSeed(1).Stream("near")
	for name, c := range map[string]struct {
		estimates []*Estimate
		near      Near
		want      string
	}{
		"a chain":        {[]*Estimate{e(0, 1), e(1, 2), e(2, 3)}, Near{Query: query(0, 0, 0, 0)}, "same column in common"},
		"two in common":  {[]*Estimate{e(0, 1, 2), e(0, 1, 3)}, Near{Query: query(0, 0, 0, 0)}, "same column in common"},
		"mismatch":       {[]*Estimate{e(0, 1)}, Near{Query: query(0, 0), Mismatch: 1.5}, "from 1e-12 to 1"},
		"tiny mismatch":  {[]*Estimate{e(0, 1)}, Near{Query: query(0, 0), Mismatch: 1e-13}, "from 1e-12 to 1"},
		"not a number":   {[]*Estimate{e(0, 1)}, Near{Query: query(0, 0), Mismatch: math.NaN()}, "from 1e-12 to 1"},
		"a short query":  {[]*Estimate{e(0, 1)}, Near{Query: query(0)}, "1 values"},
		"another value":  {[]*Estimate{e(0, 1)}, Near{Query: query(0, 2)}, "column number 2"},
		"a number":       {[]*Estimate{e(0, 1)}, Near{Query: schema.Row{{Number: 1}, {Discrete: true}}}, "column number 1"},
		"another column": {[]*Estimate{e(0, 1)}, Near{Query: query(0, 0), Free: []int{2}}, "column number 3"},
	} {
		t.Run(name, func(t *testing.T) {
			columns := slices.Max(c.estimates[len(c.estimates)-1].Columns) + 1
			s, err := NewSampler(columns, c.estimates...)
			if err != nil {
				t.Fatal(name, err)
			}
			if _, err := s.Near(c.near, 1, stream); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	// A value of a column that takes no part may be anything.
	s, err := NewSampler(2, e(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Near(Near{Query: query(0, 9), Free: []int{1}}, 3, stream); err != nil || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	for name, estimates := range map[string][]*Estimate{
		"twice":         {{Columns: []int{0, 0}, Domains: []int{1, 2}, Cells: []float64{1, 0}}},
		"other domains": {e(0, 1), {Columns: []int{0, 2}, Domains: []int{1, 2}, Cells: []float64{1, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewSampler(3, estimates...); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
}

// BenchmarkNear is a query of a table of 2^20 cells.
func BenchmarkNear(b *testing.B) {
	e := &Estimate{Columns: make([]int, 10), Domains: make([]int, 10), Cells: make([]float64, 1<<20)}
	for i := range e.Columns {
		e.Columns[i], e.Domains[i] = i, 4
	}
	for i := range e.Cells {
		e.Cells[i] = 1. / (1 << 20)
	}
	s, err := NewSampler(10, e)
	if err != nil {
		b.Fatal(err)
	}
	n := Near{Query: query(make([]int, 10)...), Free: []int{0}}
	stream := noise.KeyFromSeed(1).Stream("near")
	for b.Loop() {
		if _, err := s.Near(n, 8, stream); err != nil {
			b.Fatal(err)
		}
	}
}
