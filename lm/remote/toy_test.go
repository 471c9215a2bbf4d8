package remote

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

// toy is a server with a model whose scores are a hash of the sequence. It speaks
// the dialects as their programs' documentation and source have it (vLLM 0.32.0 and
// llama.cpp also as seen; SGLang at commit cce0a12, Ollama at fb30760).
//
// Its tokens are the 256 bytes and three marks.
type toy struct {
	dialect Dialect
	top     int     // best tokens that vLLM gives
	info    bool    // vLLM tells its marks
	trim    bool    // the template cuts space off messages
	modern  bool    // chats take max_completion_tokens
	begin   bool    // texts start with the last mark
	slots   int     // of llama.cpp
	hidden  bool    // tells nothing of its work
	began   float64 // when vLLM's process began
	forgets bool    // takes prompts from its cache whatever it is told

	// mixes, if set, moves scores: it is given how many prompts were scored before and
	// how many are beside.
	mixes func(before, beside int64) float64
	// stranger, if set, tells of how many requests by others have ended by now.
	stranger      func() int64
	pause         time.Duration // for each request for scores or text
	scored, ended atomic.Int64
	beside, crowd atomic.Int64
	tokens        atomic.Int64            // read and written
	kept          map[string][][]lm.Token // prompts by the salt of the cache
	company       company

	requests atomic.Int64
	mu       sync.Mutex
	// fault, if set, may answer a request instead, or spoil the answer.
	fault func(w http.ResponseWriter, r *http.Request, n int64) bool
	spoil func(path string, answer any) any
	seen  []string // bodies
	keep  bool
}

const (
	toyBytes = 256
	toySize  = toyBytes + 3
	toyEnd   = lm.Token(toyBytes + 1)
	toyLimit = 400
)

var toyMarks = []string{"<|im_start|>", "<|im_end|>", "<|endoftext|>"}

func newToy(t testing.TB, d Dialect) (*toy, string) {
	t.Helper()
	s, server := newToyServer(d)
	t.Cleanup(server.Close)
	return s, server.URL
}

func newToyServer(d Dialect) (*toy, *httptest.Server) {
	s := &toy{dialect: d, top: 20, info: true, slots: 4, kept: map[string][][]lm.Token{}}
	return s, httptest.NewServer(s)
}

func (s *toy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.requests.Add(1)
	s.mu.Lock()
	fault, spoil := s.fault, s.spoil
	s.mu.Unlock()
	if fault != nil && fault(w, r, n) {
		return
	}
	var body map[string]any
	if r.Method == http.MethodPost {
		var text strings.Builder
		d := json.NewDecoder(r.Body)
		if err := d.Decode(&body); err != nil {
			refuse(w, 400, "invalid_request_error", "")
			return
		}
		if s.keep {
			_ = json.NewEncoder(&text).Encode(body)
			s.mu.Lock()
			s.seen = append(s.seen, r.URL.Path+" "+text.String())
			s.mu.Unlock()
		}
	}
	handlers := map[Dialect]func(http.ResponseWriter, string, map[string]any) any{
		VLLM: s.vllm, LlamaCPP: s.llamacpp, SGLang: s.sglang, Ollama: s.ollama, OpenAI: s.openai, Azure: s.openai,
	}
	answer := handlers[s.dialect](w, r.URL.Path, body)
	if answer == nil {
		return
	}
	if spoil != nil {
		answer = spoil(r.URL.Path, answer)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// object shortens what follows.
type object = map[string]any

// refuse answers with an error, whose message repeats everything, as servers do.
func refuse(w http.ResponseWriter, status int, kind, param string) any {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"error": object{"message": "you sent something wrong", "type": kind, "param": param, "code": status}})
	return nil
}

