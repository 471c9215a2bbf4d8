package prompt

import (
	"fmt"
	"slices"
	"strings"
)

// Form is how a prompt and a question are laid out for a model, and how its answer is read.
type Form string

// The forms.
const (
	// TextForm is one text that the model continues with. A label is the one with the largest
	// probability; what is written ends with its line.
	TextForm Form = "text"
	// ChatForm is turns of a conversation: the instruction, each example as a question and an
	// answer, and the question. The answer is what the model writes in its turn.
	ChatForm Form = "chat"
	// MessageForm is one turn of the user, which holds the instruction, the examples and the
	// question as a text. The answer is what the model writes in its turn.
	MessageForm Form = "message"
)

// Forms lists them.
func Forms() []Form { return []Form{ChatForm, MessageForm, TextForm} }

// Turns reports whether a form is turns of a conversation, whose answer is what the model writes.
// The zero value is [TextForm].
func (f Form) Turns() bool { return f == ChatForm || f == MessageForm }

// Name returns the form, that of the zero value included.
func (f Form) Name() Form {
	if f == "" {
		return TextForm
	}
	return f
}

func (f Form) check() error {
	if !slices.Contains(Forms(), f.Name()) {
		return fmt.Errorf("a prompt has the form %s, %s or %s, not %q", ChatForm, MessageForm, TextForm, string(f))
	}
	return nil
}

// whole returns instruction, examples and a question as one text.
func (p Prompt) whole(t Task, input string) string {
	return strings.TrimSpace(strings.Join(p.Segments(t), "") + p.For(t).AnswerItem(input))
}
