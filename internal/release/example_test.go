package release_test

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/privacy"
)

func ExampleWords() {
	event, err := privacy.Parse("repeat(100, poisson(20/30000, gaussian(0.51)))")
	if err != nil {
		panic(err)
	}
	g := privacy.Guarantee{
		Event: event, Adjacency: privacy.AddRemove, Unit: privacy.Record,
		Epsilon: privacy.Interval{Lower: 0.96484, Upper: 0.96493}, Delta: 1.0 / 30000,
	}
	fmt.Println(release.Sentence(g))
	fmt.Printf("%.3f\n", release.Guess(g))
	// Output:
	// ε ≤ 0.965 at δ = 3.3333333333333335e-5 for one record more or less (add-remove).
	// 0.724
}
