package reconstruct

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// DefaultMismatch is the default of [Near.Mismatch].
//
// In a trial on eight tables with 150 to 250 questions each, eight examples were drawn for
// every question. The majority of them had the question's answer (mean over both answers,
// ties half, one seed) for
//
//	mismatch                0.3     0.1    0.03    0.01   0.001
//	rows as they are     64.1 %  68.8 %  70.4 %  70.9 %  70.9 %
//	perturbed at ε = 10  60.9 %  66.8 %  67.5 %  67.5 %  67.4 %
//	histograms at ε = 1  64.4 %  68.3 %  68.8 %  69.1 %  69.5 %
//
// of the questions. Below 0.03 little is gained, and examples are more and more alike.
const DefaultMismatch = 0.03

// MinMismatch is the smallest that a Mismatch may be: with it, the product over all the
// columns of an estimate is still a number.
const MinMismatch = 1e-12

// Near selects rows that resemble a query.
type Near struct {
	// Query has a value of each column, as a code.
	Query schema.Row
	// Free are the columns whose values in Query are ignored: the label, which is asked
	// for, and everything unknown.
	Free []int
	// Mismatch, at most 1, multiplies the chance of a row for each of the other columns
	// that differs from Query. With 1, rows are drawn as [Sampler.Rows] does; 0 means
	// [DefaultMismatch].
	Mismatch float64
}

// Near draws rows that resemble one: each by itself, with a probability proportional to its
// estimated probability times Mismatch to the power of the number of columns in which it
// differs. Those that differ least come last, where language models look first.
//
// This is post-processing of estimates, and the query is the caller's own: any number of
// queries costs nothing.
//
// With several estimates, all conditional ones must be conditioned on the same column, such
// as the label of [pairs].
func (s *Sampler) Near(n Near, count int, stream *noise.Stream) ([]schema.Row, error) {
	n.Mismatch = cmp.Or(n.Mismatch, DefaultMismatch)
	weights, err := s.weigh(n)
	if err != nil {
		return nil, err
	}
	fans := s.fan(weights)
	drawn := make([]neighbour, max(0, count))
	codes := make([]uint16, s.columns)
	for i := range drawn {
		for k, p := range s.parts {
			given := 0
			if len(p.shared) > 0 {
				given = int(codes[s.hub])
			}
			p.spell(fans[k][given].draw(stream), codes)
		}
		row := rowOf(codes)
		drawn[i] = neighbour{row, n.differs(row)}
	}
	slices.SortStableFunc(drawn, func(a, b neighbour) int { return cmp.Compare(b.differs, a.differs) })
	out := make([]schema.Row, len(drawn))
	for i, d := range drawn {
		out[i] = d.row
	}
	return out, nil
}

// neighbour is a row and in how many columns it differs from the query.
type neighbour struct {
	row     schema.Row
	differs int
}

// differs is in how many columns that take part a row is not the query.
func (n Near) differs(row schema.Row) (count int) {
	for c, v := range row {
		if v.Code != n.Query[c].Code && !slices.Contains(n.Free, c) {
			count++
		}
	}
	return count
}

// weigh gives each value of each column its factor.
func (s *Sampler) weigh(n Near) ([][]float64, error) {
	if !(n.Mismatch >= MinMismatch && n.Mismatch <= 1) {
		return nil, fmt.Errorf("a mismatch of %v: it must be from %v to 1, where 1 draws rows without regard to the query", n.Mismatch, float64(MinMismatch))
	}
	if s.hub == manyHubs {
		return nil, errors.New("rows near to another can be drawn from one estimate of all columns, or from groups that have one and the same column in common: reconstruct groups that all have the label, and nothing else twice")
	}
	if len(n.Query) != s.columns {
		return nil, fmt.Errorf("the query has %d values, and the table %d columns: give one of each", len(n.Query), s.columns)
	}
	for _, c := range n.Free {
		if c < 0 || c >= s.columns {
			return nil, fmt.Errorf("column number %d takes no part in the query, and the table has %d columns: name one of those", c+1, s.columns)
		}
	}
	weights := make([][]float64, s.columns)
	for c, v := range n.Query {
		weights[c] = slices.Repeat([]float64{1}, s.domains[c])
		if slices.Contains(n.Free, c) {
			continue
		}
		if !v.Discrete || v.Code < 0 || v.Code >= s.domains[c] {
			return nil, fmt.Errorf("the query's value of column number %d is not the code of one of its %d values: give one, or leave the column out", c+1, s.domains[c])
		}
		for a := range weights[c] {
			if a != v.Code {
				weights[c][a] = n.Mismatch
			}
		}
	}
	return weights, nil
}

// What hub is if it is no column.
const (
	noHub    = -1
	manyHubs = -2
)

