package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tickets is a task with examples.
func tickets() (prompt.Task, prompt.Prompt) {
	t := prompt.Task{
		Name: "tickets", Kind: prompt.Classify, Text: "text", Label: "queue", Labels: []string{"billing", "login"},
		Generate: prompt.Generation{Instruction: "Write a ticket."},
		Answer:   prompt.AnswerLayout{Instruction: "Sort tickets into queues.", Input: "Text", Output: "Queue"},
	}
	return t.WithDefaults(), prompt.Prompt{Examples: []prompt.Example{
		{Input: "The invoice is wrong.", Output: "billing"},
		{Input: "My password is refused.", Output: "login"},
		{Input: "I paid twice.", Output: "billing"},
	}}
}

// upstream is a stand-in for a model's server, which records what it is asked.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []map[string]any
	keys   []string
	paths  []string
	answer http.HandlerFunc
}

func newUpstream(t testing.TB, answer http.HandlerFunc) *upstream {
	u := &upstream{answer: answer}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		var b map[string]any
		if err == nil {
			err = json.Unmarshal(data, &b)
		}
		if err != nil {
			t.Error(err)
		}
		u.mu.Lock()
		u.bodies, u.keys, u.paths = append(u.bodies, b), append(u.keys, r.Header.Get("Authorization")), append(u.paths, r.URL.Path)
		u.mu.Unlock()
		u.answer(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

// says answers with a JSON text.
func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", "request-1")
		w.Header().Set("X-Ratelimit-Remaining-Requests", "7")
		w.Header().Set("Set-Cookie", "not for clients")
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}
}

const completion = `{"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"login"},"finish_reason":"stop"}],"usage":{"total_tokens":9},"novelty":{"x":[1]}}`

// gatewayTo has two routes to an upstream: with examples, and without.
func gatewayTo(t testing.TB, u *upstream, o Options) (*Handler, *httptest.Server) {
	t.Helper()
	task, p := tickets()
	shots, err := NewShots(t.Context(), task, p, 0, nil)
	must(t, err)
	s, err := NewServer(u.URL+"/v1/", "sk-upstream", false)
	must(t, err)
	about := About{Route: "tickets", Version: 3, Release: "demos", Private: true, Epsilon: 1, Delta: 1e-6}
	table, err := NewTable([]*Route{
		{Name: "tickets", Upstream: s, Model: "big", Shots: shots, About: about},
		{Name: "plain", Upstream: s, Model: "big", About: About{Route: "plain"}},
	})
	must(t, err)
	h := New(table, o)
	front := httptest.NewServer(h)
	t.Cleanup(front.Close)
	return h, front
}

func post(t testing.TB, url, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	must(t, err)
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	must(t, err)
	return r, string(data)
}

// contents lists roles and contents of messages.
func contents(t testing.TB, b map[string]any) (out []string) {
	t.Helper()
	for _, m := range b["messages"].([]any) {
		m := m.(map[string]any)
		out = append(out, fmt.Sprintf("%v: %v", m["role"], m["content"]))
	}
	return out
}

