package serve

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestConcurrentServe: an upstream of the configuration, a route to it and a key are all it
// takes to serve; the upstream gets its own key, and a client with none gets nothing.
func TestConcurrentServe(t *testing.T) {
	clitest.Home(t)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"key":%q,"asked":%s}`, r.Header.Get("Authorization"), body)
	}))
	defer upstream.Close()
	clitest.Write(t, "own.toml", fmt.Appendf(nil, "service = \"service.db\"\n[upstream.far]\nurl = %q\nkey_env = \"FAR_KEY\"\n", upstream.URL))
	t.Setenv("SOTTO_CONFIG", "own.toml")
	if code, _, errs := clitest.Run(t, "serve", "route", "set", "plain", "--upstream", "far"); code != 2 || !strings.Contains(errs, "FAR_KEY") {
		t.Errorf("without the upstream's key: %d %s", code, errs)
	}
	t.Setenv("FAR_KEY", "sk-far")
	if code, _, errs := clitest.Run(t, "serve", "route", "set", "plain", "--upstream", "far", "--model", "big"); code != 0 {
		t.Fatal(errs)
	}
	code, out, errs := clitest.Run(t, "serve", "key", "add", "team", "--route", "plain", "--json")
	if code != 0 {
		t.Fatal(errs)
	}
	secret, _ := clitest.Object(t, out)["secret"].(string)
	if _, listed, _ := clitest.Run(t, "serve", "key", "list"); secret == "" || strings.Contains(listed, secret) {
		t.Errorf("the key is listed: %s", listed)
	}
	if info, err := os.Stat("service.db"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the store: %v, %v", info, err)
	}

	service := clitest.Serving(t)
	ask := func(key string) (int, string) {
		t.Helper()
		status, _, got := clitest.Exchange(t, http.MethodPost, service.Clients+"/v1/chat/completions", key, `{"model":"plain","messages":[{"role":"user","content":"xyzzy"}]}`)
		return status, got
	}
	status, got := ask(secret)
	expect.Equal(t, "status", status, 200)
	expect.Contains(t, "ask", got, `"key":"Bearer sk-far"`)
	expect.Contains(t, "ask", got, `"model":"big"`)
	expect.True(t, "no secret in ask", !strings.Contains(got, secret), got)
	if status, got := ask(""); status != 401 || strings.Contains(got, "xyzzy") {
		t.Errorf("without a key: %d %s", status, got)
	}
	if code := service.Stop(); code != 0 {
		t.Errorf("exit code %d: %s", code, service.Stderr.String())
	}
	text := service.Stderr.String() + service.Stdout.String()
	at := expect.At(t, "the log holds what is private")
	expect.True(at, "no xyzzy in text", !strings.Contains(text, "xyzzy"), text)
	expect.True(at, "no secret in text", !strings.Contains(text, secret), text)
	expect.True(at, "no sk-far in text", !strings.Contains(text, "sk-far"), text)
}

// TestServeWithoutAKeyOfAnother: an upstream whose key is not set keeps nobody from the others; a route to it is refused when it
// is set, and where it was set before it is not there, and the log says why.
func TestServeWithoutAKeyOfAnother(t *testing.T) {
	clitest.Home(t)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"said":"here"}`)
	}))
	defer upstream.Close()
	clitest.Write(t, "own.toml", fmt.Appendf(nil, "service = \"service.db\"\n[upstream.far]\nurl = %q\nkey_env = \"FAR_KEY\"\n[upstream.near]\nurl = %q\n", upstream.URL, upstream.URL))
	t.Setenv("SOTTO_CONFIG", "own.toml")
	t.Setenv("FAR_KEY", "sk-far")
	clitest.Printed(t, "serve", "route", "set", "far", "--upstream", "far")
	t.Setenv("FAR_KEY", "")
	clitest.Printed(t, "serve", "route", "set", "near", "--upstream", "near")
	if code, _, errs := clitest.Run(t, "serve", "route", "set", "far", "--upstream", "far"); code != 2 || !strings.Contains(errs, "FAR_KEY") {
		t.Errorf("without the upstream's key: %d %s", code, errs)
	}
	secret := clitest.Object(t, clitest.Printed(t, "serve", "key", "add", "team", "--route", "*", "--json"))["secret"].(string)
	service := clitest.Serving(t)
	for model, want := range map[string]int{"near": 200, "far": 404} {
		t.Run(model, func(t *testing.T) {
			if status, _, got := clitest.Exchange(t, http.MethodPost, service.Clients+"/v1/chat/completions", secret, fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"x"}]}`, model)); status != want {
				t.Errorf("%d %s", status, got)
			}
		})
	}
	service.Stop()
	if log := service.Stderr.String(); !strings.Contains(log, "FAR_KEY") || !strings.Contains(log, "route far") {
		t.Errorf("the log does not say why: %s", log)
	}
}
