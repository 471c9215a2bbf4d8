package prompt_test

import (
	"testing"

	"github.com/sotto-dp/sotto/prompt"
)

func TestFields(t *testing.T) {
	desks := prompt.Task{Kind: prompt.Classify, Generate: prompt.Generation{Condition: "Desk", Text: "Message"}}
	types := prompt.Task{Kind: prompt.Classify, Generate: prompt.Generation{Condition: "Answer Type", Text: "Text"}, Answer: prompt.AnswerLayout{Input: "Question", Output: "Type"}}
	samsum, err := prompt.Builtin("samsum")
	if err != nil {
		t.Fatal(err)
	}
	bare := prompt.Task{Kind: prompt.Generate, Generate: prompt.Generation{Template: "{input} => {output}"}}
	for _, c := range []struct {
		task       prompt.Task
		text, want string
		found      bool
	}{
		{desks, "Where is my parcel? Message: Hello", "Where is my parcel?", true},
		{desks, "Where is my parcel? Desk: Billing Message: Hello", "Where is my parcel?", true},
		{desks, "Where is my parcel? MESSAGE : Hello", "Where is my parcel?", true},
		{desks, `He said "now". **Message:** Hello`, `He said "now".`, true},
		{desks, "Hello.\n\n### Message: Hello", "Hello.", true},
		{desks, "Hello. [Desk]: Billing", "Hello.", true},
		{desks, "Message: Hello", "", true},
		{desks, `"Message": Hello`, "", true},
		{desks, "I got your message yesterday: it was empty", "", false},
		{desks, "Two messages: one empty", "", false},
		{desks, "The helpdesk: useless", "", false},
		{desks, "Überdesk: useless", "", false},
		{desks, "Write to the desk", "", false},
		{desks, "Text: something", "", false},
		{types, "Who was first? Answer  Type: Person", "Who was first?", true},
		{types, "Who was first? question: who", "Who was first?", true},
		{samsum, "They meet. Summarize the above dialogue: no", "They meet.", true},
		{samsum, "They meet. Dialogue: no", "They meet.", true},
		{samsum, "Tom: hello", "", false},
		{bare, "Input: hello", "", false},
		{bare, "a => b", "", false},
	} {
		if !c.found {
			c.want = c.text
		}
		if got, found := c.task.Fields().Cut(c.text); got != c.want || found != c.found {
			t.Errorf("%q: %q, %v", c.text, got, found)
		}
	}
	if got, found := (prompt.Fields{}).Cut("Text: a"); got != "Text: a" || found {
		t.Errorf("no fields: %q, %v", got, found)
	}
}
