package global

import (
	"slices"

	"github.com/sotto-dp/sotto/internal/private/table"
)

// adder adds one column's values to the cells of their rows' groups. It is false, and may
// have added a part, if a value is none of the layout's: how far one row moves a cell
// rests on values being in their range, so that is looked at here once more, no matter who
// encoded them.
type adder func(cells []int64, base []int32, columns []table.Vector) bool

// compile makes the loops that a batch goes through.
func (m *Mechanism) compile() {
	stride := m.cells
	m.strides = make([]int, len(m.groups))
	for i := len(m.groups) - 1; i >= 0; i-- {
		m.strides[i] = stride
		stride *= m.groups[i].Classes
	}
	for i, s := range m.slots {
		at := m.at[i]
		if s.sum >= 0 {
			m.adders = append(m.adders, sum(at, int32(s.sum), func(steps int32) int64 { return int64(steps) }))
		}
		if s.square >= 0 {
			m.adders = append(m.adders, sum(at, int32(s.square), table.Square))
		}
	}
	for _, h := range m.layout.Histograms {
		m.adders = append(m.adders, count(h, m.at[h.Column], int32(m.slots[h.Column].histogram)))
	}
}

// fits reports whether a batch has the columns that are needed, in the form that is.
func (m *Mechanism) fits(b *table.Batch) bool {
	if len(b.Columns) != len(m.columns) || b.Rows < 0 {
		return false
	}
	for k, i := range m.columns {
		n := len(b.Columns[k].Codes)
		if m.numeric(i) {
			n = len(b.Columns[k].Steps)
		}
		if n != b.Rows {
			return false
		}
	}
	return true
}

// add moves each row's base to its class of this column.
func (g *grouping) add(base []int32, v table.Vector, stride int) bool {
	if g.Cuts != nil {
		place := placer(g.Cuts)
		for i, s := range v.Steps {
			code := place(s)
			if g.Class != nil {
				code = int(g.Class[code])
			}
			base[i] += int32(code * stride)
		}
		return len(v.Steps) == len(base)
	}
	offsets := make([]int32, len(g.Class))
	for code, class := range g.Class {
		offsets[code] = int32(int(class) * stride)
	}
	if len(v.Codes) != len(base) {
		return false
	}
	for i, code := range v.Codes {
		if int(code) >= len(offsets) {
			return false
		}
		base[i] += offsets[code]
	}
	return true
}

// placer counts the cuts at or below a value.
func placer(cuts []int32) func(int32) int {
	if len(cuts) == 1 {
		cut := cuts[0]
		return func(s int32) int {
			if s >= cut {
				return 1
			}
			return 0
		}
	}
	return func(s int32) int {
		n, found := slices.BinarySearch(cuts, s)
		for found && n < len(cuts) && cuts[n] == s {
			n++
		}
		return n
	}
}

func sum(at int, cell int32, of func(steps int32) int64) adder {
	return func(cells []int64, base []int32, columns []table.Vector) bool {
		steps := columns[at].Steps
		if len(steps) != len(base) {
			return false
		}
		for i, b := range base {
			s := steps[i]
			if s > table.Steps || s < -table.Steps {
				return false
			}
			cells[b+cell] += of(s)
		}
		return true
	}
}

func count(h table.Histogram, at int, cell int32) adder {
	switch {
	case h.Grid:
		return countSteps(at, cell, func(s int32) int { return table.GridCell(s, h.Cells) })
	case h.Edges != nil:
		return countSteps(at, cell, placer(h.Edges))
	}
	n := h.Cells
	return func(cells []int64, base []int32, columns []table.Vector) bool {
		codes := columns[at].Codes
		if len(codes) != len(base) {
			return false
		}
		for i, b := range base {
			code := codes[i]
			if int(code) >= n {
				return false
			}
			cells[b+cell+int32(code)]++
		}
		return true
	}
}

func countSteps(at int, cell int32, place func(int32) int) adder {
	return func(cells []int64, base []int32, columns []table.Vector) bool {
		steps := columns[at].Steps
		if len(steps) != len(base) {
			return false
		}
		for i, b := range base {
			s := steps[i]
			if s > table.Steps || s < -table.Steps {
				return false
			}
			cells[b+cell+int32(place(s))]++
		}
		return true
	}
}
