package global_test

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// A profile of a made-up table: who repaid a loan, by a seed, which has no privacy guarantee.
func Example() {
	loans := schema.Schema{
		Name: "loans",
		Columns: []schema.Column{
			{Name: "age", Kind: schema.Numeric, Low: 18, High: 98},
			{Name: "job", Kind: schema.Categorical, Values: []string{"clerk", "nurse", "smith"}},
			{Name: "repaid", Kind: schema.Categorical, Values: []string{"Yes", "No"}},
		},
		Label:    "repaid",
		Template: "A {job} of {age} years.",
		Question: "Was the loan repaid?",
	}
	m, err := global.New(loans, global.Settings{
		Groups: []schema.Group{{Column: "repaid"}},
		Count:  3,
		Columns: []global.Column{
			{Name: "age", Statistic: global.Mean, Multiplier: 3},
			{Name: "job", Statistic: global.Mode, Multiplier: 3},
			{Name: "repaid", Statistic: global.Given},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	age := table.NewScale(loans.Columns[0])
	b := &table.Batch{Columns: make([]table.Vector, 3)}
	for i := range 2000 {
		b.Rows++
		repaid := uint16(i % 2)
		b.Columns[0].Steps = append(b.Columns[0].Steps, age.Steps(float64(30+20*int(repaid)+i%7)))
		b.Columns[1].Codes = append(b.Columns[1].Codes, uint16(1+i%5/4)-repaid)
		b.Columns[2].Codes = append(b.Columns[2].Codes, repaid)
	}
	sums := m.NewSums()
	if err := sums.Add(b); err != nil {
		fmt.Println(err)
		return
	}
	r, err := m.Release(sums, noise.KeyFromSeed(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Event())
	for _, g := range r.Profile().Groups {
		fmt.Println(g.Where+":", loans.Text(g.Row), loans.Answer(g.Row))
	}
	// Output:
	// repeat(3, laplace(3))
	// repaid = Yes: A nurse of 33 years. Was the loan repaid? Yes
	// repaid = No: A clerk of 53 years. Was the loan repaid? No
}
