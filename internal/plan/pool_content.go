package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/prompt"
)

// PoolContent is what a model that sees no record made up for prompts to be built from. It is
// public, and costs nothing. It is part of the plan since such a model does not repeat
// itself: a run that continues has what it began with, and asks nobody again.
type PoolContent struct {
	// Model is the name of who wrote it.
	Model        string           `json:"model"`
	Examples     []prompt.Example `json:"examples,omitempty"`
	Instructions []string         `json:"instructions,omitempty"`
}

// Authored is the request as it will be once another model has written: with an example in place of its texts, so
// that the request can be checked before.
func (r Request) Authored() Request {
	own := *r.Choosing
	example := prompt.Example{Input: "a text", Output: "text"}
	if len(r.Task.Labels) > 0 {
		example.Output = r.Task.Labels[0]
	}
	own.Made, r.Choosing = &PoolContent{Model: "a model", Examples: []prompt.Example{example}}, &own
	return r
}

// texts are its examples; none of nil.
func (m *PoolContent) texts() []prompt.Example {
	if m == nil {
		return nil
	}
	return m.Examples
}

func (m *PoolContent) clone() *PoolContent {
	if m == nil {
		return nil
	}
	return &PoolContent{m.Model, slices.Clone(m.Examples), slices.Clone(m.Instructions)}
}

// words say where texts come from, for a sentence that continues.
func (m *PoolContent) words() (out string) {
	if m == nil {
		return ""
	}
	if n := len(m.Examples); n > 0 {
		out += fmt.Sprintf(", %s by %s, which sees no record", are(n, "text"), m.Model)
	}
	switch n := len(m.Instructions); {
	case n == 1:
		out += fmt.Sprintf(", one other wording of the instruction is by %s", m.Model)
	case n > 1:
		out += fmt.Sprintf(", %d other wordings of the instruction are by %s", n, m.Model)
	}
	return out
}

// maxVaried is far more than a round has use for.
const maxVaried = 64

// check finds what a task has no use for.
func (m *PoolContent) check(t prompt.Task, vary int) error {
	if vary < 0 || vary > maxVaried {
		return fmt.Errorf("up to %d texts like the winner's are written after a round, not %d", maxVaried, vary)
	}
	if m == nil {
		return nil
	}
	if m.Model == "" {
		return fmt.Errorf("what a model made up lacks the model's name")
	}
	for i, e := range m.Examples {
		if err := (prompt.Prompt{Examples: []prompt.Example{e}}).Check(t); err != nil {
			return fmt.Errorf("example %d by %s: %w", i+1, m.Model, err)
		}
	}
	for i, text := range m.Instructions {
		if strings.TrimSpace(text) == "" || !utf8.ValidString(text) {
			return fmt.Errorf("wording %d by %s is empty, or no text", i+1, m.Model)
		}
	}
	return nil
}

// bare has no texts written where a model made some up, and no ε is meant for writing.
func (c *ChooseRequest) bare() {
	if len(c.Made.texts()) > 0 && c.Writing <= 0 {
		c.NoGeneration, c.Writing = true, 0
	}
}

// Texts are the examples that were there before the run: the user's own, and those that a
// model made up.
func (c *Choose) Texts() []prompt.Example { return slices.Concat(c.Examples, c.Made.texts()) }

// Wordings are the instructions beside the task's own.
func (c *Choose) Wordings() []string {
	if c.Made == nil {
		return c.Instructions
	}
	return slices.Concat(c.Instructions, c.Made.Instructions)
}
