package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// open starts two layers of the default model in the embedded engine, whose scores do not
// depend on what else is in a batch: texts are equal to the letter.
func open(t *testing.T) lm.Scorer {
	t.Helper()
	model, err := backend.Scorer(t.Context(), backend.Spec{Model: lmtest.CutModel(t, 4000, 2)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return model
}

// chats share their examples, by program, and differ in their questions.
func chats(programs, questions int) (all [][]lm.Message) {
	for p := range programs {
		head := []lm.Message{{Role: lm.System, Content: "Name the colour of a thing with one word."}}
		for i := range 6 {
			head = append(head,
				lm.Message{Role: lm.User, Content: fmt.Sprintf("A thing of kind %d in a house of kind %d.", i, p)},
				lm.Message{Role: lm.Assistant, Content: []string{"red", "green"}[i%2]})
		}
		for q := range questions {
			all = append(all, append(head[:len(head):len(head)], lm.Message{Role: lm.User, Content: []string{"The sky.", "A leaf.", "Snow, and coal."}[q%3]}))
		}
	}
	return all
}

type answer struct {
	Choices []struct {
		Finish  string `json:"finish_reason"`
		Text    string
		Message lm.Message
	}
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
	Error struct{ Message, Type string }
}

func post(t *testing.T, url string, body any) (int, answer) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(url, "application/json", bytes.NewReader(raw))
	if err != nil {
		t.Error(err)
		return 0, answer{}
	}
	defer r.Body.Close()
	var out answer
	if raw, err = io.ReadAll(r.Body); err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Error(err)
	}
	return r.StatusCode, out
}

// TestTexts: many requests at once get the texts that each gets alone, whether there is room
// for what they share or for hardly two of them.
func TestTexts(t *testing.T) {
	model := open(t)
	prompts := chats(2, 3)
	want := make([]lm.Text, len(prompts))
	lengths := make([]int, len(prompts))
	for i, p := range prompts {
		texts, err := model.Generate(t.Context(), []lm.Prompt{{Messages: p}}, lm.GenerateOptions{MaxTokens: 8, Stop: []string{"."}})
		if err != nil {
			t.Fatal(err)
		}
		want[i] = texts[0]
		tokens, err := model.Chat(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		lengths[i] = len(tokens)
	}
	for _, room := range []int{1 << 14, 2*lengths[0] + 20} {
		b, err := New(model, Options{Tokens: room})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(b.Handler())
		before := model.Usage()
		var group sync.WaitGroup
		for round := range 2 {
			for i, p := range prompts {
				group.Go(func() {
					status, got := post(t, server.URL+"/v1/chat/completions", map[string]any{
						"messages": p, "max_completion_tokens": 8, "temperature": 0, "stop": []string{"."},
					})
					finish := map[lm.Finish]string{lm.FinishLength: "length", lm.FinishEnd: "stop", lm.FinishStop: "stop"}[want[i].Finish]
					if status != http.StatusOK || len(got.Choices) != 1 {
						t.Errorf("request %d: status %d, %+v", i, status, got)
					} else if c := got.Choices[0]; c.Message.Content != want[i].Text || c.Finish != finish || got.Usage.Completion != want[i].Tokens || got.Usage.Prompt != lengths[i] {
						t.Errorf("request %d, round %d: %+v instead of %+v with %d tokens before it", i, round, got, want[i], lengths[i])
					}
				})
			}
			group.Wait()
		}
		computed := int(model.Usage().Computed - before.Computed)
		if whole := 4 * (lengths[0] + lengths[1] + lengths[2]); room > 1<<13 && computed > whole/2 {
			t.Errorf("%d tokens were computed of prompts with %d, though they share their examples", computed, whole)
		}
		server.Close()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := b.Write(t.Context(), []lm.Token{1}, lm.GenerateOptions{MaxTokens: 1}); !errors.Is(err, lm.ErrClosed) {
			t.Errorf("after closing: %v", err)
		}
	}
}

// TestRefusals: what would give another text than was asked for is refused.
func TestRefusals(t *testing.T) {
	model := open(t)
	b, err := New(model, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	hello := []lm.Message{{Role: lm.User, Content: "hello"}}
	for what, body := range map[string]map[string]any{
		"stream":  {"messages": hello, "stream": true},
		"several": {"messages": hello, "n": 2},
		"format":  {"messages": hello, "response_format": map[string]any{"type": "json_object"}},
		"tools":   {"messages": hello, "tools": []any{map[string]any{}}},
		"length":  {"messages": hello, "max_tokens": 1 << 20},
		"image":   {"messages": []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "image_url"}}}}},
		"stop":    {"messages": hello, "stop": 3},
		"nothing": {},
	} {
		if status, got := post(t, server.URL+"/v1/chat/completions", body); status != http.StatusBadRequest || got.Error.Message == "" {
			t.Errorf("%s: status %d, %+v", what, status, got)
		}
	}
	want, err := model.Generate(t.Context(), []lm.Prompt{{Text: "The capital of France is"}}, lm.GenerateOptions{MaxTokens: 3})
	if err != nil {
		t.Fatal(err)
	}
	status, got := post(t, server.URL+"/v1/completions", map[string]any{"prompt": "The capital of France is", "max_tokens": 3, "temperature": 0})
	if status != http.StatusOK || len(got.Choices) != 1 || got.Choices[0].Text != want[0].Text || want[0].Text == "" {
		t.Errorf("a completion: status %d, %+v instead of %+v", status, got, want)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := b.Write(gone, []lm.Token{1, 2}, lm.GenerateOptions{MaxTokens: 5}); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that left: %v", err)
	}
	if load := b.Load(); load.Requests != 9 || load.Failures != 8 || load.Passes < 1 {
		t.Errorf("counted: %+v", load)
	}
	r, err := http.Get(server.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil || len(list.Data) != 1 || list.Data[0].ID == "" {
		t.Errorf("models: %+v, %v", list, err)
	}
}

// TestPick: tokens come with their probabilities at temperature 1, and with their squares at ½.
func TestPick(t *testing.T) {
	s := lm.Scores{LogProbs: []float64{math.Log(0.2), math.Inf(-1), math.Log(0.8)}}
	random := rand.New(rand.NewPCG(1, 2))
	for temperature, want := range map[float64]float64{1: 0.2, 0.5: 0.04 / 0.68} {
		const n = 100_000
		counts := make([]int, 3)
		for range n {
			counts[pick(s, temperature, random)]++
		}
		// Ten standard deviations: false with a probability below 1e-20.
		if slack := 10 * math.Sqrt(want*(1-want)*n); counts[1] != 0 || math.Abs(float64(counts[0])-want*n) > slack {
			t.Errorf("at temperature %v: %v", temperature, counts)
		}
	}
}
