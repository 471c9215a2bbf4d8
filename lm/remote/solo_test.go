package remote

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// soloDialects are those whose servers can score prompts alone, with how that is known
// of the toy.
var soloDialects = map[Dialect]lm.Isolation{VLLM: lm.Watched, LlamaCPP: lm.Watched, SGLang: lm.Exclusive}

// isolate dials a toy and has it tried out.
func isolate(t *testing.T, url string, o Options) (lm.IsolatedScorer, error) {
	t.Helper()
	trusted, err := lm.Trust(dialScorer(t, url, o), lm.Declared)
	if err != nil {
		t.Fatal(err)
	}
	return lm.Isolate(t.Context(), trusted)
}

// askAll scores n prompts in one step of a model.
func askAll(t *testing.T, m lm.TrustedScorer, n int) ([]lm.Scores, error) {
	t.Helper()
	session, err := m.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	steps := make([]lm.Step, n)
	for i := range steps {
		q, err := session.New()
		if err != nil {
			t.Fatal(err)
		}
		var candidates []lm.Token
		for c := range 150 { // more than vLLM takes at once
			candidates = append(candidates, lm.Token(c))
		}
		steps[i] = lm.Step{Sequence: q, Tokens: []lm.Token{'a', 'b', lm.Token('c' + i)}, Ask: lm.Ask{Candidates: candidates}}
	}
	return session.Step(t.Context(), steps)
}

// TestAlone: private prompts go one in a request, one request after the other, also from
// several sessions and clients, without anything that the server has cached.
func TestAlone(t *testing.T) {
	for d, how := range soloDialects {
		t.Run(string(d), func(t *testing.T) {
			s, url := newToy(t, d)
			got, err := isolate(t, url, Options{Exclusive: true})
			if err != nil || got.Isolation() != how {
				t.Fatalf("isolated %q, %v", got.Isolation(), err)
			}
			// Another client of this process, with the address spelled otherwise.
			other := dialScorer(t, strings.Replace(url, "127.0.0.1", "localhost", 1), Options{})
			s.mu.Lock()
			s.keep, s.seen = true, nil
			s.mu.Unlock()
			s.crowd.Store(0)
			var wait sync.WaitGroup
			for range 3 {
				wait.Go(func() {
					if _, err := askAll(t, got.Model(), 4); err != nil {
						t.Error(err)
					}
				})
			}
			wait.Wait()
			if crowd := s.crowd.Load(); crowd != 1 {
				t.Errorf("%d prompts were computed at the same time", crowd)
			}
			keptApart(t, d, s)
			if _, err := other.Generate(t.Context(), []lm.Prompt{{Text: "a"}}, lm.GenerateOptions{MaxTokens: 1}); err != nil {
				t.Error(err) // the server is free for others again
			}
		})
	}
}

