package serve

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
)

// visitor is a browser at the dashboard.
type visitor struct {
	t      *testing.T
	base   string
	client *http.Client
}

func (v *visitor) answered(r *http.Response, err error) (int, string) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // it was read
	var b strings.Builder
	if _, err := io.Copy(&b, r.Body); err != nil {
		v.t.Fatal(err)
	}
	return r.StatusCode, b.String()
}

func (v *visitor) get(path string) (int, string) {
	v.t.Helper()
	return v.answered(v.client.Get(v.base + path))
}

// token is that of a page's forms.
func (v *visitor) token(path string) string {
	v.t.Helper()
	_, page := v.get(path)
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(page)
	if token == nil {
		v.t.Fatalf("there is no form: %s", page)
	}
	return token[1]
}

// signedIn makes an account, and signs in to a service by a link.
func signedIn(t *testing.T, admin, name, role string) (*visitor, string) {
	t.Helper()
	clitest.Done(t, "serve", "account", "set", name, "--role", role)
	link := clitest.Object(t, clitest.Printed(t, "serve", "account", "link", name, "--admin-url", admin, "--json"))["link"].(string)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &visitor{t, admin, &http.Client{Jar: jar, Timeout: time.Minute}}
	path, ours := strings.CutPrefix(link, admin)
	_, token, has := strings.Cut(path, "link=")
	if !ours || !has {
		t.Fatalf("the link %q", link)
	}
	status, page := v.answered(v.client.PostForm(admin+"/sign-in", url.Values{"token": {v.token(path)}, "link": {token}}))
	if status != 200 || !strings.Contains(page, name+", "+role) {
		t.Fatalf("%d %s", status, page)
	}
	return v, page
}

// TestConcurrentDashboard: the program serves the dashboard beside metrics and administration, for an
// account of the command line, and ends at once.
func TestConcurrentDashboard(t *testing.T) {
	clitest.Home(t)
	clitest.Done(t, "ledger", "init", "tickets", "--epsilon", "2", "--delta", "1e-6")
	clitest.Done(t, "serve", "route", "set", "plain", "--upstream", "embedded")
	service := clitest.Serving(t)
	v, page := signedIn(t, service.Admin, "owner-one", "owner")
	clitest.Done(t, "serve", "account", "own", "owner-one", "tickets")
	if !strings.Contains(page, "tickets") {
		t.Error(page)
	}
	for path, want := range map[string]int{"/data-sets/tickets": 200, "/routes": 200, "/metrics": 200, "/healthz": 200, "/openapi.json": 200, "/admin/v1/keys": 401, "/nowhere": 404} {
		if status, got := v.get(path); status != want {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	if status, _ := v.answered(v.client.Get(service.Clients + "/data-sets")); status != 404 {
		t.Errorf("clients reach the dashboard: %d", status)
	}
	began := time.Now()
	if code := service.Stop(); code != 0 || time.Since(began) > 8*time.Second {
		t.Errorf("exit code %d after %v: %s", code, time.Since(began), service.Stderr.String())
	}
}