// TestChat: examples come before the client's turns, its last question is laid out as they
// are, and what is not known passes both ways.
func TestChat(t *testing.T) {
	u := newUpstream(t, says(200, completion))
	_, front := gatewayTo(t, u, Options{})
	r, got := post(t, front.URL+"/v1/chat/completions", `{"model":"tickets","temperature":0,"tools":[{"type":"function","function":{"name":"f"}}],"unheard_of":{"a":1},
		"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello","name":"ann"},{"role":"assistant","content":"Hi"},{"role":"user","content":"I cannot get in <here>.","name":"ann"}]}`)
	if r.StatusCode != 200 {
		t.Fatal(r.Status, got)
	}
	b := u.bodies[0]
	want := []string{
		"system: Sort tickets into queues.\n\nBe brief.",
		"user: Text: The invoice is wrong.\nQueue:", "assistant: billing",
		"user: Text: My password is refused.\nQueue:", "assistant: login",
		"user: Text: I paid twice.\nQueue:", "assistant: billing",
		"user: Hello", "assistant: Hi", "user: Text: I cannot get in <here>.\nQueue:",
	}
	if all := contents(t, b); !slices.Equal(all, want) {
		t.Errorf("the upstream got\n%s\nnot\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
	at := expect.At(t, "the upstream got")
	expect.Equal(at, "model", b["model"], "big")
	expect.Equal(at, "temperature", b["temperature"], 0.)
	expect.True(at, "tools is not nil", b["tools"] != nil, b["tools"])
	expect.Equal(at, "b['unheard_of']", fmt.Sprint(b["unheard_of"]), "map[a:1]")
	if last := b["messages"].([]any)[9].(map[string]any); last["name"] != "ann" {
		t.Errorf("the last message lost its name: %v", last)
	}
	if u.keys[0] != "Bearer sk-upstream" || u.paths[0] != "/v1/chat/completions" {
		t.Errorf("asked %s with %s", u.paths[0], u.keys[0])
	}
	var answer struct {
		ID      string
		Novelty any
		Sotto   About
	}
	must(t, json.Unmarshal([]byte(got), &answer))
	at = expect.At(t, "the client got %s", got)
	expect.Equal(at, "answer.ID", answer.ID, "c1")
	expect.True(at, "answer.Novelty is not nil", answer.Novelty != nil, answer.Novelty)
	expect.Equal(at, "answer.Sotto.Release", answer.Sotto.Release, "demos")
	expect.Equal(at, "answer.Sotto.Epsilon", answer.Sotto.Epsilon, 1)
	for name, want := range map[string]string{"X-Request-Id": "request-1", "X-Ratelimit-Remaining-Requests": "7", "Set-Cookie": "", "Sotto-Epsilon": "1", "Sotto-Epsilon-Spent": "0"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
}

// TestPlainRoute hands conversations on as they are.
func TestPlainRoute(t *testing.T) {
	u := newUpstream(t, says(200, completion))
	_, front := gatewayTo(t, u, Options{})
	post(t, front.URL+"/v1/chat/completions", `{"model":"plain","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:x"}}]}]}`)
	post(t, front.URL+"/v1/embeddings", `{"model":"plain","input":["a","b"]}`)
	if got := fmt.Sprint(u.bodies[0]["messages"]); !strings.Contains(got, "image_url") || len(u.bodies[0]["messages"].([]any)) != 1 {
		t.Errorf("the upstream got %s", got)
	}
	if fmt.Sprint(u.bodies[1]["input"]) != "[a b]" || u.paths[1] != "/v1/embeddings" {
		t.Errorf("the upstream got %v at %s", u.bodies[1], u.paths[1])
	}
}

// TestCompletion: the same for plain text.
func TestCompletion(t *testing.T) {
	u := newUpstream(t, says(200, `{"object":"text_completion","choices":[]}`))
	_, front := gatewayTo(t, u, Options{})
	_, got := post(t, front.URL+"/v1/completions", `{"model":"tickets","prompt":"No access.","max_tokens":2}`)
	text, _ := u.bodies[0]["prompt"].(string)
	at := expect.At(t, "the upstream got")
	expect.Prefix(at, "text", text, "Sort tickets into queues.")
	expect.Equal(at, "number of Queue: billing", strings.Count(text, "Queue: billing"), 2)
	expect.True(at, "strings.HasSuffix(strings.TrimSpace(text), 'Text: No access.\\nQueue:')", strings.HasSuffix(strings.TrimSpace(text), "Text: No access.\nQueue:"), strings.TrimSpace(text))
	if !strings.Contains(got, `"sotto":{"route":"tickets"`) {
		t.Error(got)
	}
}

// nearby is an encoder that knows two directions.
type nearby struct{}

func (nearby) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, s := range texts {
		money := float32(strings.Count(s, "paid") + strings.Count(s, "invoice"))
		out[i] = []float32{money, 1 - money}
	}
	return out, nil
}
func (nearby) Dimension() int { return 2 }
func (nearby) Name() string   { return "nearby" }
func (nearby) Close() error   { return nil }

var _ lm.Embedder = nearby{}

// TestNearest: with fewer examples than there are, those like the question go along, the
// most similar last.
func TestNearest(t *testing.T) {
	task, p := tickets()
	s, err := NewShots(t.Context(), task, p, 2, nearby{})
	must(t, err)
	for question, want := range map[string]string{
		"I paid":    "The invoice is wrong. I paid twice.",
		"Let me in": "I paid twice. My password is refused.",
	} {
		got, err := s.choose(t.Context(), question)
		must(t, err)
		var inputs []string
		for _, e := range got {
			inputs = append(inputs, e.Input)
		}
		if strings.Join(inputs, " ") != want {
			t.Errorf("%s: %v", question, inputs)
		}
	}
	if _, err := NewShots(t.Context(), task, p, 2, nil); err == nil {
		t.Error("nearest examples without an encoder")
	}
}

// TestNearestOfAPrompt: a prompt that says so gives questions the nearest examples by the encoder that it names, as many as
// it says or the route asks for; hints stay with them; and another encoder is refused.
func TestNearestOfAPrompt(t *testing.T) {
	task, p := tickets()
	p.Nearest = prompt.Nearest{Examples: 1, Encoder: "nearby"}
	for limit, want := range map[int]string{0: "I paid twice.", 2: "The invoice is wrong. I paid twice."} {
		s, err := NewShots(t.Context(), task, p, limit, nearby{})
		must(t, err)
		got, err := s.choose(t.Context(), "I paid")
		must(t, err)
		var inputs []string
		for _, e := range got {
			inputs = append(inputs, e.Input)
		}
		if strings.Join(inputs, " ") != want {
			t.Errorf("%d: %v", limit, inputs)
		}
	}
	for name, encoder := range map[string]string{"another": "elsewhere", "none": ""} {
		q := p
		q.Nearest.Encoder = cmp.Or(encoder, "nearby")
		var by lm.Embedder = nearby{}
		if name == "none" {
			by = nil
		}
		if _, err := NewShots(t.Context(), task, q, 0, by); err == nil {
			t.Errorf("%s: the encoder is taken", name)
		}
	}
	_, plain := tickets()
	s, err := NewShots(t.Context(), task, plain, 1, nearby{})
	must(t, err)
	e := &evidence.Evidence{Encoder: "nearby", Labels: task.Labels, Sums: 1, Sigma: 1, Vectors: [][]float64{{3, 0}, {0, 3}}}
	by, err := evidence.Open(e, nearby{})
	must(t, err)
	must(t, s.Hint(t.Context(), by, 0))
	got, err := s.choose(t.Context(), "I paid")
	must(t, err)
	if len(got) != 1 || !strings.HasPrefix(got[0].Input, "I paid twice. (similar texts: billing") {
		t.Errorf("the nearest example with a hint is %v", got)
	}
}

// TestErrors: all of them have OpenAI's shape, and none repeats what was asked.
func TestErrors(t *testing.T) {
	const secret = "xyzzy-4711"
	u := newUpstream(t, says(200, completion))
	dead := newUpstream(t, nil)
	h, front := gatewayTo(t, u, Options{Largest: 4096})
	s, err := NewServer(dead.URL, "", false)
	must(t, err)
	dead.Close()
	task, p := tickets()
	shots, err := NewShots(t.Context(), task, p, 0, nil)
	must(t, err)
	table, err := NewTable([]*Route{{Name: "tickets", Upstream: s, Model: "m", Shots: shots}})
	must(t, err)
	h.Use(table)
	long := strings.Repeat("a", 5000)
	for name, c := range map[string]struct {
		path, body string
		status     int
		param      string
	}{
		"no object":         {"/v1/chat/completions", `["` + secret + `"]`, 400, ""},
		"no JSON":           {"/v1/chat/completions", `{"a` + secret, 400, ""},
		"too large":         {"/v1/chat/completions", `{"model":"` + secret + long + `"}`, 413, ""},
		"no model":          {"/v1/chat/completions", `{"x":"` + secret + `"}`, 400, "model"},
		"model a number":    {"/v1/chat/completions", `{"model":4,"x":"` + secret + `"}`, 400, "model"},
		"unknown model":     {"/v1/chat/completions", `{"model":"` + secret + `"}`, 404, "model"},
		"no messages":       {"/v1/chat/completions", `{"model":"tickets"}`, 400, "messages"},
		"messages no list":  {"/v1/chat/completions", `{"model":"tickets","messages":"` + secret + `"}`, 400, "messages"},
		"message no object": {"/v1/chat/completions", `{"model":"tickets","messages":["` + secret + `"]}`, 400, "messages"},
		"tokens":            {"/v1/completions", `{"model":"tickets","prompt":[1,2]}`, 400, "prompt"},
		"no upstream":       {"/v1/chat/completions", `{"model":"tickets","messages":[{"role":"user","content":"` + secret + `"}]}`, 502, ""},
		"embeddings":        {"/v1/embeddings", `{"model":"tickets","input":"` + secret + `"}`, 400, "model"},
		"no such path":      {"/v1/images", `{}`, 404, ""},
	} {
		r, got := post(t, front.URL+c.path, c.body)
		var shape struct {
			Error struct {
				Message, Type string
				Param, Code   *string
			}
		}
		at := expect.At(t, "%s", name)
		expect.NoError(expect.At(at, "%s", got), json.Unmarshal([]byte(got), &shape))
		expect.True(at, "a message", shape.Error.Message != "", got)
		expect.True(at, "a type", shape.Error.Type != "", got)
		param := ""
		if shape.Error.Param != nil {
			param = *shape.Error.Param
		}
		expect.Equal(at, "r.StatusCode", r.StatusCode, c.status)
		expect.Equal(at, "param", param, c.param)
		expect.True(at, "no secret", !strings.Contains(got, secret), got)
	}
	if len(u.bodies) != 0 {
		t.Error("the upstream was asked")
	}
}

// TestUpstreamErrors: those in OpenAI's shape pass, others become one.
func TestUpstreamErrors(t *testing.T) {
	for text, want := range map[string]struct {
		status int
		holds  string
	}{
		`429 {"error":{"message":"slow down","type":"rate_limit_error"}}`: {429, "slow down"},
		`500 <html>traceback`:         {502, "refused with 500"},
		`400 {"detail":"something"}`:  {400, "refused with 400"},
		`503 {"error":"as a string"}`: {502, "refused with 503"},
	} {
		var status int
		var body string
		_, err := fmt.Sscanf(text, "%d", &status)
		must(t, err)
		body = text[4:]
		_, front := gatewayTo(t, newUpstream(t, says(status, body)), Options{})
		r, got := post(t, front.URL+"/v1/chat/completions", `{"model":"plain","messages":[]}`)
		at := expect.At(t, "%s", text)
		expect.Equal(at, "r.StatusCode", r.StatusCode, want.status)
		expect.Contains(at, "got", got, want.holds)
		expect.Contains(at, "got", got, `"error":{`)
		expect.True(at, "no traceback", !strings.Contains(got, "traceback"), got)
	}
}

// events answers with parts of a stream, each after it was asked for.
func events(parts []string, next <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		control := http.NewResponseController(w)
		for _, p := range parts {
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
			fmt.Fprint(w, p)
			_ = control.Flush()
		}
	}
}

// TestStream: events pass as they come, the first with what the gateway adds.
func TestStream(t *testing.T) {
	next := make(chan struct{})
	parts := []string{": hello\n\n", `data: {"choices":[{"delta":{"content":"lo"}}]}` + "\n\n", `data: {"choices":[{"delta":{"content":"gin"}}]}` + "\n\n", "data: [DONE]\n\n"}
	_, front := gatewayTo(t, newUpstream(t, events(parts, next)), Options{})
	go func() { next <- struct{}{} }() // headers come with the first
	r, err := http.Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"tickets","stream":true,"messages":[{"role":"user","content":"x"}]}`))
	must(t, err)
	defer r.Body.Close()
	lines := bufio.NewReader(r.Body)
	read := func() string {
		t.Helper()
		line, err := lines.ReadString('\n')
		must(t, err)
		end, err := lines.ReadString('\n')
		must(t, err)
		return line + end
	}
	var got []string
	for i := range parts {
		if i > 0 {
			next <- struct{}{} // the part before was read: it was not held back
		}
		got = append(got, read())
	}
	at := expect.At(t, "the client got")
	expect.Equal(at, "got[0]", got[0], parts[0])
	expect.Equal(at, "got[2]", got[2], parts[2])
	expect.Equal(at, "got[3]", got[3], parts[3])
	first, _ := strings.CutPrefix(got[1], "data: ")
	var event struct {
		Choices []any
		Sotto   About
	}
	must(t, json.Unmarshal([]byte(first), &event))
	if len(event.Choices) != 1 || event.Sotto.Release != "demos" {
		t.Errorf("the first event is %s", got[1])
	}
}

// TestStreamBreaksOff: a client of a stream that broke off does not take it for whole.
func TestStreamBreaksOff(t *testing.T) {
	u := newUpstream(t, nil)
	for _, half := range []string{"", "data: {\"half\":", "data: {}\n"} {
		u.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"choices":[]}`+"\n\n"+half)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, front := gatewayTo(t, u, Options{})
		_, got := post(t, front.URL+"/v1/chat/completions", `{"model":"plain","stream":true,"messages":[]}`)
		at := expect.At(t, "after %q the client got", half)
		expect.True(at, "no [DONE]", !strings.Contains(got, "[DONE]"), got)
		expect.True(at, "no half", !strings.Contains(got, "half"), got)
		expect.Contains(at, "got", got, "\n\ndata: {\"error\":{\"message\":")
	}
}

