package llamaserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/sys/expect"
)

// fake answers as the server does, with a share of the probability for the first label; it
// notes the slots that are asked and those that are emptied.
func fake(t *testing.T, share float64, asked *[]int, emptied *[]string) *Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/completion" {
			*emptied = append(*emptied, r.URL.String())
			w.Write([]byte("{}"))
			return
		}
		var q struct {
			Prompt [][]lm.Token `json:"prompt"`
			Slot   int          `json:"id_slot"`
			Bias   [][2]int     `json:"logit_bias"`
			Cache  bool         `json:"cache_prompt"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || !q.Cache {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		*asked = append(*asked, q.Slot)
		type object = map[string]any
		top := []any{object{"id": q.Bias[1][0], "prob": 1 - share}, object{"id": q.Bias[0][0], "prob": share - 0.0001}}
		var replies []any
		for i, p := range q.Prompt {
			replies = append(replies, object{
				"index": i, "tokens_evaluated": len(p), "timings/cache_n": len(p) - i - 1,
				"completion_probabilities": []any{object{"top_probs": top}},
			})
		}
		slices.Reverse(replies) // the numbers say which is which
		json.NewEncoder(w).Encode(replies)
	}))
	t.Cleanup(s.Close)
	return At(s.URL, s.Client(), Setup{Slots: 3})
}

func TestAsk(t *testing.T) {
	var asked []int
	var emptied []string
	s := fake(t, 0.75, &asked, &emptied)
	got, err := s.Ask(t.Context(), [][]lm.Token{{1, 2}, {3, 4, 5}}, []lm.Token{10, 11}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range got {
		at := expect.At(t, "answer %d: %+v", i, a)
		expect.Equal(at, "a.Computed", a.Computed, int64(i+1))
		expect.Equal(at, "a.Scores[1]", a.Scores[1], 0.25)
		expect.Equal(at, "a.Scores[0]", a.Scores[0], 0.7499)
	}
	if !slices.Equal(asked, []int{2}) {
		t.Errorf("slots %v were asked, want 2", asked)
	}
	err = s.Forget(t.Context())
	expect.NoError(t, err)
	expect.Len(t, "emptied", emptied, 3)
	expect.Equal(t, "emptied[2]", emptied[2], "/slots/2?action=erase")
	if _, err := fake(t, 0.5, &asked, &emptied).Ask(t.Context(), [][]lm.Token{{1}}, []lm.Token{10, 11, 12}[:2], AnySlot); err != nil {
		t.Error(err)
	}
}

func TestAnswersThatLackLabels(t *testing.T) {
	raw := `{"index":0,"completion_probabilities":[{"top_probs":[{"id":10,"prob":0.4},{"id":99,"prob":0.6}]}]}`
	var r reply
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		t.Fatal(err)
	}
	if _, err := r.read([]lm.Token{10, 11}); err == nil || !strings.Contains(err.Error(), "0.4") {
		t.Errorf("labels with a probability of 0.4 are taken: %v", err)
	}
}

func TestSetup(t *testing.T) {
	s := Setup{Slots: 8, Flash: true, Batch: 256, Unified: true}
	if got, want := s.String(), "8 slots, flash attention, weights as in the file, batches of 256, one cache for all"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	args := strings.Join(s.args("m.gguf", "1", "folder", 2, 36), " ")
	for _, want := range []string{"-np 8 -c 800 ", "-fa on --no-repack --kv-unified", "-ub 256"} {
		if !strings.Contains(args, want) {
			t.Errorf("%q is not in %s", want, args)
		}
	}
}
