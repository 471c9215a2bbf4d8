package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
)

// readProbe notes whether something was read of it.
type readProbe struct{ read bool }

func (u *readProbe) Read([]byte) (int, error) {
	u.read = true
	return 0, io.EOF
}

// recorded serves a request.
func recorded(s *Server, q *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.gateway.ServeHTTP(w, q)
	return w
}

// TestCountedBeforeReading: every request of a key counts, whatever is in it and whether or not
// the key may use the model, and beyond what the key may make nothing is read.
func TestCountedBeforeReading(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"news", "other"} {
		_, err := p.SetRoute(t.Context(), "ann", name, store.RouteSpec{Upstream: "local"})
		must(t, err)
	}
	_, secret, err := p.AddKey(t.Context(), "ann", store.Key{Name: "team", Routes: []string{"news"}, PerMinute: 4})
	must(t, err)
	address, _ := p.start(t, Options{})
	send := func(body io.Reader) int {
		t.Helper()
		q, err := http.NewRequest(http.MethodPost, "http://"+address+"/v1/chat/completions", body)
		must(t, err)
		q.Header.Set("Authorization", "Bearer "+secret)
		q.Header.Set("Content-Type", "application/json")
		r, err := http.DefaultClient.Do(q)
		must(t, err)
		must(t, r.Body.Close())
		return r.StatusCode
	}
	for body, want := range map[string]int{
		`{"model":"other","messages":[]}`: 403, `{"model":"nothing"`: 400, `{"model":"absent","messages":[]}`: 403,
		`{"model":"news","a":[` + strings.Repeat("0,", 100_000) + `0]}`: 413,
	} {
		if got := send(strings.NewReader(body)); got != want {
			t.Errorf("%.40s: %d, want %d", body, got, want)
		}
	}
	if got := send(strings.NewReader(`{"model":"news","messages":[]}`)); got != 429 {
		t.Errorf("a request after as many as the key may make: %d, want 429", got)
	}
	// Anyone who sent no more than a header has their answer.
	s, err := New(t.Context(), Options{Listen: "127.0.0.1:0", Store: p.Store, Builder: p.builder})
	must(t, err)
	for _, key := range []string{"", "sk-sotto-unknown"} {
		body := &readProbe{}
		q, err := http.NewRequest(http.MethodPost, "/v1/chat/completions", body)
		must(t, err)
		q.Header.Set("Authorization", "Bearer "+key)
		q.Header.Set("Content-Type", "application/json")
		w := recorded(s, q)
		if w.Code != 401 || body.read {
			t.Errorf("a request with the key %q: %d, read: %t", key, w.Code, body.read)
		}
	}
	body := &readProbe{}
	for i := range 5 {
		q, err := http.NewRequest(http.MethodPost, "/v1/chat/completions", body)
		must(t, err)
		q.Header.Set("Authorization", "Bearer "+secret)
		q.Header.Set("Content-Type", "application/json")
		body.read = false
		if w := recorded(s, q); body.read != (i < 4) || (w.Code == 429) != (i == 4) {
			t.Errorf("request %d of 4: %d, read: %t", i+1, w.Code, body.read)
		}
	}
}

// TestAdministratorsAreBounded: what administrators send is bounded in bytes, values and depth, and
// one of them cannot hold what the others need.
func TestAdministratorsAreBounded(t *testing.T) {
	p := newPlace(t)
	secrets := [2]string{}
	for i := range secrets {
		var err error
		_, secrets[i], err = p.AddKey(t.Context(), "ann", store.Key{Name: "ops", Admin: true})
		must(t, err)
	}
	s, err := New(t.Context(), Options{Listen: "127.0.0.1:0", Admin: "127.0.0.1:0", Store: p.Store, Builder: p.builder})
	must(t, err)
	h := s.adminHandler()
	send := func(key string, body io.Reader) *httptest.ResponseRecorder {
		t.Helper()
		q := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/admin/v1/keys", body)
		q.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		return w
	}
	for _, body := range []string{
		`{"name":"` + strings.Repeat("x", maxForm) + `"}`, `{"name":"x","routes":[` + strings.Repeat(`"a",`, maxValues) + `"a"]}`,
		`{"name":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	} {
		if w := send(secrets[0], strings.NewReader(body)); w.Code != 400 || !strings.Contains(w.Body.String(), "the request") {
			t.Errorf("%.30s: %d %s", body, w.Code, w.Body)
		}
	}
	var under sync.WaitGroup
	defer under.Wait()
	for i := range 8 {
		in, out := io.Pipe()
		defer out.Close()
		under.Go(func() { send(secrets[0], in) })
		_, err := io.WriteString(out, strings.Repeat(" ", maxForm-1))
		must(t, err)
		soon(t, "what was sent", func() bool { _, all := s.forms.InUse(""); return all == int64(i+1)*(maxForm-1) })
	}
	w := send(secrets[0], strings.NewReader(`{"name":"x","routes":["*"]}`+strings.Repeat(" ", 1000)))
	if again := w.Header().Get("Retry-After"); w.Code != 503 || again != "1" {
		t.Errorf("a request more than may be under way: %d, again after %q", w.Code, again)
	}
	if w := send(secrets[1], strings.NewReader(`{"name":"x","routes":["*"]}`)); w.Code != 200 {
		t.Errorf("a request of another administrator: %d %s", w.Code, w.Body)
	}
}

// TestOpenIsNotForRecords: without keys, private routes are refused unless that is said.
func TestOpenIsNotForRecords(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct{ open, private, refused bool }{{false, false, false}, {true, false, true}, {true, true, false}} {
		s, err := New(t.Context(), Options{Listen: "127.0.0.1:0", Open: test.open, OpenPrivate: test.private, Store: p.Store, Builder: p.builder})
		must(t, err)
		if got := s.gateway.RefusePrivate; got != test.refused {
			t.Errorf("open: %t, also to records: %t; these are refused: %t", test.open, test.private, got)
		}
	}
	if _, err := New(t.Context(), Options{Listen: "127.0.0.1:0", OpenPrivate: true, Store: p.Store, Builder: p.builder}); err == nil {
		t.Error("private routes are open where no others are")
	}
}
