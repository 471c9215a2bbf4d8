package remote

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// TestHostileFacts: numbers that a server says of itself, however odd, give an error or
// are bounded; nothing panics and no memory is taken for them.
func TestHostileFacts(t *testing.T) {
	numbers := []any{-1, -1 << 40, 1 << 40, math.MaxInt64, math.MinInt64, 1e300, -1e300, 1.5, "many", nil, []int{1}}
	for _, d := range []Dialect{VLLM, SGLang, LlamaCPP, Ollama} {
		for _, n := range numbers {
			s, url := newToy(t, d)
			s.spoil = func(path string, answer any) any {
				switch a, _ := answer.(object); {
				case strings.HasSuffix(path, "/models"):
					m := a["data"].([]any)[0].(object)
					m["max_model_len"] = n
					m["meta"].(object)["n_vocab"], m["meta"].(object)["n_params"] = n, n
				case path == "/props":
					a["total_slots"], a["default_generation_settings"] = n, object{"n_ctx": n}
				case path == "/api/show":
					a["model_info"] = object{"llama.context_length": n}
				}
				return answer
			}
			c, err := Dial(t.Context(), Options{URL: url, Dialect: d, Backoff: time.Millisecond})
			if err != nil {
				continue
			}
			expect.Within(t, string(d)+": vocabulary", c.Info().Vocabulary, 0, maxVocabulary)
			expect.Within(t, string(d)+": context", c.Info().Context, 0, maxContext)
			if i := c.Info(); d == LlamaCPP && i.Can.Candidates {
				t.Errorf("a vocabulary of %v is taken", n)
			}
			_, _ = c.Scorer(t.Context()) // an error, or a scorer: no panic
			c.Close()
		}
	}
}

// TestUnnormalised: probabilities that add up to more than one are an error of the model,
// from every server.
func TestUnnormalised(t *testing.T) {
	for d := range soloDialects {
		s, url := newToy(t, d)
		scorer := dialScorer(t, url, Options{})
		s.mu.Lock()
		s.spoil = func(_ string, answer any) any { return raise(answer, 0.01) }
		s.mu.Unlock()
		trusted, err := lm.Trust(scorer, lm.Declared)
		if err != nil {
			t.Fatal(err)
		}
		var unsound *lm.UnsoundError
		if _, err := askAll(t, trusted, 1); err == nil {
			t.Logf("%s: the candidates' part is small enough", d)
		}
		session, err := trusted.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		q, _ := session.New()
		all := lm.Ask{Top: min(toySize, trusted.Info().Top)}
		s.mu.Lock()
		s.spoil = func(_ string, answer any) any { return raise(answer, 5) }
		s.mu.Unlock()
		if _, err := session.Step(t.Context(), []lm.Step{{Sequence: q, Tokens: []lm.Token{1}, Ask: all}}); !errors.As(err, &unsound) {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// raise adds to every log-probability of an answer.
func raise(v any, by float64) any {
	switch v := v.(type) {
	case object:
		for key, inner := range v {
			if l, ok := inner.(float64); ok && l < 0 && (key == "logprob" || strings.HasPrefix(key, "token_id:")) {
				v[key] = min(l+by, 0)
				continue
			}
			v[key] = raise(inner, by)
		}
	case []any:
		if l, ok := first(v).(float64); ok && len(v) == 3 && l < 0 { // SGLang's
			v[0] = min(l+by, 0)
			return v
		}
		for i := range v {
			v[i] = raise(v[i], by)
		}
	}
	return v
}

func first(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// TestSound: what no distribution has is found, and what float32 sums are off by is not.
func TestSound(t *testing.T) {
	c := &Client{dialect: dialectOf(VLLM)}
	for _, test := range []struct {
		of answer
		ok bool
	}{
		{answer{{1, math.Log(0.5)}, {2, math.Log(0.5)}}, true},
		{answer{{1, math.Log(0.5)}, {2, math.Log(0.5001)}}, true},
		{answer{{1, math.Log(0.5)}, {2, math.Log(0.51)}}, false},
		{answer{{1, 0.1}}, false},
		{answer{{1, math.NaN()}}, false},
		{answer{{1, math.Inf(1)}}, false},
		{answer{{1, math.Inf(-1)}}, true},
		{nil, true},
	} {
		if err := c.sound(test.of); (err == nil) != test.ok {
			t.Errorf("%v: %v", test.of, err)
		}
	}
	if _, err := whole("x", 2, answer{{0, math.Log(0.2)}, {1, math.Log(0.3)}}); err == nil {
		t.Error("half a distribution passes for a whole one")
	}
}

// TestSlowLoris: a server that sends a byte now and then is given up after the time of
// one attempt, and of all of them, as if it were silent.
func TestSlowLoris(t *testing.T) {
	for name, prefix := range map[string]string{"body": "{\"a\":\"", "stream": "data: {}\n\n"} {
		var requests atomic.Int64
		w := serve(t, Options{Timeout: 60 * time.Millisecond, Retries: 50}, func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			fmt.Fprint(w, prefix)
			for r.Context().Err() == nil {
				fmt.Fprint(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Millisecond)
			}
		})
		var err error
		if name == "body" {
			err = w.ask(t.Context(), ping, &object{})
		} else {
			err = w.stream(t.Context(), ping, func([]byte) error { return nil })
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		// 50 retries were allowed: the deadline of all attempts ended them.
		if n := requests.Load(); n > attemptsTime+1 {
			t.Errorf("%s: %d attempts", name, n)
		}
	}
}

// TestSlowDial: a server that answers each question just in time does not hold up a client
// for the sum of them.
func TestSlowDial(t *testing.T) {
	s, url := newToy(t, VLLM)
	s.fault = func(_ http.ResponseWriter, _ *http.Request, _ int64) bool {
		time.Sleep(30 * time.Millisecond)
		return false
	}
	_, err := Dial(t.Context(), Options{URL: url, Timeout: 50 * time.Millisecond, Backoff: time.Millisecond})
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a server that takes its time for each of many questions: %v", err)
	}
}

// TestPatience: a request with more work may take longer.
func TestPatience(t *testing.T) {
	w := connect(t, "http://127.0.0.1:1", Options{Timeout: time.Minute})
	if small, large := w.attemptTimeout(query{}), w.attemptTimeout(query{work: tokensPerTimeout}); small != time.Minute || large != 2*time.Minute {
		t.Errorf("%v for no work, %v for much", small, large)
	}
}
