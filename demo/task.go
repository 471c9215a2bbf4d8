package demo

import (
	_ "embed"
	"slices"

	"sotto/prompt"
)

//go:embed task.toml
var taskFile []byte

// TaskFile is the task as a file, an example of what users write for theirs.
func TaskFile() []byte { return slices.Clone(taskFile) }

// Task says how messages are written and sorted.
func Task() (prompt.Task, error) { return prompt.Parse("demo", taskFile) }

// Instructions are other ways to ask the task's question. Which is better only the messages
// tell.
func Instructions() []string {
	return []string{"Say which desk each message goes to."}
}
