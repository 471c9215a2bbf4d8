package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/lab/bench/llamaserver"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/sys/expect"
)

func TestArticles(t *testing.T) {
	task, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	list := articles(task.Labels, 40, 2)
	seen := map[string]bool{}
	for i, item := range list {
		at := expect.At(t, "item %d: %+v", i, item)
		expect.Equal(at, "item.Output", item.Output, task.Labels[i%4])
		expect.True(at, "not strings.ContainsAny(item.Input, '{}')", !strings.ContainsAny(item.Input, "{}"), item.Input)
		expect.Min(at, "number of strings.Fields(item.Input)", len(strings.Fields(item.Input)), 30)
		seen[item.Input] = true
	}
	if len(seen) < 40 {
		t.Errorf("%d different texts of 40", len(seen))
	}
	if list[0] == articles(task.Labels, 1, 1)[0] {
		t.Error("demonstrations and questions are the same")
	}
}

// fake answers as llama.cpp's server does: the label of a prompt's last token is the best.
func fake(t *testing.T, share float64) *server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Prompt [][]lm.Token `json:"prompt"`
			NProbs int          `json:"n_probs"`
			Bias   [][2]int     `json:"logit_bias"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		type object = map[string]any
		var replies []any
		for i, p := range q.Prompt {
			top := []any{object{"id": p[len(p)-1], "prob": share}}
			for _, b := range q.Bias {
				if lm.Token(b[0]) != p[len(p)-1] && len(top) < q.NProbs {
					top = append(top, object{"id": b[0], "prob": (1 - share) / 8})
				}
			}
			replies = append(replies, object{
				"index": i, "tokens_evaluated": len(p), "timings/cache_n": len(p) - 1,
				"completion_probabilities": []any{object{"top_probs": top}},
			})
		}
		if len(replies) == 1 {
			json.NewEncoder(w).Encode(replies[0])
			return
		}
		slices.Reverse(replies) // the numbers say which is which
		json.NewEncoder(w).Encode(replies)
	}))
	t.Cleanup(s.Close)
	set := setup{Setup: llamaserver.Setup{Slots: 2}}
	return &server{llamaserver.At(s.URL, s.Client(), set.Setup), set}
}

func TestServer(t *testing.T) {
	w := &work{prefix: []lm.Token{1, 2}, labels: []lm.Token{10, 11, 12}, questions: [][]lm.Token{{3, 11}, {3, 4, 12}, {10}, {5, 11}, {5, 10}}}
	for _, together := range []bool{false, true} {
		s := fake(t, 0.9999)
		s.setup.together = together
		d, err := s.classify(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := d.labels(), []int{1, 2, 0, 1, 0}; !slices.Equal(got, want) || d.tokens != 5 {
			t.Errorf("together %v: %v, want %v, %d tokens", together, got, want, d.tokens)
		}
	}
	if _, err := fake(t, 0.5).classify(t.Context(), w); err == nil {
		t.Error("probabilities that are not all there are taken")
	}
}

func TestReport(t *testing.T) {
	side := func(seconds ...float64) (list []sideResult) {
		for _, s := range seconds {
			list = append(list, sideResult{seconds: s, tokens: 100, scores: [][]float64{{0.6, 0.4}, {0.1, 0.9}}})
		}
		return list
	}
	r := &report{settings: settings{items: 2, turns: 3}, machine: harness.Machine{Load: "0.10"}, truth: []int{0, 0}, setup: "4 slots"}
	r.sides = [][]sideResult{side(1, 1, 2), side(4, 5, 6), side(2.5, 3.5, 8)}
	r.sides[2][0].scores = [][]float64{{0.4, 0.6}, {0.1, 0.9}}
	text := r.text()
	for _, want := range []string{"**4.00×** (3.00–5.00)", "**3.50×** (2.50–4.00), goal 3× |", "| 50.0 % | 0.2 | 0.0 % |", "| 100.0 % | 0 | 50.0 % |", "4 slots"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "not idle") {
		t.Error("an idle machine is called busy")
	}
	r.machine.Load = "2.00"
	r.sides[2] = side(2, 2, 2)
	if text := r.text(); !strings.Contains(text, "not idle") || !strings.Contains(text, "goal 3×: missed") {
		t.Errorf("a busy machine and a missed goal are not told:\n%s", text)
	}
}
