package prompt

import "strings"

// wishes state how long an output is and how close to its input. Tasks with free-form
// outputs differ in this, and a short instruction does not settle it.
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

// Wordings returns other instructions for a task with free-form outputs: its own with a
// wish about length, or about closeness to the input. They are the same for all data, so
// trying them reveals nothing. Other tasks have none.
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
