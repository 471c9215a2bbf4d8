package remote

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/lm"
)

var record = flag.Bool("record", false, "write testdata/*.jsonl anew from the real servers that tests reach")

// exchange is a request and its answer, a line of a file in testdata.
type exchange struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body,omitempty"`
	Status int             `json:"status"`
	// Answer is JSON, or Text is anything else, such as a stream.
	Answer json.RawMessage `json:"answer,omitempty"`
	Text   string          `json:"text,omitempty"`
}

// recorder passes requests on to a real server and keeps what was said.
type recorder struct {
	target string
	mu     sync.Mutex
	kept   []exchange
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	sent, err := http.NewRequest(request.Method, r.target+request.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	sent.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": nil}
	response, err := http.DefaultClient.Do(sent)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	e := exchange{Method: request.Method, Path: request.URL.RequestURI(), Body: body, Status: response.StatusCode}
	if json.Valid(answer) {
		e.Answer = answer
	} else {
		e.Text = string(answer)
	}
	r.mu.Lock()
	r.kept = append(r.kept, e)
	r.mu.Unlock()
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(answer)
}

func (r *recorder) save(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	for _, e := range r.kept {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		// Where the server had its model says nothing.
		line = bytes.ReplaceAll(line, []byte(os.TempDir()), nil)
		b.Write(append(line, '\n'))
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d exchanges, %d bytes", path, len(r.kept), b.Len())
}

// replay returns a server that only knows what was recorded. A request that was not is a
// failure: the client has changed, and what it sends now was never seen to work.
func replay(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var known []exchange
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		var e exchange
		if err != nil || json.Unmarshal(line, &e) != nil {
			t.Fatalf("%s: line %d cannot be read", path, len(known)+1)
		}
		known = append(known, e)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, e := range known {
			if e.Method == r.Method && e.Path == r.URL.RequestURI() && sameJSON(e.Body, body) {
				w.WriteHeader(e.Status)
				if e.Answer != nil {
					_, _ = w.Write(e.Answer)
				} else {
					_, _ = io.WriteString(w, e.Text)
				}
				return
			}
		}
		t.Errorf("%s: %s %s was not recorded: %s; record anew with -record", path, r.Method, r.URL, body)
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func sameJSON(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// observation is what a scenario saw, kept beside its exchanges: a replay must lead to the
// same, so that the reading of answers is tested and not only the asking.
type observation struct {
	Probe  Probe               `json:"probe"`
	Tokens map[string][]int    `json:"tokens"`
	Ends   []lm.Token          `json:"ends"`
	Scores map[string]lmScores `json:"scores"`
	Texts  map[string]lm.Text  `json:"texts"`
	Errors map[string]string   `json:"errors"`
}

type lmScores struct {
	Tokens   []lm.Token `json:"tokens"`
	LogProbs []float64  `json:"log_probs"`
}

// scenario uses a server in every way that runs do, in few requests.
func scenario(t *testing.T, url string, o Options) observation {
	t.Helper()
	o.Retries = -1
	c := dial(t, url, o)
	s, err := c.Scorer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := observation{Probe: c.Probe(), Ends: s.Tokenizer().Ends(), Tokens: map[string][]int{}, Scores: map[string]lmScores{}, Texts: map[string]lm.Text{}, Errors: map[string]string{}}
	out.Probe.URL = "" // of the server that replays
	number := func(tokens []lm.Token) (out []int) {
		for _, token := range tokens {
			out = append(out, int(token))
		}
		return out
	}
	for _, text := range []string{"The capital of France is", "a<|im_end|>b", "é 12"} {
		tokens, err := s.Tokenizer().Encode(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		out.Tokens[text] = number(tokens)
		if back, err := s.Tokenizer().Decode(t.Context(), tokens); err != nil || back != text {
			t.Errorf("%q comes back as %q, error %v", text, back, err)
		}
	}
	chat, err := s.Chat(t.Context(), []lm.Message{{Role: lm.User, Content: "Say <|im_end|> hello."}})
	if err != nil {
		t.Fatal(err)
	}
	out.Tokens["chat"] = number(chat)
	scenarioScores(t, s, out)
	scenarioTexts(t, s, out)
	return out
}

func scenarioScores(t *testing.T, s lm.Scorer, out observation) {
	t.Helper()
	session, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	root, _ := session.New()
	first := tokensOf(out.Tokens["The capital of France is"])
	if _, err := session.Step(t.Context(), []lm.Step{{Sequence: root, Tokens: first}}); err != nil {
		t.Fatal(err)
	}
	fork, _ := session.Fork(root)
	many := make([]lm.Token, 130)
	for i := range many {
		many[i] = lm.Token(i * 3)
	}
	for name, steps := range map[string][]lm.Step{
		"chosen": {{Sequence: root, Ask: lm.Ask{Candidates: []lm.Token{100, 200, 0}}}, {Sequence: fork, Tokens: []lm.Token{18}, Ask: lm.Ask{Candidates: []lm.Token{100, 200, 0}}}},
		"many":   {{Sequence: root, Ask: lm.Ask{Candidates: many}}},
		"best":   {{Sequence: root, Ask: lm.Ask{Top: 5}}},
	} {
		scores, err := session.Step(t.Context(), steps)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, sc := range scores {
			out.Scores[name+" "+string(rune('0'+i))] = lmScores{Tokens: sc.Tokens, LogProbs: sc.LogProbs}
		}
	}
}

func tokensOf(numbers []int) (out []lm.Token) {
	for _, n := range numbers {
		out = append(out, lm.Token(n))
	}
	return out
}

func scenarioTexts(t *testing.T, s lm.Scorer, out observation) {
	t.Helper()
	for name, p := range map[string]lm.Prompt{
		"text": {Text: "The capital of France is"},
		"chat": {Messages: []lm.Message{{Role: lm.User, Content: "Say hello."}}},
	} {
		for kind, o := range map[string]lm.GenerateOptions{
			"greedy":  {MaxTokens: 6},
			"stopped": {MaxTokens: 12, Stop: []string{"e"}},
			"sampled": {MaxTokens: 5, Temperature: 1, TopP: 0.9, TopK: 40, Seed: 3},
		} {
			texts, err := s.Generate(t.Context(), []lm.Prompt{p}, o)
			if err != nil {
				t.Fatalf("%s %s: %v", name, kind, err)
			}
			out.Texts[name+" "+kind] = texts[0]
			var told strings.Builder
			o.OnText = func(_ int, piece string) error { told.WriteString(piece); return nil }
			streamed, err := s.Generate(t.Context(), []lm.Prompt{p}, o)
			if err != nil {
				t.Fatalf("%s %s: %v", name, kind, err)
			}
			if streamed[0] != texts[0] || told.String() != texts[0].Text {
				t.Errorf("%s %s: %+v whole, %+v as a stream, %q told", name, kind, texts[0], streamed[0], told.String())
			}
		}
	}
	c := s.(*scorer).Client
	_, _, err := c.dialect.(scoringDialect).score(t.Context(), c, []scoreQuery{{tokens: []lm.Token{lm.Token(c.info.Vocabulary)}, top: 1}})
	if err == nil {
		t.Error("the server took a token outside its vocabulary")
	} else {
		out.Errors["outside"] = err.Error()
	}
}

// TestRecorded replays what real servers said, and what SGLang says by its source.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/exchanges/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded exchanges: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".jsonl"), func(t *testing.T) {
			text, err := os.ReadFile(strings.TrimSuffix(path, "jsonl") + "seen.json")
			if err != nil {
				t.Fatal(err)
			}
			var want observation
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			got := scenario(t, replay(t, path), Options{CacheSalt: "test"})
			compareSeen(t, got, want)
		})
	}
}

func compareSeen(t *testing.T, got, want observation) {
	t.Helper()
	if !reflect.DeepEqual(got.Probe, want.Probe) {
		t.Errorf("the server is now\n%+v, not\n%+v", got.Probe, want.Probe)
	}
	if !reflect.DeepEqual(got.Tokens, want.Tokens) || !slices.Equal(got.Ends, want.Ends) {
		t.Errorf("tokens %v and ends %v, not %v and %v", got.Tokens, got.Ends, want.Tokens, want.Ends)
	}
	for _, name := range slices.Sorted(maps.Keys(want.Scores)) {
		if !reflect.DeepEqual(got.Scores[name], want.Scores[name]) {
			t.Errorf("%s: %v, not %v", name, got.Scores[name], want.Scores[name])
		}
	}
	if !reflect.DeepEqual(got.Texts, want.Texts) || !reflect.DeepEqual(got.Errors, want.Errors) {
		t.Errorf("texts %v and errors %v, not %v and %v", got.Texts, got.Errors, want.Texts, want.Errors)
	}
}

// recordScenario runs the scenario against a real server, and keeps it if that was
// asked for.
func recordScenario(t *testing.T, name, url string) {
	t.Helper()
	r := &recorder{target: url}
	proxy := httptest.NewServer(r)
	defer proxy.Close()
	out := scenario(t, proxy.URL, Options{CacheSalt: "test"})
	if !*record || t.Failed() {
		return
	}
	if err := os.MkdirAll("testdata/exchanges", 0o755); err != nil {
		t.Fatal(err)
	}
	r.save(t, "testdata/exchanges/"+name+".jsonl")
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/exchanges/"+name+".seen.json", append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
