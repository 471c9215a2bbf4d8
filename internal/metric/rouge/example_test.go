package rouge_test

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/metric/rouge"
)

func Example() {
	const reference = "The ferry was delayed by two hours because of fog."
	const text = "Fog delays the ferry by two hours."
	for _, o := range []rouge.Options{{}, {Stem: true}} {
		fmt.Printf("stem %-5v  ROUGE-1 %.3f  ROUGE-2 %.3f  ROUGE-L %.3f\n",
			o.Stem, o.N(1, reference, text).F1, o.N(2, reference, text).F1, o.L(reference, text).F1)
	}
	// Output:
	// stem false  ROUGE-1 0.706  ROUGE-2 0.400  ROUGE-L 0.588
	// stem true   ROUGE-1 0.824  ROUGE-2 0.400  ROUGE-L 0.588
}

func ExampleStem() {
	for _, word := range []string{"relational", "happiness", "flies", "controlled"} {
		fmt.Println(word, "→", rouge.Stem(word))
	}
	// Output:
	// relational → relat
	// happiness → happi
	// flies → fli
	// controlled → control
}
