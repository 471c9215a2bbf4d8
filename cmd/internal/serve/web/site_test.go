package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fakeRoutes stands in for the service's own checks of routes.
type fakeRoutes struct{ *store.Store }

func (f fakeRoutes) Upstreams() []string { return []string{"embedded", "openai"} }

// people is a store with an account of each role, made once.
func people(t testing.TB) []byte {
	t.Helper()
	peopleOnce.Do(func() {
		at := filepath.Join(t.TempDir(), "service.db")
		s, err := store.Open(t.Context(), at, true)
		must(t, err)
		for name, role := range map[string]store.Role{"viewer-one": store.Viewer, "operator-one": store.Operator, "owner-one": store.Owner, "owner-two": store.Owner, "owner-three": store.Owner} {
			must(t, s.AddAccount(t.Context(), "operator", store.Account{Name: name, Role: role}))
		}
		must(t, s.Close())
		peopleStore, err = os.ReadFile(at)
		must(t, err)
	})
	return peopleStore
}

var (
	peopleOnce  sync.Once
	peopleStore []byte
)

// site is a dashboard with a store, a ledger and a release of their own.
type site struct {
	*Dashboard
	server  *httptest.Server
	ledger  *ledger.Ledger
	tickets ledger.Dataset
	log     *strings.Builder
	// dir is the folder of the release that the route tickets serves.
	dir string
}

// newSite makes a site as it may look after some weeks. change may alter the options.
func newSite(t testing.TB, change func(*Options)) *site {
	t.Helper()
	ctx := t.Context()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "service.db"), people(t), 0o600))
	s, err := store.Open(ctx, filepath.Join(dir, "service.db"), false)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	signer, _, err := certificate.OpenSigner(filepath.Join(dir, "keys"))
	must(t, err)
	o := Options{
		Store: s, Routes: fakeRoutes{s}, Local: true,
		Ask: func(_ context.Context, route, question string, examples bool) (string, error) {
			return fmt.Sprintf("%s answers %q, examples: %v", route, question, examples), nil
		},
		Verify: func(dir string) (*certificate.Report, error) {
			return certificate.VerifyDir(dir, certificate.VerifyOptions{Trust: certificate.NewTrust(signer.Public()), Evaluator: accountant.Auto{}})
		},
	}
	now := time.Now().Add(-38 * 24 * time.Hour)
	l, err := ledger.Open(ctx, filepath.Join(dir, "ledger.db"), ledger.Options{Create: true, Clock: func() time.Time { return now }})
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	o.Ledger = func(context.Context) (Ledger, error) { return l, nil }
	at := &site{ledger: l, log: &strings.Builder{}}
	o.Log = slog.New(slog.NewTextHandler(at.log, nil))
	if change != nil {
		change(&o)
	}
	charge := at.fillLedger(t, &now)
	at.fillStore(t, s, dir, signer, charge)
	at.Dashboard = New(o)
	at.server = newServer(t, at)
	return at
}

