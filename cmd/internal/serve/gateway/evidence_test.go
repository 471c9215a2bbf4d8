package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/llama"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/prompt"
)

// newsEvidence is evidence that was made up from a sentence for each label.
func newsEvidence(t *testing.T) (prompt.Task, *evidence.Reader) {
	t.Helper()
	encoder, err := backend.Encoder("")
	if err != nil {
		t.Fatalf("the encoder is needed: run make models: %v", err)
	}
	t.Cleanup(func() { must(t, encoder.Close()) })
	task, err := prompt.Builtin("agnews")
	must(t, err)
	about := map[string]string{
		"World": "The president met ministers of other countries about the war.", "Sports": "The team won the football match in the last minute.",
		"Business": "Shares of the company fell after its quarterly profit.", "Technology": "The new software runs on computers and phones.",
	}
	e := &evidence.Evidence{Encoder: encoder.Name(), Labels: task.Labels, Sums: 1, Sigma: 1}
	for _, l := range task.Labels {
		v, err := encoder.Embed(t.Context(), []string{about[l]})
		must(t, err)
		wide := make([]float64, len(v[0]))
		for i, x := range v[0] {
			wide[i] = 16 * float64(x)
		}
		e.Vectors = append(e.Vectors, wide)
	}
	r, err := evidence.Open(e, encoder)
	must(t, err)
	return task, r
}

var newsQuestions = map[string]string{
	"The goalkeeper saved two penalties and the club is champion.": "Sports",
	"The bank raised its forecast for earnings this quarter.":      "Business",
}

// TestEvidenceAlone: a route answers by evidence without a model, for many clients at once.
func TestEvidenceAlone(t *testing.T) {
	task, said := newsEvidence(t)
	judged := &PromptAnswerer{Task: task, Prompt: prompt.Prompt{Evidence: prompt.Use{How: prompt.Alone}}, Evidence: said}
	var all sync.WaitGroup
	for range 4 {
		for question, label := range newsQuestions {
			all.Go(func() {
				if got, _, err := judged.answer(t.Context(), "", question); err != nil || got != label {
					t.Errorf("%q, %v, want %s", got, err, label)
				}
			})
		}
	}
	all.Wait()
	for _, odd := range []string{"", " ", "\x00", strings.Repeat("word ", 3000)} {
		if got, _, err := judged.answer(t.Context(), "", odd); err != nil || !slices.Contains(task.Labels, got) {
			t.Errorf("a question of %d bytes: %q, %v", len(odd), got, err)
		}
	}
	if _, _, err := judged.answer(t.Context(), "", strings.Repeat("x", maxQuestion+1)); err == nil {
		t.Error("a question without end is answered")
	}
	must(t, judged.Close())
}

// TestPlainEvidenceCombined: a route with a model combines its scores with evidence; with a large weight the
// evidence decides, and without evidence there is no answer.
func TestPlainEvidenceCombined(t *testing.T) {
	path, _, err := models.Find(models.Default)
	if err != nil {
		t.Fatalf("the default model is needed: run make models: %v", err)
	}
	model, err := llama.Open(path, llama.Options{})
	must(t, err)
	task, said := newsEvidence(t)
	local := &Local{Turns: &Turns{}, Open: func(context.Context) (lm.Model, error) { return model, nil }}
	combined := prompt.Prompt{Form: prompt.TextForm, Evidence: prompt.Use{How: prompt.Combined, Weight: 50}}
	judged := &PromptAnswerer{Local: local, Task: task, Prompt: combined, Evidence: said}
	for question, label := range newsQuestions {
		got, used, err := judged.answer(t.Context(), "", question)
		expect.NoError(t, err)
		expect.Equal(t, "got", got, label)
		expect.True(t, "used.Prompt is not 0", used.Prompt != 0, used.Prompt)
	}
	without := &PromptAnswerer{Local: local, Task: task, Prompt: combined}
	if _, _, err := without.answer(t.Context(), "", "a question"); err == nil {
		t.Error("a prompt that uses evidence answers without")
	}
	must(t, judged.Close())
	must(t, local.Close())
}

// TestPlainEvidenceHinted: examples and the client's question carry hints, and nothing else does.
func TestPlainEvidenceHinted(t *testing.T) {
	task, said := newsEvidence(t)
	example := prompt.Example{Input: "The striker scored.", Output: "Sports"}
	shots, err := NewShots(t.Context(), task, prompt.Prompt{Examples: []prompt.Example{example}}, 0, nil)
	must(t, err)
	must(t, shots.Hint(t.Context(), said, 1))
	messages, err := shots.chat(t.Context(), json.RawMessage(`[{"role":"system","content":"Be brief."},{"role":"user","content":"The bank raised its forecast."}]`))
	must(t, err)
	var turns []struct{ Role, Content string }
	for _, m := range messages {
		var one struct{ Role, Content string }
		must(t, json.Unmarshal(m, &one))
		turns = append(turns, one)
	}
	hinted := 0
	for _, m := range turns {
		if strings.Contains(m.Content, "[probably ") {
			hinted++
			if m.Role != "user" {
				t.Errorf("a hint is in a message of %s", m.Role)
			}
		}
	}
	last := turns[len(turns)-1].Content
	expect.Equal(t, "hinted", hinted, 2)
	expect.Contains(t, "last", last, "[probably Business ")
	expect.Contains(t, "last", last, "The bank raised its forecast.")
	text, err := shots.prompt(t.Context(), json.RawMessage(`"The bank raised its forecast."`))
	must(t, err)
	if strings.Count(text, "[probably ") != 2 {
		t.Errorf("a completion is asked as %q", text)
	}
	if _, err := shots.prompt(t.Context(), json.RawMessage(`"`+strings.Repeat("x", maxQuestion+1)+`"`)); err == nil {
		t.Error("a question without end gets a hint")
	}
}
