package reconstruct

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/privacytest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestSampler: rows come as often as the estimate says, and not as another one does.
func TestSampler(t *testing.T) {
	const n = 200_000
	e := &Estimate{Columns: []int{1, 0}, Domains: []int{3, 2}, Cells: []float64{0.3, 0.1, 0, 0.2, 0.25, 0.15}}
	s, err := NewSampler(2, e)
	if err != nil {
		t.Fatal(err)
	}
	hits := make([]int, 6)
	for _, row := range s.Rows(n, noise.KeyFromSeed(1).Stream("sample")) {
		if !row[0].Discrete || !row[1].Discrete {
			t.Fatal("a value is not a code")
		}
		hits[e.Cell([]uint16{uint16(row[1].Code), uint16(row[0].Code)})]++
	}
	if w := privacytest.Misfit(n, hits, e.Cells); w > 1 {
		t.Errorf("%v of %d do not fit %v: %.2f", hits, n, e.Cells, w)
	}
	for _, scale := range []float64{0.9, 1.1} {
		wrong := slices.Clone(e.Cells)
		wrong[0], wrong[4] = wrong[0]*scale, wrong[4]+wrong[0]*(1-scale)
		if w := privacytest.Misfit(n, hits, wrong); w < 1 {
			t.Errorf("the test accepts a cell ×%v: %.2f", scale, w)
		}
	}
	if hits[2] != 0 {
		t.Error("a row of probability 0 was drawn")
	}
}

// TestGroups: columns of several estimates are drawn as if independent given those that
// they share, and that is right where it is so.
func TestGroups(t *testing.T) {
	const n = 200_000
	label := []float64{0.25, 0.75}
	given := [][][]float64{{{0.9, 0.1}, {0.2, 0.3, 0.5}}, {{0.4, 0.6}, {0.7, 0.2, 0.1}}} // by label, of columns 0 and 2
	pair := func(column, values int) *Estimate {
		e := &Estimate{Columns: []int{column, 1}, Domains: []int{values, 2}, Cells: make([]float64, 2*values)}
		for v := range values {
			for l := range 2 {
				e.Cells[2*v+l] = label[l] * given[l][column/2][v]
			}
		}
		return e
	}
	s, err := NewSampler(3, pair(0, 2), pair(2, 3))
	if err != nil {
		t.Fatal(err)
	}
	hits, want := make([]int, 12), make([]float64, 12)
	var codes []uint16
	stream := noise.KeyFromSeed(2).Stream("groups")
	for range n {
		codes = s.Codes(stream, codes[:0])
		hits[(codes[0]*2+codes[1])*3+codes[2]]++
	}
	for a := range 2 {
		for l := range 2 {
			for b := range 3 {
				want[(a*2+l)*3+b] = label[l] * given[l][0][a] * given[l][1][b]
			}
		}
	}
	if w := privacytest.Misfit(n, hits, want); w > 1 {
		t.Errorf("%v of %d do not fit %v: %.2f", hits, n, want, w)
	}
	want[0], want[1] = want[1], want[0]
	if w := privacytest.Misfit(n, hits, want); w < 1 {
		t.Errorf("the test accepts another distribution: %.2f", w)
	}
	// Nothing is known about rows whose label was never estimated.
	lone := &Estimate{Columns: []int{1, 2}, Domains: []int{2, 3}, Cells: []float64{0, 0, 0, 0.5, 0.25, 0.25}}
	if s, err = NewSampler(3, pair(0, 2), lone); err != nil {
		t.Fatal(err)
	}
	seen := map[uint16]int{}
	for range 2000 {
		if codes = s.Codes(stream, codes[:0]); codes[1] == 0 {
			seen[codes[2]]++
		}
	}
	if len(seen) != 3 {
		t.Errorf("values %v for a label without an estimate", seen)
	}
}

func TestSamplerRefuses(t *testing.T) {
	e := &Estimate{Columns: []int{0, 1}, Domains: []int{2, 2}, Cells: []float64{0.5, 0, 0, 0.5}}
	empty := &Estimate{Columns: []int{0}, Domains: []int{2}, Cells: []float64{0, 0}}
	for name, make := range map[string]func() (*Sampler, error){
		"nothing":          func() (*Sampler, error) { return NewSampler(2) },
		"a column missing": func() (*Sampler, error) { return NewSampler(3, e) },
		"a column more":    func() (*Sampler, error) { return NewSampler(1, e) },
		"no probability":   func() (*Sampler, error) { return NewSampler(1, empty) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := make(); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
	if got := pairs(1, 3); !slices.EqualFunc(got, [][]int{{1, 0}, {1, 2}}, slices.Equal) {
		t.Errorf("pairs %v", got)
	}
	if got := pairs(0, 1); !slices.EqualFunc(got, [][]int{{0}}, slices.Equal) {
		t.Errorf("pairs of one column %v", got)
	}
}

// TestMarginals: counts of some columns, counted or added up, and estimates added up.
func TestMarginals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Channel{Domains: []int{2, 3, 1, 4}, Keep: []float64{0.7, 0.5, 1, 0.4}}
		all, err := NewCounts(c)
		if err != nil {
			t.Fatal(err)
		}
		columns := rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "columns")[:rapid.IntRange(1, 4).Draw(t, "how many")]
		some, err := NewCounts(c, columns...)
		if err != nil {
			t.Fatal(err)
		}
		var rows Rows
		rows.Reset(4, 50)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for i := range rows.Columns {
			for j := range rows.Columns[i] {
				rows.Columns[i][j] = uint16(r.IntN(c.Domains[i]))
			}
		}
		for _, n := range []*Counts{all, some} {
			if err := n.Add(&rows); err != nil {
				t.Fatal(err)
			}
		}
		m, err := all.Marginal(columns...)
		if err != nil {
			t.Fatal(err)
		}
		at := expect.At(t, "columns %v", columns)
		expect.True(at, "m.cells equal to some.cells", slices.Equal(m.cells, some.cells), m.cells, some.cells)
		expect.Equal(at, "m.rows", m.rows, 50)
		expect.True(at, "m.channel.Keep equal to some.channel.Keep", slices.Equal(m.channel.Keep, some.channel.Keep), m.channel.Keep, some.channel.Keep)
		// The inverse of a marginal is the marginal of the inverse.
		cells, err := unbiased(all)
		if err != nil {
			t.Fatal(err)
		}
		e := &Estimate{Columns: all.columns, Domains: c.Domains, Cells: cells}
		got, err := e.Marginal(columns...)
		if err != nil {
			t.Fatal(err)
		}
		want, err := unbiased(m)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "marginal", got.Cells, want, 1e-9)
		for cell := range got.Cells {
			if got.Cell(got.Codes(cell, nil)) != cell {
				t.Fatalf("cell %d has codes %v", cell, got.Codes(cell, nil))
			}
		}
	})
}

