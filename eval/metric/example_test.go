package metric_test

import (
	"context"
	"fmt"
	"log"

	"sotto/eval/metric"
	"sotto/prompt"
)

func Example() {
	answers := []metric.Pair{
		{Want: "World", Got: "World"},
		{Want: "Sports", Got: "World"},
		{Want: "Business", Got: "Business"},
	}
	for _, name := range metric.For(prompt.Classify) {
		m, err := metric.New(name, metric.Options{})
		if err != nil {
			log.Fatal(err)
		}
		v, err := m.Value(context.Background(), answers)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %.3f\n", m.Name(), v)
	}
	// Output:
	// accuracy 0.667
	// macro_f1 0.556
}

func ExampleDistinct() {
	fmt.Println(metric.Distinct(2, []string{"row, row, row your boat", "gently down the stream"}))
	fmt.Println(metric.Distinct(2, []string{"row, row, row", "row, row, row"}))
	// Output:
	// 0.8571428571428571
	// 0.25
}
