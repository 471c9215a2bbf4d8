package prompt

import "strings"

// wishes say how long an output is and how near to its input, which is what tasks with
// written outputs differ in, and what no instruction of a few words settles.
var wishes = []string{
	"Use as few words as you can.",
	"Answer in one short sentence.",
	"Answer in one sentence that mentions everything.",
	"Answer in two or three short sentences.",
	"Keep the words of the input wherever you can.",
	"Copy the input and change only single words.",
	"Write in the third person, plainly and only what is known.",
	"Mention every detail, in the order of the input.",
}

// Wordings are other instructions for a task whose outputs are written: its own with a
// wish about length, or about how near to stay to the input. They are the same for all
// data, so that trying them tells nothing. Tasks of other kinds have none: what a label is
// leaves nothing to wish for.
func (t Task) Wordings() []string {
	if t.Kind != Generate {
		return nil
	}
	own := strings.TrimSpace(t.WithDefaults().Answer.Instruction)
	out := make([]string, len(wishes))
	for i, w := range wishes {
		out[i] = strings.TrimSpace(own + " " + w)
	}
	return out
}
