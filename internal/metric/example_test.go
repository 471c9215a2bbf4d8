package metric_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/engine/bert"
	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/prompt"
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

func ExampleMatches() {
	weights, entry, err := models.Find("all-MiniLM-L6-v2")
	if err != nil {
		log.Fatal(err)
	}
	e, err := bert.Open(weights, filepath.Join(filepath.Dir(weights), entry.Files[1].Name))
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	matches, err := metric.Matches(context.Background(), []metric.Pair{
		{Want: "A cat sat on the mat.", Got: "A kitten rests on a rug."},
		{Want: "A cat sat on the mat.", Got: "The central bank raised interest rates."},
	}, metric.EncoderOf(e))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range matches {
		fmt.Printf("precision %.2f, recall %.2f, F1 %.2f\n", m.Precision, m.Recall, m.F1)
	}
	// Output:
	// precision 0.63, recall 0.63, F1 0.63
	// precision 0.05, recall 0.07, F1 0.06
}
