package prompt

import (
	"slices"
	"testing"
)

func TestTurns(t *testing.T) {
	task := Task{Kind: Classify, Text: "text", Label: "label", Labels: []string{"Yes", "No"}, Answer: AnswerLayout{Instruction: "Choose.", Input: "Q", Output: "A"}}
	p := Prompt{Examples: []Example{{Input: " one\ntwo ", Output: " Yes\n"}}}
	turns := p.Turns(task)
	want := []Turn{{"system", "Choose."}, {"user", "Q: one\ntwo\nA:"}, {"assistant", "Yes"}}
	if !slices.Equal(turns, want) {
		t.Errorf("%q, want %q", turns, want)
	}
	p.Instruction = "Take one."
	if turns := p.Turns(task); turns[0].Content != "Take one." {
		t.Errorf("%q", turns)
	}
	if got, want := task.Question("three"), (Turn{"user", "Q: three\nA:"}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	mit, err := Builtin("mit-g")
	if err != nil {
		t.Fatal(err)
	}
	p.Instruction = ""
	if turns := p.Turns(mit); mit.AnswerPrefix() != "" || turns[0].Role != "user" {
		t.Errorf("%q", turns)
	}
}
