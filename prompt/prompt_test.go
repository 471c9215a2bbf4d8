package prompt_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

func builtinTask(t testing.TB, name string) prompt.Task {
	t.Helper()
	task, err := prompt.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// TestPromptSegments: the instruction first, then examples as they are laid out one by one.
func TestPromptSegments(t *testing.T) {
	news, chats := builtinTask(t, "agnews"), builtinTask(t, "samsum")
	lines := prompt.Example{Input: "one\n two", Output: "World"}
	for name, c := range map[string]struct {
		prompt.Prompt
		prompt.Task
		want []string
	}{
		"nothing": {prompt.Prompt{}, news, []string{news.AnswerPrefix()}},
		"examples": {
			prompt.Prompt{Examples: []prompt.Example{lines, {"three", "Sports"}}},
			news,
			[]string{news.AnswerPrefix(), news.AnswerDemo("one two", "World"), news.AnswerDemo("three", "Sports")},
		},
		"an instruction":    {prompt.Prompt{Instruction: "\nSay what.\n"}, news, []string{"Say what.\n"}},
		"calibrated":        {prompt.Prompt{Calibrated: true}, news, []string{news.AnswerPrefix()}},
		"inputs with lines": {prompt.Prompt{Examples: []prompt.Example{{"a: hi\nb: hello", "they\n greet"}}}, chats, []string{chats.AnswerDemo("a: hi\nb: hello", "they greet")}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.Segments(c.Task); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q, not %q", got, c.want)
			}
		})
	}
	before := builtinTask(t, "agnews")
	if (prompt.Prompt{Instruction: "Other."}).For(news).Answer.Instruction != "Other." || !reflect.DeepEqual(news, before) {
		t.Error("a prompt's instruction is not the task's, or the task is changed")
	}
}

func TestPromptCheck(t *testing.T) {
	for want, c := range map[string]struct {
		task string
		prompt.Prompt
	}{
		"":                     {"agnews", prompt.Prompt{Instruction: "Say.", Examples: []prompt.Example{{"text", "World"}}, Calibrated: true}},
		"nothing to calibrate": {"mit-g", prompt.Prompt{Calibrated: true}},
		"no closed list":       {"samsum", prompt.Prompt{Calibrated: true}},
		"instruction is not":   {"agnews", prompt.Prompt{Instruction: "\xff"}},
		"example 2 lacks":      {"agnews", prompt.Prompt{Examples: []prompt.Example{{"text", "World"}, {" \n", "World"}}}},
		"example 1 lacks":      {"mit-g", prompt.Prompt{Examples: []prompt.Example{{"text", "\t"}}}},
		"example 1 is not":     {"mit-g", prompt.Prompt{Examples: []prompt.Example{{"te\xfft", "genre"}}}},
		"not one of the task":  {"agnews", prompt.Prompt{Examples: []prompt.Example{{"text", "Weather"}}}},
	} {
		t.Run(want, func(t *testing.T) {
			err := c.Check(builtinTask(t, c.task))
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, which does not say %q", c.task, err, want)
			}
		})
	}
}

// FuzzPrompt: a prompt that passes its check is laid out in valid text, a piece for each
// example, and comes back from a file as it was.
func FuzzPrompt(f *testing.F) {
	f.Add("Say what this is about.", "a text\nof two lines", "World", true)
	f.Add("", "x", "1", false)
	f.Add("\n", "{input}", "{output}", false)
	f.Add("\xff", "a", "b", false)
	f.Add("a\x00b", "\u2028", "\u00a0", true)
	tasks := map[string]prompt.Task{}
	for _, name := range []string{"agnews", "mit-g", "samsum"} {
		tasks[name] = builtinTask(f, name)
	}
	f.Fuzz(func(t *testing.T, instruction, input, output string, calibrated bool) {
		p := prompt.Prompt{Instruction: instruction, Examples: []prompt.Example{{input, output}, {input, output}}, Calibrated: calibrated}
		for name, task := range tasks {
			if err := p.Check(task); err != nil {
				if !utf8.ValidString(err.Error()) {
					t.Errorf("%s: the error is no text: %q", name, err)
				}
				continue
			}
			if calibrated && task.Open() {
				t.Errorf("%s: nothing to calibrate, and it is", name)
			}
			segments := p.Segments(task)
			if n := len(segments); n != 2 && n != 3 || segments[n-1] != segments[n-2] {
				t.Fatalf("%s: %q", name, segments)
			}
			demo := segments[len(segments)-1]
			if !utf8.ValidString(strings.Join(segments, "")) || !strings.Contains(demo, strings.Join(strings.Fields(output), " ")) {
				t.Errorf("%s: %q is laid out as %q", name, output, segments)
			}
			if task.Kind != prompt.Generate && strings.Count(demo, "\n") != strings.Count(task.AnswerDemo("x", "y"), "\n") {
				t.Errorf("%s: an example has other lines than others: %q", name, demo)
			}
			raw, err := json.Marshal(p)
			var back prompt.Prompt
			if err == nil {
				err = json.Unmarshal(raw, &back)
			}
			if err != nil || !reflect.DeepEqual(back, p) {
				t.Errorf("%s comes back as %+v: %v", raw, back, err)
			}
		}
	})
}

// TestWordings: tasks with written outputs have other instructions, each with the task's own
// in it; tasks with labels have none.
func TestWordings(t *testing.T) {
	for _, name := range prompt.Builtins() {
		task, err := prompt.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		list := task.Wordings(prompt.TextForm)
		if (task.Kind == prompt.Generate) != (len(list) > 0) {
			t.Errorf("%s has %d wordings", name, len(list))
		}
		seen := map[string]bool{}
		for _, w := range list {
			p := prompt.Prompt{Instruction: w}
			err := p.Check(task)
			at := expect.At(t, "%s: %q", name, w)
			expect.NoError(at, err)
			expect.Equal(at, "seen[w]", seen[w], false)
			expect.Prefix(at, "w", w, task.WithDefaults().Answer.Instruction)
			expect.True(at, "w != task.WithDefaults().Answer.Instruction", w != task.WithDefaults().Answer.Instruction)
			seen[w] = true
		}
	}
}
