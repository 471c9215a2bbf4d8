package sotto

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/schema"
)

// AsHistograms makes a request one of a profile that rows can be drawn from: it is grouped
// by the label, and tells a histogram of every other column, all of which must be discrete.
func AsHistograms(r plan.ProfileRequest) (plan.ProfileRequest, error) {
	label := r.Schema.LabelColumn()
	if label < 0 {
		return r, fmt.Errorf("the schema %s has no label, by which rows are to be grouped: say which column it is", r.Schema.Name)
	}
	r.Groups = []schema.Group{{Column: r.Schema.Label}}
	r.Statistics = make(map[string]global.Statistic)
	for i, c := range r.Schema.Columns {
		if !c.Discrete() {
			return r, fmt.Errorf("column %q has numbers without bins: give it edges, so that it can be drawn", c.Name)
		}
		if i != label {
			r.Statistics[c.Name] = global.Histogram
		}
	}
	return r, nil
}

// HistogramsOf are the histograms of a released profile by label: [reconstruct.FromHistograms]
// makes a distribution of them, from which any number of rows can be drawn, near to any
// question. All of that is post-processing, and costs no more than the profile did.
//
// The profile must be grouped by the label, and may be by others too; see [AsHistograms].
func HistogramsOf(of schema.Schema, p global.Profile) (reconstruct.Histograms, error) {
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
			return h, fmt.Errorf("the profile tells of %d columns, and the schema %s has %d: use the schema of the profile", len(g.Columns), of.Name, len(of.Columns))
		}
		y := g.Row[label]
		if g.Columns[label].Statistic != global.Given || !y.Discrete || y.Code < 0 || y.Code >= len(h.Rows) {
			return h, fmt.Errorf("the profile is not grouped by each value of the label %q: make one that is, see --histograms", of.Label)
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

// addCounts adds what a group tells of a column.
func addCounts(to []float64, of schema.Column, e global.Estimate, v schema.Value, rows float64) error {
	switch {
	case e.Statistic == global.Histogram && len(e.Counts) == len(to):
		for i, n := range e.Counts {
			to[i] += float64(n)
		}
	case e.Statistic == global.Given && v.Discrete && v.Code >= 0 && v.Code < len(to):
		to[v.Code] += rows
	default:
		return fmt.Errorf("the profile tells the %s of column %q: rows are drawn from histograms of all columns' values, see --histograms", e.Statistic, of.Name)
	}
	return nil
}
