package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestConcurrentDashboard: the program serves the dashboard beside metrics and administration, for an
// account of the command line, and ends at once though a page listens.
func TestConcurrentDashboard(t *testing.T) {
	home(t)
	write(t, "password.txt", []byte("four words in a row\n"))
	for _, args := range [][]string{
		{"ledger", "init", "tickets", "--epsilon", "2", "--delta", "1e-6"},
		{"serve", "account", "add", "owner-one", "--role", "owner", "--owns", "tickets", "--password-file", "password.txt"},
	} {
		if code, _, errs := run(t, args...); code != 0 {
			t.Fatal(errs)
		}
	}
	service := serving(t, "--jobs", "0")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: time.Minute}
	answered := func(r *http.Response, err error) (int, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }() // it was read
		var b strings.Builder
		if _, err := io.Copy(&b, r.Body); err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, b.String()
	}
	_, page := answered(client.Get(service.admin + "/"))
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(page)
	if token == nil {
		t.Fatalf("there is no form: %s", page)
	}
	status, page := answered(client.PostForm(service.admin+"/sign-in", url.Values{"token": {token[1]}, "name": {"owner-one"}, "password": {"four words in a row"}}))
	if status != 200 || !strings.Contains(page, "owner-one, owner") || !strings.Contains(page, "tickets") {
		t.Errorf("%d %s", status, page)
	}
	for path, want := range map[string]int{"/data-sets/tickets": 200, "/routes": 200, "/metrics": 200, "/healthz": 200, "/openapi.json": 200, "/admin/v1/keys": 401, "/nowhere": 404} {
		if status, got := answered(client.Get(service.admin + path)); status != want {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	if status, _ := answered(client.Get(service.clients + "/data-sets")); status != 404 {
		t.Errorf("clients reach the dashboard: %d", status)
	}
	listening, err := client.Get(service.admin + "/events")
	if err != nil || listening.StatusCode != 200 {
		t.Fatal(err)
	}
	began := time.Now()
	if code := service.stop(); code != 0 || time.Since(began) > 8*time.Second {
		t.Errorf("exit code %d after %v: %s", code, time.Since(began), service.stderr.String())
	}
	_ = listening.Body.Close() // it was cut off
}
