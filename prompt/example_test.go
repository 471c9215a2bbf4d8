package prompt_test

import (
	"fmt"

	"github.com/sotto-dp/sotto/prompt"
)

func Example() {
	task, err := prompt.Parse("support", []byte(`
kind = "classify"
text = "message"
label = "queue"
labels = ["Billing", "Delivery"]
[generate]
instruction = "Given a queue, write a message that belongs there."
condition = "Queue"
[answer]
instruction = "Sort the messages into Billing and Delivery."
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(task.GenerationPrefix() + task.GenerationHead("Billing") + " …")
	// Output:
	// Given a queue, write a message that belongs there.
	//
	// Queue: Billing
	// Text: …
}

func ExampleTask_Check() {
	task := prompt.Task{
		Name: "support", Kind: prompt.Classify, Text: "message", Label: "queue",
		Labels:   []string{"Billing", "billing"},
		Generate: prompt.Generation{Instruction: "Given a queue, write a message that belongs there."},
		Answer:   prompt.AnswerLayout{Instruction: "Sort the messages into Billing and others."},
	}
	for _, p := range task.Check() {
		fmt.Println(p)
	}
	// Output:
	// labels[2]: "billing" is the same as "Billing" except for capitals or spaces; keep one, and write the other as an alias: aliases = { "billing" = "Billing" }
}