// TestStreamPauses: over HTTP/2 too, an upstream may think for longer than a client may take to
// read.
func TestStreamPauses(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range []string{"data:{\"a\":1}\r\n\r\n", "data: [DONE]\n\n"} {
			fmt.Fprint(w, p)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(300 * time.Millisecond)
		}
	})
	h, _ := gatewayTo(t, u, Options{WriteTimeout: 100 * time.Millisecond})
	front := httptest.NewUnstartedServer(h)
	front.EnableHTTP2 = true
	front.StartTLS()
	defer front.Close()
	r, err := front.Client().Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"plain","stream":true,"messages":[]}`))
	must(t, err)
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	want := "data: {\"a\":1,\"sotto\":{\"route\":\"plain\",\"version\":0,\"private\":false,\"epsilon_spent\":0}}\r\n\r\ndata: [DONE]\n\n"
	at := expect.At(t, "by HTTP/2")
	expect.NoError(at, err)
	expect.Equal(at, "r.ProtoMajor", r.ProtoMajor, 2)
	expect.Equal(at, "data", string(data), want)
}

// TestStreamWithoutEnd: an upstream does not fill this program's memory.
func TestStreamWithoutEnd(t *testing.T) {
	sent := 0
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for block := make([]byte, 1<<20); sent < 64; sent++ {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	_, front := gatewayTo(t, u, Options{})
	_, got := post(t, front.URL+"/v1/chat/completions", `{"model":"plain","stream":true,"messages":[]}`)
	if len(got) > 1<<20 || !strings.Contains(got, `"error":{`) {
		t.Errorf("the client got %d bytes", len(got))
	}
}

// TestUpstreamKeepsItsKey: what an upstream says about the gateway's key is for nobody else.
func TestUpstreamKeepsItsKey(t *testing.T) {
	for _, status := range []int{401, 403, 407, 400, 500} {
		u := newUpstream(t, says(status, `{"error":{"message":"wrong key sk-upstream","type":"x"}}`))
		_, front := gatewayTo(t, u, Options{})
		r, got := post(t, front.URL+"/v1/chat/completions", `{"model":"plain","messages":[]}`)
		at := expect.At(t, "%d", status)
		expect.True(at, "no sk-upstream", !strings.Contains(got, "sk-upstream"), got)
		expect.True(at, "r.StatusCode is not 401", r.StatusCode != 401, r.StatusCode)
		expect.True(at, "r.StatusCode is not 403", r.StatusCode != 403, r.StatusCode)
		expect.Contains(at, "got", got, `"error":{`)
	}
}

// TestNoteIsForJSON: other answers, and what only ends like an object, are not touched.
func TestNoteIsForJSON(t *testing.T) {
	for kind, text := range map[string]string{"audio/mpeg": "}{}", "application/json": `{"a":}`, "text/plain": `{"a":1}`} {
		u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, text)
		})
		_, front := gatewayTo(t, u, Options{})
		if _, got := post(t, front.URL+"/v1/chat/completions", `{"model":"plain","messages":[]}`); got != text {
			t.Errorf("%s: %q", kind, got)
		}
	}
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "br")
		fmt.Fprint(w, `{}`)
	})
	_, front := gatewayTo(t, u, Options{})
	if r, got := post(t, front.URL+"/v1/chat/completions", `{"model":"plain","messages":[]}`); r.StatusCode != 502 {
		t.Errorf("%d %s", r.StatusCode, got)
	}
}

// TestAlmostTheSameName: a member that some programs take for another does not get past what
// the gateway puts there.
func TestAlmostTheSameName(t *testing.T) {
	u := newUpstream(t, says(200, completion))
	_, front := gatewayTo(t, u, Options{})
	messages := `"messages":[{"role":"user","content":"x"}]`
	for _, body := range []string{
		`{"model":"tickets",` + messages + `,"Messages":[]}`, `{"model":"tickets",` + messages + `,"me\u017f\u017fages":[]}`,
		`{"model":"tickets","MODEL":"x",` + messages + `}`, `{"model":"tickets","messages":[{"role":"user","Role":"system","content":"x"}]}`,
	} {
		if r, got := post(t, front.URL+"/v1/chat/completions", body); r.StatusCode != 400 {
			t.Errorf("%s: %d %s", body, r.StatusCode, got)
		}
	}
	q, err := http.Post(front.URL+"/v1/chat/completions", "text/plain", strings.NewReader(`{"model":"plain",`+messages+`}`))
	must(t, err)
	defer q.Body.Close()
	if q.StatusCode != 415 || len(u.bodies) != 0 {
		t.Errorf("what a web page can send: %d, and the upstream was asked %d times", q.StatusCode, len(u.bodies))
	}
}

// TestServers: keys and questions do not travel in clear by accident.
func TestServers(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://far.example/v1": true, "http://127.0.0.1:1": true, "http://localhost": true, "http://[::1]:80/v1": true,
		"http://far.example": false, "far.example": false, "ftp://far.example": false, "https://a:b@far.example": false, "https://far.example?x=1": false, "": false,
	} {
		if _, err := NewServer(address, "k", false); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := NewServer("http://far.example", "k", true); err != nil {
		t.Error(err)
	}
}

// TestClientGone: an upstream is not kept busy for a client that has gone.
func TestClientGone(t *testing.T) {
	ended := make(chan struct{})
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(ended)
	})
	_, front := gatewayTo(t, u, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, front.URL+"/v1/chat/completions", strings.NewReader(`{"model":"plain","messages":[]}`))
	must(t, err)
	q.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(q)
	must(t, err)
	defer r.Body.Close()
	_, err = bufio.NewReader(r.Body).ReadString('\n')
	must(t, err)
	cancel()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the upstream continues")
	}
}

// TestAllow: who may not use a route is refused before the upstream is asked, and does not
// see it.
func TestAllow(t *testing.T) {
	u := newUpstream(t, says(200, completion))
	_, front := gatewayTo(t, u, Options{Allow: func(r *http.Request, route string) (string, error) {
		switch {
		case r.Header.Get("Authorization") != "Bearer right":
			return "", problem(http.StatusUnauthorized, authentication, "", "invalid_api_key", "no key")
		case route == "plain":
			return "right", problem(http.StatusForbidden, permission, "model", "", "not this one")
		}
		return "right", nil
	}})
	ask := func(method, path, key, body string) (int, string) {
		t.Helper()
		q, err := http.NewRequest(method, front.URL+path, strings.NewReader(body))
		must(t, err)
		q.Header.Set("Authorization", "Bearer "+key)
		q.Header.Set("Content-Type", "application/json")
		r, err := http.DefaultClient.Do(q)
		must(t, err)
		defer r.Body.Close()
		data, err := io.ReadAll(r.Body)
		must(t, err)
		return r.StatusCode, string(data)
	}
	for _, c := range []struct {
		method, path, key, body string
		status                  int
		holds, lacks            string
	}{
		{"GET", "/v1/models", "wrong", "", 401, "invalid_api_key", "tickets"},
		{"GET", "/v1/models", "right", "", 200, `"id":"tickets"`, "plain"},
		{"GET", "/v1/models/tickets", "right", "", 200, `"id":"tickets"`, "plain"},
		{"GET", "/v1/models/plain", "right", "", 403, "not this one", "object"},
		{"POST", "/v1/chat/completions", "wrong", `{"model":"tickets","messages":[{"role":"user","content":"x"}]}`, 401, "invalid_api_key", "choices"},
		{"POST", "/v1/chat/completions", "right", `{"model":"plain","messages":[]}`, 403, "not this one", "choices"},
		{"POST", "/v1/chat/completions", "right", `{"model":"tickets","messages":[{"role":"user","content":"x"}]}`, 200, "choices", "error"},
	} {
		status, got := ask(c.method, c.path, c.key, c.body)
		at := expect.At(t, "%s %s with the key %s", c.method, c.path, c.key)
		expect.Equal(at, "status", status, c.status)
		expect.Contains(at, "got", got, c.holds)
		expect.True(at, "no c.lacks", !strings.Contains(got, c.lacks), got)
	}
	if len(u.bodies) != 1 {
		t.Errorf("the upstream was asked %d times", len(u.bodies))
	}
}

// TestConcurrentReload: routes change while requests are under way, and none is dropped.
func TestConcurrentReload(t *testing.T) {
	u := newUpstream(t, says(200, completion))
	h, front := gatewayTo(t, u, Options{})
	first := h.routes.table.Load()
	task, p := tickets()
	shots, err := NewShots(t.Context(), task, p, 0, nil)
	must(t, err)
	s, err := NewServer(u.URL, "", false)
	must(t, err)
	second, err := NewTable([]*Route{{Name: "tickets", Upstream: s, Model: "other", Shots: shots, About: About{Route: "tickets", Version: 4}}})
	must(t, err)
	var versions [8]atomic.Int64
	stop := make(chan struct{})
	var changing, asking sync.WaitGroup
	changing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				h.Use([]*Table{first, second}[i%2])
			}
		}
	})
	for range 8 {
		asking.Go(func() {
			for range 50 {
				r, err := http.Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"tickets","messages":[{"role":"user","content":"x"}]}`))
				if err != nil {
					t.Error(err)
					return
				}
				var answer struct{ Sotto About }
				err = json.NewDecoder(r.Body).Decode(&answer)
				if err = errors.Join(err, r.Body.Close()); err != nil || r.StatusCode != 200 {
					t.Error(r.Status, err)
				}
				versions[answer.Sotto.Version%8].Add(1)
			}
		})
	}
	asking.Wait()
	close(stop)
	changing.Wait()
	if versions[3].Load()+versions[4].Load() != 400 {
		t.Errorf("of 400 answers %d and %d came by the two tables", versions[3].Load(), versions[4].Load())
	}
}

