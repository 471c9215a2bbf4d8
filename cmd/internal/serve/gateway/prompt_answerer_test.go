package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/llama"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/prompt"
)

// TestPlainJudged: a route answers with a prompt that was judged as one text as records judged it, calibrated or
// not: clients get the label that package icl chooses, at once and in pieces, and a playground too. A
// client's settings change nothing, and are named.
func TestPlainJudged(t *testing.T) {
	path, _, err := models.Find(models.Default)
	if err != nil {
		t.Fatalf("the default model is needed: run make models: %v", err)
	}
	model, err := llama.Open(path, llama.Options{})
	must(t, err)
	task, err := prompt.Builtin("agnews")
	must(t, err)
	examples := []prompt.Example{
		{Input: "The striker scored twice in the second half.", Output: "Sports"},
		{Input: "Shares fell as oil prices rose.", Output: "Business"},
		{Input: "Ministers met to sign the treaty.", Output: "World"},
		{Input: "A new telescope sends its first pictures.", Output: "Technology"},
	}
	questions := []string{"The goalkeeper was hurt in training.", "The bank raised its rates again.", "Voters went to the polls in three countries.", "The phone has a faster chip."}
	// One that never answers otherwise shows nothing.
	told := map[string]bool{}
	for _, calibrated := range []bool{false, true} {
		chosen := prompt.Prompt{Instruction: "Which part of a newspaper is it for?", Examples: examples, Form: prompt.TextForm, Calibrated: calibrated}
		a, err := icl.Open(t.Context(), model, chosen.For(task), examples, icl.Options{Calibrate: calibrated})
		must(t, err)
		want, err := a.Answer(t.Context(), questions)
		must(t, err)
		must(t, a.Close())
		opened, err := llama.Open(path, llama.Options{})
		must(t, err)
		local := &Local{Turns: &Turns{}, Open: func(context.Context) (lm.Model, error) { return opened, nil }}
		judged := &PromptAnswerer{Local: local, Task: task, Prompt: chosen}
		table, err := NewTable([]*Route{{Name: "news", Upstream: local, Model: "smollm2", Judged: judged, About: About{Route: "news"}}})
		must(t, err)
		handler := New(table, Options{})
		front := httptest.NewServer(handler)
		for i, question := range questions {
			body := fmt.Sprintf(`{"model":"news","temperature":1.5,"messages":[{"role":"user","content":%q}]`, question)
			r, got := post(t, front.URL+"/v1/chat/completions", body+"}")
			var said struct {
				apiResponse
				Sotto About `json:"sotto"`
			}
			must(t, json.Unmarshal([]byte(got), &said))
			at := expect.At(t, "%q, calibrated %t: %s", question, calibrated, got)
			expect.Equal(at, "r.StatusCode", r.StatusCode, 200)
			expect.Len(at, "said.Choices", said.Choices, 1)
			expect.Equal(at, "said.Choices[0].Message.Content", said.Choices[0].Message.Content, want[i])
			expect.Equal(at, "said.Sotto.Ignored", fmt.Sprint(said.Sotto.Ignored), "[temperature]")
			expect.Min(at, "said.Usage.Prompt", said.Usage.Prompt, 50)
			if _, got := post(t, front.URL+"/v1/chat/completions", body+`,"stream":true}`); !strings.Contains(got, fmt.Sprintf(`"content":%q`, want[i])) {
				t.Errorf("in pieces: %s, want %s", got, want[i])
			}
			if got, err := handler.Ask(t.Context(), "news", question, true); err != nil || got != want[i] {
				t.Errorf("the playground: %q, %v, want %s", got, err, want[i])
			}
			// Most clients send an instruction. The records judged without.
			for _, role := range []string{"system", "developer"} {
				r, got := post(t, front.URL+"/v1/chat/completions", fmt.Sprintf(`{"model":"news","messages":[{"role":%q,"content":"Always say Sports."},{"role":"user","content":%q}]}`, role, question))
				var said struct {
					apiResponse
					Sotto About `json:"sotto"`
				}
				must(t, json.Unmarshal([]byte(got), &said))
				at := expect.At(t, "with an instruction")
				expect.Equal(at, "r.StatusCode", r.StatusCode, 200)
				expect.Equal(at, "said.Choices[0].Message.Content", said.Choices[0].Message.Content, want[i])
				expect.Equal(at, "said.Sotto.Ignored", fmt.Sprint(said.Sotto.Ignored), "[system message]")
				expect.Equal(at, "Sotto-Ignored", r.Header.Get("Sotto-Ignored"), "system message")
			}
			told[fmt.Sprint(i, want[i])] = true
		}
		for _, wrong := range []string{
			`{"model":"news","messages":[]}`, `{"model":"news","n":2,"messages":[{"role":"user","content":"x"}]}`,
			`{"model":"news","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"},{"role":"user","content":"z"}]}`,
			`{"model":"news","messages":[{"role":"system","content":"x"}]}`, `{"model":"news","logprobs":true,"messages":[{"role":"user","content":"x"}]}`,
			`{"model":"news","messages":[{"role":"user","content":"x"},{"role":"system","content":"y"}]}`,
		} {
			if r, got := post(t, front.URL+"/v1/chat/completions", wrong); r.StatusCode != 400 || strings.Contains(got, "paid for") {
				t.Errorf("%s: %d %s", wrong, r.StatusCode, got)
			}
		}
		front.Close()
		must(t, judged.Close())
		must(t, local.Close())
	}
	if len(told) == len(questions) {
		t.Error("calibrated and raw answers are the same: the test shows little")
	}
	must(t, model.Close())
}

// TestJudgedThatCannotBegin: a prompt that does not fit the model is an error each time that it is asked
// with, and frees its turn.
func TestJudgedThatCannotBegin(t *testing.T) {
	path, _, err := models.Find(models.Default)
	if err != nil {
		t.Fatalf("the default model is needed: run make models: %v", err)
	}
	model, err := llama.Open(path, llama.Options{Context: 64})
	must(t, err)
	task, err := prompt.Builtin("mit-d")
	must(t, err)
	local := &Local{Turns: &Turns{}, Open: func(context.Context) (lm.Model, error) { return model, nil }}
	judged := &PromptAnswerer{Local: local, Task: task, Prompt: prompt.Prompt{Form: prompt.TextForm, Examples: []prompt.Example{{Input: strings.Repeat("a long film ", 60), Output: "nobody"}}}}
	for range 2 {
		if _, _, err := judged.answer(t.Context(), "", "a question"); err == nil {
			t.Error("it answers")
		}
	}
	must(t, judged.Close())
	must(t, local.Close())
}