// cached returns how many tokens of a prompt are in the cache: what it begins with like one
// before with the same salt.
func (s *toy) cached(prompt []lm.Token, salt any) (n int) {
	name, _ := salt.(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forgets {
		name = ""
	}
	for _, p := range s.kept[name] {
		n = max(n, prefix(p, prompt))
	}
	s.kept[name] = append(s.kept[name], prompt)
	return min(n, len(prompt)-1)
}

// work counts a request for scores of so many prompts until the result is called.
func (s *toy) work(prompts [][]lm.Token) (done func()) {
	n := int64(len(prompts))
	beside := s.beside.Add(n)
	s.crowd.Store(max(s.crowd.Load(), beside))
	s.company.enter(prompts)
	time.Sleep(s.pause)
	return func() {
		s.company.leave(prompts)
		s.beside.Add(-n)
		s.ended.Add(n)
	}
}

// logProbs of the model after a sequence.
func (s *toy) logProbs(tokens []lm.Token) []float64 {
	logits := make([]float64, toySize)
	if moved := s.company.moved(); moved != 0 {
		for i := range logits {
			logits[i] = moved * float64(i%5)
		}
	}
	if n := s.scored.Add(1); s.mixes != nil {
		for i := range logits {
			logits[i] = s.mixes(n, s.beside.Load()) * float64(i%5)
		}
	}
	h := fnv.New64a()
	for _, t := range tokens {
		_, _ = h.Write([]byte{byte(t), byte(t >> 8)})
	}
	for i := range logits {
		x := (h.Sum64() ^ uint64(i)) * 0xbf58476d1ce4e5b9
		logits[i] += float64((x^x>>29)*0x94d049bb133111eb>>52) / 512
		if i < toyBytes && (i == ' ' || i >= 'a' && i <= 'z') {
			logits[i] += 6 // so that it writes words
		}
		if lm.Token(i) == toyEnd {
			logits[i] -= 4
		}
	}
	var sum float64
	for _, l := range logits {
		sum += math.Exp(l)
	}
	for i := range logits {
		logits[i] -= math.Log(sum)
	}
	return logits
}

// encode reads text; with marks their spellings are tokens.
func (s *toy) encode(text string, marks bool) []lm.Token {
	tokens := []lm.Token{}
next:
	for text != "" {
		for i, mark := range toyMarks {
			if rest, ok := strings.CutPrefix(text, mark); ok && marks {
				tokens, text = append(tokens, lm.Token(toyBytes+i)), rest
				continue next
			}
		}
		tokens, text = append(tokens, lm.Token(text[0])), text[1:]
	}
	return tokens
}

// special puts the token of the beginning before a text, if it is asked for.
func (s *toy) special(tokens []lm.Token, add any) []lm.Token {
	if s.begin && add == true {
		return append([]lm.Token{toySize - 1}, tokens...)
	}
	return tokens
}

func (s *toy) decode(tokens []lm.Token, marks bool) string {
	var b []byte
	for _, t := range tokens {
		switch {
		case t < toyBytes:
			b = append(b, byte(t))
		case marks:
			b = append(b, toyMarks[t-toyBytes]...)
		}
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

func (s *toy) render(messages any) string {
	var b strings.Builder
	for _, m := range messages.([]any) {
		m := m.(object)
		content := m["content"].(string)
		if s.trim {
			content = strings.TrimSpace(content)
		}
		fmt.Fprintf(&b, "<|im_start|>%s\n%s<|im_end|>\n", m["role"], content)
	}
	return b.String() + "<|im_start|>assistant\n"
}

// best tokens after a sequence.
func best(logs []float64, k int) []lm.Token {
	order := make([]lm.Token, len(logs))
	for i := range order {
		order[i] = lm.Token(i)
	}
	slices.SortFunc(order, func(a, b lm.Token) int { return cmp.Compare(logs[b], logs[a]) })
	return order[:min(k, len(order))]
}

// write continues greedily. It returns the text and why it ended.
func (s *toy) write(prompt []lm.Token, limit int, stops []string) (string, int, lm.Finish) {
	sequence := slices.Clone(prompt)
	for n := 1; ; n++ {
		token := best(s.logProbs(sequence), 1)[0]
		if token == toyEnd {
			return s.decode(sequence[len(prompt):], false), n, lm.FinishEnd
		}
		sequence = append(sequence, token)
		text := s.decode(sequence[len(prompt):], false)
		for _, stop := range stops {
			if at := strings.Index(text, stop); at >= 0 {
				return text[:at], n, lm.FinishStop
			}
		}
		if n == limit {
			return text, n, lm.FinishLength
		}
	}
}

// tokens reads a JSON list of numbers.
func tokens(list any) []lm.Token {
	out := []lm.Token{}
	items, _ := list.([]any)
	for _, item := range items {
		out = append(out, lm.Token(item.(float64)))
	}
	return out
}

func lists(list any) [][]lm.Token {
	var out [][]lm.Token
	items, _ := list.([]any)
	if len(items) > 0 {
		if _, flat := items[0].(float64); flat {
			return [][]lm.Token{tokens(list)}
		}
	}
	for _, item := range items {
		out = append(out, tokens(item))
	}
	return out
}

func strs(list any) []string {
	var out []string
	items, _ := list.([]any)
	for _, item := range items {
		out = append(out, item.(string))
	}
	return out
}

func number(v any) int {
	n, _ := v.(float64)
	return int(n)
}

// events streams objects as server-sent events.
func events(w http.ResponseWriter, list ...any) any {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": begin\n\n")
	for _, event := range list {
		text, _ := json.Marshal(event)
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
	return nil
}
