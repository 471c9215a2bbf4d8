package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// concrete fills in the wildcards of a pattern.
func concrete(pattern string) (method, path string) {
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		method, path = http.MethodGet, "/no/such/page"
	}
	return method, strings.NewReplacer("{$}", "", "{id}", "tickets", "{route}", "tickets", "{name...}", "demos.jsonl", "{name}", "tickets").Replace(path)
}

// TestEveryRoute: without a session no page is shown, and each role gets what the table says it may,
// and nothing else. A route that is added is tested by itself.
func TestEveryRoute(t *testing.T) {
	s := newSite(t, nil)
	browsers := map[store.Role]*browser{}
	tokens := map[store.Role]string{}
	for role, name := range map[store.Role]string{store.Viewer: "viewer-one", store.Operator: "operator-one", store.Owner: "owner-three"} {
		browsers[role] = s.signIn(t, name)
		tokens[role] = browsers[role].token("/audit")
	}
	open := map[string]bool{"GET /static/{name}": true, "GET /sign-in": true, "POST /sign-in": true, "GET /sign-in/oidc": true, "GET /sign-in/oidc/callback": true}
	required := map[string]store.Role{ // what changes something, and who may
		"POST /sign-out": store.Viewer, "POST /data-sets/{id}/grants": store.Operator,
		"POST /grants/{id}/approve": store.Owner, "POST /grants/{id}/deny": store.Owner, "POST /grants/{id}/carry-out": store.Owner,
		"POST /routes": store.Operator, "POST /routes/{name}/use": store.Operator, "POST /routes/{name}/remove": store.Operator,
		"POST /keys": store.Operator, "POST /keys/{id}/revoke": store.Operator,
		"POST /playground": store.Operator,
	}
	for _, r := range s.routes() {
		method, path := concrete(r.pattern)
		if r.required == "" != open[r.pattern] {
			t.Errorf("%s is open: %v", r.pattern, r.required == "")
		}
		if method == http.MethodPost && !open[r.pattern] && (required[r.pattern] == "" || required[r.pattern] != r.required) {
			t.Errorf("%s is for %q", r.pattern, r.required)
		}
		if open[r.pattern] {
			continue
		}
		stranger := s.browser(t)
		if method == http.MethodGet {
			if a := stranger.get(path); a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/sign-in") {
				t.Errorf("%s without a session: %d", r.pattern, a.status)
			}
		} else if a := stranger.post(path, url.Values{"token": {tokens[store.Owner]}}); a.status != http.StatusUnauthorized {
			t.Errorf("%s without a session: %d", r.pattern, a.status)
		}
		for role, b := range browsers {
			var a answer
			if method == http.MethodGet {
				a = b.get(path)
			} else if r.pattern != "POST /sign-out" {
				a = b.post(path, url.Values{}) // without a token nothing is changed
				if a.status != http.StatusForbidden {
					t.Errorf("%s of %s without a token: %d", r.pattern, role, a.status)
				}
				continue
			}
			want := map[bool]int{true: 200, false: 403}[role.May(r.required)]
			if r.pattern == "/" {
				want = 404
			}
			if a.status != want && r.pattern != "POST /sign-out" {
				t.Errorf("%s of %s: %d, want %d: %s", r.pattern, role, a.status, want, a.body)
			}
		}
	}
	// With a token, whose role is too little is still refused.
	for pattern, role := range required {
		_, path := concrete(pattern)
		for have, b := range browsers {
			if pattern != "POST /sign-out" && !have.May(role) {
				if a := b.post(path, url.Values{"token": {tokens[have]}}); a.status != http.StatusForbidden || !strings.Contains(a.body, "Your role") {
					t.Errorf("%s of %s: %d", pattern, have, a.status)
				}
			}
		}
	}
	if log := s.log.String(); log != "" {
		t.Errorf("the log: %s", log)
	}
}

