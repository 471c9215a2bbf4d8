package sotto_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// TestDrawnFromProfile: a profile of histograms has the counts that it has, and rows near
// to a question come of it.
func TestDrawnFromProfile(t *testing.T) {
	request, err := plan.ProfileRequest{Schema: loans(), Size: 400, Epsilon: 50}.Histograms()
	if err != nil {
		t.Fatal(err)
	}
	run, err := profile(t.Context(), bank(t), sotto.ProfileRequest(request))
	if err != nil {
		t.Fatal(err)
	}
	of := run.Plan.Schema
	h, err := run.Profile.Histograms(of)
	if err != nil {
		t.Fatal(err)
	}
	// At this ε noise is of a row or so: each column's counts add up to about all rows.
	for c, column := range of.Columns {
		if c == h.Label {
			continue
		}
		sum := 0.
		for y := range h.Rows {
			for _, n := range h.Counts[y][c] {
				sum += n
			}
		}
		if math.Abs(sum-400) > 40 {
			t.Errorf("%s has %v rows", column.Name, sum)
		}
	}
	estimates, err := reconstruct.FromHistograms(h)
	if err != nil {
		t.Fatal(err)
	}
	s, err := reconstruct.NewSampler(len(of.Columns), estimates...)
	if err != nil {
		t.Fatal(err)
	}
	question := make(schema.Row, len(of.Columns))
	for c := range question {
		question[c] = schema.Value{Discrete: true}
	}
	rows, err := s.Near(reconstruct.Near{Query: question, Free: []int{h.Label}, Mismatch: 1e-9}, 5, noise.KeyFromSeed(1).Stream("near"))
	if err != nil {
		t.Fatal(err)
	}
	words := of.Wording()
	for _, row := range rows {
		row[h.Label] = question[h.Label]
		if words.Text(row) != words.Text(question) {
			t.Errorf("%q is drawn near %q", words.Text(row), words.Text(question))
		}
	}
}

// TestHistogramsOf: groups of one label are added up, and profiles that do not have enough
// are refused.
func TestHistogramsOf(t *testing.T) {
	of := schema.Schema{Name: "small", Label: "y", Columns: []schema.Column{
		{Name: "a", Kind: schema.Categorical, Values: []string{"p", "q", "r"}}, {Name: "b", Kind: schema.Categorical, Values: []string{"0", "1"}}, {Name: "y", Kind: schema.Categorical, Values: []string{"yes", "no"}},
	}}
	code := func(i int) schema.Value { return schema.Value{Code: i, Discrete: true} }
	group := func(b, y int, rows float64, counts ...int64) global.Group {
		return global.Group{Count: rows, Row: schema.Row{code(0), code(b), code(y)}, Columns: []global.Estimate{
			{Statistic: global.Histogram, Counts: counts}, {Statistic: global.Given}, {Statistic: global.Given},
		}}
	}
	p := global.Profile{Groups: []global.Group{group(0, 0, 6, 1, 2, 3), group(1, 0, -2, -1, 0, 1), group(0, 1, 4, 4, 0, 0), group(1, 1, 5, 1, 1, 3)}}
	h, err := p.Histograms(of)
	if err != nil {
		t.Fatal(err)
	}
	expect.True(t, "h.Rows equal to []float64{4, 9}", slices.Equal(h.Rows, []float64{4, 9}), h.Rows)
	expect.True(t, "h.Counts[0][0] equal to []float64{0, 2, 4}", slices.Equal(h.Counts[0][0], []float64{0, 2, 4}), h.Counts[0][0])
	expect.True(t, "h.Counts[0][1] equal to []float64{6, -2}", slices.Equal(h.Counts[0][1], []float64{6, -2}), h.Counts[0][1])
	expect.True(t, "h.Counts[1][0] equal to []float64{5, 1, 3}", slices.Equal(h.Counts[1][0], []float64{5, 1, 3}), h.Counts[1][0])
	expect.Equal(t, "h.Label", h.Label, 2)
	for want, change := range map[string]func(*global.Group){
		"use the schema of the profile": func(g *global.Group) { g.Columns = g.Columns[:2] },
		"not grouped by each value":     func(g *global.Group) { g.Columns[2].Statistic = global.Mode },
		"has the mode of column":        func(g *global.Group) { g.Columns[0].Statistic = global.Mode },
		"has the histogram of column":   func(g *global.Group) { g.Columns[0].Counts = g.Columns[0].Counts[:2] },
	} {
		t.Run(want, func(t *testing.T) {
			broken := group(0, 0, 6, 1, 2, 3)
			change(&broken)
			if _, err := (global.Profile{Groups: []global.Group{broken}}).Histograms(of); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	of.Label = ""
	if _, err := p.Histograms(of); err == nil || !strings.Contains(err.Error(), "no label") {
		t.Error(err)
	}
	if _, err := (plan.ProfileRequest{Schema: of}).Histograms(); err == nil || !strings.Contains(err.Error(), "no label") {
		t.Error(err)
	}
	of.Label, of.Columns[0] = "y", schema.Column{Name: "a", Kind: schema.Numeric, High: 1}
	if _, err := (plan.ProfileRequest{Schema: of}).Histograms(); err == nil || !strings.Contains(err.Error(), "without bins") {
		t.Error(err)
	}
}
