package prompt

import "strings"

// The roles of turns, as chat APIs name them.
const (
	SystemRole    = "system"
	UserRole      = "user"
	AssistantRole = "assistant"
)

// Turn is a message of a conversation, as chat APIs take it.
type Turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Turns returns the prompt as the beginning of a conversation: the instruction, then each
// example as a question of the user and an answer of the assistant. [Prompt.Question] follows
// them; of a prompt in [MessageForm] it is the whole conversation. Everything that lays out
// turns does so here: the files of releases, the gateway, evaluations, and what records judge.
func (p Prompt) Turns(t Task) []Turn {
	if p.Form == MessageForm {
		return nil
	}
	t = p.For(t)
	var turns []Turn
	if instruction := t.Instruction(); instruction != "" {
		turns = append(turns, Turn{SystemRole, instruction})
	}
	for _, e := range p.Shown() {
		turns = append(turns, t.Question(e.Input), Turn{AssistantRole, strings.TrimSpace(e.Output)})
	}
	return turns
}

// Instruction returns what a conversation begins with, "" for nothing.
func (t Task) Instruction() string { return strings.TrimSpace(t.AnswerPrefix()) }

// Question returns the turn of the user that asks a question, after [Prompt.Turns].
func (p Prompt) Question(t Task, input string) Turn {
	if p.Form == MessageForm {
		return Turn{UserRole, p.whole(t, input)}
	}
	return p.For(t).Question(input)
}

// Question returns a question as a turn of the user.
func (t Task) Question(input string) Turn {
	return Turn{UserRole, strings.TrimSpace(t.AnswerItem(input))}
}
