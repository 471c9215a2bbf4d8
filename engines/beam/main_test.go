package beam

import (
	"context"
	"testing"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/schema"
)

func TestMain(m *testing.M) { ptest.MainWithDefault(m, "prism") }

// onPrism runs pipelines on Beam's own runner, in this process.
func onPrism(ctx context.Context, p *sdk.Pipeline) error {
	_, err := prism.Execute(ctx, p)
	return err
}

// wide is a schema of 14 columns, half of them numbers.
func wide() schema.Schema {
	s := schema.Schema{Name: "wide", Label: "c0"}
	for i := range 14 {
		c := schema.Column{Name: "c" + string(rune('0'+i/10)) + string(rune('0'+i%10)), Kind: schema.Numeric, Low: -float64(i) - 1, High: 100, Edges: []float64{0, 10, 50}}
		if i%2 == 0 {
			c = schema.Column{Name: c.Name, Kind: schema.Categorical, Values: values(2 + i)}
		}
		s.Columns = append(s.Columns, c)
	}
	s.Label = s.Columns[0].Name
	return s
}

func values(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "v" + string(rune('a'+i))
	}
	return out
}

// asked are settings that ask for something of every column.
func asked(s schema.Schema) global.Settings {
	o := global.Settings{Groups: []schema.Group{{Column: s.Columns[0].Name}, {Column: s.Columns[1].Name, Cuts: []float64{10}}}, Count: 3}
	for i, c := range s.Columns {
		k := global.Column{Name: c.Name, Statistic: global.Mode, Multiplier: 5}
		switch {
		case i == 0:
			k = global.Column{Name: c.Name, Statistic: global.Given}
		case i == 3:
			k = global.Column{Name: c.Name, Statistic: global.Quantiles, Quantiles: []float64{0.5}, Range: 0.5}
		case i == 5:
			k = global.Column{Name: c.Name, Statistic: global.Moments, Multiplier: 4, Squares: 4}
		case c.Kind == schema.Numeric:
			k.Statistic = global.Mean
		}
		o.Columns = append(o.Columns, k)
	}
	return o
}