func TestCountsRefuse(t *testing.T) {
	wide := Channel{}
	for range 25 {
		wide.Domains, wide.Keep = append(wide.Domains, 2), append(wide.Keep, 0.6)
	}
	if _, err := NewCounts(wide); err == nil {
		t.Error("2^25 cells are accepted")
	}
	if _, err := NewCounts(wide, 0, 5, 24); err != nil {
		t.Errorf("three of 25 columns: %v", err)
	}
	for range 100 {
		wide.Domains, wide.Keep = append(wide.Domains, 1<<16), append(wide.Keep, 0.6)
	}
	if _, err := NewCounts(wide); err == nil {
		t.Error("more cells than can be counted are accepted")
	}
	two := Channel{Domains: []int{2, 2}, Keep: []float64{0.6, 0.6}}
	for name, test := range map[string]struct {
		c       Channel
		columns []int
	}{
		"no column":     {Channel{}, nil},
		"no value":      {Channel{Domains: []int{0}, Keep: []float64{1}}, nil},
		"chances":       {Channel{Domains: []int{2}, Keep: []float64{0.6}, Other: []float64{0.6}}, nil},
		"NaN":           {Channel{Domains: []int{2}, Keep: []float64{math.NaN()}}, nil},
		"chance 0":      {Channel{Domains: []int{2}, Keep: []float64{0}}, nil},
		"lengths":       {Channel{Domains: []int{2, 2}, Keep: []float64{0.6}}, nil},
		"one value":     {Channel{Domains: []int{1}, Keep: []float64{0.6}}, nil},
		"twice":         {two, []int{0, 0}},
		"out of bounds": {two, []int{2}},
		"negative":      {two, []int{-1}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewCounts(test.c, test.columns...); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
	n, err := NewCounts(two)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Add(&Rows{Count: 1, Columns: [][]uint16{{0}, {2}}}); err == nil {
		t.Error("a code outside its domain is counted")
	}
	if err := n.Add(&Rows{Count: 1, Columns: [][]uint16{{0}}}); err == nil {
		t.Error("rows with a column less are counted")
	}
	if n.Rows() != 0 || slices.Max(n.cells) != 0 {
		t.Error("rows that were refused are counted")
	}
	useless, err := NewCounts(Channel{Domains: []int{2}, Keep: []float64{0.5}})
	if err != nil {
		t.Fatal(err)
	}
	useless.cells[0], useless.rows = 1, 1
	if _, err := Inverse(useless); err == nil {
		t.Error("a channel that carries nothing is inverted")
	}
}

// TestEstimatesInFiles: cells come back bit for bit, and what is not an estimate is
// refused.
func TestEstimatesInFiles(t *testing.T) {
	e := Estimate{Columns: []int{0, 1}, Domains: []int{2, 2}, Cells: []float64{0.1, 0.2, 1. / 3, 1 - 0.3 - 1./3}, Rows: 7, Method: MethodIBU}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var got Estimate
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if err := got.Check(); err != nil || !slices.Equal(got.Cells, e.Cells) {
		t.Errorf("%v came back as %v: %v", e.Cells, got.Cells, err)
	}
	for name, bad := range map[string]Estimate{
		"sum":      {Columns: []int{0}, Domains: []int{2}, Cells: []float64{1, 1}},
		"negative": {Columns: []int{0}, Domains: []int{2}, Cells: []float64{2, -1}},
		"NaN":      {Columns: []int{0}, Domains: []int{2}, Cells: []float64{1, math.NaN()}},
		"lengths":  {Columns: []int{0}, Domains: []int{2}, Cells: []float64{1}},
		"columns":  {Columns: []int{0, 1}, Domains: []int{2}, Cells: []float64{1, 0}},
		"none":     {},
		"large":    {Columns: []int{0, 1}, Domains: []int{1 << 16, 1 << 16}, Cells: []float64{1}},
		"domain":   {Columns: []int{0}, Domains: []int{-1}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := bad.Check(); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
	var c Cells
	for _, text := range []string{"x", "AAAA"} {
		if err := c.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
