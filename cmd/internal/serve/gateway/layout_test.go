package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// TestLayoutIsTheReleases: what goes to a model is, byte for byte, what a release ships: its
// chat.json with a question as that says, and its prompt.txt with a question after it.
func TestLayoutIsTheReleases(t *testing.T) {
	for i, name := range slices.Concat(prompt.Builtins(), prompt.Builtins(), prompt.Builtins()) {
		task, err := prompt.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		form := []prompt.Form{"", prompt.ChatForm, prompt.MessageForm}[i/len(prompt.Builtins())]
		p := prompt.Prompt{Form: form, Examples: []prompt.Example{{Input: "a {text}\nof two lines ", Output: "World"}, {Input: "b <&>", Output: " Sports"}}}
		files, err := release.Render(release.Release{Task: task, Examples: p.Examples, Method: "public", Prompt: &p})
		if err != nil {
			t.Fatal(err)
		}
		data := map[string][]byte{}
		for _, f := range files {
			data[f.Name] = f.Data
		}
		var shipped struct {
			Messages              []prompt.Turn
			Question, Placeholder string
		}
		if err := json.Unmarshal(data["chat.json"], &shipped); err != nil {
			t.Fatal(err)
		}
		const question = "what {is} this?"
		want := append(shipped.Messages, prompt.Turn{Role: "user", Content: strings.ReplaceAll(shipped.Question, shipped.Placeholder, question)})
		shots, err := NewShots(t.Context(), task, p, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := shots.chat(t.Context(), json.RawMessage(`[{"role":"user","content":"`+question+`"}]`))
		if err != nil {
			t.Fatal(err)
		}
		got := make([]prompt.Turn, len(sent))
		for i, m := range sent {
			if err := json.Unmarshal(m, &got[i]); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		text, err := shots.prompt(t.Context(), json.RawMessage(`"`+question+`"`))
		_, prefix, _ := strings.Cut(string(data["prompt.txt"]), "\n") // the first line says NOT PRIVATE
		if err != nil || text != prefix+task.AnswerItem(question) {
			t.Errorf("%s: %q, want %q; %v", name, text, prefix, err)
		}
		// A question of several lines is one line where examples are, as records judged it.
		lines, err := shots.prompt(t.Context(), json.RawMessage(`"what {is}\n  this?"`))
		if want := task.Kind != prompt.Generate; err != nil || (lines == text) != want {
			t.Errorf("%s: %q, %v", name, lines, err)
		}
	}
}

// TestUnmeasured: a client's own instruction and earlier turns go along, and the answer says that what the release is worth was
// measured without them; with a question alone, and on a route without a release, it says nothing.
func TestUnmeasured(t *testing.T) {
	u := newUpstream(t, says(200, completion))
	_, front := gatewayTo(t, u, Options{})
	for _, c := range []struct{ model, messages, want string }{
		{"tickets", user("x"), ""},
		{"tickets", `{"role":"system","content":"Be brief."},` + user("x"), "system message"},
		{"tickets", `{"role":"developer","content":"Be brief."},` + user("x"), "system message"},
		{"tickets", user("x") + `,{"role":"assistant","content":"login"},` + user("y"), "earlier turns"},
		{"tickets", `{"role":"system","content":"Be brief."},` + user("x") + `,{"role":"assistant","content":"login"},` + user("y"), "system message, earlier turns"},
		{"plain", `{"role":"system","content":"Be brief."},` + user("x"), ""},
	} {
		r, got := post(t, front.URL+"/v1/chat/completions", fmt.Sprintf(`{"model":%q,"messages":[%s]}`, c.model, c.messages))
		var said struct {
			Sotto About `json:"sotto"`
		}
		must(t, json.Unmarshal([]byte(got), &said))
		at := expect.At(t, "%s", c.messages)
		expect.Equal(at, "r.StatusCode", r.StatusCode, 200)
		expect.Equal(at, "Sotto-Unmeasured", r.Header.Get("Sotto-Unmeasured"), c.want)
		expect.Equal(at, "said.Sotto.Unmeasured", strings.Join(said.Sotto.Unmeasured, ", "), c.want)
	}
}