// apartRequests reads what a toy was sent.
func apartRequests(t *testing.T, s *toy) []object {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []object
	for _, seen := range s.seen {
		path, body, _ := strings.Cut(seen, " ")
		if path != "/v1/completions" && path != "/completion" && path != "/generate" {
			continue
		}
		var o object
		if err := json.Unmarshal([]byte(body), &o); err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// keptApart ensures that each request has one prompt and shares no cache.
func keptApart(t *testing.T, d Dialect, s *toy) {
	t.Helper()
	requests := apartRequests(t, s)
	if len(requests) < 12 {
		t.Fatalf("%d requests for 12 prompts", len(requests))
	}
	salts := map[string]bool{}
	for _, r := range requests {
		prompts := slices.Concat(lists(r["prompt"]), lists(r["input_ids"]))
		if len(prompts) != 1 {
			t.Errorf("a request has %d prompts", len(prompts))
		}
		switch d {
		case LlamaCPP:
			if r["cache_prompt"] != false || r["id_slot"] != 0. {
				t.Errorf("a request may use the cache, or any slot: %v, %v", r["cache_prompt"], r["id_slot"])
			}
			continue
		case SGLang:
			r["cache_salt"] = strs(r["extra_key"])[0]
		}
		salt, _ := r["cache_salt"].(string)
		if salt == "" || salts[salt] {
			t.Errorf("the salt %q is none, or was there before", salt)
		}
		salts[salt] = true
	}
}

// TestIsolateFindsCrosstalk: a server whose scores depend on what was computed before a
// prompt, even in their last digits, is not isolated, however it is asked.
func TestIsolateFindsCrosstalk(t *testing.T) {
	for d := range soloDialects {
		t.Run(string(d), func(t *testing.T) {
			s, url := newToy(t, d)
			s.mixes = func(before, _ int64) float64 { return float64(before%7) * 1e-9 }
			var leaks *lm.NotIsolatedError
			if _, err := isolate(t, url, Options{Exclusive: true}); !errors.As(err, &leaks) || !strings.Contains(err.Error(), "scores came out otherwise") {
				t.Errorf("scores that depend on what came before: %v", err)
			}
		})
	}
}

// TestCompareFindsBatches: a server that mixes up only what it computes together fails the
// check when it is asked in batches, and passes when it is asked one by one.
func TestCompareFindsBatches(t *testing.T) {
	for d := range soloDialects {
		t.Run(string(d), func(t *testing.T) {
			s, url := newToy(t, d)
			s.mixes = func(_, beside int64) float64 { return float64(beside-1) * 1e-9 }
			s.pause = 2 * time.Millisecond
			c, err := lm.Compare(t.Context(), dialScorer(t, url, Options{}))
			expect.NoError(t, err)
			expect.Min(t, "different scores in batches", c.Different, 1)
			expect.Max(t, "largest difference in batches", c.MaxDifference, 1e-6)
			if _, err := isolate(t, url, Options{Exclusive: true}); err != nil {
				t.Errorf("asked one by one: %v", err)
			}
		})
	}
}

// TestCacheIsNoticed: a server that takes a prompt from its cache, though it was told not
// to, is an error.
func TestCacheIsNoticed(t *testing.T) {
	for d := range soloDialects {
		s, url := newToy(t, d)
		s.forgets = true
		var reply *ReplyError
		if _, err := isolate(t, url, Options{Exclusive: true}); !errors.As(err, &reply) || !strings.Contains(err.Error(), "computed before") {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// TestUnwatched: a server that does not show whether others use it needs the operator's
// word; one that computes one sequence at a time needs nothing.
func TestUnwatched(t *testing.T) {
	for d := range soloDialects {
		s, url := newToy(t, d)
		s.hidden = true
		var unknown *lm.NotIsolatedError
		if _, err := isolate(t, url, Options{}); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "exclusive = true") {
			t.Errorf("%s, hidden: %v", d, err)
		}
		if got, err := isolate(t, url, Options{Exclusive: true}); err != nil || got.Isolation() != lm.Exclusive {
			t.Errorf("%s, hidden, by the operator's word: %q, %v", d, got.Isolation(), err)
		}
	}
	s, url := newToy(t, LlamaCPP)
	s.hidden, s.slots = true, 1
	if got, err := isolate(t, url, Options{}); err != nil || got.Isolation() != lm.OneSequence {
		t.Errorf("one slot: %q, %v", got.Isolation(), err)
	}
}

// TestStrangers: scores during which somebody else used the server are thrown away and
// asked for again; if they do not stop, nothing is scored.
func TestStrangers(t *testing.T) {
	for _, d := range []Dialect{VLLM, LlamaCPP} {
		t.Run(string(d), func(t *testing.T) {
			s, url := newToy(t, d)
			got, err := isolate(t, url, Options{})
			if err != nil {
				t.Fatal(err)
			}
			quiet, err := askAll(t, got.Model(), 2)
			if err != nil {
				t.Fatal(err)
			}
			var looks atomic.Int64
			s.stranger = func() int64 { return min(looks.Add(1), 6) }
			before := s.ended.Load()
			again, err := askAll(t, got.Model(), 2)
			if err != nil || !slices.Equal(again[0].LogProbs, quiet[0].LogProbs) {
				t.Errorf("after somebody else has gone: %v", err)
			}
			if s.ended.Load()-before <= 2 {
				t.Error("what was scored beside somebody else was kept")
			}
			s.stranger = func() int64 { return looks.Add(1) }
			var disturbed *lm.NotIsolatedError
			if _, err := askAll(t, got.Model(), 2); !errors.As(err, &disturbed) || !strings.Contains(err.Error(), "others use the server") {
				t.Errorf("beside somebody who stays: %v", err)
			}
		})
	}
}

// TestAloneRetries: after a request that broke off, the server may still be computing it.
// Another is sent only where the server shows that it is idle, or has one slot.
func TestAloneRetries(t *testing.T) {
	for _, test := range []struct {
		dialect Dialect
		hidden  bool
		slots   int
		again   bool
	}{{VLLM, false, 4, true}, {LlamaCPP, false, 4, true}, {LlamaCPP, true, 1, true}, {VLLM, true, 4, false}, {SGLang, true, 4, false}} {
		s, url := newToy(t, test.dialect)
		s.hidden, s.slots = test.hidden, test.slots
		got, err := isolate(t, url, Options{Exclusive: true})
		if err != nil {
			t.Fatal(err)
		}
		var broken atomic.Bool
		s.mu.Lock()
		s.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			if r.Method == http.MethodGet || broken.Swap(true) {
				return false
			}
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return false
			}
			c.Close()
			return true
		}
		s.mu.Unlock()
		_, err = askAll(t, got.Model(), 1)
		if !broken.Load() || (err == nil) != test.again {
			t.Errorf("%+v: broken %v, then %v", test, broken.Load(), err)
		}
	}
}

// TestMetric reads lines of counters, and not what is none.
func TestMetric(t *testing.T) {
	for line, want := range map[string]float64{
		`a 3`: 3, `a{b="c"} 4.0`: 4, `a{b="} 9 {"} 5 1700000000`: 5, `a{b="c"} 1e+06`: 1e6,
		`a{b="c"`: -1, `a`: -1, ``: -1, `# a 3`: -1, `a NaN`: -1, `a +Inf`: -1, `a -1`: -1, `a 0.5`: -1, `a 1e300`: -1, `a{} `: -1,
	} {
		name, value, ok := metric(line)
		expect.Equal(t, line+" is a counter", ok, want >= 0)
		if ok {
			expect.Equal(t, "name in "+line, name, "a")
			expect.Equal(t, "value in "+line, value, want)
		}
	}
}

// TestAloneStops: who waits for a server that is never idle can give up.
func TestAloneStops(t *testing.T) {
	s, url := newToy(t, VLLM)
	got, err := isolate(t, url, Options{Backoff: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s.beside.Store(1)
	session, err := got.Model().Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q, err := session.New()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := session.Step(ctx, []lm.Step{{Sequence: q, Tokens: []lm.Token{1}, Ask: lm.Ask{Top: 1}}}); err == nil {
		t.Error("a busy server answered")
	}
}
