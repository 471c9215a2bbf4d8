package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// TestProblems breaks a good task in one way each and looks for that problem, and no
// other.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		where, what    string
		warning        bool
	}{
		{"syntax", `kind = "classify"`, `kind = classify`, "file", "expected", false},
		{"type", `labels = ["Billing", "Delivery"]`, `labels = "Billing"`, "labels", "it is a string in quotes", false},
		{"type of a limit", "[answer]", "[limits]\nshots = \"four\"\n[answer]", "limits.shots", "it is a string in quotes", false},
		{"unknown key", `label = "queue"`, "label = \"queue\"\nlables = []", "lables", "there is no such key", false},
		{"misplaced key", "[generate]", "[generate]\nlabels = []", "generate.labels", "there is no such key", false},
		{"unknown table", "[answer]", "[limit]\na = 1\nb = 2\n[answer]", "limit", "there is no such key", false},
		{"no kind", `kind = "classify"`, "", "kind", "missing", false},
		{"kind", `kind = "classify"`, `kind = "sort"`, "kind", "no kind of task", false},
		{"no text column", `text = "message"`, "", "text", "missing", false},
		{"no label column", `label = "queue"`, "", "label", "missing", false},
		{"one column", `label = "queue"`, `label = "message"`, "text", "same column", false},
		{"columns of generation", `label = "queue"`, "label = \"queue\"\ninput = \"a\"", "kind", "columns of generation tasks", false},
		{"name", `kind = "classify"`, "name = \" a\"\nkind = \"classify\"", "name", "spaces", false},
		{"title", `kind = "classify"`, "title = \"a\\nb\"\nkind = \"classify\"", "title", "line break", false},
		{"no label list", `labels = ["Billing", "Delivery"]`, "", "labels", "open", true},
		{"one label", `"Billing", "Delivery"]`, `"Billing"]`, "labels", "only one", false},
		{"empty label", `"Delivery"]`, `"Delivery", ""]`, "labels[3]", "missing", false},
		{"label with newline", `"Delivery"]`, `"Delivery", "Billing and\nDelivery"]`, "labels[3]", "line break", false},
		{"label twice", `"Delivery"]`, `"Delivery", "Billing"]`, "labels[3]", "twice", false},
		{"label in capitals", `"Delivery"]`, `"Delivery", "BILLING"]`, "labels[3]", "capitals", false},
		{"label in full width", `"Delivery"]`, `"Delivery", "Ｂilling"]`, "labels[3]", "capitals", false},
		{"first words", `"Billing", "Delivery"]`, `"Billing", "Delivery", "Billing and Delivery"]`, "labels", "same word", true},
		{"alias of nothing", `label = "queue"`, "label = \"queue\"\naliases = { B = \"Bills\" }", `aliases."B"`, "not on the list", false},
		{"alias of a label", `label = "queue"`, "label = \"queue\"\naliases = { Billing = \"Delivery\" }", `aliases."Billing"`, "a label itself", false},
		{"conditions", `label = "queue"`, "label = \"queue\"\nconditions = [\"a\"]", "conditions", "already", false},
		{"empty stop list", `label = "queue"`, "label = \"queue\"\nstop = []", "stop", "empty", false},
		{"empty stop", `label = "queue"`, "label = \"queue\"\nstop = [\"\\n\", \"\"]", "stop[2]", "empty", false},
		{"stop that never comes", `label = "queue"`, "label = \"queue\"\nstop = [\"###\"]", "stop", "none of the strings", true},
		{"no instruction", `instruction = "Given`, `template = "{text}" #`, "generate.template", "condition is never used", true},
		{"blank instruction", `instruction = "Given a queue, write a message that belongs there."`, "", "generate.instruction", "missing", false},
		{"placeholder in instruction", `Given a queue`, `Given a queue {label}`, "generate.instruction", "not replaced", true},
		{"colon", "[generate]", "[generate]\ncondition = \"Queue:\"", "generate.condition", "colon", false},
		{"field on two lines", "[answer]", "[answer]\ninput = \"a\\nb\"", "answer.input", "line break", false},
		{"open brace", "[generate]", "[generate]\ntemplate = \"{label} {text\"", "generate.template", "not closed", false},
		{"closing brace", "[generate]", "[generate]\ntemplate = \"{label}} {text}\"", "generate.template", "closes nothing", false},
		{"placeholder", "[generate]", "[generate]\ntemplate = \"{queue} {text}\"", "generate.template", "no placeholder", false},
		{"end", "[generate]", "[generate]\ntemplate = \"{text} {label}\"", "generate.template", "does not end with {text}", false},
		{"text after the text", "[generate]", "[generate]\ntemplate = \"{label} {text}.\"", "generate.template", "does not end with {text}", false},
		{"text twice", "[generate]", "[generate]\ntemplate = \"{label} {text} {text}\"", "generate.template", "2 times", false},
		{"answer's end", "[answer]", "[answer]\ntemplate = \"{output} {input}\"", "answer.template", "does not end with {output}", false},
		{"answer's question", "[answer]", "[answer]\ntemplate = \"{output}\"", "answer.template", "question is never used", false},
		{"no answer instruction", `instruction = "Sort the messages into Billing and Delivery."`, "", "answer.instruction", "missing", true},
		{"unnamed label", "into Billing and Delivery", "into Billing", "answer.instruction", `does not name "Delivery"`, true},
		{"zero limit", "[answer]", "[limits]\nshots = 0\n[answer]", "limits.shots", "it is 0", false},
		{"negative limit", "[answer]", "[limits]\nshots = -1\n[answer]", "limits.shots", "not from 1", false},
		{"large limit", "[answer]", "[limits]\nrecord_tokens = 1000000\n[answer]", "limits.record_tokens", "not from 1", false},
		{"minimum above maximum", "[answer]", "[limits]\nmax_tokens = 5\nmin_tokens = 6\n[answer]", "limits.min_tokens", "more than max_tokens", false},
		{"long text", "[answer]", "[limits]\nmax_tokens = 501\n[answer]", "limits.max_tokens", "long text", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(minimal, c.old) != 1 {
				t.Fatalf("%q is not once in the good task", c.old)
			}
			data := []byte(strings.Replace(minimal, c.old, c.new, 1))
			_, found := prompt.Examine("broken", data)
			i := slices.IndexFunc(found, func(p prompt.Problem) bool {
				return p.Where == c.where && strings.Contains(p.What, c.what) && p.Warning == c.warning
			})
			if i < 0 {
				t.Fatalf("%s: %q is not among %v", c.where, c.what, found)
			}
			if found[i].Fix == "" {
				t.Error("it is not said what to do")
			}
			for _, p := range found {
				if p.Where != c.where && !explained[c.name] {
					t.Errorf("also %v", p)
				}
			}
			if _, err := prompt.Parse("broken", data); (err == nil) != c.warning {
				t.Errorf("warning %v, error %v", c.warning, err)
			}
		})
	}
}

