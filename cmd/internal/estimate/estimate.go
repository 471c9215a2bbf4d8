package estimate

import (
	"context"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/schema"
)

// Marginal is one column of an estimate.
type Marginal struct {
	Column string  `json:"column"`
	Values []Share `json:"values"`
}

// Share is how many rows have a value, with its standard error.
type Share struct {
	Value string  `json:"value"`
	Share float64 `json:"share"`
	Error float64 `json:"error"`
}

// Estimate computes the distribution of every group of columns, and of each column.
func Estimate(ctx context.Context, method string, rows *Rows, counts []*reconstruct.Counts) (*File, []Marginal, error) {
	of := rows.Sidecar
	f := &File{Format: format, Schema: rows.schema, Rows: of.Rows, Epsilon: of.Epsilon, Event: of.Event, Private: of.Private}
	var marginals []Marginal
	seen := map[int]bool{}
	for _, c := range counts {
		var e *reconstruct.Estimate
		var err error
		if method == reconstruct.MethodInverse {
			e, err = reconstruct.Inverse(c)
		} else {
			e, err = reconstruct.IBU(ctx, c, reconstruct.IBUOptions{})
		}
		if err != nil {
			return nil, nil, err
		}
		f.Estimates = append(f.Estimates, e)
		for _, column := range e.Columns {
			if seen[column] {
				continue
			}
			seen[column] = true
			m, err := marginal(rows.schema.Columns[column], column, c, e)
			if err != nil {
				return nil, nil, err
			}
			marginals = append(marginals, m)
		}
	}
	return f, marginals, nil
}

// marginal is one column of an estimate, with errors.
func marginal(c schema.Column, column int, counts *reconstruct.Counts, e *reconstruct.Estimate) (Marginal, error) {
	out := Marginal{Column: c.Name}
	alone, err := counts.Marginal(column)
	if err != nil {
		return out, err
	}
	errs, err := reconstruct.Errors(alone)
	if err != nil {
		return out, err
	}
	shares, err := e.Marginal(column)
	if err != nil {
		return out, err
	}
	minimum := minError(alone.Channel(), alone.Rows())
	for i, v := range c.Domain() {
		out.Values = append(out.Values, Share{v, shares.Cells[i], max(errs[i], minimum)})
	}
	return out, nil
}

// minError is the standard error that a share of one column has at least, whatever the
// rows are: of the perturbed ones, a share between Other and Keep is to be expected. Few
// rows that happen to agree would look exact otherwise.
func minError(c reconstruct.Channel, rows int64) float64 {
	keep, other := c.Keep[0], c.Other[0]
	if keep == other {
		return 0
	}
	return math.Sqrt(min(keep*(1-keep), other*(1-other))/float64(rows)) / (keep - other)
}

// Report returns a table of marginals for the report.
func Report(marginals []Marginal) release.Table {
	t := release.Table{
		Title: "Estimate",
		Note:  "How many rows have each value, estimated from perturbed ones, ± one standard error, which is the width of the bars.",
		Head:  []string{"column", "value", "share"},
	}
	for _, m := range marginals {
		name := m.Column
		for _, v := range m.Values {
			t.Rows = append(t.Rows, []release.Cell{{Text: name}, {Text: v.Value}, {
				Text: fmt.Sprintf("%.1f ± %.1f %%", 100*v.Share, 100*v.Error),
				Bar:  &release.Bar{Low: v.Share - v.Error, At: v.Share, High: v.Share + v.Error},
			}})
			name = ""
		}
	}
	return t
}
