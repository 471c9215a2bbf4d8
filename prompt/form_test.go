package prompt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// TestFormsOfPrompts: a form that is none is refused, and turns have nothing to calibrate.
func TestFormsOfPrompts(t *testing.T) {
	task, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p    prompt.Prompt
		want string
	}{
		{prompt.Prompt{}, ""},
		{prompt.Prompt{Calibrated: true}, ""},
		{prompt.Prompt{Form: prompt.TextForm, Calibrated: true}, ""},
		{prompt.Prompt{Form: prompt.ChatForm}, ""},
		{prompt.Prompt{Form: prompt.MessageForm}, ""},
		{prompt.Prompt{Form: prompt.ChatForm, Calibrated: true}, "nothing to calibrate"},
		{prompt.Prompt{Form: prompt.MessageForm, Calibrated: true}, "nothing to calibrate"},
		{prompt.Prompt{Form: "Chat"}, `not "Chat"`},
		{prompt.Prompt{Form: "turns"}, "chat, message or text"},
	} {
		if err := c.p.Check(task); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
	f := prompt.Form("")
	expect.Equal(t, "f.Turns()", f.Turns(), false)
	expect.Equal(t, "f.Name", f.Name(), prompt.TextForm)
	expect.Equal(t, "prompt.TextForm.Turns()", prompt.TextForm.Turns(), false)
}

// TestQuestionOfAMessage: one message is the text that a model would continue with, with the prompt's own
// instruction; turns are the same, one by one.
func TestQuestionOfAMessage(t *testing.T) {
	for _, name := range prompt.Builtins() {
		task, err := prompt.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, instruction := range []string{"", "Say it."} {
			p := prompt.Prompt{Instruction: instruction, Examples: []prompt.Example{{Input: "a\n b", Output: "World"}, {Input: "c", Output: "Sports"}}}
			text := strings.Join(p.Segments(task), "") + p.For(task).AnswerItem("what?")
			p.Form = prompt.MessageForm
			got := p.Question(task, " what? ")
			at := expect.At(t, "%s", name)
			expect.Equal(at, "got.Role", got.Role, prompt.UserRole)
			expect.Equal(at, "got.Content", got.Content, strings.TrimSpace(text))
			expect.Len(at, "p.Turns", p.Turns(task), 0)
			p.Form = prompt.ChatForm
			turns := p.Turns(task)
			if first := p.For(task).Instruction(); (first != "") != (turns[0].Role == prompt.SystemRole) || first != "" && turns[0].Content != first {
				t.Errorf("%s: %+v", name, turns)
			}
			if got, want := p.Question(task, "what?"), p.For(task).Question("what?"); got != want || turns[len(turns)-1] != (prompt.Turn{Role: prompt.AssistantRole, Content: "Sports"}) {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
	}
}

// TestWordingsOfForms: in turns a model is told what an answer may be, which in a text its
// probabilities say; for written outputs the wordings are the same in all forms.
func TestWordingsOfForms(t *testing.T) {
	news, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	films, err := prompt.Builtin("mit-g")
	if err != nil {
		t.Fatal(err)
	}
	chats, err := prompt.Builtin("samsum")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range []prompt.Task{news, films} {
		if got := task.Wordings(prompt.TextForm); got != nil {
			t.Errorf("%s: %q", task.Name, got)
		}
	}
	for _, f := range []prompt.Form{prompt.ChatForm, prompt.MessageForm} {
		for _, w := range news.Wordings(f) {
			if !strings.HasPrefix(w, news.Instruction()) || !strings.Contains(w, strings.Join(news.Labels, ", ")) {
				t.Errorf("%s: %q does not list the labels", f, w)
			}
		}
		if got := films.Wordings(f); len(got) == 0 || strings.Contains(strings.Join(got, ""), "label") {
			t.Errorf("%s: %q", f, got)
		}
		if !slices.Equal(chats.Wordings(f), chats.Wordings(prompt.TextForm)) || len(chats.Wordings(f)) == 0 {
			t.Errorf("%s: %q", f, chats.Wordings(f))
		}
		for _, task := range []prompt.Task{news, films, chats} {
			for _, w := range task.Wordings(f) {
				if err := (prompt.Prompt{Instruction: w, Form: f}).Check(task); err != nil || strings.TrimSpace(w) != w {
					t.Errorf("%s: %q, %v", task.Name, w, err)
				}
			}
		}
	}
}
