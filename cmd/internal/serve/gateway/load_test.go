package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// crowded is a request with very many values, of a key that may use plain alone.
func crowded(model, kind string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":%q,"messages":[]`, model)
	switch kind {
	case "members":
		for i := range n {
			fmt.Fprintf(&b, `,"%x":0`, i)
		}
	case "messages":
		b.WriteString(`,"messages":[{}` + strings.Repeat(`,{}`, n) + `]`)
	case "tools":
		b.WriteString(`,"tools":[[]` + strings.Repeat(`,[]`, n) + `]`)
	case "deep":
		b.WriteString(`,"a":[` + strings.Repeat(`{"b":[0]},`, n) + `0]`)
	}
	return b.String() + "}"
}

// took serves a request and returns how many bytes of memory that took.
func took(h http.Handler, body string) (*httptest.ResponseRecorder, uint64) {
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	h.ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	return w, after.TotalAlloc - before.TotalAlloc
}

// TestManyValues: a request with more values than it may have is refused, whether or not its
// key may use the model, for little more memory than its bytes take.
func TestManyValues(t *testing.T) {
	u := newUpstream(t, says(200, completion))
	h, _ := gatewayTo(t, u, Options{Allow: func(_ *http.Request, route string) (string, error) {
		if route == "tickets" {
			return "k", Forbidden("the key may not use this model")
		}
		return "k", nil
	}})
	for _, model := range []string{"plain", "tickets"} {
		for _, kind := range []string{"members", "messages", "tools", "deep"} {
			body := crowded(model, kind, 700_000)
			w, bytes := took(h, body)
			if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "values") {
				t.Errorf("%s for %s: %d %s", kind, model, w.Code, w.Body)
			}
			if limit := uint64(4 * len(body)); bytes > limit {
				t.Errorf("%s for %s take %d bytes of memory, want at most %d", kind, model, bytes, limit)
			}
		}
	}
	if len(u.bodies) > 0 {
		t.Errorf("the upstream was asked %d times", len(u.bodies))
	}
}

// TestAsManyValuesAsMayBe: a request that may be made takes a bounded amount of memory with
// every kind of values, and its upstream gets them.
func TestAsManyValuesAsMayBe(t *testing.T) {
	u := newUpstream(t, says(200, completion))
	h, _ := gatewayTo(t, u, Options{})
	for _, kind := range []string{"tools", "deep"} {
		if w, _ := took(h, crowded("plain", kind, 15_000)); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", kind, w.Code, w.Body)
		}
	}
	if len(u.bodies) != 2 || len(u.bodies[0]["tools"].([]any)) != 15_001 {
		t.Errorf("the upstream got %d requests", len(u.bodies))
	}
	if w, _ := took(h, crowded("plain", "members", maxMembers+1)); w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "members") {
		t.Errorf("more members than may be: %d %s", w.Code, w.Body)
	}
}

// slowly begins a request of some bytes and keeps it under way; end ends it and returns its answer.
func slowly(t *testing.T, url, key string, size int) (end func() *http.Response) {
	t.Helper()
	in, out := io.Pipe()
	q, err := http.NewRequest(http.MethodPost, url+"/v1/chat/completions", in)
	must(t, err)
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", key)
	answers := make(chan *http.Response, 1)
	go func() {
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Error(err)
		}
		answers <- r
	}()
	// What is refused is not read to its end.
	_, _ = io.WriteString(out, `{"model":"plain","messages":[{"role":"user","content":"`+strings.Repeat("x", size))
	return func() *http.Response {
		_, _ = io.WriteString(out, `"}]}`)
		must(t, out.Close())
		r := <-answers
		t.Cleanup(func() { _ = r.Body.Close() }) // nobody reads it
		return r
	}
}

