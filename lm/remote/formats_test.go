package remote

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// answered returns a client of a dialect whose server gives one file as every answer.
func answered(t *testing.T, d Dialect, file string, status int) *Client {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	w := serve(t, Options{Dialect: d, Retries: -1}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write(text)
	})
	return &Client{wire: w, dialect: dialectOf(d), info: lm.Info{Backend: string(d), Capacity: lm.Capacity{Vocabulary: 49152, Context: 2047}}}
}

// TestSGLangFormat reads answers as SGLang's documentation and source have them.
func TestSGLangFormat(t *testing.T) {
	candidates := []lm.Token{7042, 100, 200}
	questions := []scoreQuery{{tokens: make([]lm.Token, 5), candidates: candidates}, {step: 1, tokens: make([]lm.Token, 2), candidates: candidates}}
	c := answered(t, SGLang, "sglang/generate_chosen.json", 200)
	answers, usage, err := c.dialect.(scoringDialect).score(t.Context(), c, questions)
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "computed", usage.Computed, 3)
	expect.Equal(t, "cached", usage.Cached, 4)
	expect.Equal(t, "requests", usage.Requests, 1)
	for i, raw := range [][]float64{{-0.25, -16.25, -22.5}, {-9.5, -15.25, -17.75}} {
		got, err := questions[i].scores("sglang", answers[i])
		if err != nil {
			t.Fatal(err)
		}
		if want := lm.LogSoftmax(raw); !slices.Equal(got.LogProbs, want) || !slices.Equal(got.Tokens, candidates) {
			t.Errorf("prompt %d: %v of %v, not %v", i, got.LogProbs, got.Tokens, want)
		}
	}
	c = answered(t, SGLang, "sglang/generate_best.json", 200)
	best := scoreQuery{tokens: make([]lm.Token, 5), top: 3, size: 49152}
	answers, _, err = c.dialect.(scoringDialect).score(t.Context(), c, []scoreQuery{best})
	if err != nil {
		t.Fatal(err)
	}
	got, err := best.scores("sglang", answers[0])
	expect.NoError(t, err)
	expect.True(t, "the best tokens", slices.Equal(got.Tokens, []lm.Token{7042, 260, 4528}), got.Tokens)
	expect.Equal(t, "the third score", got.LogProbs[2], -4.5)
	c = answered(t, SGLang, "sglang/error_400.json", 400)
	_, _, err = c.dialect.(scoringDialect).score(t.Context(), c, questions)
	expect.Equal(t, "status", expect.As[*StatusError](t, err).Status, 400)
	expect.True(t, "an error without the reply's words", !strings.Contains(err.Error(), "504"), err)
}

// TestOllamaFormat reads answers as Ollama's documentation and source have them.
func TestOllamaFormat(t *testing.T) {
	for _, test := range []struct {
		file string
		want lm.Text
		ok   bool
	}{
		{"ollama/chat.ndjson", lm.Text{Text: "The sea.", Finish: lm.FinishEnd, Tokens: 3}, true},
		{"ollama/generate.ndjson", lm.Text{Text: "One two", Finish: lm.FinishLength, Tokens: 2}, true},
		{"ollama/error_within.ndjson", lm.Text{}, false},
	} {
		c := answered(t, Ollama, test.file, 200)
		got, _, err := c.dialect.write(t.Context(), c, lm.Prompt{Text: "x"}, lm.GenerateOptions{MaxTokens: 2}, sendOptions{}, nil)
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("%s: %+v, error %v", test.file, got, err)
		}
	}
}

// TestScores checks what counts as a score.
func TestScores(t *testing.T) {
	q := scoreQuery{step: 3, candidates: []lm.Token{1, 2}}
	for _, test := range []struct {
		name    string
		answer  answer
		missing int
		ok      bool
	}{
		{"both", answer{{1, -1}, {2, -2}}, 0, true},
		{"more than both", answer{{5, -1}, {2, -2}, {1, -9}}, 0, true},
		{"rounded up", answer{{1, 1e-5}, {2, -20}}, 0, true},
		{"one", answer{{1, -1}, {5, -2}}, 1, false},
		{"none", nil, 2, false},
		{"-9999", answer{{1, -1}, {2, -9999}}, 1, false},
		{"no precision left", answer{{1, -1}, {2, -100}}, 1, false},
		{"minus infinity", answer{{1, -1}, {2, math.Inf(-1)}}, 1, false},
		{"not a number", answer{{1, -1}, {2, math.NaN()}}, 0, false},
		{"positive", answer{{1, 0.1}, {2, -1}}, 0, false},
		{"infinity", answer{{1, math.Inf(1)}, {2, -1}}, 0, false},
		{"twice", answer{{1, -1}, {2, -1}, {2, -1}}, 0, false},
	} {
		got, err := q.scores("test", test.answer)
		var missing *lm.MissingScoreError
		switch {
		case test.ok && (err != nil || len(got.LogProbs) != 2 || got.LogProbs[0] > 0):
			t.Errorf("%s: %v, error %v", test.name, got, err)
		case test.missing > 0 && (!errors.As(err, &missing) || missing.Missing != test.missing || missing.Step != 3):
			t.Errorf("%s: %v", test.name, err)
		case !test.ok && err == nil:
			t.Errorf("%s: accepted", test.name)
		}
	}
	all := scoreQuery{top: 4, all: 3} // a model with one row more than it has tokens
	got, err := all.scores("test", answer{{0, -math.Log(3)}, {3, -50}, {2, -math.Log(3)}, {1, -math.Log(3)}})
	expect.NoError(t, err)
	expect.Len(t, "a whole distribution", got.LogProbs, 3)
	expect.Within(t, "its second score", got.LogProbs[1], -math.Log(3)-1e-12, -math.Log(3)+1e-12)
	if _, err := all.scores("test", answer{{0, -1}, {3, -50}, {2, -1}, {7, -1}}); err == nil {
		t.Error("a whole distribution without one of its tokens was accepted")
	}
}

