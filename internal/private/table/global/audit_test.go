package global_test

import (
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

func replaceOne(s *global.Settings) { s.Adjacency = privacy.ReplaceOne }
func gaussian(s *global.Settings)   { s.Noise = global.Gaussian }
func sampled(s *global.Settings)    { s.Rate = 0.4 }
func uncentred(s *global.Settings)  { s.Uncentred = true }
func pairs(s *global.Settings)      { s.RowsPerUnit = 2 }

// What is asked for in the audits.
var (
	counts    = grouped(nothing(0.8), "y")
	values    = nothing(0, global.Column{Name: "kind", Statistic: global.Mode, Multiplier: 0.7})
	chosen    = grouped(nothing(0, global.Column{Name: "kind", Statistic: global.Mode, Range: 1.3}), "y")
	both      = nothing(1.5, global.Column{Name: "one", Statistic: global.Mode, Multiplier: 0.9})
	means     = nothing(1.2, global.Column{Name: "x", Statistic: global.Mean, Multiplier: 0.9})
	own       = nothing(0, global.Column{Name: "x", Statistic: global.Mean, Multiplier: 0.9, Count: 1.1})
	byGroup   = grouped(nothing(1.2, global.Column{Name: "x", Statistic: global.Mean, Multiplier: 0.9}), "y")
	moments   = nothing(2, global.Column{Name: "x", Statistic: global.Moments, Multiplier: 0.9, Squares: 1.1})
	quantiles = grouped(nothing(0, global.Column{Name: "z", Statistic: global.Quantiles, Quantiles: []float64{0.25, 0.5}, Cells: 4, Range: 0.7}), "y")
)

// people have one, two or three rows each.
var people = [][]record{{yes}, {yesHigh, no}, {no, no}, {yes, yes}, {yes, noMid, yesHigh}}

// TestNeighboursAreHidden computes the laws of what is released of all neighbouring
// tables of a few rows, and compares them with what the event claims. Where nothing but
// Laplace noise or choices stand between, the largest ratio there is must also come near
// to ε: otherwise the test could not tell.
func TestNeighboursAreHidden(t *testing.T) {
	rows := alone(yes, yesHigh, no, noMid)
	for name, c := range map[string]struct {
		s     global.Settings
		kinds [][]record
		n     int
		tight float64
	}{
		"counts":                 {counts, rows, 3, 0.99},
		"counts, sampled":        {with(counts, sampled), rows, 3, 0.99},
		"values":                 {values, rows, 3, 0.99},
		"values, sampled":        {with(values, sampled), rows, 3, 0.99},
		"chosen":                 {chosen, rows, 3, 0.7},
		"chosen, sampled":        {with(chosen, sampled), rows, 3, 0.7},
		"chosen, replace-one":    {with(chosen, replaceOne), rows, 2, 0.5},
		"chosen, units":          {with(chosen, pairs), people, 2, 0.6},
		"chosen, gaussian":       {with(chosen, gaussian), rows, 3, 0.4},
		"chosen, all three":      {with(with(with(chosen, gaussian), replaceOne), pairs), people, 2, 0.2},
		"both":                   {both, rows, 3, 0.99},
		"both, sampled":          {with(both, sampled), rows, 3, 0.99},
		"means":                  {means, rows, 3, 0.99},
		"means, sampled":         {with(means, sampled), rows, 3, 0.99},
		"means of groups":        {byGroup, rows, 2, 0.99},
		"means with own counts":  {own, rows, 3, 0.99},
		"means, uncentred":       {with(means, uncentred), rows, 3, 0.99},
		"moments":                {moments, rows, 3, 0.99},
		"quantiles":              {quantiles, rows, 3, 0.3},
		"quantiles, sampled":     {with(quantiles, sampled), rows, 3, 0.2},
		"counts, replace-one":    {with(counts, replaceOne), rows, 2, 0.99},
		"means, replace-one":     {with(means, replaceOne), rows, 2, 0.5},
		"sampled, replace-one":   {with(with(values, sampled), replaceOne), rows, 2, 0.5},
		"quantiles, replace-one": {with(quantiles, replaceOne), rows, 2, 0.2},
		"units":                  {with(counts, pairs), people, 2, 0.99},
		"units, sampled":         {with(with(counts, pairs), sampled), people, 2, 0.99},
		"units, values":          {with(values, pairs), people, 2, 0.99},
		"units, means":           {with(byGroup, pairs), people, 2, 0.9},
		"units, replace-one":     {with(with(counts, pairs), replaceOne), people, 2, 0.99},
		"units, quantiles":       {with(quantiles, pairs), people, 2, 0.2},
		"gaussian counts":        {with(counts, gaussian), rows, 3, 0},
		"gaussian means":         {with(means, gaussian), rows, 3, 0},
		"gaussian, sampled":      {with(with(means, gaussian), sampled), rows, 3, 0},
		"gaussian, replace-one":  {with(with(byGroup, gaussian), replaceOne), rows, 1, 0},
		"gaussian units":         {with(with(counts, gaussian), pairs), people, 2, 0},
		"gaussian units, means":  {with(with(byGroup, gaussian), pairs), people, 1, 0},
		"gaussian quantiles":     {with(with(quantiles, gaussian), sampled), rows, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mo := newModel(t, c.s)
			wrong, largest := mo.audit(t, c.kinds, c.n)
			if wrong != "" {
				t.Error(wrong)
			}
			if c.tight == 0 {
				return
			}
			if epsilon := epsilonOf(t, mo); largest < c.tight*epsilon || largest > epsilon+1e-6 {
				t.Errorf("the largest ratio is %v, and ε is %v", largest, epsilon)
			}
		})
	}
}

