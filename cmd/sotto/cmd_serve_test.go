package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// spoken is a buffer that is written to while it is read.
type spoken struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *spoken) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(data)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// running is the program as it serves.
type running struct {
	clients, admin string // its addresses
	stdout, stderr spoken
	stop           func() int // and return its exit code
}

// serving runs "sotto serve" until the test ends.
func serving(t *testing.T, flags ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{}
	ended := make(chan int, 1)
	go func() {
		ended <- newProgram(&r.stdout, &r.stderr).main(ctx, append([]string{"serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--beat", "1s"}, flags...))
	}()
	r.stop = sync.OnceValue(func() int { cancel(); return <-ended })
	t.Cleanup(func() { r.stop() })
	for end := time.Now().Add(3 * time.Minute); r.admin == ""; time.Sleep(5 * time.Millisecond) {
		if m := regexp.MustCompile(`(?s)serving (http://\S+)/v1.*administration at (http://\S+)`).FindStringSubmatch(r.stderr.String()); m != nil {
			r.clients, r.admin = m[1], m[2]
		}
		if time.Now().After(end) {
			t.Fatal(r.stderr.String())
		}
	}
	return r
}

// TestConcurrentServe: an upstream of the configuration, a route to it and a key are all it
// takes to serve; the upstream gets its own key, and a client with none gets nothing.
func TestConcurrentServe(t *testing.T) {
	home(t)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"key":%q,"asked":%s}`, r.Header.Get("Authorization"), body)
	}))
	defer upstream.Close()
	write(t, "own.toml", fmt.Appendf(nil, "service = \"service.db\"\n[upstream.far]\nurl = %q\nkey_env = \"FAR_KEY\"\n", upstream.URL))
	t.Setenv("SOTTO_CONFIG", "own.toml")
	if code, _, errs := run(t, "serve", "route", "set", "plain", "--upstream", "far"); code != 2 || !strings.Contains(errs, "FAR_KEY") {
		t.Errorf("without the upstream's key: %d %s", code, errs)
	}
	t.Setenv("FAR_KEY", "sk-far")
	if code, _, errs := run(t, "serve", "route", "set", "plain", "--upstream", "far", "--model", "big"); code != 0 {
		t.Fatal(errs)
	}
	code, out, errs := run(t, "serve", "key", "add", "team", "--route", "plain", "--json")
	if code != 0 {
		t.Fatal(errs)
	}
	secret, _ := object(t, out)["secret"].(string)
	if _, listed, _ := run(t, "serve", "key", "list"); secret == "" || strings.Contains(listed, secret) {
		t.Errorf("the key is listed: %s", listed)
	}
	if info, err := os.Stat("service.db"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the store: %v, %v", info, err)
	}

	service := serving(t)
	ask := func(key string) (int, string) {
		t.Helper()
		status, _, got := exchange(t, http.MethodPost, service.clients+"/v1/chat/completions", key, `{"model":"plain","messages":[{"role":"user","content":"xyzzy"}]}`)
		return status, got
	}
	if status, got := ask(secret); status != 200 || !strings.Contains(got, `"key":"Bearer sk-far"`) || !strings.Contains(got, `"model":"big"`) || strings.Contains(got, secret) {
		t.Errorf("%d %s", status, got)
	}
	if status, got := ask(""); status != 401 || strings.Contains(got, "xyzzy") {
		t.Errorf("without a key: %d %s", status, got)
	}
	if code := service.stop(); code != 0 {
		t.Errorf("exit code %d: %s", code, service.stderr.String())
	}
	if text := service.stderr.String() + service.stdout.String(); strings.Contains(text, "xyzzy") || strings.Contains(text, secret) || strings.Contains(text, "sk-far") {
		t.Errorf("the log holds what is private: %s", text)
	}
}

// TestServeWithoutAKeyOfAnother: an upstream whose key is not set keeps nobody from the others; a route to it is refused when it
// is set, and where it was set before it is not there, and the log says why.
func TestServeWithoutAKeyOfAnother(t *testing.T) {
	home(t)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"said":"here"}`)
	}))
	defer upstream.Close()
	write(t, "own.toml", fmt.Appendf(nil, "service = \"service.db\"\n[upstream.far]\nurl = %q\nkey_env = \"FAR_KEY\"\n[upstream.near]\nurl = %q\n", upstream.URL, upstream.URL))
	t.Setenv("SOTTO_CONFIG", "own.toml")
	t.Setenv("FAR_KEY", "sk-far")
	printed(t, "serve", "route", "set", "far", "--upstream", "far")
	t.Setenv("FAR_KEY", "")
	printed(t, "serve", "route", "set", "near", "--upstream", "near")
	if code, _, errs := run(t, "serve", "route", "set", "far", "--upstream", "far"); code != 2 || !strings.Contains(errs, "FAR_KEY") {
		t.Errorf("without the upstream's key: %d %s", code, errs)
	}
	secret := object(t, printed(t, "serve", "key", "add", "team", "--route", "*", "--json"))["secret"].(string)
	service := serving(t)
	for model, want := range map[string]int{"near": 200, "far": 404} {
		if status, _, got := exchange(t, http.MethodPost, service.clients+"/v1/chat/completions", secret, fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"x"}]}`, model)); status != want {
			t.Errorf("%s: %d %s", model, status, got)
		}
	}
	service.stop()
	if log := service.stderr.String(); !strings.Contains(log, "FAR_KEY") || !strings.Contains(log, "route far") {
		t.Errorf("the log does not say why: %s", log)
	}
}
