package trainer_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/lab/trainer"
	"github.com/sotto-dp/sotto/schema"
)

func Example() {
	loans := schema.Schema{
		Name: "loans", Label: "repaid",
		Columns: []schema.Column{
			{Name: "amount", Kind: schema.Numeric, Low: 0, High: 10000},
			{Name: "purpose", Kind: schema.Categorical, Values: []string{"car", "travel"}},
			{Name: "repaid", Kind: schema.Categorical, Values: []string{"no", "yes"}},
		},
	}
	form, err := learn.NewForm(loans, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	loan := func(amount float64, purpose, repaid int) schema.Row {
		return schema.Row{{Number: amount}, {Code: purpose, Discrete: true}, {Code: repaid, Discrete: true}}
	}
	table := trainer.NewTable(form)
	for i := range 100 {
		amount := float64(i * 100)
		repaid := 0
		if amount < 6000 {
			repaid = 1
		}
		if err := table.Add(loan(amount, i%2, repaid), 1); err != nil {
			fmt.Println(err)
			return
		}
	}
	model, err := trainer.FitLogistic(context.Background(), table, trainer.LogisticOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, amount := range []float64{2000, 9000} {
		p, err := model.Probabilities(loan(amount, 0, 0), nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(amount, form.Classes()[slices.Index(p, slices.Max(p))])
	}
	// Output:
	// 2000 yes
	// 9000 no
}
