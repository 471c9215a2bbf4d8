package reconstruct_test

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// Perturbed answers to a question of three values, of which the truth was kept in eight
// of ten cases.
func Example() {
	channel := reconstruct.Channel{Domains: []int{3}, Keep: []float64{0.8}}
	counts, err := reconstruct.NewCounts(channel)
	if err != nil {
		fmt.Println(err)
		return
	}
	answers := reconstruct.Rows{Count: 8, Columns: [][]uint16{{0, 1, 0, 2, 0, 0, 1, 0}}}
	for range 500 { // as if many had answered
		if err := counts.Add(&answers); err != nil {
			fmt.Println(err)
			return
		}
	}
	estimate, err := reconstruct.IBU(context.Background(), counts, reconstruct.IBUOptions{Stop: reconstruct.MaxLikelihood})
	if err != nil {
		fmt.Println(err)
		return
	}
	errors, err := reconstruct.Errors(counts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("seen      %.3f\n", []float64{5. / 8, 2. / 8, 1. / 8})
	fmt.Printf("estimated %.3f\n", estimate.Cells)
	fmt.Printf("unbiased, to ±%.3f\n", errors)
	sampler, err := reconstruct.NewSampler(1, estimate)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("a row:", sampler.Codes(noise.KeyFromSeed(1).Stream("rows"), nil))
	// Output:
	// seen      [0.625 0.250 0.125]
	// estimated [0.750 0.214 0.036]
	// unbiased, to ±[0.011 0.010 0.007]
	// a row: [0]
}

// A question is about one row; rows that resemble it are drawn from what was learnt of all,
// here of an income and, second, the answer that is asked for.
func ExampleSampler_Near() {
	e := &reconstruct.Estimate{Columns: []int{0, 1}, Domains: []int{3, 2}, Cells: []float64{0.3, 0, 0, 0.3, 0.2, 0.2}}
	s, err := reconstruct.NewSampler(2, e)
	if err != nil {
		fmt.Println(err)
		return
	}
	question := schema.Row{{Code: 1, Discrete: true}, {}}
	rows, err := s.Near(reconstruct.Near{Query: question, Free: []int{1}, Mismatch: 1e-9}, 3, noise.KeyFromSeed(1).Stream("question", 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range rows {
		fmt.Println(row[0].Code, row[1].Code)
	}
	// Output:
	// 1 1
	// 1 1
	// 1 1
}
