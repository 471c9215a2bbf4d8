package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// dial reaches a toy with short waits.
func dial(t testing.TB, url string, o Options) *Client {
	t.Helper()
	o.URL = url
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	c, err := Dial(context.Background(), o)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func dialScorer(t testing.TB, url string, o Options) lm.Scorer {
	t.Helper()
	s, err := dial(t, url, o).Scorer(context.Background())
	if err != nil {
		t.Fatalf("scorer: %v", err)
	}
	return s
}

// TestConcurrentConformance runs the suite of all back-ends over each dialect that scores.
// The toy's scores are exact, so the tolerance is that of float64.
func TestConcurrentConformance(t *testing.T) {
	for _, d := range []Dialect{VLLM, SGLang, LlamaCPP} {
		t.Run(string(d), func(t *testing.T) {
			s, url := newToy(t, d)
			s.top = toySize
			lmtest.Run(t, dialScorer(t, url, Options{Tolerance: 1e-9}))
		})
	}
}

// TestGuess checks that each kind of server is told by what it answers.
func TestGuess(t *testing.T) {
	for _, d := range []Dialect{VLLM, SGLang, LlamaCPP, Ollama, OpenAI} {
		_, url := newToy(t, d)
		for _, end := range []string{"", "/", "/v1", "/v1/"} {
			p := dial(t, url+end, Options{}).Probe()
			if p.Backend != string(d) {
				t.Errorf("%s%s is taken for %s", d, end, p.Backend)
			}
			expect.True(t, string(d)+" has a name", p.Name != "")
			expect.Equal(t, string(d)+": chat", p.Can.Chat, true)
			expect.Equal(t, string(d)+": batch-invariant", p.BatchInvariant, false)
			expect.Equal(t, string(d)+": deterministic", p.Deterministic, false)
			expect.True(t, string(d)+" has a tolerance", p.Tolerance > 0, p.Tolerance)
			if scores := d != Ollama && d != OpenAI; p.Scores != scores || (p.Missing == "") != scores {
				t.Errorf("%s: scores %v, missing %q", d, p.Scores, p.Missing)
			}
		}
	}
}

// TestWritesOnly checks that servers without scores of chosen tokens are refused
// with what they lack and what to do instead, and write and embed all the same.
func TestWritesOnly(t *testing.T) {
	for _, d := range []Dialect{Ollama, OpenAI, Azure} {
		t.Run(string(d), func(t *testing.T) {
			_, url := newToy(t, d)
			o := Options{Model: "toy"}
			if d == Azure {
				url += "/openai/deployments/toy?api-version=1"
				o.Dialect = Azure
			}
			c := dial(t, url, o)
			var lacks *lm.UnsupportedError
			if _, err := c.Scorer(t.Context()); !errors.As(err, &lacks) || !strings.Contains(lacks.Missing, "20 tokens") {
				t.Errorf("a scorer: %v", err)
			}
			for _, way := range []string{"--form chat", "--pool-model", "sotto serve", "docs/howto/hosted-model.md"} {
				expect.Contains(t, "what to do instead", fmt.Sprint(lacks), way)
			}
			prompts := []lm.Prompt{{Text: "once upon"}, {Messages: []lm.Message{{Role: lm.User, Content: "hello"}}}}
			texts, err := c.Generate(t.Context(), prompts, lm.GenerateOptions{MaxTokens: 20})
			if err != nil {
				t.Fatal(err)
			}
			toy := &toy{}
			for i, prompt := range []string{"once upon", toy.render([]any{object{"role": "user", "content": "hello"}})} {
				want, n, finish := toy.write(toy.encode(prompt, true), 20, nil)
				if got := (lm.Text{Text: want, Tokens: n, Finish: finish}); texts[i] != got {
					t.Errorf("wrote %+v, not %+v", texts[i], got)
				}
			}
			told := map[int]string{}
			streamed, err := c.Generate(t.Context(), prompts, lm.GenerateOptions{MaxTokens: 20, OnText: func(i int, piece string) error {
				told[i] += piece
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range streamed {
				if text != texts[i] || told[i] != text.Text {
					t.Errorf("streamed %+v and told %q, not %+v", text, told[i], texts[i])
				}
			}
			if _, err := c.Generate(t.Context(), []lm.Prompt{{Tokens: []lm.Token{1}}}, lm.GenerateOptions{MaxTokens: 1}); !errors.As(err, &lacks) {
				t.Errorf("a prompt of tokens: %v", err)
			}
			testEmbedder(t, c)
		})
	}
}

// TestRenamedLimit: OpenAI's newer models refuse max_tokens.
func TestRenamedLimit(t *testing.T) {
	toy, url := newToy(t, OpenAI)
	toy.modern = true
	prompt := lm.Prompt{Messages: []lm.Message{{Role: lm.User, Content: "hello"}}}
	texts, err := dial(t, url, Options{}).Generate(t.Context(), []lm.Prompt{prompt}, lm.GenerateOptions{MaxTokens: 7})
	if err != nil || texts[0].Tokens != 7 {
		t.Errorf("wrote %+v, error %v", texts, err)
	}
}

func testEmbedder(t *testing.T, c *Client) {
	t.Helper()
	e, err := c.Embedder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i := range 2*embedBatch + 3 {
		texts = append(texts, strings.Repeat("x", i%50))
	}
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range vectors {
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		expect.Len(t, "vector", v, e.Dimension())
		expect.Within(t, "length²", sum, 1-1e-6, 1+1e-6)
		if ratio := v[0] / v[1]; ratio < float32(i%50)-0.01 || ratio > float32(i%50)+0.01 {
			t.Fatalf("vector %d is that of another text", i)
		}
	}
}

// TestManyCandidates asks for more tokens than vLLM takes in a request.
func TestManyCandidates(t *testing.T) {
	for _, d := range []Dialect{VLLM, SGLang, LlamaCPP} {
		toy, url := newToy(t, d)
		s := dialScorer(t, url, Options{})
		var candidates []lm.Token
		for i := range toySize {
			candidates = append(candidates, lm.Token((i*5)%toySize))
		}
		session, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var steps []lm.Step
		for i := range 5 {
			q, _ := session.New()
			steps = append(steps, lm.Step{Sequence: q, Tokens: []lm.Token{lm.Token(i), 7}, Ask: lm.Ask{Candidates: candidates}})
		}
		before := toy.requests.Load()
		scores, err := session.Step(t.Context(), steps)
		if err != nil {
			t.Fatal(err)
		}
		want := map[Dialect]int64{VLLM: 3, SGLang: 1, LlamaCPP: 1}[d]
		if sent := toy.requests.Load() - before; sent != want {
			t.Errorf("%s: a step of 5 prompts and %d candidates took %d requests, not %d", d, toySize, sent, want)
		}
		if used := session.Usage(); used.Requests != want || used.Computed+used.Cached != int64(10*want) {
			t.Errorf("%s: the step cost %+v", d, used)
		}
		for i, got := range scores {
			logs := toy.logProbs(steps[i].Tokens)
			for j, token := range candidates {
				if diff := got.LogProbs[j] - logs[token]; diff > 1e-9 || diff < -1e-9 {
					t.Fatalf("%s: prompt %d, candidate %d is off by %v", d, i, j, diff)
				}
			}
		}
	}
}

// TestAskNothing checks that tokens wait for a question.
func TestAskNothing(t *testing.T) {
	toy, url := newToy(t, VLLM)
	s := dialScorer(t, url, Options{})
	session, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q, _ := session.New()
	before := toy.requests.Load()
	for i := range 5 {
		if _, err := session.Step(t.Context(), []lm.Step{{Sequence: q, Tokens: []lm.Token{lm.Token(i)}}}); err != nil {
			t.Fatal(err)
		}
	}
	if sent := toy.requests.Load() - before; sent != 0 {
		t.Errorf("steps that ask nothing sent %d requests", sent)
	}
	if used := session.Usage(); used != (lm.Usage{}) {
		t.Errorf("steps that ask nothing cost %+v", used)
	}
}

// TestWidth checks that llama.cpp is asked for more until the candidates are there,
// and only for prompts that lack some.
func TestWidth(t *testing.T) {
	toy, url := newToy(t, LlamaCPP)
	toy.keep = true
	s := dialScorer(t, url, Options{})
	session, _ := s.Open(t.Context())
	prompt := []lm.Token{'a', 'b'}
	order := best(toy.logProbs(prompt), toySize)
	q, _ := session.New()
	for _, ask := range []struct {
		candidate lm.Token
		widths    []string
	}{{order[0], []string{"256"}}, {order[toySize-1], []string{"256", fmt.Sprint(toySize)}}} {
		toy.seen = nil
		tokens := prompt
		if n, _ := session.Len(q); n > 0 {
			tokens = nil
		}
		if _, err := session.Step(t.Context(), []lm.Step{{Sequence: q, Tokens: tokens, Ask: lm.Ask{Candidates: []lm.Token{ask.candidate}}}}); err != nil {
			t.Fatal(err)
		}
		if len(toy.seen) != len(ask.widths) {
			t.Fatalf("%d requests, not %d", len(toy.seen), len(ask.widths))
		}
		for i, body := range toy.seen {
			if !strings.Contains(body, `"n_probs":`+ask.widths[i]+`,`) {
				t.Errorf("request %d asks for another number than %s", i, ask.widths[i])
			}
		}
	}
}
