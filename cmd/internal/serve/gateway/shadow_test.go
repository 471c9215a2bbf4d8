package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/sys/expect"
)

// TestShadow: a request is asked a second time with the other examples, after its client has its
// answer, and what is kept is how the answers compare.
func TestShadow(t *testing.T) {
	second := ` LOGIN `
	u := newUpstream(t, nil)
	u.answer = func(w http.ResponseWriter, _ *http.Request) {
		u.mu.Lock()
		b := u.bodies[len(u.bodies)-1]
		u.mu.Unlock()
		other := strings.Contains(fmt.Sprint(b["messages"], b["prompt"]), "It is broken.")
		if other && second == "" {
			w.WriteHeader(500)
			return
		}
		text := "login"
		if other {
			text = second
		}
		if b["stream"] == true {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\ndata: [DONE]\n\n", text[:2], text[2:])
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%q}}]}`, text)
	}
	task, p := tickets()
	shots, err := NewShots(t.Context(), task, p, 0, nil)
	must(t, err)
	others, err := NewShots(t.Context(), task, prompt.Prompt{Examples: []prompt.Example{{Input: "It is broken.", Output: "login"}}}, 0, nil)
	must(t, err)
	s, err := NewServer(u.URL, "", false)
	must(t, err)
	route := &Route{Name: "tickets", Upstream: s, Shots: shots, Shadow: &Shadow{Shots: others, Share: 1, Labels: task.Labels}, About: About{Route: "tickets"}}
	table, err := NewTable([]*Route{route})
	must(t, err)
	compared := make(chan Comparison, 1)
	front := httptest.NewServer(New(table, Options{Compared: func(c Comparison) { compared <- c }}))
	t.Cleanup(front.Close)
	ask := func(members string) string {
		t.Helper()
		r, err := http.Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"tickets",`+members+`"messages":[{"role":"user","content":"secret"}]}`))
		must(t, err)
		defer r.Body.Close()
		data, err := io.ReadAll(r.Body)
		must(t, err)
		return string(data)
	}
	for _, c := range []struct {
		members, second string
		want            Comparison
	}{
		{"", " LOGIN ", Comparison{Route: "tickets", Same: true, Labelled: true, Fits: true, ShadowFits: true}},
		{`"stream":true,"stream_options":{"include_usage":true},`, "login", Comparison{Route: "tickets", Same: true, Labelled: true, Fits: true, ShadowFits: true}},
		{`"n":1,`, "I think billing", Comparison{Route: "tickets", Labelled: true, Fits: true}},
		{"", "", Comparison{Route: "tickets", Failed: true}},
	} {
		second = c.second
		got := ask(c.members)
		at := expect.At(t, "the client got")
		expect.Contains(at, "got", got, `lo`)
		expect.True(at, "no LOGIN", !strings.Contains(got, "LOGIN"), got)
		expect.True(at, "no think", !strings.Contains(got, "think"), got)
		if got := <-compared; got != c.want {
			t.Errorf("%q: %+v, want %+v", c.second, got, c.want)
		}
	}
	n := len(u.bodies)
	expect.Equal(t, "n", n, 8)
	expect.Equal(t, "stream", u.bodies[3]["stream"], false)
	expect.True(t, "stream_options is nil", u.bodies[3]["stream_options"] == nil, u.bodies[3]["stream_options"])
	// Several answers are not compared, nor a share of none.
	ask(`"n":2,`)
	route.Shadow.Share = 0
	ask("")
	if len(u.bodies) != 10 {
		t.Errorf("%d requests", len(u.bodies))
	}
}

// TestShadowHoldsItsRequest: what a request holds is held until its comparison has ended.
func TestShadowHoldsItsRequest(t *testing.T) {
	second := make(chan struct{})
	u := newUpstream(t, nil)
	u.answer = func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		n := len(u.bodies)
		u.mu.Unlock()
		if n > 1 {
			<-second
		}
		says(200, completion)(w, r)
	}
	task, p := tickets()
	shots, err := NewShots(t.Context(), task, p, 0, nil)
	must(t, err)
	s, err := NewServer(u.URL, "", false)
	must(t, err)
	table, err := NewTable([]*Route{{Name: "tickets", Upstream: s, Shots: shots, Shadow: &Shadow{Shots: shots, Share: 1}, About: About{Route: "tickets"}}})
	must(t, err)
	h := New(table, Options{})
	front := httptest.NewServer(h)
	t.Cleanup(front.Close)
	post(t, front.URL+"/v1/chat/completions", `{"model":"tickets","messages":[{"role":"user","content":"a"}]}`)
	soon(t, func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		return len(u.bodies) == 2
	})
	if _, held := h.Requests.InUse(""); held == 0 {
		t.Error("a request that is compared holds nothing")
	}
	close(second)
	released(t, h.Requests)
}
