package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// oracle answers with the question's last word, for as long as its budget lasts.
type oracle struct {
	mu     sync.Mutex
	left   int
	asked  []string // by whom and what
	hold   chan struct{}
	fails  error
	before func()
}

// next sets what the next answer does. A request that ended by a fault may still be under way.
func (o *oracle) next(before func(), fails error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.before, o.fails = before, fails
}

func (o *oracle) Answer(ctx context.Context, who, question string) (*PrivateAnswer, error) {
	show := func() {}
	if o.paid() {
		show = Hold(ctx)
	}
	defer show()
	o.mu.Lock()
	before := o.before
	o.mu.Unlock()
	if before != nil {
		before()
	}
	if o.hold != nil {
		select {
		case <-o.hold:
		case <-ctx.Done():
			return nil, Charged("c9")
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fails != nil {
		return nil, o.fails
	}
	if o.left == 0 {
		return nil, Budget("privacy_budget_exhausted", "no more")
	}
	o.left--
	o.asked = append(o.asked, who+": "+question)
	words := strings.Fields(question)
	left := float64(o.left)
	return &PrivateAnswer{Text: words[len(words)-1], Asked: len(words), Tokens: 1, Charge: fmt.Sprintf("c%d", len(o.asked)), Spent: float64(len(o.asked)), Left: &left, Delta: 1e-6}, nil
}

// paid reports whether a question is paid for: only then is a record drawn.
func (o *oracle) paid() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.left > 0
}

// privateGateway serves an oracle as the route "ask".
func privateGateway(t *testing.T, o *oracle, pace time.Duration, records func(Record)) string {
	t.Helper()
	table, err := NewTable([]*Route{{Name: "ask", Private: &Private{Answerer: o, Turns: &Turns{}, Pace: pace}, About: About{Route: "ask", Version: 2}}})
	must(t, err)
	front := httptest.NewServer(New(table, Options{Done: records, Allow: func(r *http.Request, _ string) (string, error) {
		return r.Header.Get("Authorization"), nil
	}}))
	t.Cleanup(front.Close)
	return front.URL
}

// send posts a question with headers.
func send(t *testing.T, ctx context.Context, url, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	must(t, err)
	q.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	must(t, err)
	return r.StatusCode, r.Header, string(data)
}

const question = `{"model":"ask","messages":[{"role":"user","content":"what is it"}]}`

// TestPrivate: an answer says what it cost and what is left; without budget there is none, as
// OpenAI's clients see errors.
func TestPrivate(t *testing.T) {
	o := &oracle{left: 3}
	var records []Record
	url := privateGateway(t, o, 0, func(r Record) { records = append(records, r) })
	status, header, got := send(t, t.Context(), url+"/v1/chat/completions", `{"model":"ask","temperature":0.3,"seed":4,"Ü":1,"messages":[{"role":"user","content":"what is it"}]}`, "Authorization", "k1")
	var a struct {
		apiResponse
		Sotto About `json:"sotto"`
	}
	must(t, json.Unmarshal([]byte(got), &a))
	expect.Equal(t, "status", status, 200)
	expect.Equal(t, "a.Choices[0].Message.Content", a.Choices[0].Message.Content, "it")
	expect.Equal(t, "*a.Choices[0].Finish", *a.Choices[0].Finish, "stop")
	expect.Equal(t, "*a.Usage", *a.Usage, (counts{3, 1, 4}))
	expect.Equal(t, "a.Model", a.Model, "ask")
	s := a.Sotto
	at := expect.At(t, "%s", got)
	expect.Equal(at, "s.Spent", s.Spent, 1)
	expect.Equal(at, "*s.Left", *s.Left, 2)
	expect.Equal(at, "s.Charge", s.Charge, "c1")
	expect.True(at, "s.Private", s.Private)
	expect.Equal(at, "s.Version", s.Version, 2)
	expect.Equal(at, "s.Ignored", fmt.Sprint(s.Ignored), "[seed temperature]")
	expect.Equal(t, "Sotto-Epsilon-Spent", header.Get("Sotto-Epsilon-Spent"), "1")
	expect.Equal(t, "Sotto-Epsilon-Left", header.Get("Sotto-Epsilon-Left"), "2")
	expect.Equal(t, "Sotto-Delta", header.Get("Sotto-Delta"), "1e-06")
	_, _, got = send(t, t.Context(), url+"/v1/completions", `{"model":"ask","prompt":"what now"}`)
	if !strings.Contains(got, `"text":"now"`) {
		t.Error(got)
	}
	_, _, got = send(t, t.Context(), url+"/v1/chat/completions", `{"model":"ask","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":[{"type":"text","text":"what is it"}]}]}`)
	expect.Contains(t, "got", got, `"content":"it"`)
	expect.Contains(t, "got", got, `"epsilon_left":0`)
	expect.Contains(t, "got", got, `"total_tokens":4`)
	expect.True(t, "it ends with [DONE]", strings.HasSuffix(got, "data: [DONE]\n\n"), got)
	status, _, got = send(t, t.Context(), url+"/v1/chat/completions", question)
	expect.Equal(t, "status", status, http.StatusPaymentRequired)
	expect.Contains(t, "got", got, `"code":"privacy_budget_exhausted"`)
	expect.Contains(t, "got", got, `"type":"insufficient_quota"`)
	if len(o.asked) != 3 || o.asked[0] != "k1: what is it" {
		t.Errorf("%q", o.asked)
	}
	expect.Len(t, "records", records, 4)
	expect.Equal(t, "records[0].Charge", records[0].Charge, "c1")
	expect.Equal(t, "records[0].Client", records[0].Client, "k1")
	expect.Equal(t, "records[0].Route", records[0].Route, "ask")
	expect.Equal(t, "records[0].Version", records[0].Version, 2)
	expect.Equal(t, "records[3].Status", records[3].Status, 402)
	expect.Equal(t, "records[3].Charge", records[3].Charge, "")
}

// TestPrivateQuestions: a request that asks for what the mechanism does not do is refused before
// anything is paid.
func TestPrivateQuestions(t *testing.T) {
	o := &oracle{left: 100}
	url := privateGateway(t, o, 0, nil)
	one := `"messages":[{"role":"user","content":"x"}]`
	for body, param := range map[string]string{
		`"n":2,` + one:                                    "n",
		`"tools":[{"type":"function"}],` + one:            "tools",
		`"functions":[{"name":"f"}],` + one:               "functions",
		`"response_format":{"type":"json_object"},` + one: "response_format",
		`"modalities":["audio"],` + one:                   "modalities",
		`"messages":[]`:                                   "messages",
		`"messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}]`:                     "messages",
		`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]`:                  "messages",
		`"messages":[{"role":"user","content":"  "}]`:                                                    "messages",
		`"messages":[{"role":"user","content":[{"type":"image_url"}]}]`:                                  "messages",
		`"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`: "messages",
		`"messages":7`:          "",
		`"stream":"yes",` + one: "",
	} {
		status, _, got := send(t, t.Context(), url+"/v1/chat/completions", `{"model":"ask",`+body+`}`)
		var shape struct{ Error Error }
		must(t, json.Unmarshal([]byte(got), &shape))
		found := ""
		if shape.Error.Param != nil {
			found = *shape.Error.Param
		}
		if status != 400 || found != param {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
	for path, body := range map[string]string{"/v1/embeddings": `{"model":"ask","input":"x"}`, "/v1/responses": `{"model":"ask","input":"x"}`} {
		if status, _, got := send(t, t.Context(), url+path, body); status != 404 {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	if len(o.asked) > 0 {
		t.Errorf("%q were paid for", o.asked)
	}
}

// TestPrivateErrors: what was charged and not answered must not be tried again by a client that
// does so by itself, and no cause reaches it.
func TestPrivateErrors(t *testing.T) {
	o := &oracle{left: 9, fails: Charged("c9")}
	url := privateGateway(t, o, 0, nil)
	status, header, got := send(t, t.Context(), url+"/v1/chat/completions", question)
	expect.Equal(t, "status", status, 500)
	expect.Equal(t, "X-Should-Retry", header.Get("X-Should-Retry"), "false")
	expect.Contains(t, "got", got, "charged_without_answer")
	o.fails = errors.New("a secret of the records")
	status, _, got = send(t, t.Context(), url+"/v1/chat/completions", question)
	if status != 500 || strings.Contains(got, "secret") {
		t.Errorf("%d %s", status, got)
	}
}

// TestConcurrentKept: a request that is made again by its name is paid for once, also when it
// is still under way, or its client was gone; another client's is another.
func TestConcurrentKept(t *testing.T) {
	o := &oracle{left: 9, hold: make(chan struct{})}
	url := privateGateway(t, o, 0, nil) + "/v1/chat/completions"
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		send(t, ctx, url, question, "Idempotency-Key", "a", "Authorization", "k1")
	}()
	var all sync.WaitGroup
	answers := make([]string, 4)
	for i := range answers {
		all.Go(func() {
			_, _, answers[i] = send(t, t.Context(), url, question, "Idempotency-Key", "a", "Authorization", "k1")
		})
	}
	time.Sleep(20 * time.Millisecond) // most of them wait by then; if not, the test is weaker, not wrong
	leave()
	<-left
	close(o.hold)
	all.Wait()
	for _, got := range answers {
		if !strings.Contains(got, `"content":"it"`) || !strings.Contains(got, `"charge":"c1"`) {
			t.Error(got)
		}
	}
	if len(o.asked) != 1 {
		t.Errorf("paid for %d times", len(o.asked))
	}
	if status, _, got := send(t, t.Context(), url, strings.Replace(question, "it", "that", 1), "Idempotency-Key", "a", "Authorization", "k1"); status != 422 {
		t.Errorf("%d %s", status, got)
	}
	send(t, t.Context(), url, question, "Idempotency-Key", "a", "Authorization", "k2")
	send(t, t.Context(), url, question, "Authorization", "k1")
	if len(o.asked) != 3 {
		t.Errorf("%q", o.asked)
	}
	// What was not paid for can be asked for again; what was charged says so again.
	o.left = 0
	for _, fails := range []error{nil, Charged("c9")} {
		o.fails = fails
		first, _, _ := send(t, t.Context(), url, question, "Idempotency-Key", fmt.Sprint("b", fails != nil))
		o.left, o.fails = 9, nil
		second, _, _ := send(t, t.Context(), url, question, "Idempotency-Key", fmt.Sprint("b", fails != nil))
		if want := map[bool]int{true: 500, false: 200}[fails != nil]; second != want || first == 200 {
			t.Errorf("%d, then %d", first, second)
		}
	}
}

// TestConcurrentLeaving: an answer that was begun is written to its end, and noted with its charge,
// when its client leaves; one that waits for its turn is not asked.
func TestConcurrentLeaving(t *testing.T) {
	o := &oracle{left: 9, hold: make(chan struct{})}
	records := make(chan Record, 9)
	url := privateGateway(t, o, 0, func(r Record) { records <- r }) + "/v1/chat/completions"
	begun := make(chan struct{}, 9)
	o.before = func() { begun <- struct{}{} }
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { send(t, ctx, url, question) })
	<-begun
	waits, leaveToo := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer leaveToo()
	send(t, waits, url, question)
	if r := <-records; r.Charge != "" {
		t.Errorf("%+v", r)
	}
	leave()
	all.Wait()
	close(o.hold)
	if r := <-records; r.Charge != "c1" {
		t.Errorf("%+v", r)
	}
	if len(o.asked) != 1 || len(begun) != 0 {
		t.Errorf("%q", o.asked)
	}
}

// TestFault: an internal error ends its request, and says where it was and not what it held.
func TestFault(t *testing.T) {
	o := &oracle{before: func() { panic("a secret") }}
	done := make(chan Record, 1)
	url := privateGateway(t, o, 0, func(r Record) { done <- r })
	if status, _, got := send(t, t.Context(), url+"/v1/chat/completions", question); status != 0 {
		t.Errorf("%d %s", status, got)
	}
	r := <-done
	expect.Equal(t, "r.Status", r.Status, 500)
	expect.Contains(t, "r.Fault", r.Fault, "private_test.go")
	expect.True(t, "no secret in r.Fault", !strings.Contains(r.Fault, "secret"), r.Fault)
}

// TestConcurrentFaultOfANamedRequest: anyone who asks for it again is told that it was charged.
func TestConcurrentFaultOfANamedRequest(t *testing.T) {
	o := &oracle{before: func() { panic("a secret") }}
	done := make(chan Record, 9)
	url := privateGateway(t, o, 0, func(r Record) { done <- r })
	send(t, t.Context(), url+"/v1/chat/completions", question, "Idempotency-Key", "a")
	status, _, got := send(t, t.Context(), url+"/v1/chat/completions", question, "Idempotency-Key", "a")
	expect.Equal(t, "status", status, 500)
	expect.Contains(t, "got", got, "charged_without_answer")
	expect.True(t, "no secret", !strings.Contains(got, "secret"), got)
	if r := <-done; !strings.Contains(r.Fault, "private_test.go") {
		t.Errorf("%+v", r)
	}
}

// TestTurns: one client cannot keep all others from waiting for a model.
func TestTurns(t *testing.T) {
	var turns Turns
	must(t, turns.Take(t.Context(), "a"))
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	wait := func(who string, n int) (refused int) {
		results := make(chan error, n)
		for range n {
			all.Go(func() { results <- turns.Take(ctx, who) })
		}
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			turns.mu.Lock()
			waiting := turns.waiting[who]
			turns.mu.Unlock()
			if waiting+len(results) == n {
				return len(results)
			}
		}
		t.Fatal("they neither wait nor are refused")
		return 0
	}
	if refused := wait("a", 40); refused != 40-maxOfOne {
		t.Errorf("%d of one client are refused", refused)
	}
	if refused := wait("b", 3); refused != 0 {
		t.Errorf("%d of another client are refused", refused)
	}
	for i := range 4 {
		wait(fmt.Sprint("c", i), maxOfOne)
	}
	if turns.all != maxWaiting {
		t.Errorf("%d wait", turns.all)
	}
	cancel()
	all.Wait()
	turns.Give()
	if turns.all != 0 || len(turns.waiting) != 0 {
		t.Errorf("%d wait, of %v", turns.all, turns.waiting)
	}
}

// TestRecord: paths that do not exist, and names of models, are not in records.
func TestRecord(t *testing.T) {
	var records []Record
	url := privateGateway(t, &oracle{}, 0, func(r Record) { records = append(records, r) })
	for _, path := range []string{"/v1/models", "/v1/models/secret", "/secret"} {
		r, err := http.Get(url + path)
		must(t, err)
		must(t, r.Body.Close())
	}
	send(t, t.Context(), url+"/v1/chat/completions", `{"model":"secret"}`)
	text := fmt.Sprintf("%+v", records)
	expect.Len(t, "records", records, 4)
	expect.True(t, "no secret", !strings.Contains(text, "secret"), text)
	expect.Equal(t, "records[0].Status", records[0].Status, 200)
	expect.True(t, "records[0].Bytes is not 0", records[0].Bytes != 0, records[0].Bytes)
	expect.Equal(t, "records[2].Status", records[2].Status, 404)
}

// TestSilence: an upstream that goes silent within an answer is not waited for.
func TestSilence(t *testing.T) {
	release := make(chan struct{})
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":`)
		http.NewResponseController(w).Flush()
		<-release
	})
	defer close(release)
	_, front := gatewayTo(t, u, Options{UpstreamIdleTimeout: 50 * time.Millisecond})
	if r, got := post(t, front.URL+"/v1/chat/completions", `{"model":"plain","messages":[]}`); r.StatusCode != 502 {
		t.Errorf("%d %s", r.StatusCode, got)
	}
}
