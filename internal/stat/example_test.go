package stat_test

import (
	"fmt"
	"log"

	"github.com/sotto-dp/sotto/internal/stat"
)

func Example() {
	// Right (1) or wrong (0): three demonstration sets of each method, the same ten items.
	a := [][]float64{
		{1, 1, 1, 0, 1, 1, 1, 1, 0, 1},
		{1, 1, 1, 0, 1, 1, 0, 1, 1, 1},
		{1, 1, 1, 0, 1, 1, 1, 1, 1, 1},
	}
	b := [][]float64{
		{1, 0, 1, 0, 1, 1, 0, 1, 0, 1},
		{1, 1, 0, 0, 1, 1, 0, 1, 0, 1},
		{1, 0, 1, 0, 1, 1, 0, 1, 0, 0},
	}
	in, err := stat.Crossed(a, stat.Options{})
	if err != nil {
		log.Fatal(err)
	}
	in = in.Within(0, 1)
	fmt.Printf("a: between %.2f and %.2f\n", in.Low, in.High)
	c, err := stat.Compare(stat.Options{}, stat.PairedScores{A: a, B: b})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("a − b = %.3f, between %.2f and %.2f, P = %.2f over %d %s\n",
		c.Difference, c.Interval.Low, c.Interval.High, c.P, c.N, c.Units)
	// Output:
	// a: between 0.55 and 1.00
	// a − b = 0.267, between 0.01 and 0.59, P = 0.25 over 3 seeds
}

func ExampleHolm() {
	adjusted, err := stat.Holm([]float64{0.01, 0.04, 0.03})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n", adjusted)
	// Output:
	// [0.03 0.06 0.06]
}
