package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lab/result"
)

// facts returns what a reader needs to judge the numbers.
func (r *report) facts() []fact {
	seeds := distinct(cellsOf(r.groups), func(c *cell) (int, bool) { return c.value.seeds, c.method != zero })
	items := distinct(r.in.Rows, func(row result.Row) (int, bool) { return row.N, true })
	facts := []fact{
		{"Models", strings.Join(r.modelList(), "; ")},
		{"Seeds in a cell", span(seeds)},
		{"Test items", span(items)},
		{"δ", r.deltas()},
		{"Rows", fmt.Sprint(len(r.in.Rows))},
		{"Sotto", list(ordered(nil, r.in.Rows, func(row *result.Row) string { return row.Version }))},
	}
	facts = slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
	for i, n := range r.in.Notes {
		facts = append(facts, fact{[]string{"Notes", ""}[min(i, 1)], n})
	}
	return facts
}

// deltas lists δ by data set where methods have a guarantee.
func (r *report) deltas() string {
	at := map[string]float64{}
	var order []string
	lo, hi := math.Inf(1), 0.0
	for i := range r.in.Rows {
		row := &r.in.Rows[i]
		if row.Delta > 0 && guaranteed(epsilonOf(row)) {
			if at[row.Dataset] == 0 {
				order = append(order, row.Dataset)
			}
			at[row.Dataset] = max(at[row.Dataset], row.Delta)
			lo, hi = min(lo, row.Delta), max(hi, row.Delta)
		}
	}
	switch {
	case hi == 0:
		return "none"
	case lo == hi:
		return deltaName(lo)
	}
	var parts []string
	for _, d := range order {
		parts = append(parts, d+" "+deltaName(at[d]))
	}
	return strings.Join(parts, ", ")
}
