package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Example is a question with its answer: a text and its label, or for a generation task
// an input and its output. It is public.
type Example struct {
	Input  string `json:"input"`
	Output string `json:"output"`
}

// Prompt is a few-shot prompt for a task: what precedes the questions, and how labels are
// read off the answer. It is public.
type Prompt struct {
	// Instruction in place of the task's own; "" keeps that.
	Instruction string `json:"instruction,omitempty"`
	// Examples in their order; none is zero-shot.
	Examples []Example `json:"examples,omitempty"`
	// Form is how it is laid out, [TextForm] by default.
	Form Form `json:"form,omitempty"`
	// Calibrated divides the probabilities of labels by what questions without content get
	// (Zhao et al. 2021). It is for tasks with a closed list of labels, in [TextForm].
	Calibrated bool `json:"calibrated,omitempty"`
	// Evidence is how it uses what all records say, if it does.
	Evidence Use `json:"evidence,omitzero"`
	// Nearest says that a question gets only some of the examples: those most similar to it.
	Nearest Nearest `json:"nearest,omitzero"`
}

// ContentFree returns the questions of contextual calibration (Zhao et al. 2021, section
// 5).
func ContentFree() []string { return []string{"N/A", "[MASK]", ""} }

// For returns the task with the prompt's instruction.
func (p Prompt) For(t Task) Task {
	t = t.WithDefaults()
	if p.Instruction != "" {
		t.Answer.Instruction = strings.Trim(p.Instruction, "\n")
	}
	return t
}

// Segments returns the pieces of text that a question comes after, each to be encoded by
// itself: the instruction, then the examples.
func (p Prompt) Segments(t Task) []string {
	t = p.For(t)
	var out []string
	if prefix := t.AnswerPrefix(); prefix != "" {
		out = append(out, prefix)
	}
	for _, e := range p.Shown() {
		input, output := e.Input, e.Output
		if t.Kind != Generate {
			input = oneLine(input)
		}
		if t.OneLine() {
			output = oneLine(output)
		}
		out = append(out, t.AnswerDemo(input, output))
	}
	return out
}

// Check finds what keeps a prompt from being used for a task.
func (p Prompt) Check(t Task) error {
	if p.Calibrated && (t.Open() || t.Kind == Generate) {
		return fmt.Errorf("task %q has no closed list of labels, so that there is nothing to calibrate", t.Name)
	}
	if err := p.Form.check(); err != nil {
		return err
	}
	if p.Calibrated && p.Form.Turns() {
		return fmt.Errorf("a prompt of the form %s is read off what the model writes, so that there is nothing to calibrate", p.Form)
	}
	if err := p.Evidence.check(t, p); err != nil {
		return err
	}
	if err := p.Nearest.check(p); err != nil {
		return err
	}
	if !utf8.ValidString(p.Instruction) {
		return fmt.Errorf("the instruction is not UTF-8")
	}
	for i, e := range p.Examples {
		if strings.TrimSpace(e.Input) == "" || strings.TrimSpace(e.Output) == "" {
			return fmt.Errorf("example %d lacks its input or its output", i+1)
		}
		if !utf8.ValidString(e.Input) || !utf8.ValidString(e.Output) {
			return fmt.Errorf("example %d is not UTF-8", i+1)
		}
		if _, known := t.ResolveLabel(e.Output); !known {
			return fmt.Errorf("example %d has the label %q, which is not one of the task", i+1, e.Output)
		}
	}
	return nil
}

// oneLine makes all white space single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
