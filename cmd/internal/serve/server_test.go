package serve

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/prompt"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place has a store, an upstream that repeats what it is asked, and a release.
type place struct {
	*store.Store
	dir     string
	builder *Builder
	log     *bytes.Buffer
	mu      sync.Mutex // guards log
	slow    chan struct{}
	fails   error // of checking a certificate
	covers  bool  // certificates cover the chosen prompt, too
}

func (p *place) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(data)
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{dir: t.TempDir(), log: &bytes.Buffer{}}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.slow != nil {
			<-p.slow
		}
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"asked":%s}`, data)
	}))
	t.Cleanup(upstream.Close)
	server, err := gateway.NewServer(upstream.URL, "", false)
	must(t, err)
	p.builder = &Builder{
		Upstreams: map[string]http.RoundTripper{"local": server},
		Task:      prompt.Find,
		Verify: func(dir string) (*certificate.Report, error) {
			if p.fails != nil {
				return nil, p.fails
			}
			r := &certificate.Report{OK: filepath.Base(dir) != "forged", Predicate: &certificate.Predicate{Epsilon: certificate.Epsilon{Upper: 0.75}, Delta: 1e-6}}
			data, err := os.ReadFile(filepath.Join(dir, "demos.jsonl"))
			sum := sha256.Sum256(data)
			r.Subjects = []certificate.Subject{{Name: "demos.jsonl", Digest: certificate.Digest{SHA256: hex.EncodeToString(sum[:])}}}
			if chosen, err := os.ReadFile(filepath.Join(dir, "prompt.json")); err == nil && p.covers {
				sum := sha256.Sum256(chosen)
				r.Subjects = append(r.Subjects, certificate.Subject{Name: "prompt.json", Digest: certificate.Digest{SHA256: hex.EncodeToString(sum[:])}})
			}
			return r, err
		},
	}
	p.Store, err = store.Open(t.Context(), filepath.Join(p.dir, "service.db"), true)
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p
}

// release writes the examples of one.
func (p *place) release(t *testing.T, name, text string) string {
	t.Helper()
	dir := filepath.Join(p.dir, name)
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "demos.jsonl"), []byte(text), 0o600))
	return dir
}

// start serves until the test ends, or the returned function is called.
func (p *place) start(t *testing.T, o Options) (address string, stop func() error) {
	t.Helper()
	o.Listen, o.Store, o.Builder, o.PollInterval = "127.0.0.1:0", p.Store, p.builder, 5*time.Millisecond
	o.Log = slog.New(slog.NewTextHandler(p, nil))
	s, err := New(t.Context(), o)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	at, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() { ended <- s.Run(ctx, func(a, _ net.Addr) { at <- a }) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = stop() }) // who wants to know has asked
	select {
	case a := <-at:
		return a.String(), stop
	case err := <-ended:
		t.Fatal(err)
		return "", nil
	}
}

// ask asks a route, and returns the status and what came.
func ask(t *testing.T, address, key, route string) (int, string) {
	t.Helper()
	status, got, err := tryAsk(http.DefaultClient, "http://"+address, key, route)
	must(t, err)
	return status, got
}

func tryAsk(c *http.Client, base, key, route string) (int, string, error) {
	q, err := http.NewRequest(http.MethodPost, base+"/v1/chat/completions", strings.NewReader(`{"model":"`+route+`","messages":[{"role":"user","content":"Stocks fell."}]}`))
	if err != nil {
		return 0, "", err
	}
	q.Header.Set("Authorization", "Bearer "+key)
	q.Header.Set("Content-Type", "application/json")
	r, err := c.Do(q)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	return r.StatusCode, string(data), err
}

// soon waits until something holds.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}

const demos = `{"text":"Oil got cheaper.","label":"Business"}
{"text":"The cup final was a draw.","label":"Sports"}
`

// TestServe: a route with a release, seen from a client, with all that is changed while it is
// served.
func TestServe(t *testing.T) {
	p := newPlace(t)
	ctx := t.Context()
	spec := store.RouteSpec{Upstream: "local", Model: "m", Release: p.release(t, "demos", demos), Task: "agnews"}
	must(t, p.builder.Check(ctx, "news", spec))
	_, err := p.SetRoute(ctx, "ann", "news", spec)
	must(t, err)
	key, secret, err := p.AddKey(ctx, "ann", store.Key{Name: "team", Routes: []string{"news"}})
	must(t, err)
	address, stop := p.start(t, Options{})

	status, got := ask(t, address, secret, "news")
	for _, part := range []string{"Article: Oil got cheaper.", "Sports", "Article: Stocks fell.", `"sotto":{"route":"news","version":1,"release":"demos","private":true,"epsilon":0.75,"delta":0.000001,"epsilon_spent":0}`} {
		if status != 200 || !strings.Contains(got, part) {
			t.Errorf("%q is not in: %d %s", part, status, got)
		}
	}
	if status, got := ask(t, address, secret+"x", "news"); status != 401 || !strings.Contains(got, "invalid_api_key") {
		t.Errorf("a wrong key: %d %s", status, got)
	}
	_, err = p.SetRoute(ctx, "ann", "other", store.RouteSpec{Upstream: "local"})
	must(t, err)
	soon(t, "the second route", func() bool { status, _ := ask(t, address, secret, "other"); return status == 403 })

	second := spec
	second.Release = p.release(t, "newer", `{"text":"A goal late on.","label":"Sports"}`+"\n")
	_, err = p.SetRoute(ctx, "ann", "news", second)
	must(t, err)
	soon(t, "the second version", func() bool {
		_, got := ask(t, address, secret, "news")
		return strings.Contains(got, "A goal late on.")
	})
	_, err = p.UseRoute(ctx, "ann", "news", 0)
	must(t, err)
	soon(t, "the first version again", func() bool {
		_, got := ask(t, address, secret, "news")
		return strings.Contains(got, "Oil got cheaper.")
	})

	fresh, third, err := p.RotateKey(ctx, "ann", key.ID, time.Hour)
	must(t, err)
	soon(t, "the new key", func() bool { status, _ := ask(t, address, third, "news"); return status == 200 })
	must(t, p.RevokeKey(ctx, "ann", fresh.ID))
	soon(t, "the end of the new key", func() bool { status, _ := ask(t, address, third, "news"); return status == 401 })
	if status, _ := ask(t, address, secret, "news"); status != 200 {
		t.Error("the old key does not count any more")
	}
	must(t, p.RemoveRoute(ctx, "ann", "news"))
	soon(t, "the end of the route", func() bool { status, _ := ask(t, address, secret, "news"); return status == 404 })

	must(t, stop())
	for _, private := range []string{secret, third, "Stocks fell", "Oil got"} {
		if strings.Contains(p.log.String(), private) {
			t.Errorf("the log holds %q", private)
		}
	}
}

// TestUnfitRoutes: what should not be served is refused when it is set, and left out if it
// became so later; the others are served.
func TestUnfitRoutes(t *testing.T) {
	p := newPlace(t)
	ctx := t.Context()
	good := store.RouteSpec{Upstream: "local", Release: p.release(t, "demos", demos), Task: "agnews"}
	for name, change := range map[string]func(*store.RouteSpec){
		"no such upstream": func(s *store.RouteSpec) { s.Upstream = "nowhere" },
		"no such task":     func(s *store.RouteSpec) { s.Task = "nothing" },
		"no such release":  func(s *store.RouteSpec) { s.Release = filepath.Join(p.dir, "gone") },
		"not private": func(s *store.RouteSpec) {
			s.Release = p.release(t, "bare", `{"text":"x","label":"World","not_private":true}`+"\n")
		},
		"does not hold": func(s *store.RouteSpec) { s.Release = p.release(t, "forged", demos) },
		"does not cover": func(s *store.RouteSpec) {
			s.Release = p.release(t, "extended", demos)
			must(t, os.WriteFile(filepath.Join(s.Release, "prompt.json"), []byte(`{"instruction":"Repeat what you are asked."}`), 0o600))
		},
		"the number of examples": func(s *store.RouteSpec) { s.Nearest = -1 },
	} {
		bad := good
		change(&bad)
		if err := p.builder.Check(ctx, "news", bad); err == nil || !strings.HasPrefix(name, "no such") && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := p.builder.Check(ctx, "a name", good); err == nil {
		t.Error("a route with a space in its name")
	}
	_, err := p.SetRoute(ctx, "ann", "news", good)
	must(t, err)
	_, err = p.SetRoute(ctx, "ann", "broken", store.RouteSpec{Upstream: "nowhere"})
	must(t, err)
	address, _ := p.start(t, Options{Open: true})
	if status, _ := ask(t, address, "", "news"); status != 200 {
		t.Error("a good route is not served beside a bad one")
	}
	if status, _ := ask(t, address, "", "broken"); status != 404 {
		t.Error("a bad route is served")
	}
	if !strings.Contains(p.log.String(), "route broken, version 1") {
		t.Errorf("the log does not name the bad route: %s", p.log)
	}
}

// TestFailedVersion: while a new version cannot be made, the one before is served.
func TestFailedVersion(t *testing.T) {
	p := newPlace(t)
	ctx := t.Context()
	spec := store.RouteSpec{Upstream: "local", Release: p.release(t, "demos", demos), Task: "agnews"}
	_, err := p.SetRoute(ctx, "ann", "news", spec)
	must(t, err)
	s, err := New(ctx, Options{Listen: "127.0.0.1:0", Open: true, Store: p.Store, Builder: p.builder, Log: slog.New(slog.NewTextHandler(p, nil))})
	must(t, err)
	version := func() int64 {
		t.Helper()
		r := httptest.NewRecorder()
		q := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"news","messages":[{"role":"user","content":"x"}]}`))
		q.Header.Set("Content-Type", "application/json")
		q.Host = "127.0.0.1:80"
		s.handler().ServeHTTP(r, q)
		var got struct{ Sotto gateway.About }
		must(t, json.Unmarshal(r.Body.Bytes(), &got))
		return got.Sotto.Version
	}
	_, err = p.SetRoute(ctx, "ann", "news", spec)
	must(t, err)
	p.fails = errors.New("the disk is away")
	must(t, s.renewRoutes(ctx))
	if got := version(); got != 1 || s.again.IsZero() {
		t.Errorf("version %d is served, and tried again at %v", got, s.again)
	}
	p.fails, s.again = nil, time.Now()
	must(t, s.renewRoutes(ctx))
	if got := version(); got != 2 || !s.again.IsZero() {
		t.Errorf("version %d is served, and tried again at %v", got, s.again)
	}
}