// trip answers without a server.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FuzzReplies: whatever a server answers to a question, there are scores that keep
// their promise or an error.
func FuzzReplies(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":0,"logprobs":{"top_logprobs":[{"token_id:1":-1,"token_id:2":-0.5}]}}],"usage":{"prompt_tokens":1}}`))
	f.Add([]byte(`{"index":0,"completion_probabilities":[{"top_logprobs":[{"id":1,"logprob":-1},{"id":2,"logprob":-0.5}]}]}`))
	f.Add([]byte(`[{"meta_info":{"prompt_tokens":1,"output_token_ids_logprobs":[[[-1,1,null],[-0.5,2,null]]]}}]`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"choices":[{"index":0,"logprobs":{"top_logprobs":[{"token_id:1":0,"token_id:2":0}]}}]}`))
	f.Add([]byte(`{"index":-1,"completion_probabilities":[{"top_logprobs":[{"id":-9,"logprob":-1e999},{"id":1099511627776,"logprob":1}]}]}`))
	f.Add([]byte(`[{"meta_info":{"prompt_tokens":-1,"cached_tokens":9223372036854775807,"output_top_logprobs":[[[null,null]]]}}]`))
	var reply []byte
	clients := map[Dialect]*Client{}
	for _, d := range []Dialect{VLLM, LlamaCPP, SGLang} {
		w := connect(f, "http://127.0.0.1:1", Options{Dialect: d, Retries: -1})
		w.client.Transport = trip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(reply))}, nil
		})
		clients[d] = &Client{wire: w, dialect: dialectOf(d), info: lm.Info{Backend: string(d), Capacity: lm.Capacity{Vocabulary: 10}}}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		reply = text
		for d, c := range clients {
			for _, q := range []scoreQuery{{tokens: []lm.Token{1}, candidates: []lm.Token{1, 2}}, {tokens: []lm.Token{1}, top: 2, size: 10}, {tokens: []lm.Token{1}, top: 10, all: 10, size: 10}} {
				answers, _, err := c.dialect.(scoringDialect).score(t.Context(), c, []scoreQuery{q})
				if err != nil {
					continue
				}
				got, err := q.scores(string(d), answers[0])
				if err != nil {
					continue
				}
				if want := max(len(q.candidates), q.top); len(got.LogProbs) != want {
					t.Fatalf("%s: %d scores, not %d", d, len(got.LogProbs), want)
				}
				for _, token := range got.Tokens {
					if token < 0 || token >= 10 {
						t.Fatalf("%s: a token is %d of 10", d, token)
					}
				}
				sum := 0.0
				for _, l := range got.LogProbs {
					if sum += math.Exp(l); !(l <= 0) || sum > 1+2*rounding {
						t.Fatalf("%s: a score is %v, the sum %v", d, l, sum)
					}
				}
			}
		}
	})
}

// FuzzFacts: whatever a server answers to the questions of what it is, there is a client
// whose numbers are bounded, or an error.
func FuzzFacts(f *testing.F) {
	f.Add([]byte(`{"data":[{"id":"m","max_model_len":2048,"meta":{"n_vocab":300}}],"version":"1","total_slots":1,"default_generation_settings":{"n_ctx":512},"tokens":[1],"models":[{"name":"m"}],"capabilities":["completion"]}`))
	f.Add([]byte(`{"data":[{"id":"m","meta":{"n_vocab":-1}}],"tokens":[1]}`))
	f.Add([]byte(`{"data":[{"id":"m","meta":{"n_vocab":1099511627776}}],"tokens":[1]}`))
	f.Add([]byte(`{"data":[{"id":"m","max_model_len":-9223372036854775808}],"total_slots":-1}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, d := range []Dialect{VLLM, LlamaCPP, SGLang, Ollama, OpenAI} {
			w := connect(t, "http://127.0.0.1:1", Options{Dialect: d, Retries: -1, Concurrency: 1, Timeout: time.Second})
			w.client.Transport = trip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(text))}, nil
			})
			c := &Client{wire: w}
			w.options.Dialect = d
			if c.learn(t.Context()) != nil {
				continue
			}
			expect.Within(t, string(d)+": vocabulary", c.info.Vocabulary, 0, maxVocabulary)
			expect.Within(t, string(d)+": context", c.info.Context, 0, maxContext)
			expect.Max(t, string(d)+": length of the name", len(c.info.Name), maxName)
			expect.Max(t, string(d)+": length of the version", len(c.info.Version), maxWords)
			if s, err := c.Scorer(t.Context()); err == nil && s.Info().Vocabulary > maxVocabulary {
				t.Fatalf("%s: %+v", d, s.Info())
			}
		}
	})
}
