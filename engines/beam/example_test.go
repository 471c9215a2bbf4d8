package beam_test

import (
	"context"
	"fmt"

	"sotto/engines/beam"
	"sotto/plan"
	"sotto/private/table/global"
	"sotto/schema"
)

// A profile of made-up rows. Noise of ε = 1 does not show in shares of a hundred thousand.
func ExampleProfile() {
	s := schema.Schema{Name: "coins", Columns: []schema.Column{{Name: "side", Kind: schema.Categorical, Values: []string{"heads", "tails"}}}}
	p, err := plan.NewProfile(plan.ProfileRequest{Schema: s, Epsilon: 1, Statistics: map[string]global.Statistic{"side": global.Histogram}})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := beam.Profile(context.Background(), beam.ProfileOptions{
		Source: beam.Source{Generated: &beam.Generated{Rows: 100_000}},
		Schema: s, Settings: p.Settings, Job: beam.Job{Run: beam.OnPrism},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	counts := out.Profile().Groups[0].Columns[0].Counts
	fmt.Printf("%.1f\n", float64(counts[0])/float64(counts[0]+counts[1]))
	// Output: 0.5
}