// TestHeaders: every answer forbids what is from elsewhere, and no page has a style or a script of
// its own.
func TestHeaders(t *testing.T) {
	s := newSite(t, nil)
	b := s.signIn(t, "owner-one")
	for _, path := range []string{"/", "/data-sets", "/data-sets/tickets", "/playground", "/certificates", "/certificates/tickets", "/routes", "/keys", "/audit", "/data-protection", "/static/style.css", "/static/sotto.js", "/nowhere", "/static/nothing"} {
		a := b.get(path)
		for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if !strings.HasPrefix(path, "/static") {
			for _, inline := range []string{" style=", "<style", "<script>", " onclick", "javascript:", "http://", "https://"} {
				if strings.Contains(strings.ReplaceAll(a.body, `xmlns="http://www.w3.org/2000/svg"`, ""), inline) {
					t.Errorf("%s has %s", path, inline)
				}
			}
			if n := strings.Count(a.body, "<h1"); n != 1 {
				t.Errorf("%s has %d headings", path, n)
			}
			if a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s may be kept", path)
			}
		}
		at := expect.At(t, "%s shows where records are", path)
		expect.True(at, "no /private/place in a.body", !strings.Contains(a.body, "/private/place"), a.body)
		expect.True(at, "no SELECT secret in a.body", !strings.Contains(a.body, "SELECT secret"), a.body)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+"/sign-out", nil)
	must(t, err)
	request.Header.Set("Origin", "https://elsewhere.example")
	if a := b.do(request); a.status != http.StatusForbidden {
		t.Errorf("a request of another origin: %d", a.status)
	}
}

// TestSignIn: cookies are for this host and no script; a link counts once, and only where its button is pressed;
// nobody is sent elsewhere; signing out ends the session.
func TestSignIn(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Secure = true })
	b := s.browser(t)
	first := b.get("/sign-in")
	if cookie := first.header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-sotto-visit=") || !strings.Contains(cookie, "; HttpOnly; Secure; SameSite=Lax") {
		t.Errorf("cookie %q", cookie)
	}
	s.Secure = false // the test's server has no TLS
	for _, wrong := range []string{"", "x", s.link(t, "owner-one") + "A"} {
		if a := b.post("/sign-in", url.Values{"token": {b.token("/sign-in?link=x")}, "link": {wrong}}); a.status != 401 {
			t.Errorf("the link %q: %d", wrong, a.status)
		}
	}
	link := s.link(t, "owner-one")
	if a := b.post("/sign-in", url.Values{"link": {link}}); a.status != 403 {
		t.Errorf("without a token: %d", a.status)
	}
	b.get("/sign-in?link=" + link) // as a program does that shows what is behind a link
	right := b.follow(link)
	if right.status != 303 || right.header.Get("Location") != "/" {
		t.Errorf("%d to %s", right.status, right.header.Get("Location"))
	}
	if a := b.get("/sign-in?next=//elsewhere.example"); a.status != 303 || a.header.Get("Location") != "/" {
		t.Errorf("%d to %s", a.status, a.header.Get("Location"))
	}
	if a := s.browser(t).follow(link); a.status != 401 {
		t.Errorf("the link again: %d", a.status)
	}
	if a := b.get("/"); a.status != 200 {
		t.Errorf("%d", a.status)
	}
	old := b.Jar.Cookies(mustURL(t, s.server.URL))
	if a := b.send("/sign-out"); a.status != 303 {
		t.Errorf("%d", a.status)
	}
	b.Jar.SetCookies(mustURL(t, s.server.URL), old)
	if a := b.get("/"); a.status != 303 {
		t.Errorf("a session that ended counts: %d", a.status)
	}
}

func mustURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	must(t, err)
	return u
}

// TestTokens: a form counts with the token of its own session alone.
func TestTokens(t *testing.T) {
	s := newSite(t, nil)
	one, two := s.signIn(t, "operator-one"), s.signIn(t, "operator-one")
	path := "/routes/tickets/remove"
	for what, token := range map[string]string{"none": "", "another session's": two.token("/audit"), "another": strings.Repeat("a", 43)} {
		if a := one.post(path, url.Values{"token": {token}}); a.status != 403 {
			t.Errorf("%s: %d", what, a.status)
		}
	}
	if a := one.send(path); a.status != 303 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := one.post("/keys", url.Values{"token": {one.token("/audit")}, "name": {strings.Repeat("a", maxForm)}}); a.status != 400 {
		t.Errorf("a form without end: %d", a.status)
	}
}

