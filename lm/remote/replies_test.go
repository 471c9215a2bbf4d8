package remote

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// spoiled lists what servers may get wrong about scores, for each dialect.
func spoiled() map[Dialect]map[string]func(answer any) any {
	// vllm edits the list of choices; each has the scores of one prompt.
	vllm := func(edit func(choices []any) []any) func(any) any {
		return func(answer any) any {
			answer.(object)["choices"] = edit(answer.(object)["choices"].([]any))
			return answer
		}
	}
	scores := func(edit func(top object)) func(any) any {
		return vllm(func(choices []any) []any {
			edit(choices[0].(object)["logprobs"].(object)["top_logprobs"].([]any)[0].(object))
			return choices
		})
	}
	llama := func(edit func(answers []any) []any) func(any) any {
		return func(answer any) any {
			if one, ok := answer.(object); ok { // to a single prompt
				return edit([]any{one})[0]
			}
			return edit(answer.([]any))
		}
	}
	top := func(edit func(top []any) []any) func(any) any {
		return llama(func(answers []any) []any {
			first := answers[0].(object)["completion_probabilities"].([]any)[0].(object)
			first["top_logprobs"] = edit(first["top_logprobs"].([]any))
			return answers
		})
	}
	chosen := func(edit func(list []any) []any) func(any) any {
		return llama(func(answers []any) []any {
			meta := answers[0].(object)["meta_info"].(object)
			meta["output_token_ids_logprobs"] = []any{edit(meta["output_token_ids_logprobs"].([]any)[0].([]any))}
			return answers
		})
	}
	whole := func(text string) func(any) any {
		return func(any) any { return json.RawMessage(text) }
	}
	return map[Dialect]map[string]func(any) any{
		VLLM: {
			"an answer too few":  vllm(func(c []any) []any { return c[1:] }),
			"an answer too many": vllm(func(c []any) []any { return append(c, c[0]) }),
			"an answer twice":    vllm(func(c []any) []any { return append(c[1:], c[1]) }),
			"a number outside":   vllm(func(c []any) []any { c[0].(object)["index"] = 99; return c }),
			"no scores":          vllm(func(c []any) []any { delete(c[0].(object), "logprobs"); return c }),
			"null scores":        vllm(func(c []any) []any { c[0].(object)["logprobs"] = nil; return c }),
			"scores of two tokens": vllm(func(c []any) []any {
				l := c[0].(object)["logprobs"].(object)
				l["top_logprobs"] = []any{l["top_logprobs"].([]any)[0], object{}}
				return c
			}),
			"a missing candidate":    scores(func(top object) { delete(top, "token_id:2") }),
			"-9999":                  scores(func(top object) { top["token_id:2"] = -9999.0 }),
			"a positive score":       scores(func(top object) { top["token_id:2"] = 0.5 }),
			"a null score":           scores(func(top object) { top["token_id:2"] = nil }),
			"a text for a score":     scores(func(top object) { top["token_id:2"] = "-1" }),
			"a text for a token":     scores(func(top object) { top[" the"] = -1 }),
			"a token beyond 32 bits": scores(func(top object) { top["token_id:99999999999"] = -1 }),
			"only the written token": scores(func(top object) { delete(top, "token_id:1"); delete(top, "token_id:2"); delete(top, "token_id:3") }),
			"a token twice":          whole(`{"choices":[{"index":0,"logprobs":{"top_logprobs":[{"token_id:1":-1,"token_id:2":-1,"token_id:3":-1,"token_id:2":-2}]}},{"index":1,"logprobs":{"top_logprobs":[{"token_id:1":-1,"token_id:2":-1,"token_id:3":-1}]}}]}`),
			"a list":                 whole(`[]`),
			"null":                   whole(`null`),
		},
		LlamaCPP: {
			"an answer too few":   llama(func(a []any) []any { return a[1:] }),
			"an answer too many":  llama(func(a []any) []any { return append(a, a[0]) }),
			"an answer twice":     llama(func(a []any) []any { return append(a[1:], a[1]) }),
			"a number outside":    llama(func(a []any) []any { a[0].(object)["index"] = -1; return a }),
			"no scores":           llama(func(a []any) []any { delete(a[0].(object), "completion_probabilities"); return a }),
			"cut short":           top(func(t []any) []any { return t[:len(t)/2] }),
			"a token without id":  top(func(t []any) []any { delete(t[0].(object), "id"); return t }),
			"a score left out":    top(func(t []any) []any { delete(t[0].(object), "logprob"); return t }),
			"a token twice":       top(func(t []any) []any { return append(t, t[0]) }),
			"a positive score":    top(func(t []any) []any { t[0].(object)["logprob"] = 1; return t }),
			"the least float32":   top(func(t []any) []any { return lowest(t) }),
			"after sampling":      top(func(t []any) []any { t[0].(object)["prob"] = 1; delete(t[0].(object), "logprob"); return t }),
			"a single answer":     whole(`{"index":0}`),
			"a number for a list": whole(`7`),
		},
		SGLang: {
			"an answer too few":   llama(func(a []any) []any { return a[1:] }),
			"an answer too many":  llama(func(a []any) []any { return append(a, a[0]) }),
			"another order":       llama(func(a []any) []any { slices.Reverse(a); return a }),
			"no scores":           llama(func(a []any) []any { delete(a[0].(object), "meta_info"); return a }),
			"a missing candidate": chosen(func(l []any) []any { return l[1:] }),
			"a null score":        chosen(func(l []any) []any { l[0] = []any{nil, 1, nil}; return l }),
			"a short entry":       chosen(func(l []any) []any { l[0] = []any{-1.0}; return l }),
			"a positive score":    chosen(func(l []any) []any { l[0] = []any{2.0, 1, nil}; return l }),
			"a token twice":       chosen(func(l []any) []any { return append(l, l[0]) }),
			"another token":       chosen(func(l []any) []any { l[0] = []any{-1.0, 77, nil}; return l }),
			"the least float32":   chosen(func(l []any) []any { l[0] = []any{-3.4028234663852886e38, 1, nil}; return l }),
			"one for all":         whole(`{"meta_info":{}}`),
		},
	}
}