// TestOpenIsForThisMachine: without keys, a page in a browser here gets no answer, whatever it
// makes the browser send.
func TestOpenIsForThisMachine(t *testing.T) {
	p := newPlace(t)
	_, err := p.SetRoute(t.Context(), "ann", "news", store.RouteSpec{Upstream: "local"})
	must(t, err)
	s, err := New(t.Context(), Options{Listen: "127.0.0.1:0", Open: true, Store: p.Store, Builder: p.builder})
	must(t, err)
	for _, c := range []struct {
		host, origin, site string
		status             int
	}{
		{"127.0.0.1:8080", "", "", 200},
		{"localhost:8080", "", "", 200},
		{"localhost", "", "", 200},
		{"[::1]:8080", "", "", 200},
		{"evil.example:8080", "", "", 403},
		{"127.0.0.1.evil.example", "", "", 403},
		{"127.0.0.1:8080", "https://evil.example", "", 403},
		{"127.0.0.1:8080", "", "cross-site", 403},
	} {
		r := httptest.NewRecorder()
		q := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"news","messages":[]}`))
		q.Header.Set("Content-Type", "application/json")
		q.Host = c.host
		if c.origin != "" {
			q.Header.Set("Origin", c.origin)
		}
		if c.site != "" {
			q.Header.Set("Sec-Fetch-Site", c.site)
		}
		if s.handler().ServeHTTP(r, q); r.Code != c.status {
			t.Errorf("%+v: %d %s", c, r.Code, r.Body)
		}
	}
}

// TestLimit: a key has so many requests a minute, and is told when the next one is.
func TestLimit(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := limiter{now: func() time.Time { return now }}
	for i := range 6 {
		wait, ok := l.take("a", 6)
		if !ok {
			t.Fatalf("request %d of 6 is refused for %v", i+1, wait)
		}
	}
	if wait, ok := l.take("a", 6); ok || wait != 10*time.Second {
		t.Errorf("the seventh: %v, %v", wait, ok)
	}
	if _, ok := l.take("b", 6); !ok {
		t.Error("another key is held to it")
	}
	now = now.Add(10 * time.Second)
	if _, ok := l.take("a", 6); !ok {
		t.Error("the next one is refused after its wait")
	}
	if _, ok := l.take("a", 6); ok {
		t.Error("one more than a minute's share")
	}
	for range 1000 {
		if _, ok := l.take("c", 0); !ok {
			t.Fatal("a key without a limit is refused")
		}
	}

	p := newPlace(t)
	_, err := p.SetRoute(t.Context(), "ann", "news", store.RouteSpec{Upstream: "local"})
	must(t, err)
	_, secret, err := p.AddKey(t.Context(), "ann", store.Key{Name: "team", Routes: []string{"*"}, PerMinute: 2})
	must(t, err)
	address, _ := p.start(t, Options{})
	ask(t, address, secret, "news")
	ask(t, address, secret, "news")
	if status, got := ask(t, address, secret, "news"); status != 429 || !strings.Contains(got, "rate_limit_exceeded") {
		t.Errorf("the third request: %d %s", status, got)
	}
}

// TestDrain: requests that are under way when the service is stopped end well, and nothing
// new is ready.
func TestDrain(t *testing.T) {
	p := newPlace(t)
	p.slow = make(chan struct{})
	_, err := p.SetRoute(t.Context(), "ann", "news", store.RouteSpec{Upstream: "local"})
	must(t, err)
	address, stop := p.start(t, Options{Open: true})
	get := func(path string) int {
		r, err := http.Get("http://" + address + path)
		must(t, err)
		defer r.Body.Close()
		return r.StatusCode
	}
	for end := time.Now().Add(10 * time.Second); get("/healthz") != 200 || get("/readyz") != 200; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is not ready")
		}
	}
	type outcome struct {
		status int
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		status, _, err := tryAsk(http.DefaultClient, "http://"+address, "", "news")
		done <- outcome{status, err}
	}()
	p.slow <- struct{}{} // the upstream has it: a second receive would block, so this is the request
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	if got := <-done; got.status != 200 || got.err != nil {
		t.Errorf("a request under way: %+v", got)
	}
	must(t, <-ended)
	if _, err := http.Get("http://" + address + "/healthz"); err == nil {
		t.Error("it still answers")
	}
}

// TestAddresses: other machines are not served in clear, nor without keys.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		o  Options
		ok bool
	}{
		{Options{Listen: "127.0.0.1:0"}, true},
		{Options{Listen: "localhost:0", Open: true}, true},
		{Options{Listen: "[::1]:0"}, true},
		{Options{Listen: "0.0.0.0:0"}, false},
		{Options{Listen: ":0"}, false},
		{Options{Listen: "192.0.2.1:80", Open: true}, false},
		{Options{Listen: "0.0.0.0:0", Certificate: "c", Key: "k"}, true},
		{Options{Listen: "0.0.0.0:0", Certificate: "c", Key: "k", Open: true}, false},
		{Options{Listen: "127.0.0.1:0", Certificate: "c"}, false},
		{Options{Listen: "127.0.0.1:0", ClientCA: "c"}, false},
	} {
		s := &Server{Options: c.o}
		if err := s.checkAddress(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

// certified writes a certificate of an authority's, and its key.
func certified(t *testing.T, dir, name string, authority *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, string, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: authority == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if authority == nil {
		authority, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, authority, &key.PublicKey, signer)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	files := []string{filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem")}
	must(t, os.WriteFile(files[0], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(files[1], pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	made, err := x509.ParseCertificate(der)
	must(t, err)
	return made, key, files[0], files[1]
}

// TestTLS: with an authority for clients, only those who show a certificate of it are served.
func TestTLS(t *testing.T) {
	p := newPlace(t)
	authority, signer, ca, _ := certified(t, p.dir, "ca", nil, nil)
	_, _, cert, key := certified(t, p.dir, "server", authority, signer)
	_, _, clientCert, clientKey := certified(t, p.dir, "client", authority, signer)
	_, err := p.SetRoute(t.Context(), "ann", "news", store.RouteSpec{Upstream: "local"})
	must(t, err)
	_, secret, err := p.AddKey(t.Context(), "ann", store.Key{Name: "team", Routes: []string{"*"}})
	must(t, err)
	address, _ := p.start(t, Options{Certificate: cert, Key: key, ClientCA: ca})
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	client := func(own ...tls.Certificate) *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: own}, ForceAttemptHTTP2: true}}
	}
	mine, err := tls.LoadX509KeyPair(clientCert, clientKey)
	must(t, err)
	if status, got, err := tryAsk(client(mine), "https://"+address, secret, "news"); err != nil || status != 200 {
		t.Errorf("with a certificate: %d %s, %v", status, got, err)
	}
	if status, _, err := tryAsk(client(), "https://"+address, secret, "news"); err == nil {
		t.Errorf("without a certificate: %d", status)
	}
	if status, _, err := tryAsk(http.DefaultClient, "http://"+address, secret, "news"); err == nil && status == 200 {
		t.Error("it answers in clear")
	}
}

// TestModels: clients see the routes that their keys may use.
func TestModels(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"news", "notes"} {
		_, err := p.SetRoute(t.Context(), "ann", name, store.RouteSpec{Upstream: "local"})
		must(t, err)
	}
	_, secret, err := p.AddKey(t.Context(), "ann", store.Key{Name: "team", Routes: []string{"notes"}})
	must(t, err)
	address, _ := p.start(t, Options{})
	q, err := http.NewRequest(http.MethodGet, "http://"+address+"/v1/models", nil)
	must(t, err)
	q.Header.Set("Authorization", "Bearer "+secret)
	r, err := http.DefaultClient.Do(q)
	must(t, err)
	defer r.Body.Close()
	var list struct{ Data []struct{ ID string } }
	must(t, json.NewDecoder(r.Body).Decode(&list))
	if len(list.Data) != 1 || list.Data[0].ID != "notes" {
		t.Errorf("%+v", list)
	}
}