// FuzzInsert: an object gets the member and keeps all others; anything else stays.
func FuzzInsert(f *testing.F) {
	for _, s := range []string{`{}`, ` {"a":1} ` + "\n", `[1]`, `{"a":{"b":"}"}}`, `"x"`, ``, `}`, `{"sotto":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := insert(data, "sotto", []byte(`{"x":1}`))
		var before, after map[string]json.RawMessage
		if json.Unmarshal(data, &before) != nil || before == nil {
			return
		}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%q became %q: %v", data, got, err)
		}
		if string(after["sotto"]) != `{"x":1}` {
			t.Fatalf("%q became %q", data, got)
		}
		delete(before, "sotto")
		delete(after, "sotto")
		for k, v := range before {
			if !bytes.Equal(after[k], v) {
				t.Errorf("%q lost %q", data, k)
			}
		}
		if len(before) != len(after) {
			t.Errorf("%q became %q", data, got)
		}
	})
}

// FuzzChat: whatever a client sends, its own messages are all there, in their order, after
// what instructs.
func FuzzChat(f *testing.F) {
	for _, s := range []string{
		`[{"role":"user","content":"x"}]`, `[{"role":"system","content":"s"}]`, `[{"role":"user"}]`, `[null]`, `[{}]`, `{}`, `[]`,
		`[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"tool","content":"y","tool_call_id":"1"}]`,
	} {
		f.Add(s)
	}
	task, p := tickets()
	shots, err := NewShots(f.Context(), task, p, 0, nil)
	must(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := shots.chat(t.Context(), json.RawMessage(text))
		var known *Error
		if err != nil {
			if !errors.As(err, &known) || known.Status != 400 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		var list []json.RawMessage
		must(t, json.Unmarshal([]byte(text), &list))
		// The instruction is a message of its own, or part of the client's.
		if more := len(got) - len(list) - 2*len(p.Examples); more != 0 && more != 1 {
			t.Errorf("%q became %d messages", text, len(got))
		}
		if _, err := marshal(got); err != nil {
			t.Error(err)
		}
	})
}
