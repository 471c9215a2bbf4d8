package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// chosenAs is a release whose prompt was chosen in a form.
func chosenAs(t *testing.T, f prompt.Form) Release {
	t.Helper()
	r := news(t)
	r.Prompt = &prompt.Prompt{Examples: r.Examples, Form: f}
	return r
}

// TestForms: chat.json lays a question out as the records judged it, in turns or as one message, and
// prompt.json says in which form that was.
func TestForms(t *testing.T) {
	for _, form := range []prompt.Form{"", prompt.ChatForm, prompt.MessageForm} {
		r := chosenAs(t, form)
		files := rendered(t, r)
		c, err := readConversation(files["chat.json"])
		if err != nil {
			t.Fatal(err)
		}
		shown := prompt.Prompt{Examples: r.Examples, Form: form}
		if form == "" {
			shown.Form = prompt.ChatForm
		}
		if !slices.Equal(c.Messages, shown.Turns(r.Task)) {
			t.Errorf("%q: messages %+v", form, c.Messages)
		}
		if got, want := strings.ReplaceAll(c.Question, c.Placeholder, "What {is} this?"), shown.Question(r.Task, "What {is} this?").Content; got != want {
			t.Errorf("%q: the question is %q, want %q", form, got, want)
		}
		whole := form == prompt.MessageForm
		for _, e := range r.Examples {
			if strings.Contains(c.Question, e.Input) != whole {
				t.Errorf("%q: the question is %q", form, c.Question)
			}
		}
		at := expect.At(t, "%q", form)
		expect.Equal(at, "whole", whole, len(c.Messages) == 0)
		expect.Equal(at, "number of c.Placeholder", strings.Count(c.Question, c.Placeholder), 1)
		expect.Contains(at, "files['chat.json']", string(files["chat.json"]), `"messages": [`)
		var p prompt.Prompt
		if err := json.Unmarshal(files["prompt.json"], &p); err != nil || p.Form != form.Name() {
			t.Errorf("%q: prompt.json has the form %q, %v", form, p.Form, err)
		}
	}
}

// TestMaxTokens: what clients ask for is enough for each label, whatever the vocabulary.
func TestMaxTokens(t *testing.T) {
	r := news(t)
	r.Task.Labels = append(r.Task.Labels, "Weather and everything that has to do with it")
	var c struct {
		Max  int `json:"max_tokens"`
		Name string
		Stop []string
	}
	if err := json.Unmarshal(rendered(t, r)["chat.json"], &c); err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "c.Max", c.Max, len(r.Task.Labels[4])+1)
	expect.Equal(t, "c.Name", c.Name, "Answer:")
	expect.True(t, "c.Stop equal to []string{'\\n'}", slices.Equal(c.Stop, []string{"\n"}), c.Stop, []string{"\n"})
}

// TestUseReads: the function of use.md reads answers as the records judged them.
func TestUseReads(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is needed")
	}
	list := chosenAs(t, prompt.ChatForm)
	list.Task.Labels = append(list.Task.Labels, "Art", "Artist", "Art deco", "C++", "Été")
	list.Task.Aliases = map[string]string{"Sci/Tech": "Technology"}
	text := chosenAs(t, prompt.ChatForm)
	text.Task = builtin(t, "samsum")
	text.Examples = []prompt.Example{{Input: "Ann: tea?\nBob: yes", Output: "Bob wants tea."}}
	text.Task.Stop = []string{"\n", "###"}
	written := []string{
		"World", "world.", " \n\tWORLD\nbecause", "Worldly", "World_wide", "World2", "Answer: World", "answer:\n\nart", "Art", "Art!", "artist", "Art deco", "Art decoration",
		"ARTISTS", "sci/tech", "Sci/Tech.", "The World", `"World"`, "", " ", "C++", "c++ and", "été", "Answer:", "Answer: Answer: World", "World 日本", "World日本", "Label: World",
		"Summarize the above dialogue: Bob wants tea.", "Bob wants ### tea", "Bob\n\nwants", "日本。\n",
	}
	for name, r := range map[string]Release{"labels": list, "texts": text} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := rendered(t, r)
			function := regexp.MustCompile(`(?s)\ndef read\(.*?\n\n\n`).Find(files["use.md"])
			if function == nil {
				t.Fatalf("%s", files["use.md"])
			}
			asked, err := json.Marshal(written)
			if err != nil {
				t.Fatal(err)
			}
			script := "import json, re, sys\nchat = json.load(open('chat.json', encoding='utf-8'))\n" + string(function) + "print(json.dumps([read(x) for x in json.load(open('written.json', encoding='utf-8'))]))\n"
			for file, data := range map[string][]byte{"chat.json": files["chat.json"], "written.json": asked, "read.py": []byte(script)} {
				if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(python, "read.py")
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			var got []string
			expect.NoError(t, err)
			expect.NoError(t, json.Unmarshal(out, &got))
			expect.Len(t, "got", got, len(written))
			for i, w := range written {
				if want := reply.Read(r.Task, w); got[i] != want {
					t.Errorf("%q is read as %q, want %q", w, got[i], want)
				}
			}
		})
	}
}
