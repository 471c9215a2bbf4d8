package reconstruct

import (
	"fmt"
	"math"
	"slices"
)

// methodHistograms is the method of estimates by [FromHistograms].
const methodHistograms = "histograms"

// Histograms are noisy counts of a table's values among the rows with each label: a
// released profile grouped by the label.
type Histograms struct {
	// Columns is the number of columns, and Label the place of the label among them.
	Columns, Label int
	// Rows are noisy numbers of rows with each label. They may be negative.
	Rows []float64
	// Counts are noisy numbers of rows with each value, by label and by column:
	// Counts[y][c][v]. They may be negative; those of the label's own column are ignored.
	Counts [][][]float64
}

// FromHistograms makes estimates of the label with each of the other columns, from which
// [NewSampler] draws rows whose columns are independent given the label.
//
// Negative numbers of rows count as 0. The shares of a column's values are the distribution
// nearest to the counts over the rows of that label. Where there are no rows all values are
// as likely, and so are labels where none has any.
func FromHistograms(h Histograms) ([]*Estimate, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	shares, total := make([]float64, len(h.Rows)), 0.
	for _, rows := range h.Rows {
		total += max(0, rows)
	}
	for y, rows := range h.Rows {
		shares[y] = 1 / float64(len(shares))
		if total > 0 {
			shares[y] = max(0, rows) / total
		}
	}
	about := int64(min(math.Round(total), 1<<62))
	if h.Columns == 1 {
		return []*Estimate{{Columns: []int{0}, Domains: []int{len(shares)}, Cells: shares, Rows: about, Method: methodHistograms}}, nil
	}
	var out []*Estimate
	for _, pair := range pairs(h.Label, h.Columns) {
		c := pair[1]
		e := &Estimate{Columns: pair, Domains: []int{len(shares), len(h.Counts[0][c])}, Rows: about, Method: methodHistograms}
		for y, share := range shares {
			for _, p := range nearest(h.Counts[y][c], h.Rows[y]) {
				e.Cells = append(e.Cells, share*p)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// nearest returns the distribution nearest to counts of so many rows.
func nearest(counts []float64, rows float64) []float64 {
	out := slices.Clone(counts)
	for v := range out {
		if rows > 0 {
			out[v] /= max(1, rows) // a fraction of a row would blow noise up
		} else {
			out[v] = 0
		}
	}
	project(out)
	return out
}

func (h Histograms) check() error {
	if h.Label < 0 || h.Label >= h.Columns || len(h.Rows) == 0 || len(h.Counts) != len(h.Rows) {
		return fmt.Errorf("histograms of %d columns with the label at place %d, for %d labels of which %d have a number of rows, do not fit together: give counts of the rows with each label", h.Columns, h.Label+1, len(h.Counts), len(h.Rows))
	}
	for y, columns := range h.Counts {
		if len(columns) != h.Columns {
			return fmt.Errorf("the histograms of a label are of %d columns instead of %d: give one of each", len(columns), h.Columns)
		}
		for c, counts := range columns {
			if c == h.Label {
				continue
			}
			if len(counts) == 0 || len(counts) != len(h.Counts[0][c]) || int64(len(h.Rows))*int64(len(counts)) > maxCells {
				return fmt.Errorf("column number %d has %d counts for one label and %d for another: give one for each of its values, the same for all labels, and at most %d in all", c+1, len(h.Counts[0][c]), len(counts), maxCells)
			}
			for _, x := range append([]float64{h.Rows[y]}, counts...) {
				if math.IsNaN(x) || math.Abs(x) > 1<<62 {
					return fmt.Errorf("column number %d has a count that is not one: give numbers of rows", c+1)
				}
			}
		}
	}
	return nil
}
