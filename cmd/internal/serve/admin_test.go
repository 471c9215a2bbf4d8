package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// startBoth serves at both addresses until the test ends.
func (p *place) startBoth(t *testing.T) (clients, admin string) {
	t.Helper()
	s, err := New(t.Context(), Options{
		Listen: "127.0.0.1:0", Admin: "127.0.0.1:0", Store: p.Store, Builder: p.builder, PollInterval: 5 * time.Millisecond, Log: slog.New(slog.NewTextHandler(p, nil)),
	})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	at, ended := make(chan [2]net.Addr, 1), make(chan error, 1)
	go func() { ended <- s.Run(ctx, func(c, a net.Addr) { at <- [2]net.Addr{c, a} }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	both := <-at
	return both[0].String(), both[1].String()
}

// TestAdmin: keys and routes can be changed by anyone who has a key for that, and by nobody else; who
// did it is noted.
func TestAdmin(t *testing.T) {
	p := newPlace(t)
	boss, secret, err := p.AddKey(t.Context(), "ann", store.Key{Name: "ops", Admin: true})
	must(t, err)
	_, client, err := p.AddKey(t.Context(), "ann", store.Key{Name: "team", Routes: []string{"*"}})
	must(t, err)
	clients, admin := p.startBoth(t)
	do := func(method, path, key, body string, headers ...string) (int, string) {
		t.Helper()
		q, err := http.NewRequest(method, "http://"+admin+path, strings.NewReader(body))
		must(t, err)
		if key != "" {
			q.Header.Set("Authorization", "Bearer "+key)
		}
		for i := 0; i < len(headers); i += 2 {
			q.Header.Set(headers[i], headers[i+1])
		}
		r, err := http.DefaultClient.Do(q)
		must(t, err)
		defer r.Body.Close()
		data, err := io.ReadAll(r.Body)
		must(t, err)
		return r.StatusCode, string(data)
	}
	for _, path := range []string{"/admin/v1/keys", "/admin/v1/routes", "/admin/v1/audit"} {
		for _, key := range []string{"", client, secret + "x"} {
			if status, got := do("GET", path, key, ""); status != 401 || strings.Contains(got, "team") {
				t.Errorf("%s with the key %q: %d %s", path, key, status, got)
			}
		}
	}
	if status, got := do("PUT", "/admin/v1/routes/deep/name", secret, `{"upstream":"local"}`); status != 200 {
		t.Fatalf("%d %s", status, got)
	}
	status, got := do("POST", "/admin/v1/keys", secret, `{"name":"new team","routes":["deep/name"],"expires_in":3600}`)
	var made struct{ ID, Secret string }
	must(t, json.Unmarshal([]byte(got), &made))
	if status != 200 || made.Secret == "" {
		t.Fatalf("%d %s", status, got)
	}
	served := false
	for end := time.Now().Add(30 * time.Second); !served && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		status, _ := ask(t, clients, made.Secret, "deep/name")
		served = status == 200
	}
	if !served {
		t.Error("the new route is not served to the new key")
	}
	status, got = do("GET", "/admin/v1/keys", secret, "")
	expect.Equal(t, "status", status, 200)
	expect.True(t, "no made.Secret", !strings.Contains(got, made.Secret), got)
	expect.Contains(t, "got", got, "new team")
	for _, wrong := range []struct{ method, path, body string }{
		{"PUT", "/admin/v1/routes/x", `{"upstream":"nowhere"}`},
		{"PUT", "/admin/v1/routes/x", `{"upstream":"local","release":"/x","task":"/etc/hostname"}`},
		{"PUT", "/admin/v1/routes/x", `{"answers":{"plan":{},"data":"/etc/passwd"}}`},
		{"PUT", "/admin/v1/routes/x", `{"upstream":"local","surprise":1}`},
		{"PUT", "/admin/v1/routes/x", `null`},
		{"POST", "/admin/v1/keys", `{"name":"","routes":["*"]}`},
		{"POST", "/admin/v1/keys", `{"name":"x","routes":["*"],"expires_in":-1}`},
		{"POST", "/admin/v1/keys/none/rotate", ``},
		{"POST", "/admin/v1/keys/" + made.ID + "/rotate", `{"overlap":-1}`},
		{"DELETE", "/admin/v1/keys/none", ``},
		{"DELETE", "/admin/v1/keys/" + boss.ID, ``},
		{"DELETE", "/admin/v1/routes/none", ``},
		{"POST", "/admin/v1/use/none", `{"version":7}`},
	} {
		if status, got := do(wrong.method, wrong.path, secret, wrong.body); status != 400 || !strings.Contains(got, `"error":"`) {
			t.Errorf("%s %s %s: %d %s", wrong.method, wrong.path, wrong.body, status, got)
		}
	}
	if status, _ := do("POST", "/admin/v1/keys", secret, `{"name":"x","routes":["*"]}`, "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"); status != 403 {
		t.Errorf("a web page made a key: %d", status)
	}
	// Routes from private records are not for anyone who has a key, nor is where these are.
	_, err = p.SetRoute(t.Context(), "ann", "ask", store.RouteSpec{Answers: &store.AnswerSpec{Plan: []byte(`{}`), Data: "/secret/place", Query: "SELECT secret"}})
	must(t, err)
	for _, wrong := range []struct{ method, path, body string }{
		{"PUT", "/admin/v1/routes/ask", `{"upstream":"local"}`},
		{"POST", "/admin/v1/use/ask", `{"version":1}`},
		{"DELETE", "/admin/v1/routes/ask", ``},
	} {
		if status, got := do(wrong.method, wrong.path, secret, wrong.body); status != 400 || !strings.Contains(got, "private records") {
			t.Errorf("%s %s: %d %s", wrong.method, wrong.path, status, got)
		}
	}
	for _, path := range []string{"/admin/v1/routes", "/admin/v1/routes?all=1"} {
		status, got := do("GET", path, secret, "")
		expect.Equal(t, "status", status, 200)
		expect.Contains(t, "got", got, `"ask"`)
		expect.True(t, "no secret", !strings.Contains(got, "secret"), got)
	}
	// A release is read by its folder; what is wrong with a file is not said.
	status, got = do("PUT", "/admin/v1/routes/x", secret, `{"upstream":"local","release":"`+p.release(t, "private", "{broken: zyzzyva")+`","task":"agnews"}`)
	expect.Equal(t, "status", status, 400)
	expect.True(t, "no zyzzyva", !strings.Contains(got, "zyzzyva"), got)
	expect.Contains(t, "got", got, "log")
	rebound, err := http.NewRequest("GET", "http://"+admin+"/metrics", nil)
	must(t, err)
	rebound.Host = "evil.example:80"
	r, err := http.DefaultClient.Do(rebound)
	at := expect.At(t, "a page of another name reads the metrics")
	expect.NoError(at, err)
	expect.Equal(at, "r.StatusCode", r.StatusCode, 403)
	expect.True(at, "r.Body.Close() is nil", r.Body.Close() == nil, r.Body.Close())
	for _, step := range []struct{ method, path, body string }{
		{"PUT", "/admin/v1/routes/deep/name", `{"upstream":"local","model":"b"}`},
		{"POST", "/admin/v1/use/deep/name", ``},
		{"POST", "/admin/v1/keys/" + made.ID + "/rotate", `{"overlap":60}`},
		{"DELETE", "/admin/v1/keys/" + made.ID, ``},
		{"DELETE", "/admin/v1/routes/deep/name", ``},
	} {
		if status, got := do(step.method, step.path, secret, step.body); status != 200 {
			t.Errorf("%s %s: %d %s", step.method, step.path, status, got)
		}
	}
	_, got = do("GET", "/admin/v1/audit", secret, "")
	for _, action := range []string{"set route", "use route", "add key", "rotate key", "revoke key", "remove route"} {
		if !strings.Contains(got, fmt.Sprintf(`"actor":"key %s","action":%q`, boss.ID, action)) {
			t.Errorf("the log of changes lacks %s: %s", action, got)
		}
	}
	if status, got := do("GET", "/metrics", "", ""); status != 200 || !strings.Contains(got, `sotto_requests_total{path="/v1/chat/completions",route="deep/name",status="200"}`) {
		t.Errorf("%d %s", status, got)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if text := p.log.String(); strings.Contains(text, secret) || strings.Contains(text, made.Secret) {
		t.Error(text)
	}
}

// TestDescriptions: the descriptions name the addresses that there are.
func TestDescriptions(t *testing.T) {
	p := newPlace(t)
	_, secret, err := p.AddKey(t.Context(), "ann", store.Key{Name: "ops", Admin: true})
	must(t, err)
	clients, admin := p.startBoth(t)
	for _, address := range []string{clients, admin} {
		r, err := http.Get("http://" + address + "/openapi.json")
		must(t, err)
		var doc struct {
			Paths map[string]map[string]any
		}
		must(t, json.NewDecoder(r.Body).Decode(&doc))
		must(t, r.Body.Close())
		if len(doc.Paths) < 8 {
			t.Errorf("%v", doc.Paths)
		}
		for path, methods := range doc.Paths {
			for method := range methods {
				q, err := http.NewRequest(strings.ToUpper(method), "http://"+address+strings.NewReplacer("{name}", "x", "{id}", "x").Replace(path), nil)
				must(t, err)
				q.Header.Set("Authorization", "Bearer "+secret)
				r, err := http.DefaultClient.Do(q)
				must(t, err)
				must(t, r.Body.Close())
				if r.StatusCode == 404 || r.StatusCode == 405 {
					t.Errorf("%s %s: %d", method, path, r.StatusCode)
				}
			}
		}
	}
}

// TestConcurrentKeysWhileRoutesAreMade: a key is revoked within a look, however long a route takes to
// be made.
func TestConcurrentKeysWhileRoutesAreMade(t *testing.T) {
	p := newPlace(t)
	ctx := t.Context()
	_, err := p.SetRoute(ctx, "ann", "news", store.RouteSpec{Upstream: "local"})
	must(t, err)
	key, secret, err := p.AddKey(ctx, "ann", store.Key{Name: "team", Routes: []string{"*"}})
	must(t, err)
	find, hold := p.builder.Task, make(chan struct{})
	making := make(chan struct{}, 9)
	p.builder.Task = func(name string) (prompt.Task, error) {
		making <- struct{}{}
		<-hold
		return find(name)
	}
	address, _ := p.start(t, Options{})
	defer close(hold)
	if status, got := ask(t, address, secret, "news"); status != 200 {
		t.Fatalf("%d %s", status, got)
	}
	_, err = p.SetRoute(ctx, "ann", "slow", store.RouteSpec{Upstream: "local", Release: p.release(t, "demos", demos), Task: "agnews"})
	must(t, err)
	<-making
	must(t, p.RevokeKey(ctx, "ann", key.ID))
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if status, _ := ask(t, address, secret, "news"); status == 401 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a revoked key counts while a route is made")
		}
	}
}