// findHub finds the column that all that is drawn given something is drawn given.
func (s *Sampler) findHub() {
	for _, p := range s.parts {
		for _, c := range p.shared {
			if s.hub != noHub && s.hub != c {
				s.hub = manyHubs
				return
			}
			s.hub = c
		}
	}
	for _, p := range s.parts {
		if at := slices.Index(p.fresh, s.hub); at >= 0 {
			s.mass = collapse(p.anyCells, p.domains[len(p.shared):], []int{at})
		}
	}
}

// fan prepares drawing from each part, for each value of the hub where it is given.
//
// The law is π₀(first part) · Π π_k(columns of part k | hub), times a weight for each value of
// a column. Summed over the columns of a part k that is drawn given the hub, that part is
// Z_k(hub), a factor for the values of the hub; so parts without it are drawn with the hub's
// weights times Π Z_k, and then the others given the hub, by their weights alone.
func (s *Sampler) fan(weights [][]float64) [][]fan {
	out := make([][]fan, len(s.parts))
	factor := make([]float64, len(s.mass)) // logarithms: there may be many parts
	for k, p := range s.parts {
		if len(p.shared) == 0 {
			continue
		}
		out[k] = make([]fan, len(s.mass))
		for given := range out[k] {
			cells, mass := p.cells[given*p.size:(given+1)*p.size], p.sums[(given+1)*p.size-1]
			if mass == 0 {
				cells, mass = p.anyCells, p.any[p.size-1]
			}
			out[k][given] = newFan(cells, p.weights(weights))
			factor[given] += math.Log(out[k][given].total() / mass)
		}
	}
	if s.hub != noHub {
		highest := math.Inf(-1)
		for given, f := range factor {
			if s.mass[given] > 0 {
				highest = max(highest, f)
			}
		}
		weights[s.hub] = slices.Clone(weights[s.hub])
		for given, f := range factor {
			weights[s.hub][given] *= math.Exp(min(0, f-highest))
		}
	}
	for k, p := range s.parts {
		if len(p.shared) == 0 {
			out[k] = []fan{newFan(p.cells, p.weights(weights))}
		}
	}
	return out
}

// weights of the fresh columns.
func (p part) weights(all [][]float64) [][]float64 {
	out := make([][]float64, len(p.fresh))
	for i, c := range p.fresh {
		out[i] = all[c]
	}
	return out
}

// fan draws cells by their probabilities times a weight for each value of each axis. Cells
// are divided into blocks of one combination of the leading axes: one pass over the cells
// sums up the blocks, and a draw looks into one of them.
type fan struct {
	cells, tail, sums []float64
}

func newFan(cells []float64, weights [][]float64) fan {
	at, size := len(weights), 1
	for at > 0 && size*size < len(cells) {
		at--
		size *= len(weights[at])
	}
	head := outer(weights[:at])
	f := fan{cells: cells, tail: outer(weights[at:]), sums: head}
	sum := 0.
	for i, w := range head {
		sum += w * dot(cells[i*size:(i+1)*size], f.tail)
		f.sums[i] = sum
	}
	return f
}

// outer returns the product of all combinations, the last axis next to each other.
func outer(weights [][]float64) []float64 {
	out := []float64{1}
	for _, w := range weights {
		next := make([]float64, 0, len(out)*len(w))
		for _, v := range out {
			for _, x := range w {
				next = append(next, v*x)
			}
		}
		out = next
	}
	return out
}

// dot has four sums, none of which waits for another.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var a, b, c, d float64
	for len(x) >= 4 && len(y) >= 4 {
		a += x[0] * y[0]
		b += x[1] * y[1]
		c += x[2] * y[2]
		d += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		a += v * y[i]
	}
	return (a + b) + (c + d)
}

func (f fan) total() float64 { return f.sums[len(f.sums)-1] }

// draw returns a cell. One of probability 0 is never drawn.
func (f fan) draw(stream *noise.Stream) int {
	u := uniform(stream) * f.total()
	block := sort.Search(len(f.sums)-1, func(i int) bool { return f.sums[i] > u })
	cells := f.cells[block*len(f.tail) : (block+1)*len(f.tail)]
	u = uniform(stream) * dot(cells, f.tail)
	sum, last := 0., 0
	for i, v := range cells {
		if w := v * f.tail[i]; w > 0 {
			if sum += w; sum > u {
				return block*len(f.tail) + i
			}
			last = i // the sum may fall short of dot's by rounding
		}
	}
	return block*len(f.tail) + last
}

// uniform returns a number from 0 to 1, but not 1.
func uniform(stream *noise.Stream) float64 { return float64(stream.Uint64()>>11) * 0x1p-53 }
