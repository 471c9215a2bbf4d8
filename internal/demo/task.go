package demo

import (
	_ "embed"
	"slices"

	"github.com/sotto-dp/sotto/prompt"
)

var (
	//go:embed helpline.txt
	helplineRules string
	//go:embed helpline.toml
	helplineTask []byte
	//go:embed office.txt
	officeRules string
	//go:embed office.toml
	officeTask []byte
)

// TaskFile returns the task as a file, an example of what users write for theirs.
func (m *Messages) TaskFile() []byte { return slices.Clone(m.taskFile) }

// Task reports how messages are written and sorted.
func (m *Messages) Task() (prompt.Task, error) { return prompt.Parse("demo", m.taskFile) }
