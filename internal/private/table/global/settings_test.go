package global_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

func TestSettingsThatCannotBeUsed(t *testing.T) {
	change := func(f func(*global.Settings)) global.Settings { return with(all(), f) }
	column := func(f func(*global.Column)) global.Settings {
		return change(func(s *global.Settings) { f(&s.Columns[0]) })
	}
	for name, c := range map[string]struct {
		s    global.Settings
		says string
	}{
		"nothing":            {global.Settings{}, "no columns"},
		"noise":              {change(func(s *global.Settings) { s.Noise = "uniform" }), "unknown noise"},
		"adjacency":          {change(func(s *global.Settings) { s.Adjacency = "both" }), "adjacency"},
		"rate":               {change(func(s *global.Settings) { s.Rate = 1.5 }), "rate"},
		"rate NaN":           {change(func(s *global.Settings) { s.Rate = math.NaN() }), "rate"},
		"rows":               {change(func(s *global.Settings) { s.RowsPerUnit = -1 }), "rows of a unit"},
		"count":              {change(func(s *global.Settings) { s.Count = -1 }), "the count"},
		"count Inf":          {change(func(s *global.Settings) { s.Count = math.Inf(1) }), "the count"},
		"noise too large":    {column(func(c *global.Column) { c.Multiplier = 1e12 }), "nothing but noise"},
		"units too large":    {change(func(s *global.Settings) { s.RowsPerUnit, s.Columns[0].Multiplier = 60000, 60000 }), "nothing but noise"},
		"no multiplier":      {column(func(c *global.Column) { c.Multiplier = 0 }), "multiplier"},
		"no squares":         {column(func(c *global.Column) { c.Squares = 0 }), "squares"},
		"statistic":          {column(func(c *global.Column) { c.Statistic = "median" }), "unknown statistic"},
		"needless":           {column(func(c *global.Column) { c.Statistic = global.Skip }), "leave it out"},
		"needless squares":   {column(func(c *global.Column) { c.Statistic = global.Mean }), "leave it out"},
		"no mode":            {column(func(c *global.Column) { c.Statistic, c.Squares = global.Mode, 0 }), "no mode"},
		"quantiles":          {column(func(c *global.Column) { *c = global.Column{Name: "x", Statistic: global.Quantiles, Range: 1} }), "no quantiles"},
		"a quantile":         {quantile(1, 1, 16), "quantile 1"},
		"a precise quantile": {quantile(1./3, 1, 16), "digits"},
		"a range":            {quantile(0.5, 0, 16), "range"},
		"a grid":             {quantile(0.5, 1, 1), "grid"},
		"given":              {change(func(s *global.Settings) { s.Columns[3] = global.Column{Name: "one", Statistic: global.Given} }), "not given"},
		"given in part":      {change(func(s *global.Settings) { s.Columns[2] = global.Column{Name: "kind", Statistic: global.Given} }), "not given"},
		"a group":            {change(func(s *global.Settings) { s.Groups = []schema.Group{{Column: "w"}} }), "groups"},
		"twice":              {change(func(s *global.Settings) { s.Columns[1].Name = "x" }), "twice"},
		"order":              {change(func(s *global.Settings) { s.Columns[0], s.Columns[1] = s.Columns[1], s.Columns[0] }), "in its order"},
		"too few":            {change(func(s *global.Settings) { s.Columns = s.Columns[:4] }), "list each"},
		"cells of values":    {change(func(s *global.Settings) { s.Columns[1].Cells = 9 }), "number of cells"},
		"two kinds of mode":  {change(func(s *global.Settings) { s.Columns[2].Range = 1 }), "leave it out"},
		"a range of a mode":  {nothing(0, global.Column{Name: "kind", Statistic: global.Mode, Range: -1}), "range"},
		"no count by draws":  {nothing(0, global.Column{Name: "x", Statistic: global.Mean, Multiplier: 1}, global.Column{Name: "kind", Statistic: global.Mode, Range: 1}), "needs a count"},
		"no count":           {nothing(0, global.Column{Name: "x", Statistic: global.Mean, Multiplier: 1}), "needs a count"},
	} {
		if _, err := global.New(tiny(), c.s); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.says)
		}
	}
}

func quantile(q, c float64, cells int) global.Settings {
	return nothing(0, global.Column{Name: "x", Statistic: global.Quantiles, Quantiles: []float64{q}, Range: c, Cells: cells})
}

// TestEvents states what settings cost.
func TestEvents(t *testing.T) {
	o := everything()
	replaced := func(s *global.Settings) { s.Adjacency = privacy.ReplaceOne }
	units := func(s *global.Settings) { s.RowsPerUnit = 4 }
	two := nothing(2, global.Column{Name: "x", Statistic: global.Mean, Multiplier: 4})
	for _, c := range []struct {
		s    global.Settings
		want string
	}{
		{o, "compose(laplace(0.5), laplace(14), laplace(2), laplace(20), laplace(30), laplace(9))"},
		{with(two, sampled), "poisson(0.4, compose(laplace(2), laplace(4)))"},
		{with(two, gaussian), "compose(gaussian(2), gaussian(4))"},
		{with(with(two, gaussian), units), "compose(gaussian(2), gaussian(4))"},
		{with(two, units), "compose(pure(0.25000000000000006), pure(0.5000000000000001))"},
		{with(two, replaced), "compose(pure(0.5000000000000001), pure(1.0000000000000002))"},
		{with(with(two, gaussian), replaced), "compose(gaussian(1.4142135623730947), gaussian(2))"},
		{chosen, "pure(1.3)"},
		{with(chosen, replaced), "pure(2.6)"},
		{with(chosen, gaussian), "boundedrange(1.3)"},
		{with(with(chosen, gaussian), replaced), "boundedrange(2.6)"},
		{with(quantiles, replaced), "repeat(2, boundedrange(1.4))"},
		{with(two, func(s *global.Settings) { s.Noise = global.None }), "nonprivate()"},
	} {
		if got := c.s.Event().String(); got != c.want {
			t.Errorf("the event is %s, want %s", got, c.want)
		}
	}
}

// FuzzSettings: settings from anywhere are refused, or have an event that can be accounted
// for and a mechanism that runs.
func FuzzSettings(f *testing.F) {
	for _, s := range []global.Settings{all(), everything(), quantiles, with(means, uncentred), with(with(counts, sampled), pairs)} {
		data, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s global.Settings
		if json.Unmarshal(data, &s) != nil {
			return
		}
		m, err := global.New(tiny(), s)
		if err != nil {
			return
		}
		if err := privacy.Validate(m.Event()); err != nil {
			t.Fatalf("%s has an event that is not valid: %v", data, err)
		}
		if m.Layout().Groups()*m.Cells() > 1<<16 {
			return
		}
		released(t, s, []record{yes, noMid})
	})
}
