package bert_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/engine/bert"
	"github.com/sotto-dp/sotto/lm/models"
)

func Example() {
	weights, entry, err := models.Find("all-MiniLM-L6-v2")
	if err != nil {
		log.Fatal(err)
	}
	e, err := bert.Open(weights, filepath.Join(filepath.Dir(weights), entry.Files[1].Name))
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	vectors, err := e.Embed(context.Background(), []string{
		"A cat sat on the mat.",
		"A kitten rests on a rug.",
		"The central bank raised interest rates.",
	})
	if err != nil {
		log.Fatal(err)
	}
	similarity := func(a, b []float32) float32 {
		var sum float32
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	fmt.Printf("cat and kitten: %.2f\n", similarity(vectors[0], vectors[1]))
	fmt.Println("cat and bank less:", similarity(vectors[0], vectors[2]) < 0.1)
	// Output:
	// cat and kitten: 0.63
	// cat and bank less: true
}
