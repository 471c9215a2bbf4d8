package remote

import (
	"encoding/json"
	"errors"
	"fmt"
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

// recordDialects are those whose servers can answer the prompts of one record by themselves, with
// how that is known of the toy.
var recordDialects = map[Dialect]lm.Isolation{
	VLLM: lm.RecordsWatched, LlamaCPP: lm.RecordsWatched, SGLang: lm.RecordsExclusive,
	Ollama: lm.RecordsExclusive, OpenAI: lm.RecordsExclusive, Azure: lm.RecordsExclusive,
}

// byRecord dials a toy and has it tried out on made-up records.
func byRecord(t *testing.T, url string, o Options) (lm.IsolatedScorer, error) {
	t.Helper()
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	c := dial(t, url, o)
	open := c.Scorer
	if !c.Info().Can.Candidates {
		open = c.Writer
	}
	s, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := lm.Trust(s, lm.Declared)
	if err != nil {
		t.Fatal(err)
	}
	return lm.IsolateRecords(t.Context(), trusted)
}

// of lays out the prompts of a record.
func of(record string, n int) []lm.Prompt {
	prompts := make([]lm.Prompt, n)
	for i := range prompts {
		prompts[i].Messages = []lm.Message{{Role: lm.User, Content: strings.Repeat("x", i) + " " + recordMark + record}}
	}
	return prompts
}

var four = lm.GenerateOptions{MaxTokens: 4}

// TestRecords: the prompts of one record go at once, under a salt of their own, and those of
// retry not before these have ended, also from several sessions: texts and scores.
func TestRecords(t *testing.T) {
	for d, how := range recordDialects {
		t.Run(string(d), func(t *testing.T) {
			s, url := newToy(t, d)
			got, err := byRecord(t, azure(d, url), Options{Exclusive: true, Dialect: d})
			if err != nil || got.Isolation() != how {
				t.Fatalf("isolated %q, %v", got.Isolation(), err)
			}
			s.mu.Lock()
			s.keep, s.seen = true, nil
			s.mu.Unlock()
			s.pause = 20 * time.Millisecond
			s.company.fresh()
			const records, prompts = 3, 6
			var wait sync.WaitGroup
			for r := range records {
				wait.Go(func() {
					texts, err := got.Model().Public().Generate(t.Context(), of(fmt.Sprint(r), prompts), four)
					if err != nil || len(texts) != prompts {
						t.Errorf("got %d texts and error %v, want %d texts", len(texts), err, prompts)
					} else {
						expect.True(t, "a text that is not empty", texts[0].Text != "")
					}
					if got.Model().Info().Can.Candidates {
						stepOf(t, got.Model(), fmt.Sprint(r), prompts)
					}
				})
			}
			wait.Wait()
			if s.company.met {
				t.Error("prompts of two records were computed at the same time")
			}
			if s.company.highest < prompts/2 {
				t.Errorf("at most %d prompts of a record were computed at once", s.company.highest)
			}
			if d == Ollama && (s.company.unloads != records || s.company.mixed) {
				t.Errorf("%d records, and the model was unloaded %d times; it held another record: %v", records, s.company.unloads, s.company.mixed)
			}
			ownCaches(t, d, s, prompts)
		})
	}
}

func azure(d Dialect, url string) string {
	if d == Azure {
		return url + "/openai/v1"
	}
	return url
}

// stepOf scores the prompts of a record in one step.
func stepOf(t *testing.T, m lm.TrustedScorer, record string, n int) {
	t.Helper()
	session, err := m.Open(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	defer session.Close()
	var steps []lm.Step
	for i := range n {
		q, err := session.New()
		if err != nil {
			t.Error(err)
			return
		}
		var tokens, candidates []lm.Token
		for _, b := range []byte(strings.Repeat("y", i+1) + " " + recordMark + record) {
			tokens = append(tokens, lm.Token(b))
		}
		for c := range 150 { // more than vLLM takes at once
			candidates = append(candidates, lm.Token(c))
		}
		steps = append(steps, lm.Step{Sequence: q, Tokens: tokens, Ask: lm.Ask{Candidates: candidates}})
	}
	if _, err := session.Step(t.Context(), steps); err != nil {
		t.Error(err)
	}
}

// ownCaches ensures that no salt is used for two records, and that llama.cpp's slots keep nothing
// and are always the same ones.
func ownCaches(t *testing.T, d Dialect, s *toy, prompts int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	records, slots, requests := map[string]string{}, map[any]int{}, 0
	for _, seen := range s.seen {
		path, text, _ := strings.Cut(seen, " ")
		var body object
		if !strings.Contains(path, "complet") && path != "/generate" || json.Unmarshal([]byte(text), &body) != nil {
			continue
		}
		requests++
		of := ""
		for _, p := range slices.Concat(lists(body["prompt"]), lists(body["input_ids"])) {
			of = recordOf(p)
		}
		switch d {
		case VLLM, SGLang:
			salts := strs(body["extra_key"])
			if salt, ok := body["cache_salt"].(string); ok {
				salts = append(salts, salt)
			}
			if len(salts) == 0 {
				t.Error("a request has no salt")
			}
			for _, salt := range salts {
				if before, ok := records[salt]; salt == "" || ok && before != of {
					t.Error("a salt is none, or that of another record")
				}
				records[salt] = of
			}
		case LlamaCPP:
			if body["cache_prompt"] != false {
				t.Error("a request may use what its slot holds")
			}
			slots[body["id_slot"]]++
		}
	}
	if d == LlamaCPP && (len(slots) != s.slots || slots[0.] != slots[1.]) {
		t.Errorf("%d prompts of a record are in slots %v", prompts, slots)
	}
	if d != Ollama && requests == 0 {
		t.Error("no request was seen")
	}
}

// TestSoloWrites: a scorer that has to ask about each prompt alone also writes about each alone.
func TestSoloWrites(t *testing.T) {
	for d := range soloDialects {
		s, url := newToy(t, d)
		got, err := isolate(t, url, Options{Exclusive: true})
		if err != nil {
			t.Fatal(err)
		}
		s.crowd.Store(0)
		s.pause = time.Millisecond
		if _, err := got.Model().Public().Generate(t.Context(), of("1", 5), four); err != nil {
			t.Fatal(err)
		}
		if crowd := s.crowd.Load(); crowd != 1 {
			t.Errorf("%s: %d prompts were computed at the same time", d, crowd)
		}
	}
}

// TestRecordsLeak: a server whose answers depend on the record before is found out by made-up
// ones, and one that varies by chance is not refused for it.
func TestRecordsLeak(t *testing.T) {
	for d := range recordDialects {
		t.Run(string(d), func(t *testing.T) {
			s, url := newToy(t, d)
			s.company.leaks = func(before string) float64 { return map[string]float64{"second": 3}[before] }
			var leaks *lm.NotIsolatedError
			if _, err := byRecord(t, azure(d, url), Options{Exclusive: true, Dialect: d}); !errors.As(err, &leaks) || !strings.Contains(err.Error(), "after another record") {
				t.Errorf("answers that depend on the record before: %v", err)
			}
			s.company.leaks = nil
			s.mixes = func(before, beside int64) float64 { return float64(before*7919%13) * .2 }
			if _, err := byRecord(t, azure(d, url), Options{Exclusive: true, Dialect: d}); err != nil {
				t.Errorf("answers that vary: %v", err)
			}
		})
	}
}

// TestRecordsCacheIsNoticed: a server that has more of a record's prompts in its cache than they
// share with each other is an error.
func TestRecordsCacheIsNoticed(t *testing.T) {
	for _, d := range []Dialect{VLLM, SGLang, LlamaCPP, OpenAI} {
		s, url := newToy(t, d)
		s.forgets = true
		var reply *ReplyError
		if _, err := byRecord(t, url, Options{Exclusive: true}); !errors.As(err, &reply) || !strings.Contains(err.Error(), "computed before") {
			t.Errorf("%s: %v", d, err)
		}
	}
	s, url := newToy(t, Ollama)
	s.company.stuck, s.company.running = true, true
	var kept *lm.NotIsolatedError
	if _, err := byRecord(t, url, Options{Exclusive: true}); !errors.As(err, &kept) || !strings.Contains(err.Error(), "unload") {
		t.Errorf("ollama keeps the model: %v", err)
	}
}

// TestRecordsUnwatched: a server that does not show whether others use it needs the operator's
// word.
func TestRecordsUnwatched(t *testing.T) {
	for d := range recordDialects {
		s, url := newToy(t, d)
		s.hidden = true
		var unknown *lm.NotIsolatedError
		if _, err := byRecord(t, azure(d, url), Options{Dialect: d}); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "exclusive = true") {
			t.Errorf("%s, hidden: %v", d, err)
		}
		if got, err := byRecord(t, azure(d, url), Options{Dialect: d, Exclusive: true}); err != nil || got.Isolation() != lm.RecordsExclusive {
			t.Errorf("%s, hidden, by the operator's word: %q, %v", d, got.Isolation(), err)
		}
	}
	s, url := newToy(t, LlamaCPP)
	s.hidden, s.slots = true, 1
	if got, err := byRecord(t, url, Options{}); err != nil || got.Isolation() != lm.RecordsOneSequence {
		t.Errorf("one slot: %q, %v", got.Isolation(), err)
	}
}

// TestRecordsStrangers: answers during which somebody else used the server are thrown away and
// asked for again, under another salt; if they do not stop, there are none.
func TestRecordsStrangers(t *testing.T) {
	for _, d := range []Dialect{VLLM, LlamaCPP} {
		t.Run(string(d), func(t *testing.T) {
			s, url := newToy(t, d)
			got, err := byRecord(t, url, Options{})
			if err != nil {
				t.Fatal(err)
			}
			ask := func() ([]lm.Text, error) {
				return got.Model().Public().Generate(t.Context(), of("1", 3), four)
			}
			quiet, err := ask()
			if err != nil {
				t.Fatal(err)
			}
			var looks atomic.Int64
			s.stranger = func() int64 { return min(looks.Add(1), 6) }
			before := s.ended.Load()
			again, err := ask()
			if err != nil || !slices.Equal(again, quiet) {
				t.Errorf("after somebody else has gone: %v", err)
			}
			if s.ended.Load()-before <= 3 {
				t.Error("what was written beside somebody else was kept")
			}
			s.stranger = func() int64 { return looks.Add(1) }
			var disturbed *lm.NotIsolatedError
			if _, err := ask(); !errors.As(err, &disturbed) {
				t.Errorf("beside somebody who stays: %v", err)
			}
		})
	}
}

// TestRecordsRetries: what fails in passing is asked for again, as often for every record, however
// often others failed; where the server may still be at work unseen, it is an error.
func TestRecordsRetries(t *testing.T) {
	for _, test := range []struct {
		dialect Dialect
		hidden  bool
		status  int // 0 breaks the connection
		again   bool
	}{
		{VLLM, false, 0, true},
		{VLLM, false, 500, true},
		{LlamaCPP, false, 0, true},
		{VLLM, true, 0, false},
		{VLLM, true, 500, false},
		{OpenAI, true, 429, true},
		{OpenAI, true, 503, true},
		{OpenAI, true, 401, false},
		{VLLM, false, 401, false},
	} {
		s, url := newToy(t, test.dialect)
		s.hidden = test.hidden
		got, err := byRecord(t, url, Options{Exclusive: true, Retries: 2})
		if err != nil {
			t.Fatal(err)
		}
		var left atomic.Int64
		s.mu.Lock()
		s.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			if r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "tokenize") || left.Add(-1) < 0 {
				return false
			}
			if test.status > 0 {
				refuse(w, test.status, "server_error", "")
				return true
			}
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				c.Close()
			}
			return err == nil
		}
		s.mu.Unlock()
		for r := range 5 { // more than a record has tries
			left.Store(1)
			_, err := got.Model().Public().Generate(t.Context(), of(fmt.Sprint(r), 3), four)
			if left.Load() >= 1 || (err == nil) != test.again {
				t.Fatalf("%+v, record %d: %v", test, r, err)
			}
			if !test.again {
				break
			}
		}
	}
}

