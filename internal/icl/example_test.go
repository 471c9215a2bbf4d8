package icl_test

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/prompt"
)

func Example() {
	ctx := context.Background()
	model, err := backend.Scorer(ctx, backend.Spec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()
	task, err := prompt.Builtin("trec")
	if err != nil {
		fmt.Println(err)
		return
	}
	demos := []prompt.Example{
		{Input: "Who painted the ceiling?", Output: "Person"},
		{Input: "How many rivers meet here?", Output: "Number"},
	}
	c, err := icl.NewClassifier(ctx, model, task, demos, icl.Options{Calibrate: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	answers, err := c.Classify(ctx, []string{"How many eggs are in a dozen?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answers[0].Label)
	// Output: Number
}

// Answers that are not of a list are written. Open does so with any model, and finds
// labels of a list too.
func ExampleOpen() {
	ctx := context.Background()
	model, err := backend.Open(ctx, backend.Spec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()
	task, err := prompt.Builtin("mit-g")
	if err != nil {
		fmt.Println(err)
		return
	}
	demos := []prompt.Example{
		{Input: "a funny comedy with a dog", Output: "comedy"},
		{Input: "a scary film about ghosts", Output: "scary"},
	}
	a, err := icl.Open(ctx, model, task, demos, icl.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	answers, err := a.Answer(ctx, []string{"any western with a train"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answers[0], "|", a.Describe())
	// Output: western | what the model writes, its best token at each step
}
