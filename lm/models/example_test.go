package models_test

import (
	"fmt"

	"github.com/sotto-dp/sotto/lm/models"
)

func ExampleLookup() {
	m, ok := models.Lookup("SmolLM2-135M-Instruct")
	fmt.Println(m.Name, m.Licence, models.Size(m.Bytes()), ok)
	// Output: smollm2 Apache-2.0 98.4 MB true
}