// TestRecordsRefused: a prompt that is too long, or that a filter refuses, has an empty answer, and
// ends nothing.
func TestRecordsRefused(t *testing.T) {
	for d := range recordDialects {
		_, url := newToy(t, d)
		got, err := byRecord(t, azure(d, url), Options{Exclusive: true, Dialect: d})
		if err != nil {
			t.Fatal(err)
		}
		prompts := of("1", 2)
		if d != Ollama { // whose toy takes all
			prompts = append(prompts, of("1"+strings.Repeat("z", 2*toyLimit), 1)...)
		}
		if d == OpenAI || d == VLLM {
			prompts = append(prompts, of("1 "+toyForbidden, 1)...)
		}
		texts, err := got.Model().Public().Generate(t.Context(), prompts, four)
		if err != nil {
			t.Errorf("%s: %v", d, err)
			continue
		}
		for i, text := range texts {
			if refused := text.Finish == lm.FinishRefused; refused != (i >= 2) || refused && text.Text != "" {
				t.Errorf("%s: prompt %d: %+v", d, i, text)
			}
		}
	}
}

// TestWriter: a server without scores has a writer, which opens no session and says so.
func TestWriter(t *testing.T) {
	_, url := newToy(t, Ollama)
	c := dial(t, url, Options{})
	w, err := c.Writer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var unsupported *lm.UnsupportedError
	if _, err := w.Open(t.Context()); !errors.As(err, &unsupported) {
		t.Errorf("a session: %v", err)
	}
	if _, err := w.Chat(t.Context(), []lm.Message{{Role: lm.User, Content: "a"}}); !errors.As(err, &unsupported) {
		t.Errorf("a layout: %v", err)
	}
	trusted, err := lm.Trust(w, lm.Declared)
	if err != nil {
		t.Fatal(err)
	}
	if err := trusted.NeedScores(); !errors.As(err, &unsupported) || !strings.Contains(err.Error(), "--form chat") {
		t.Errorf("scores: %v", err)
	}
	if _, err := lm.Isolate(t.Context(), trusted); !errors.As(err, &unsupported) {
		t.Errorf("isolated for scores: %v", err)
	}
}

// TestCommon bounds what prompts may have from each other.
func TestCommon(t *testing.T) {
	tokens := func(list ...lm.Token) lm.Prompt { return lm.Prompt{Tokens: list} }
	for want, prompts := range map[int64][]lm.Prompt{
		0: {tokens(1, 2, 3)},
		4: {tokens(1, 2, 3), tokens(1, 2, 4), tokens(5)},
		6: {{Text: "abcd"}, {Text: "abce"}},
	} {
		if got := common(prompts); got != want {
			t.Errorf("%v may share %d tokens, not %d", prompts, got, want)
		}
	}
}