func newServer(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// fillLedger enters data sets, charges some runs over some weeks, and returns the last charge.
func (s *site) fillLedger(t testing.TB, now *time.Time) (last ledger.Charge) {
	t.Helper()
	ctx := t.Context()
	enter := func(name string, digit byte, epsilon float64) ledger.Dataset {
		f, err := ledger.NewFingerprint([]byte(strings.Repeat(string(digit), 32)))
		must(t, err)
		d, err := s.ledger.Init(ctx, ledger.InitRequest{Dataset: f, Name: name, Budget: ledger.Budget{Epsilon: epsilon, Delta: 1e-6}, Reason: "the first budget"})
		must(t, err)
		return d
	}
	s.tickets = enter("tickets", 'a', 2)
	enter("loans", 'b', 4)
	for i, c := range []struct {
		days    int
		dataset string
		epsilon float64
		name    string
	}{{3, "tickets", 0.5, "synth of the first examples"}, {8, "tickets", 0.5, "choose"}, {1, "loans", 3.2, "table profile"}, {9, "tickets", 0.5, "eval private"}, {10, "tickets", 0.35, "synth of more examples"}} {
		*now = now.Add(time.Duration(c.days) * 24 * time.Hour)
		var err error
		last, err = s.ledger.Reserve(ctx, ledger.ReserveRequest{Dataset: c.dataset, Run: c.name, Key: fmt.Sprint(i), Proof: ledger.Proven, Adjacency: privacy.AddRemove, Unit: privacy.Record, Event: privacy.Pure{Epsilon: c.epsilon}})
		must(t, err)
		last, err = s.ledger.Commit(ctx, ledger.CommitRequest{Charge: last.ID})
		must(t, err)
		if i == 1 {
			_, err := s.ledger.Grant(ctx, ledger.GrantRequest{Dataset: "tickets", Epsilon: 0.5, Reason: "decision 12 of the board"})
			must(t, err)
		}
	}
	*now = now.Add(7 * 24 * time.Hour)
	return last
}

// examples are what was released.
var examples = []map[string]string{
	{"text": "I was charged twice for my order last week, can you refund one of them?", "label": "billing"},
	{"text": "The app closes by itself whenever I open the settings.", "label": "technical"},
	{"text": "How do I change the address that my parcels go to?", "label": "account"},
	{"text": "My code for the discount is refused at the checkout.", "label": "billing"},
}

// fillStore adds owners, a release, routes and keys.
func (s *site) fillStore(t testing.TB, to *store.Store, dir string, signer *certificate.Signer, charge ledger.Charge) {
	t.Helper()
	ctx := t.Context()
	for _, name := range []string{"owner-one", "owner-two"} {
		must(t, to.SetOwner(ctx, "operator", name, string(s.tickets.Fingerprint), false))
	}
	s.dir = filepath.Join(dir, "release")
	s.release(t, s.dir, signer, charge)
	_, err := to.SetRoute(ctx, "account operator-one", "tickets", store.RouteSpec{Upstream: "embedded", Task: "tickets.toml"})
	must(t, err)
	_, err = to.SetRoute(ctx, "account operator-one", "tickets", store.RouteSpec{Upstream: "openai", Model: "gpt-large", Release: s.dir, Task: "tickets.toml", Nearest: 4})
	must(t, err)
	_, err = to.SetRoute(ctx, "operator", "ask", store.RouteSpec{Answers: &store.AnswerSpec{Data: "/private/place/records.jsonl", Query: "SELECT secret", Dataset: "tickets"}})
	must(t, err)
	later := time.Now().Add(60 * 24 * time.Hour)
	for _, k := range []store.Key{{Name: "Support team", Routes: []string{"tickets"}, PerMinute: 60, Expires: &later}, {Name: "Night shift", Routes: []string{"ask"}, Answers: 100}, {Name: "Monitoring", Admin: true}} {
		_, _, err := to.AddKey(ctx, "account operator-one", k)
		must(t, err)
	}
}

// release writes examples with a certificate.
func (s *site) release(t testing.TB, dir string, signer *certificate.Signer, charge ledger.Charge) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	made := release.Release{
		Task: prompt.Task{Name: "tickets", Kind: prompt.Classify, Text: "text", Label: "label", Labels: []string{"billing", "technical", "account"}}, Method: "noisymax", Private: true,
		Guarantee: &privacy.Guarantee{Event: privacy.Pure{Epsilon: 0.35}, Adjacency: privacy.AddRemove, Unit: privacy.Record, Epsilon: privacy.Interval{Lower: 0.35, Upper: 0.35}, Delta: 1e-6},
		Account:   &release.Account{Dataset: "tickets", Budgets: []release.Balance{{Name: "global", Epsilon: 1, Delta: 1e-6, Spent: 0.6, Left: 0.4, Own: 0.35}}, Others: []release.Use{{Name: "letters", Times: 1, Last: "2026-10-02", Epsilon: 0.25}}},
		Worth:     &release.Worth{Metric: "accuracy", Value: 0.8, Low: 0.7, High: 0.9, Epsilon: 0.05},
		Date:      time.Now(), Signer: signer.Public().ID(), Version: "test",
	}
	for _, e := range examples {
		made.Examples = append(made.Examples, prompt.Example{Input: e["text"], Output: e["label"]})
	}
	_, err := release.Write(dir, made)
	must(t, err)
	_, err = certificate.Issue(dir, certificate.Claim{
		Events: []privacy.Event{privacy.Pure{Epsilon: 0.35}}, Delta: 1e-6, Method: "noisymax", Proof: "Dwork and Roth 2014, theorem 3.6",
		Standing: certificate.Proven, Randomness: certificate.OSRandom, Samplers: []certificate.Sampler{certificate.SampleAll}, Version: "test",
		Ledger: &certificate.LedgerReference{Charge: string(charge.ID), Head: strings.Repeat("0", 64)},
	}, accountant.Auto{}, signer)
	must(t, err)
}

// browser is a client with cookies that follows no redirect.
type browser struct {
	*http.Client
	t    testing.TB
	base string
}

func (s *site) browser(t testing.TB) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &browser{&http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, t, s.server.URL}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

func (b *browser) do(r *http.Request) answer {
	b.t.Helper()
	response, err := b.Do(r)
	must(b.t, err)
	body, err := io.ReadAll(response.Body)
	must(b.t, err)
	must(b.t, response.Body.Close())
	return answer{response.StatusCode, response.Header, string(body)}
}

func (b *browser) get(path string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.base+path, nil)
	must(b.t, err)
	return b.do(r)
}

func (b *browser) post(path string, form url.Values) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.base+path, strings.NewReader(form.Encode()))
	must(b.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]*)"`)

// token is that of the forms of a page.
func (b *browser) token(path string) string {
	b.t.Helper()
	m := tokenField.FindStringSubmatch(b.get(path).body)
	if m == nil {
		b.t.Fatalf("%s has no form", path)
	}
	return m[1]
}

// send posts a form with the token of its session.
func (b *browser) send(path string, fields ...string) answer {
	b.t.Helper()
	form := url.Values{"token": {b.token("/audit")}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return b.post(path, form)
}

// link is one by which an account signs in.
func (s *site) link(t testing.TB, name string) string {
	t.Helper()
	token, err := s.Store.AddLink(t.Context(), "operator", name)
	must(t, err)
	return token
}

// follow opens a link to sign in, and presses its button.
func (b *browser) follow(link string) answer {
	b.t.Helper()
	return b.post("/sign-in", url.Values{"token": {b.token("/sign-in?link=" + link)}, "link": {link}})
}

// signIn returns a browser that an account is signed in with.
func (s *site) signIn(t testing.TB, name string) *browser {
	t.Helper()
	b := s.browser(t)
	a := b.follow(s.link(t, name))
	if a.status != http.StatusSeeOther {
		t.Fatalf("%s cannot sign in: %d %s", name, a.status, a.body)
	}
	return b
}
