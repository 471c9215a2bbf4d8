package global_test

import (
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/schema"
	"pgregory.net/rapid"
)

// tiny is a schema with a column of every kind.
func tiny() schema.Schema {
	return schema.Schema{
		Name: "tiny",
		Columns: []schema.Column{
			{Name: "x", Kind: schema.Numeric, Low: 10, High: 30},
			{Name: "z", Kind: schema.Numeric, Low: -4, High: 4, Edges: []float64{0, 2}, Values: []string{"low", "mid", "high"}},
			{Name: "kind", Kind: schema.Categorical, Values: []string{"a", "b", "c"}},
			{Name: "one", Kind: schema.Categorical, Values: []string{"same"}},
			{Name: "y", Kind: schema.Categorical, Values: []string{"Yes", "No"}},
		},
		Label: "y", Template: "{x} {z} {kind} {one}", Question: "Well?",
	}
}

// record is a row of tiny, encoded: steps or codes, in the order of the columns.
type record [5]int32

// batch is rows as a source hands them out, the columns that a mechanism reads.
func batch(m *global.Mechanism, rows []record) *table.Batch {
	b := &table.Batch{Rows: len(rows), First: 1}
	for _, i := range m.Columns() {
		v := table.Vector{}
		if i < 2 {
			v.Steps = []int32{}
			for _, r := range rows {
				v.Steps = append(v.Steps, r[i])
			}
		} else {
			v.Codes = []uint16{}
			for _, r := range rows {
				v.Codes = append(v.Codes, uint16(r[i]))
			}
		}
		b.Columns = append(b.Columns, v)
	}
	return b
}

func newMechanism(t testing.TB, s global.Settings) *global.Mechanism {
	t.Helper()
	m, err := global.New(tiny(), s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// all asks something of every column, and groups by a list, by cuts and by bins.
func all() global.Settings {
	return global.Settings{
		Groups: []schema.Group{{Column: "y"}, {Column: "kind", Classes: [][]string{{"b"}, {}}}, {Column: "x", Cuts: []float64{15, 20}}},
		Count:  1,
		Columns: []global.Column{
			{Name: "x", Statistic: global.Moments, Multiplier: 2, Squares: 3},
			{Name: "z", Statistic: global.Histogram, Multiplier: 1.5},
			{Name: "kind", Statistic: global.Mode, Multiplier: 2},
			{Name: "one", Statistic: global.Mode, Multiplier: 2},
			{Name: "y", Statistic: global.Given},
		},
	}
}

func steps() *rapid.Generator[int32] {
	return rapid.OneOf(rapid.Int32Range(-table.Steps, table.Steps), rapid.SampledFrom([]int32{-table.Steps, -table.Steps / 2, -1, 0, 1, table.Steps / 2, table.Steps}))
}

func records() *rapid.Generator[[]record] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) record {
		return record{
			steps().Draw(t, "x"), steps().Draw(t, "z"), rapid.Int32Range(0, 2).Draw(t, "kind"), 0, rapid.Int32Range(0, 1).Draw(t, "y"),
		}
	}), 0, 40)
}

// settings of all statistics and groupings.
func settings() *rapid.Generator[global.Settings] {
	return rapid.Custom(func(t *rapid.T) global.Settings {
		s := global.Settings{Count: rapid.SampledFrom([]float64{1, 2.5}).Draw(t, "count"), Uncentred: rapid.Bool().Draw(t, "uncentred")}
		for _, g := range []schema.Group{
			{Column: "y"},
			{Column: "kind", Classes: [][]string{{"b"}, {}}},
			{Column: "x", Cuts: []float64{15, 20}},
			{Column: "z", Classes: [][]string{{"low", "high"}, {"mid"}}},
		} {
			if rapid.Bool().Draw(t, "group") {
				s.Groups = append(s.Groups, g)
			}
		}
		numbers := func(name string) global.Column {
			c := global.Column{Name: name, Statistic: rapid.SampledFrom([]global.Statistic{
				global.Mean, global.Moments, global.Histogram, global.Quantiles, global.Skip,
			}).Draw(t, name)}
			switch c.Statistic {
			case global.Moments:
				c.Multiplier, c.Squares = 2, 3
			case global.Mean:
				c.Multiplier = 2
				c.Count = rapid.SampledFrom([]float64{0, 4}).Draw(t, "own count")
			case global.Histogram:
				c.Multiplier = 2
			case global.Quantiles:
				c.Quantiles, c.Range, c.Cells = []float64{0.5, 0.25}, 0.5, 8
			}
			return c
		}
		values := func(name string) global.Column {
			c := global.Column{Name: name, Multiplier: 2, Statistic: rapid.SampledFrom([]global.Statistic{
				global.Mode, global.Histogram, global.Skip,
			}).Draw(t, name)}
			switch {
			case c.Statistic == global.Skip:
				c.Multiplier = 0
			case c.Statistic == global.Mode && rapid.Bool().Draw(t, "drawn"):
				c.Multiplier, c.Range = 0, 0.5
			}
			return c
		}
		s.Columns = []global.Column{numbers("x"), numbers("z"), values("kind"), values("one"), values("y")}
		return s
	})
}
