package global

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/schema"
)

// Histograms returns the histograms of a released profile by label:
// [reconstruct.FromHistograms] makes a distribution of them, from which any number of rows
// can be drawn, near to any question. All of that is post-processing, and costs no more than
// the profile did.
//
// The profile must be grouped by the label, and may be by others too, and have a histogram of
// every other column.
func (p Profile) Histograms(of schema.Schema) (reconstruct.Histograms, error) {
	label := of.LabelColumn()
	h := reconstruct.Histograms{Columns: len(of.Columns), Label: label}
	if label < 0 || !of.Columns[label].Discrete() {
		return h, fmt.Errorf("the schema %s has no label with a list of values: say which column it is", of.Name)
	}
	for range of.Columns[label].Domain() {
		counts := make([][]float64, len(of.Columns))
		for c, column := range of.Columns {
			counts[c] = make([]float64, len(column.Domain()))
		}
		h.Rows, h.Counts = append(h.Rows, 0), append(h.Counts, counts)
	}
	for _, g := range p.Groups {
		if len(g.Columns) != len(of.Columns) || len(g.Row) != len(of.Columns) {
			return h, fmt.Errorf("the profile has %d columns, and the schema %s has %d: use the schema of the profile", len(g.Columns), of.Name, len(of.Columns))
		}
		y := g.Row[label]
		if g.Columns[label].Statistic != Given || !y.Discrete || y.Code < 0 || y.Code >= len(h.Rows) {
			return h, fmt.Errorf("the profile is not grouped by each value of the label %q: profile histograms by label", of.Label)
		}
		h.Rows[y.Code] += g.Count
		for c, e := range g.Columns {
			if c == label {
				continue
			}
			if err := addCounts(h.Counts[y.Code][c], of.Columns[c], e, g.Row[c], g.Count); err != nil {
				return h, err
			}
		}
	}
	return h, nil
}

// addCounts adds the counts that a group has for a column.
func addCounts(to []float64, of schema.Column, e Estimate, v schema.Value, rows float64) error {
	switch {
	case e.Statistic == Histogram && len(e.Counts) == len(to):
		for i, n := range e.Counts {
			to[i] += float64(n)
		}
	case e.Statistic == Given && v.Discrete && v.Code >= 0 && v.Code < len(to):
		to[v.Code] += rows
	default:
		return fmt.Errorf("the profile has the %s of column %q: rows are drawn from histograms of all columns", e.Statistic, of.Name)
	}
	return nil
}
