package eval_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/eval"
)

// The items of a test are the same for everything that is measured on it.
func ExampleSubset() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "test.csv")
	if err := os.WriteFile(path, []byte("text,label\nA new chip,Sci/Tech\nElections today,World\nRobots,Technology\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	items, err := eval.ReadItems(path, news())
	if err != nil {
		fmt.Println(err)
		return
	}
	two, err := eval.Subset(items, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, item := range two {
		fmt.Printf("%s: %s\n", item.Output, item.Input)
	}
	// Output:
	// World: Elections today
	// Technology: A new chip
}