// TestBugsAreFound: each way to get it wrong is found by the same audit.
func TestBugsAreFound(t *testing.T) {
	rows := alone(yes, yesHigh, no, noMid)
	wide := alone(record{0: table.Steps / 2 * 3}, yes)
	real := func(mo *model) func([]record) []int64 { return mo.cells }
	for name, c := range map[string]struct {
		s     global.Settings
		kinds [][]record
		bug   func(mo *model)
	}{
		"the count has no noise": {means, rows, func(mo *model) {
			mo.noise = func(m float64) float64 {
				if m == 1.2 {
					return 0
				}
				return m
			}
		}},
		"values that no row has have no noise": {values, rows, func(mo *model) {
			mo.noiseOn = func(n int64) bool { return n > 0 }
		}},
		"half the noise":               {counts, rows, func(mo *model) { mo.noise = func(m float64) float64 { return m / 2 } }},
		"a tenth too little noise":     {means, rows, func(mo *model) { mo.noise = func(m float64) float64 { return m * 0.9 } }},
		"a quarter on quantiles":       {quantiles, rows, func(mo *model) { mo.noise = func(m float64) float64 { return m / 4 } }},
		"half the noise on modes":      {chosen, rows, func(mo *model) { mo.noise = func(m float64) float64 { return m / 2 } }},
		"groups share their noise":     {counts, rows, func(mo *model) { mo.together = true }},
		"too little Gaussian noise":    {with(means, gaussian), rows, func(mo *model) { mo.noise = func(m float64) float64 { return m * 0.9 } }},
		"replaced rows as removed":     {with(byGroup, replaceOne), rows, func(mo *model) { mo.event = byGroup.Event() }},
		"uncentred noise of a centred": {with(means, uncentred), rows, func(mo *model) { mo.noise = func(m float64) float64 { return m / 3 } }},
		"no clamping": {means, wide, func(mo *model) {
			mo.cells = func(rows []record) []int64 { return cellsOf(mo.m.Layout(), rows) }
		}},
		"bounds from the rows": {means, rows, func(mo *model) {
			add := real(mo)
			mo.cells = func(rows []record) []int64 { return add(stretch(rows)) }
		}},
		"groups by the private mean": {counts, rows, func(mo *model) {
			add := real(mo)
			mo.cells = func(rows []record) []int64 { return add(splitAtMean(rows)) }
		}},
		"the label of a group is counted": {counts, rows, func(mo *model) {
			mo.exact = func(cells []int64) int {
				if cells[0] > cells[mo.m.Cells()] {
					return 1
				}
				return 0
			}
		}},
		"sampled at a larger rate": {with(values, sampled), rows, func(mo *model) {
			mo.samples = func(u [][]record) []chance { return poisson(u, 0.6, mo.bound) }
		}},
		"not sampled at all": {with(values, sampled), rows, func(mo *model) {
			mo.samples = func(u [][]record) []chance { return poisson(u, 1, mo.bound) }
		}},
		"samples of the size that groups have": {with(counts, sampled), rows, func(mo *model) { mo.samples = bySize }},
		"all rows of a unit": {with(counts, pairs), people, func(mo *model) {
			mo.bound = func(rows []record) []chance { return []chance{{rows, 1}} }
		}},
		"noise for one row of a unit": {with(counts, pairs), people, func(mo *model) { mo.noise = func(m float64) float64 { return m } }},
		"rows are sampled, not units": {with(with(counts, pairs), sampled), people, func(mo *model) {
			mo.samples = func(u [][]record) []chance {
				var all [][]record
				for _, rows := range u {
					all = append(all, alone(rows...)...)
				}
				return poisson(all, 0.4, mo.bound)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mo := newModel(t, c.s)
			c.bug(mo)
			if wrong, largest := mo.audit(t, c.kinds, 3); wrong == "" {
				t.Errorf("not found; the largest ratio is %v, and ε is %v", largest, epsilonOf(t, mo))
			}
		})
	}
}

func epsilonOf(t *testing.T, mo *model) float64 {
	e, err := accountant.Auto{}.Epsilon(mo.event, mo.settings.Adjacency, 0)
	if err != nil {
		t.Fatal(err)
	}
	return e.Upper
}

// stretch encodes x by the least and the largest that the rows have.
func stretch(rows []record) []record {
	low, high := int32(table.Steps), int32(-table.Steps)
	for _, r := range rows {
		low, high = min(low, r[0]), max(high, r[0])
	}
	out := slices.Clone(rows)
	for i := range out {
		switch {
		case low == high || out[i][0] == high:
			out[i][0] = table.Steps
		case out[i][0] == low:
			out[i][0] = -table.Steps
		}
	}
	return out
}

// splitAtMean puts those at or above the mean of x into the second group.
func splitAtMean(rows []record) []record {
	sum := int64(0)
	for _, r := range rows {
		sum += int64(r[0])
	}
	out := slices.Clone(rows)
	for i := range out {
		out[i][4] = 0
		if int64(out[i][0])*int64(len(rows)) >= sum {
			out[i][4] = 1
		}
	}
	return out
}

// bySize draws two fifths of each group, rounded, by how large the group is.
func bySize(units [][]record) []chance {
	out := []chance{{p: 1}}
	for y := range int32(2) {
		var group []record
		for _, u := range units {
			if u[0][4] == y {
				group = append(group, u[0])
			}
		}
		var next []chance
		for _, so := range out {
			for _, b := range subsets(group, int(0.4*float64(len(group))+0.5)) {
				next = append(next, chance{append(slices.Clone(so.rows), b.rows...), so.p * b.p})
			}
		}
		out = next
	}
	return out
}
