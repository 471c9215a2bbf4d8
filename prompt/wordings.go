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

// Wordings returns other instructions for a task whose answers are written. For free-form outputs it is
// the task's own with a wish about length, or about closeness to the input; for labels of a list and for
// extracted words, in turns alone, with what an answer may be. They are the same for all data, so trying
// them reveals nothing.
func (t Task) Wordings(f Form) []string {
	if t.Kind != Generate {
		return t.answerWordings(f)
	}
	own := strings.TrimSpace(t.WithDefaults().Answer.Instruction)
	out := make([]string, len(wishes))
	for i, w := range wishes {
		out[i] = strings.TrimSpace(own + " " + w)
	}
	return out
}

// answerWordings say what an answer may be, which a model that writes in its turn has to know.
func (t Task) answerWordings(f Form) []string {
	if !f.Turns() {
		return nil
	}
	t = t.WithDefaults()
	wishes := []string{"Answer with words of the text alone.", "Answer as briefly as you can, with nothing but the answer."}
	if !t.Open() {
		list := strings.Join(t.Labels, ", ")
		wishes = []string{"Answer with one of these labels and nothing else: " + list + ".", "The answer is one of: " + list + "."}
	}
	own := strings.TrimSpace(t.Answer.Instruction)
	out := make([]string, len(wishes))
	for i, w := range wishes {
		out[i] = strings.TrimSpace(own + " " + w)
	}
	return out
}
