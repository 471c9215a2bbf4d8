package global_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/schema"
)

// BenchmarkAdd adds up batches of 14 columns, 6 of them numeric, and reports what a row
// takes.
func BenchmarkAdd(b *testing.B) {
	for _, groups := range []int{1, 2, 8} {
		b.Run(fmt.Sprint("groups=", groups), func(b *testing.B) {
			s := schema.Schema{Name: "wide"}
			o := global.Settings{Count: 1}
			batch := &table.Batch{Rows: 8192}
			random := rand.New(rand.NewPCG(1, 2))
			for i := range 14 {
				c := schema.Column{Name: fmt.Sprint("c", i), Kind: schema.Numeric, Low: 0, High: 100}
				ask := global.Column{Name: c.Name, Statistic: global.Mean, Multiplier: 1}
				var v table.Vector
				if i >= 6 {
					c.Kind, ask.Statistic = schema.Categorical, global.Mode
					for k := range 2 + 3*(i-6) {
						c.Values = append(c.Values, fmt.Sprint(k))
					}
					for range batch.Rows {
						v.Codes = append(v.Codes, uint16(random.IntN(len(c.Values))))
					}
				} else {
					for range batch.Rows {
						v.Steps = append(v.Steps, random.Int32N(2*table.Steps-1)-table.Steps+1)
					}
				}
				s.Columns = append(s.Columns, c)
				o.Columns = append(o.Columns, ask)
				batch.Columns = append(batch.Columns, v)
			}
			if groups > 1 {
				o.Groups = append(o.Groups, schema.Group{Column: "c6"})
			}
			if groups > 2 {
				o.Groups = append(o.Groups, schema.Group{Column: "c0", Cuts: []float64{25, 50, 75}})
			}
			m, err := global.New(s, o)
			if err != nil {
				b.Fatal(err)
			}
			sums := m.NewSums()
			for b.Loop() {
				if err := sums.Add(batch); err != nil {
					sums = m.NewSums()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch.Rows), "ns/row")
		})
	}
}