// lowest gives a candidate the score that llama.cpp writes for no probability.
func lowest(top []any) []any {
	for _, entry := range top {
		if entry := entry.(object); entry["id"] == lm.Token(2) {
			entry["logprob"] = -3.4028234663852886e38
		}
	}
	return top
}

// TestSpoiledScores checks that wrong scores are errors of the right type, that such
// a step changes nothing, and that the next one is right again.
func TestSpoiledScores(t *testing.T) {
	lacking := []string{"a missing candidate", "-9999", "only the written token", "cut short", "the least float32", "another token"}
	for d, cases := range spoiled() {
		toy, url := newToy(t, d)
		s := dialScorer(t, url, Options{})
		session, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a, _ := session.New()
		b, _ := session.New()
		for name, spoil := range cases {
			toy.mu.Lock()
			toy.spoil = func(path string, answer any) any { return spoil(answer) }
			toy.mu.Unlock()
			ask := lm.Ask{Candidates: []lm.Token{1, 2, 3}}
			steps := []lm.Step{{Sequence: a, Tokens: []lm.Token{5, 6, 7}, Ask: ask}, {Sequence: b, Tokens: []lm.Token{8, 9}, Ask: ask}}
			before, _ := session.Len(a)
			scores, err := session.Step(t.Context(), steps)
			var wrong *ReplyError
			var unsound *lm.UnsoundError
			if slices.Contains(lacking, name) {
				missing := expect.As[*lm.MissingScoreError](t, err)
				expect.Min(t, name+": missing", missing.Missing, 1)
				expect.Max(t, name+": step", missing.Step, 1)
			} else if !errors.As(err, &wrong) && !errors.As(err, &unsound) {
				t.Errorf("%s, %s: scores %v, error %v", d, name, scores, err)
			}
			if n, _ := session.Len(a); n != before {
				t.Errorf("%s, %s: the failed step left %d tokens, not %d", d, name, n, before)
			}
			toy.mu.Lock()
			toy.spoil = nil
			toy.mu.Unlock()
			scores, err = session.Step(t.Context(), steps)
			if err != nil || len(scores) != 2 {
				t.Fatalf("%s, after %s: %v", d, name, err)
			}
			if n, _ := session.Len(a); n != before+3 {
				t.Errorf("%s, after %s: %d tokens, not %d", d, name, n, before+3)
			}
		}
	}
}

