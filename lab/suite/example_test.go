package suite_test

import (
	"fmt"

	"github.com/sotto-dp/sotto/lab/suite"
)

// A suite is a file; everything that is wrong with it is told at once.
func ExampleParse() {
	_, err := suite.Parse("mine", []byte(`
seeds = 5
itmes = 100

[[dataset]]
name = "agnews"
test = "{data}/agnews/test.jsonl.gz"

[[method]]
method = "zero"

[[method]]
method = "clipped"
`))
	fmt.Println(err)
	// Output:
	// suite mine: line 3, itmes: there is no such key; did you mean items?
	//   and line 5, dataset[1].train: it is missing; name the file with records, which methods read
	//   and line 5, dataset[1].size: it is missing; declare the number of records: sampling rates follow from it
	//   and line 12, method[2].epsilon: clipped needs one on agnews; list values of epsilon for the suite, the data set or the method
}

// Cells are what a suite asks for.
func ExampleCells() {
	s, err := suite.Parse("mine", []byte(`
seeds = 2
epsilon = [0.3, 1]

[[dataset]]
name = "trec"
train = "{data}/trec/train.jsonl.gz"
test = "{data}/trec/test.jsonl.gz"
size = 5452

[[method]]
method = "zero"

[[method]]
method = "clipped"
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	cells, err := suite.Cells(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range cells {
		fmt.Println(c)
	}
	// Output:
	// trec, zero
	// trec, clipped, ε = 0.3, 6 shots, seed 0
	// trec, clipped, ε = 1, 6 shots, seed 0
	// trec, clipped, ε = 0.3, 6 shots, seed 1
	// trec, clipped, ε = 1, 6 shots, seed 1
}