// TestCapacityOfRequests: what is under way is bounded, for a client and for all, another client has
// its part, and anyone who is refused is told when to come again.
func TestCapacityOfRequests(t *testing.T) {
	u := newUpstream(t, says(200, completion))
	c := &bounded.Capacity{All: 500_000, Each: 200_000}
	_, front := gatewayTo(t, u, Options{Requests: c, Allow: func(r *http.Request, _ string) (string, error) { return r.Header.Get("Authorization"), nil }})
	ask := func(key string, size int) int {
		t.Helper()
		r := slowly(t, front.URL, key, size)()
		if again := r.Header.Get("Retry-After"); r.StatusCode != http.StatusOK && again != "1" {
			t.Errorf("the answer %d says to come again after %q, want 1", r.StatusCode, again)
		}
		return r.StatusCode
	}
	const large = 128 << 10 // what is held for 100,000 bytes of unknown length
	first := slowly(t, front.URL, "a", 100_000)
	soonHeld(t, c, "a", large)
	if got := ask("a", 90_000); got != http.StatusTooManyRequests {
		t.Errorf("a second large request of the client: %d, want 429", got)
	}
	if got := ask("a", 10_000); got != http.StatusOK {
		t.Errorf("a small one beside it: %d, want 200", got)
	}
	second := slowly(t, front.URL, "b", 100_000)
	third := slowly(t, front.URL, "c", 100_000)
	soonHeld(t, c, "b", large)
	soonHeld(t, c, "c", large)
	if got := ask("d", 120_000); got != http.StatusServiceUnavailable {
		t.Errorf("another client where all is held: %d, want 503", got)
	}
	for _, end := range []func() *http.Response{first, second, third} {
		if got := end().StatusCode; got != http.StatusOK {
			t.Errorf("a request that was under way: %d, want 200", got)
		}
	}
	released(t, c)
	if got := ask("a", 90_000); got != http.StatusOK {
		t.Errorf("after the others: %d, want 200", got)
	}
}

// soon waits until something holds.
func soon(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come")
		}
	}
}

// soonHeld waits until a client holds so many bytes.
func soonHeld(t *testing.T, c *bounded.Capacity, client string, bytes int64) {
	t.Helper()
	soon(t, func() bool {
		of, _ := c.InUse(client)
		return of >= bytes
	})
}

// released waits until nothing is held.
func released(t *testing.T, c *bounded.Capacity) {
	t.Helper()
	soon(t, func() bool {
		_, all := c.InUse("")
		return all == 0
	})
}

// TestCapacityOfAnswers: what upstreams answer is held within bounds, whole, as a stream and as an
// error, and given back however it ends.
func TestCapacityOfAnswers(t *testing.T) {
	c := &bounded.Capacity{All: 300_000, Each: 300_000}
	u := newUpstream(t, nil)
	_, front := gatewayTo(t, u, Options{Answers: c})
	for name, test := range map[string]struct {
		kind, text string
		status     int
		want       string
	}{
		"small":             {"application/json", completion, 200, `"sotto"`},
		"too much at once":  {"application/json", `{"a":"` + strings.Repeat("x", 400_000) + `"}`, 200, "under way"},
		"a stream of lines": {"text/event-stream", strings.Repeat("data: "+strings.Repeat("x", 90_000)+"\n\n", 20) + "data: [DONE]\n\n", 200, "[DONE]"},
		"too long a line":   {"text/event-stream", "data: " + strings.Repeat("x", 600_000) + "\n\n", 200, "broke its answer off"},
		"an error":          {"application/json", `{"error":{"message":"` + strings.Repeat("x", 400_000) + `"}}`, 500, "refused with 500"},
	} {
		t.Run(name, func(t *testing.T) {
			u.answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.kind)
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.text) // the gateway may have had enough
			}
			_, got := post(t, front.URL+"/v1/chat/completions", `{"model":"plain","messages":[]}`)
			if !strings.Contains(got, test.want) {
				t.Errorf("the answer has no %q: %.300s", test.want, got)
			}
			released(t, c)
		})
	}
}

// TestManyChoices: an answer that is compared does not become more values than it may have.
func TestManyChoices(t *testing.T) {
	answer := []byte(`{"choices":[{"text":"login"}` + strings.Repeat(`,{}`, 1_000_000) + `]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got := said(answer); got != "" {
		t.Errorf("the answer says %q", got)
	}
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > uint64(len(answer)) {
		t.Errorf("it takes %d bytes of memory", bytes)
	}
	if got := said(bytes.Replace(answer, bytes.Repeat([]byte(",{}"), 999_000), nil, 1)); got != "login" {
		t.Errorf("one with fewer choices says %q, want login", got)
	}
}

// TestRefusePrivate: where everybody is let in, nobody gets an answer from records, and nothing is
// charged.
func TestRefusePrivate(t *testing.T) {
	o := &oracle{left: 5}
	table, err := NewTable([]*Route{{Name: "ask", Private: &Private{Answerer: o, Turns: &Turns{}}, About: About{Route: "ask"}}})
	must(t, err)
	for refused, want := range map[bool]int{true: http.StatusForbidden, false: http.StatusOK} {
		w, _ := took(New(table, Options{RefusePrivate: refused}), `{"model":"ask","messages":[{"role":"user","content":"Why?"}]}`)
		if w.Code != want {
			t.Errorf("private answers are refused: %t; the answer is %d, want %d", refused, w.Code, want)
		}
	}
	if o.left != 4 {
		t.Errorf("%d answers were charged, want 1", 5-o.left)
	}
}
