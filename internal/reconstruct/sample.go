package reconstruct

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// Sampler draws rows. It holds no state and may be shared.
type Sampler struct {
	columns int
	parts   []part
	domains []int // of all columns
	// hub is the one column that parts share with earlier ones, or none or several, and
	// mass how probable its values are.
	hub  int
	mass []float64
}

// NewSampler prepares drawing rows of a table of so many columns from one estimate that
// has all of them, or from several that do together.
//
// Several are drawn one after the other, in their order: those columns of an estimate that
// no earlier one had, given the values of those that were drawn before. This supposes that
// the new columns are independent of all other columns drawn before, given the ones that
// the estimates share. With groups (label, a), (label, b), … features are independent
// given the label, as naive Bayes has it. Where an estimate has nothing for the values
// drawn before, its columns are drawn without regard to them.
//
// Estimates must not change afterwards.
func NewSampler(columns int, estimates ...*Estimate) (*Sampler, error) {
	s := &Sampler{columns: columns, domains: make([]int, max(0, columns)), hub: noHub}
	var drawn []int
	for _, e := range estimates {
		p, err := newPart(e, drawn)
		if err != nil {
			return nil, err
		}
		for i, c := range p.shared {
			if s.domains[c] != p.domains[i] {
				return nil, fmt.Errorf("column number %d has %d values in one estimate and %d in another: use estimates of one schema", c+1, s.domains[c], p.domains[i])
			}
		}
		for i, c := range p.fresh {
			if c < 0 || c >= columns {
				return nil, fmt.Errorf("an estimate has column number %d, and the table %d columns: use the schema of the estimate", c+1, columns)
			}
			s.domains[c] = p.domains[len(p.shared)+i]
		}
		drawn = append(drawn, p.fresh...)
		if len(p.fresh) > 0 {
			s.parts = append(s.parts, p)
		}
	}
	for c := range columns {
		if !slices.Contains(drawn, c) {
			return nil, fmt.Errorf("no estimate has column number %d: rows need all of them; estimate groups that cover the table", c+1)
		}
	}
	s.findHub()
	return s, nil
}

// Codes draws a row: a code for each column of the table, appended to dst.
func (s *Sampler) Codes(stream *noise.Stream, dst []uint16) []uint16 {
	at := len(dst)
	dst = slices.Grow(dst, s.columns)[:at+s.columns]
	row := dst[at:]
	for _, p := range s.parts {
		given := 0
		for i, c := range p.shared {
			given = given*p.domains[i] + int(row[c])
		}
		p.spell(p.draw(given, stream), row)
	}
	return dst
}

// Rows draws rows, as many and as often as wanted.
func (s *Sampler) Rows(count int, stream *noise.Stream) []schema.Row {
	out := make([]schema.Row, max(0, count))
	var codes []uint16
	for i := range out {
		codes = s.Codes(stream, codes[:0])
		out[i] = rowOf(codes)
	}
	return out
}

// rowOf returns a row of codes.
func rowOf(codes []uint16) schema.Row {
	row := make(schema.Row, len(codes))
	for c, code := range codes {
		row[c] = schema.Value{Code: int(code), Discrete: true}
	}
	return row
}

// part draws some columns given others.
type part struct {
	shared, fresh []int
	domains       []int     // of shared, then fresh
	size          int       // cells of the fresh columns
	cells         []float64 // those, for each combination of the shared
	sums          []float64 // running sums over the fresh ones
	// The same without regard to the shared.
	anyCells, any []float64
}

func newPart(e *Estimate, drawn []int) (part, error) {
	p := part{size: 1}
	for _, c := range e.Columns {
		if slices.Contains(drawn, c) {
			p.shared = append(p.shared, c)
		} else {
			p.fresh = append(p.fresh, c)
		}
	}
	order := append(slices.Clone(p.shared), p.fresh...)
	m := e
	if !slices.Equal(order, e.Columns) || twice(order) { // otherwise it needs no second copy
		var err error
		if m, err = e.Marginal(order...); err != nil {
			return part{}, err
		}
	}
	p.domains, p.cells = m.Domains, m.Cells
	p.sums = slices.Clone(p.cells)
	for _, d := range p.domains[len(p.shared):] {
		p.size *= d
	}
	for row := 0; row < len(p.sums); row += p.size {
		run(p.sums[row : row+p.size])
	}
	p.anyCells, p.any = p.cells, p.sums
	if len(p.shared) > 0 {
		p.anyCells = collapse(e.Cells, e.Domains, places(e.Columns, p.fresh))
		p.any = slices.Clone(p.anyCells)
		run(p.any)
	}
	if !(p.any[p.size-1] > 0) {
		return part{}, errors.New("an estimate has no cell above 0: reconstruct it again")
	}
	return p, nil
}

// twice reports whether a column is named more than once.
func twice(columns []int) bool {
	sorted := slices.Sorted(slices.Values(columns))
	return len(slices.Compact(sorted)) < len(columns)
}

func places(columns, of []int) []int {
	out := make([]int, len(of))
	for i, c := range of {
		out[i] = slices.Index(columns, c)
	}
	return out
}

func run(x []float64) {
	sum := 0.
	for i, v := range x {
		sum += v
		x[i] = sum
	}
}

// draw returns a cell of the fresh columns. A cell of probability 0 is never the first
// whose sum is above u.
func (p part) draw(given int, stream *noise.Stream) int {
	sums := p.sums[given*p.size : (given+1)*p.size]
	if sums[p.size-1] == 0 {
		sums = p.any
	}
	return p.at(uniform(stream), sums)
}

// spell writes the values of a cell of the fresh columns into a row.
func (p part) spell(cell int, row []uint16) {
	for i := len(p.fresh) - 1; i >= 0; i-- {
		d := p.domains[len(p.shared)+i]
		row[p.fresh[i]] = uint16(cell % d)
		cell /= d
	}
}

func (p part) at(u float64, sums []float64) int {
	u *= sums[p.size-1]
	return sort.Search(p.size-1, func(i int) bool { return sums[i] > u })
}

// pairs returns the groups that a table too large for one estimate can always have: the
// first column with each of the others.
func pairs(first, columns int) [][]int {
	var out [][]int
	for c := range columns {
		if c != first {
			out = append(out, []int{first, c})
		}
	}
	if out == nil {
		out = [][]int{{first}}
	}
	return out
}
