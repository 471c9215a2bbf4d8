package table

import (
	"fmt"
	"slices"
)

// MaxRows is how many rows are added up at most: with more, sums could overflow. That a
// table is larger is reported by an error, so its size is public as far as that.
const MaxRows = 1 << 31

// Layout says what is added up of a table: for each group of rows the same list of
// cells, whole numbers that one row moves by at most 1 (counts) or [Steps] (sums).
//
// Cells are, in this order: the number of rows; for each of Sums the sum of steps; for
// each of Squares the sum of [Square]; and for each of Histograms the rows in each of its
// cells. Groups are in the order of their classes, the last column of By changing fastest;
// cell c of group g has the place g·Cells()+c. A layout is public.
type Layout struct {
	By         []Partition
	Sums       []int // places of columns in the schema, as in Scan; read as steps
	Squares    []int // the same
	Histograms []Histogram
}

// Partition is how one column takes part in grouping.
type Partition struct {
	Column  int
	Classes int
	// Cuts in steps, in increasing order, are for a column that is read as steps: how
	// many of them are at or below the value is its code.
	Cuts []int32
	// Class of each code; nil: the code is the class.
	Class []uint16
}

// Histogram counts the rows of a group by one column.
type Histogram struct {
	Column int
	// Cells is their number. Of a column that is read as codes it is the size of the
	// domain, and the cell is the code.
	Cells int
	// Grid is for columns that are read as steps: Cells equal parts of the bounds, by
	// [GridCell]. Without it, the cell is how many of Edges, in steps, are at or below
	// the value.
	Grid  bool
	Edges []int32
}

// Square is what a value adds to a sum of squares: twice its square, as a share of the
// largest one, in steps from the middle. One row moves such a sum by at most Steps too.
func Square(steps int32) int64 {
	s := int64(steps)
	return s*s>>29 - Steps
}

// GridCell is the part of the bounds that a value is in, of n equal ones.
func GridCell(steps int32, n int) int {
	return min(int((int64(steps)+Steps)*int64(n)>>31), n-1)
}

// Groups is how many there are.
func (l Layout) Groups() int {
	n := 1
	for _, p := range l.By {
		n *= p.Classes
	}
	return n
}

// Cells is how many each group has.
func (l Layout) Cells() int {
	n := 1 + len(l.Sums) + len(l.Squares)
	for _, h := range l.Histograms {
		n += h.Cells
	}
	return n
}

// Columns are those that are needed, in increasing order and each once: what to scan.
func (l Layout) Columns() []int {
	out := append([]int{}, l.Sums...) // not nil, which means all to Scan
	out = append(out, l.Squares...)
	for _, p := range l.By {
		out = append(out, p.Column)
	}
	for _, h := range l.Histograms {
		out = append(out, h.Column)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// maxCells is how many cells there may be, of all groups together: 128 MiB of them.
const maxCells = 1 << 24

// Check finds a layout that is too large or at odds with itself.
func (l Layout) Check() error {
	groups := 1
	for _, p := range l.By {
		if p.Classes < 1 || p.Classes > maxCells || groups*p.Classes > maxCells {
			return fmt.Errorf("more than %d groups, or none: group by fewer columns or classes", maxCells)
		}
		groups *= p.Classes
		if p.Cuts != nil && (p.Class == nil && p.Classes != len(p.Cuts)+1 || p.Class != nil && len(p.Class) != len(p.Cuts)+1) {
			return fmt.Errorf("column %d has %d cuts, and not one part more than that", p.Column, len(p.Cuts))
		}
		for _, c := range p.Class {
			if int(c) >= p.Classes {
				return fmt.Errorf("column %d has a value in class %d of %d", p.Column, c, p.Classes)
			}
		}
		if !slices.IsSorted(p.Cuts) {
			return fmt.Errorf("the cuts of column %d are not in increasing order", p.Column)
		}
	}
	cells := 1 + len(l.Sums) + len(l.Squares)
	for _, h := range l.Histograms {
		if h.Cells < 1 || h.Cells > 1<<16 {
			return fmt.Errorf("the histogram of column %d has %d cells: there may be 1 to 65536", h.Column, h.Cells)
		}
		if h.Edges != nil && (h.Grid || h.Cells != len(h.Edges)+1 || !slices.IsSorted(h.Edges)) {
			return fmt.Errorf("the histogram of column %d needs increasing edges, one less than its cells, and no grid", h.Column)
		}
		if cells += h.Cells; cells > maxCells {
			break
		}
	}
	if groups*cells > maxCells {
		return fmt.Errorf("%d groups of %d cells are more than %d cells: group by fewer columns or classes, or count fewer values", groups, cells, maxCells)
	}
	return nil
}
