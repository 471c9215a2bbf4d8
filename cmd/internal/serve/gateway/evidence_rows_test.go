package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/evidence/rows"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// TestEvidenceOfRows: a route answers rows of a table in the words of their schema, alone or with hints; a client that
// sends anything else is told what the words are.
func TestEvidenceOfRows(t *testing.T) {
	s, err := schema.Find("heart")
	must(t, err)
	task, err := s.Task()
	must(t, err)
	encoder, err := rows.New(s)
	must(t, err)
	e := &evidence.Evidence{Encoder: encoder.Name(), Schema: &s, Labels: task.Labels, Vectors: make([][]float64, 2)}
	question := s.Text(s.Example())
	v, err := encoder.Embed(t.Context(), []string{question})
	must(t, err)
	for l := range e.Vectors {
		e.Vectors[l] = make([]float64, encoder.Dimension())
	}
	for i, x := range v[0] {
		e.Vectors[1][i] = 10 * float64(x)
	}
	said, err := evidence.Open(e, nil)
	must(t, err)
	judged := &PromptAnswerer{Task: task, Prompt: prompt.Prompt{Evidence: prompt.Use{How: prompt.Alone}}, Evidence: said}
	if got, _, err := judged.answer(t.Context(), "", "  "+question+"\n"); err != nil || got != task.Labels[1] {
		t.Errorf("%q, %v", got, err)
	}
	shots, err := NewShots(t.Context(), task, prompt.Prompt{Examples: []prompt.Example{{Input: "not in the words of the schema", Output: task.Labels[0]}}}, 0, nil)
	must(t, err)
	must(t, shots.Hint(t.Context(), said, 1)) // examples may be any texts
	asked, err := json.Marshal(question)
	must(t, err)
	if text, err := shots.prompt(t.Context(), asked); err != nil || !strings.Contains(text, "[probably "+task.Labels[1]+" 100%]") {
		t.Errorf("%q, %v", text, err)
	}
	for _, odd := range []string{"", "hello", question + " Please.", strings.Repeat("word ", 3000)} {
		_, _, err := judged.answer(t.Context(), "", odd)
		quoted, failed := json.Marshal(odd)
		must(t, failed)
		_, hinted := shots.prompt(t.Context(), quoted)
		for _, err := range []error{err, hinted} {
			p, ok := err.(*Error)
			expect.True(t, "ok", ok)
			expect.Equal(t, "p.Status", p.Status, http.StatusBadRequest)
			expect.Contains(t, "error", err.Error(), "in the words of its schema")
			if odd != "" {
				expect.True(t, "no odd in the error", !strings.Contains(err.Error(), odd), err.Error())
			}
		}
	}
}