// TestFewerBest: vLLM's answer to a question for best tokens that ran beside one for
// chosen tokens.
func TestFewerBest(t *testing.T) {
	toy, url := newToy(t, VLLM)
	s := dialScorer(t, url, Options{})
	session, _ := s.Open(t.Context())
	q, _ := session.New()
	toy.mu.Lock()
	toy.spoil = func(_ string, answer any) any {
		answer.(object)["choices"].([]any)[0].(object)["logprobs"] = object{"top_logprobs": []any{object{"token_id:7": -0.5, "token_id:0": -9999.0}}}
		return answer
	}
	toy.mu.Unlock()
	_, err := session.Step(t.Context(), []lm.Step{{Sequence: q, Tokens: []lm.Token{1}, Ask: lm.Ask{Top: 5}}})
	var missing *lm.MissingScoreError
	if !errors.As(err, &missing) || missing.Missing != 4 {
		t.Errorf("two of five best tokens: %v", err)
	}
}

// TestSpoiledVocabulary checks what is learned at the start.
func TestSpoiledVocabulary(t *testing.T) {
	for name, test := range map[string]struct {
		dialect Dialect
		fault   func(w http.ResponseWriter, r *http.Request) bool
	}{
		"llama.cpp leaves tokens out": {LlamaCPP, nil},
		"vLLM has a mark without a number": {VLLM, func(w http.ResponseWriter, r *http.Request) bool {
			return instead(w, r, "/tokenizer_info", `{"added_tokens_decoder":{"x":"<a>"}}`)
		}},
		"vLLM has no marks": {VLLM, func(w http.ResponseWriter, r *http.Request) bool {
			return instead(w, r, "/tokenizer_info", `{"added_tokens_decoder":{}}`)
		}},
		"SGLang has texts too few": {SGLang, func(w http.ResponseWriter, r *http.Request) bool {
			return instead(w, r, "/detokenize", `{"text":["a"]}`)
		}},
	} {
		toy, url := newToy(t, test.dialect)
		c := dial(t, url, Options{})
		toy.mu.Lock()
		if test.fault != nil {
			toy.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool { return test.fault(w, r) }
		} else {
			toy.spoil = func(_ string, answer any) any {
				if one, ok := answer.(object); ok && one["completion_probabilities"] != nil {
					first := one["completion_probabilities"].([]any)[0].(object)
					first["top_logprobs"] = first["top_logprobs"].([]any)[1:]
				}
				return answer
			}
		}
		toy.mu.Unlock()
		var wrong *ReplyError
		if _, err := c.Scorer(t.Context()); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// instead answers one path with a fixed text.
func instead(w http.ResponseWriter, r *http.Request, path, text string) bool {
	if r.URL.Path != path {
		return false
	}
	_, _ = w.Write([]byte(text))
	return true
}

// TestTokenizerInfo: without it vLLM cannot keep text from forging turns.
func TestTokenizerInfo(t *testing.T) {
	toy, url := newToy(t, VLLM)
	toy.info = false
	c := dial(t, url, Options{})
	var lacks *lm.UnsupportedError
	if _, err := c.Scorer(t.Context()); !errors.As(err, &lacks) || !strings.Contains(err.Error(), "--enable-tokenizer-info-endpoint") {
		t.Errorf("without marks: %v", err)
	}
}