// TestDisabledAtOnce: the session of an account that is disabled, or whose role is lowered, is worth no
// more at its next request.
func TestDisabledAtOnce(t *testing.T) {
	s := newSite(t, nil)
	b := s.signIn(t, "operator-one")
	token := b.token("/audit")
	must(t, s.Store.SetRole(t.Context(), "root", "operator-one", store.Viewer))
	if a := b.post("/routes/tickets/remove", url.Values{"token": {token}}); a.status != 403 {
		t.Errorf("%d", a.status)
	}
	must(t, s.Store.DisableAccount(t.Context(), "root", "operator-one", false))
	if a := b.get("/"); a.status != 303 {
		t.Errorf("%d", a.status)
	}
}

// TestHostileNames: what others named is shown as text.
func TestHostileNames(t *testing.T) {
	s := newSite(t, nil)
	ctx := t.Context()
	const hostile, odd = `<script>alert("1")</script>`, "north/south @ 100+"
	_, _, err := s.Store.AddKey(ctx, hostile, store.Key{Name: hostile, Routes: []string{"*"}})
	must(t, err)
	_, err = s.Store.AskGrant(ctx, store.Account{Name: hostile, Role: store.Operator}, store.Grant{Dataset: string(s.tickets.Fingerprint), Name: hostile, Budget: hostile, Epsilon: 1, Reason: hostile})
	must(t, err)
	f, err := ledger.NewFingerprint([]byte(strings.Repeat("h", 32)))
	must(t, err)
	_, err = s.ledger.Init(ctx, ledger.InitRequest{Dataset: f, Name: odd, Budget: ledger.Budget{Epsilon: 1, Delta: 1e-6}, Reason: hostile})
	must(t, err)
	b := s.signIn(t, "owner-one")
	for _, path := range []string{"/", "/data-sets", "/data-sets/" + url.PathEscape(odd), "/data-sets/tickets", "/keys", "/audit", "/data-protection", "/routes?said=" + url.QueryEscape(hostile), "/sign-in?next=" + url.QueryEscape(hostile), "/" + url.PathEscape(hostile)} {
		a := b.get(path)
		if strings.Contains(a.body, "<script>alert") {
			t.Errorf("%s: %s", path, a.body)
		}
		if a.status >= 500 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if a := b.get("/data-sets/" + url.PathEscape(odd)); a.status != 200 || !strings.Contains(a.body, "&lt;script&gt;") {
		t.Errorf("%d", a.status)
	}
}

// TestReleases: a release is shown with its guarantee, and only files that its certificate covers
// are handed out; one that was changed is not.
func TestReleases(t *testing.T) {
	s := newSite(t, nil)
	b := s.signIn(t, "viewer-one")
	if a := b.get("/certificates/tickets"); !strings.Contains(a.body, "ε ≤ 0.35") {
		t.Error(a.body)
	}
	files := "/certificates/tickets/files/"
	if a := b.get(files + "demos.jsonl"); a.status != 200 || !strings.Contains(a.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%d", a.status)
	}
	if a := b.get(files + "certificate.json"); a.status != 200 {
		t.Errorf("%d", a.status)
	}
	report := "/certificates/tickets/report"
	a := b.get(report)
	expect.Equal(t, "a.status", a.status, 200)
	expect.Equal(t, "Content-Security-Policy", a.header.Get("Content-Security-Policy"), reportPolicy)
	expect.Contains(t, "a.body", a.body, "may be shown to anyone")
	for _, page := range []string{"/certificates/tickets", "/data-protection"} {
		if !strings.Contains(b.get(page).body, `href="`+report+`"`) {
			t.Errorf("%s does not lead to the report", page)
		}
	}
	must(t, os.WriteFile(filepath.Join(s.dir, "other.txt"), []byte("secret"), 0o600))
	must(t, os.WriteFile(filepath.Join(filepath.Dir(s.dir), "secret.txt"), []byte("secret"), 0o600))
	for _, name := range []string{"other.txt", "..%2Fsecret.txt", "%2e%2e/secret.txt", "%2Fetc%2Fpasswd", ""} {
		if a := b.get(files + name); a.status == 200 || strings.Contains(a.body, "secret\n") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	must(t, os.WriteFile(filepath.Join(s.dir, "demos.jsonl"), []byte(`{"text":"forged"}`+"\n"), 0o600))
	if a := b.get("/certificates/tickets"); strings.Contains(a.body, "ε ≤ 0.35") || !strings.Contains(a.body, "Does not hold") {
		t.Error("a release that was changed is shown")
	}
	for _, name := range []string{files + "demos.jsonl", files + "README.md", files + "certificate.json", report} {
		if a := b.get(name); a.status != 409 || !strings.Contains(a.body, "does not hold") {
			t.Errorf("%s of a release that was changed: %d", name, a.status)
		}
	}
}

// TestKeysAndRoutes: an operator makes a key, which is shown once, and revokes it, and changes routes;
// keys and routes of the command line stay.
func TestKeysAndRoutes(t *testing.T) {
	s := newSite(t, nil)
	b := s.signIn(t, "operator-one")
	made := b.send("/keys", "name", "Day shift", "route", "tickets", "per_minute", "5", "days", "30")
	expect.Equal(t, "made.status", made.status, 200)
	expect.Equal(t, "number of sk-sotto-", strings.Count(made.body, "sk-sotto-"), 1)
	expect.True(t, "no sk-sotto- in b.get('/keys').body", !strings.Contains(b.get("/keys").body, "sk-sotto-"), b.get("/keys").body)
	if a := b.send("/keys", "name", "", "route", "tickets"); a.status != 400 {
		t.Errorf("%d", a.status)
	}
	keys, err := s.Store.Keys(t.Context())
	must(t, err)
	for _, k := range keys {
		want := 303
		if k.Admin {
			want = 400
		}
		if a := b.send("/keys/" + k.ID + "/revoke"); a.status != want {
			t.Errorf("%s: %d", k.Name, a.status)
		}
	}
	if a := b.send("/routes", "name", "fresh", "upstream", "embedded", "release", "tickets", "task", "tickets.toml"); a.status != 303 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := b.send("/routes", "name", "bad", "upstream", "embedded", "release", "ask"); a.status != 400 {
		t.Errorf("%d", a.status)
	}
	if a := b.send("/routes/tickets/use", "version", "1"); a.status != 303 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := b.send("/routes/fresh/remove"); a.status != 303 {
		t.Errorf("%d", a.status)
	}
}

// ask has the operator ask for a grant, and returns its identity.
func (s *site) ask(t testing.TB, epsilon string) string {
	t.Helper()
	if a := s.signIn(t, "operator-one").send("/data-sets/tickets/grants", "budget", "global", "epsilon", epsilon, "reason", "one more round"); a.status != 303 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	all, err := s.Store.Grants(t.Context(), "", 1)
	must(t, err)
	return all[0].ID
}

func (s *site) allowance(t testing.TB) float64 {
	t.Helper()
	d, err := s.ledger.Show(t.Context(), "tickets")
	must(t, err)
	return d.Budgets[0].Epsilon
}

// TestGrantFlow: a grant is carried out with the last approval that is needed, by owners of the data set
// alone, and the ledger says who asked and approved.
func TestGrantFlow(t *testing.T) {
	s := newSite(t, nil)
	must(t, s.Store.SetApprovals(t.Context(), "root", string(s.tickets.Fingerprint), 2))
	id := s.ask(t, "0.5")
	for _, name := range []string{"owner-three", "operator-one", "viewer-one"} {
		if a := s.signIn(t, name).send("/grants/" + id + "/approve"); a.status != 403 {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	one := s.signIn(t, "owner-one")
	if a := one.send("/grants/" + id + "/approve"); a.status != 303 || s.allowance(t) != 2.5 {
		t.Errorf("one approval: %d, ε = %v", a.status, s.allowance(t))
	}
	if a := one.send("/grants/" + id + "/approve"); a.status != 400 || s.allowance(t) != 2.5 {
		t.Errorf("the same again: %d, ε = %v", a.status, s.allowance(t))
	}
	if a := one.send("/grants/" + id + "/carry-out"); a.status != 400 || s.allowance(t) != 2.5 {
		t.Errorf("carried out early: %d, ε = %v", a.status, s.allowance(t))
	}
	if a := s.signIn(t, "owner-two").send("/grants/" + id + "/approve"); a.status != 303 || s.allowance(t) != 3 {
		t.Errorf("two approvals: %d, ε = %v", a.status, s.allowance(t))
	}
	d, err := s.ledger.Show(t.Context(), "tickets")
	must(t, err)
	if last := d.Changes[len(d.Changes)-1]; last.Reason != "one more round (asked for by operator-one, approved by owner-one and owner-two)" {
		t.Errorf("%+v", last)
	}
	denied := s.ask(t, "1")
	if a := one.send("/grants/" + denied + "/deny"); a.status != 303 {
		t.Errorf("%d", a.status)
	}
	if a := s.signIn(t, "owner-two").send("/grants/" + denied + "/approve"); a.status != 400 || s.allowance(t) != 3 {
		t.Errorf("after it was denied: %d", a.status)
	}
	for _, epsilon := range []string{"-1", "NaN", "x", "", "Inf"} {
		if a := s.signIn(t, "operator-one").send("/data-sets/tickets/grants", "budget", "global", "epsilon", epsilon, "reason", "r"); a.status != 400 {
			t.Errorf("ε = %q: %d", epsilon, a.status)
		}
	}
}

// brokenLedger is a ledger that fails, before or after it has written.
type brokenLedger struct {
	Ledger
	mu            sync.Mutex
	before, after bool
}

func (b *brokenLedger) Grant(ctx context.Context, r ledger.GrantRequest) (ledger.Dataset, error) {
	b.mu.Lock()
	before, after := b.before, b.after
	b.mu.Unlock()
	if before {
		return ledger.Dataset{}, errors.New("the disk of /secret/ledger is full")
	}
	d, err := b.Ledger.Grant(ctx, r)
	if after {
		return ledger.Dataset{}, ledger.ErrUnknown
	}
	return d, err
}

// TestGrantThroughFaults: a grant whose ledger fails is carried out later, and once.
func TestGrantThroughFaults(t *testing.T) {
	faulty := &brokenLedger{}
	s := newSite(t, func(o *Options) {
		open := o.Ledger
		o.Ledger = func(ctx context.Context) (l Ledger, err error) {
			faulty.Ledger, err = open(ctx)
			return faulty, err
		}
	})
	for _, f := range []*bool{&faulty.before, &faulty.after} {
		was := s.allowance(t)
		id := s.ask(t, "0.25")
		*f = true
		b := s.signIn(t, "owner-one")
		if a := b.send("/grants/" + id + "/approve"); a.status != 503 || strings.Contains(a.body, "/secret") {
			t.Errorf("%d %s", a.status, a.body)
		}
		*f = false
		if a := b.send("/grants/" + id + "/carry-out"); a.status != 303 || s.allowance(t) != was+0.25 {
			t.Errorf("%d, ε = %v", a.status, s.allowance(t))
		}
		if a := b.send("/grants/" + id + "/carry-out"); a.status != 400 || s.allowance(t) != was+0.25 {
			t.Errorf("again: %d, ε = %v", a.status, s.allowance(t))
		}
	}
}

// TestConcurrentGrants: owners who approve at the same time raise the budget once.
func TestConcurrentGrants(t *testing.T) {
	s := newSite(t, nil)
	id := s.ask(t, "0.5")
	browsers := []*browser{s.signIn(t, "owner-one"), s.signIn(t, "owner-two"), s.signIn(t, "owner-one")}
	var tokens []string
	for _, b := range browsers {
		tokens = append(tokens, b.token("/audit"))
	}
	var all sync.WaitGroup
	for i, b := range browsers {
		all.Go(func() {
			b.post("/grants/"+id+"/approve", url.Values{"token": {tokens[i]}})
			b.post("/grants/"+id+"/carry-out", url.Values{"token": {tokens[i]}})
		})
	}
	all.Wait()
	if got := s.allowance(t); got != 3 {
		t.Errorf("ε = %v", got)
	}
	if g, err := s.Store.Grant(t.Context(), id); err != nil || g.State != store.GrantDone {
		t.Errorf("%+v, %v", g, err)
	}
}

// TestOutOfReach: where the ledger cannot be read, pages say so, and why is in the log alone.
func TestOutOfReach(t *testing.T) {
	s := newSite(t, func(o *Options) {
		o.Ledger = func(context.Context) (Ledger, error) { return nil, errors.New("no /secret/ledger") }
	})
	b := s.signIn(t, "viewer-one")
	a := b.get("/data-sets")
	expect.Equal(t, "a.status", a.status, 503)
	expect.True(t, "no /secret in a.body", !strings.Contains(a.body, "/secret"), a.body)
	expect.Contains(t, "s.log.String", s.log.String(), "/secret/ledger")
	s.Dashboard.Ledger = func(context.Context) (Ledger, error) { return nil, ledger.ErrMissing }
	for _, path := range []string{"/", "/data-sets", "/data-protection"} {
		if a := b.get(path); a.status != 200 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}