// explained are breaks that have to lead to two problems: a label that the answer's
// instruction does not name.
var explained = map[string]bool{"label with newline": true, "label in full width": true, "empty label": true}

func TestGenerationProblems(t *testing.T) {
	const good = "kind = \"generate\"\ninput = \"a\"\noutput = \"b\"\n[generate]\ninstruction = \"Write.\"\n"
	if _, found := prompt.Examine("good", []byte(good)); len(found) > 0 {
		t.Fatal(found)
	}
	for _, c := range []struct{ old, new, where string }{
		{`input = "a"`, `label = "a"`, "kind"},
		{`input = "a"`, ``, "input"},
		{`output = "b"`, ``, "output"},
		{`output = "b"`, `output = "a"`, "output"},
		{`output = "b"`, "output = \"b\"\nlabels = [\"c\", \"d\"]", "labels"},
		{`output = "b"`, "output = \"b\"\naliases = { c = \"d\" }", `aliases."c"`},
		{`output = "b"`, "output = \"b\"\nconditions = [\"x\\ny\", \" \"]", "conditions[2]"},
		{`output = "b"`, "output = \"b\"\nconditions = [\"x\", \"x\"]", "conditions[2]"},
		{`[generate]`, "[generate]\ntemplate = \"{label} {output}\"", "generate.template"},
		{`[generate]`, "[generate]\ntemplate = \"{output} {input}\"", "answer.template"},
	} {
		_, found := prompt.Examine("broken", []byte(strings.Replace(good, c.old, c.new, 1)))
		if !slices.ContainsFunc(found, func(p prompt.Problem) bool { return p.Where == c.where && !p.Warning }) {
			t.Errorf("%s: no problem at %s but %v", c.new, c.where, found)
		}
	}
}

// TestEverythingAtOnce: who corrects a file should not have to run the check again for
// each mistake.
func TestEverythingAtOnce(t *testing.T) {
	_, err := prompt.Parse("bad", []byte("kind = \"classify\"\nlabels = [\"a\", \"a\"]\nnonsense = 1\n[limits]\nshots = 0\n"))
	for _, want := range []string{"task bad:", "nonsense", "text: it is missing", "label: it is missing", "labels[2]", "generate.instruction", "limits.shots"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "answer.instruction") {
		t.Errorf("a warning is not why a task is refused: %v", err)
	}
}

func TestTooManyLabels(t *testing.T) {
	task, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		task.Labels = append(task.Labels, fmt.Sprint("Topic", i))
	}
	found := task.Check()
	expect.True(t, "len(found) != 0", len(found) != 0)
	expect.Equal(t, "found[0].Where", found[0].Where, "labels")
	expect.Contains(t, "found[0].What", found[0].What, "1004 are more than 1000")
}

// TestCheckOfValues: a task need not come from a file.
func TestCheckOfValues(t *testing.T) {
	task := prompt.Task{
		Name: "\xff", Kind: prompt.Extract, Text: "a\x00", Label: "b", Stop: []string{"\xff"}, Conditions: []string{"\x00"},
		Generate: prompt.Generation{Instruction: "\xff", Template: "\xff{text}"},
		Answer:   prompt.AnswerLayout{Instruction: " x", Input: "\t"},
	}
	var at []string
	for _, p := range task.Check() {
		at = append(at, p.Where)
	}
	for _, want := range []string{"name", "text", "stop[1]", "conditions[1]", "generate.instruction", "generate.template", "answer.instruction", "answer.input"} {
		if !slices.Contains(at, want) {
			t.Errorf("nothing about %s in %q", want, at)
		}
	}
}
