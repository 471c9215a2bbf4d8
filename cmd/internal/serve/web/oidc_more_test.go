package web

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestForgedAttempt: an attempt that the browser wrote itself, or changed, signs nobody in.
func TestForgedAttempt(t *testing.T) {
	o := newOrganisation(t)
	s := newSiteOf(t, o)
	b := s.browser(t)
	path := o.through(b)
	at := mustURL(t, s.server.URL)
	var sealed string
	for _, c := range b.Jar.Cookies(at) {
		if c.Name == oidcCookie {
			sealed = c.Value
		}
	}
	a, ok := s.issuer.open(sealed)
	if !ok {
		t.Fatal("the attempt cannot be read")
	}
	a.Next = "/audit"
	data, err := json.Marshal(a)
	must(t, err)
	changed := []byte(sealed)
	changed[60] ^= 1
	for what, value := range map[string]string{
		"written by itself": base64.RawURLEncoding.EncodeToString(data), "changed": string(changed), "of another process": other(t, a), "empty": "",
	} {
		b.Jar.SetCookies(at, []*http.Cookie{{Name: oidcCookie, Value: value, Path: "/"}})
		if got := b.get(path); got.status != 403 {
			t.Errorf("%s: %d", what, got.status)
		}
	}
	if len(s.issuer.used) != 0 {
		t.Errorf("%d states of nobody are remembered", len(s.issuer.used))
	}
	b.Jar.SetCookies(at, []*http.Cookie{{Name: oidcCookie, Value: sealed, Path: "/"}})
	if got := b.get(path); got.status != 303 {
		t.Errorf("as it was: %d", got.status)
	}
}

// other seals an attempt as another process would.
func other(t *testing.T, a attempt) string {
	t.Helper()
	sealed, err := (&issuer{key: [32]byte{1}}).seal(a)
	must(t, err)
	return sealed
}

// TestStatesAreBounded: so many states are remembered, and old ones make room.
func TestStatesAreBounded(t *testing.T) {
	var i issuer
	now := time.Now()
	for n := range maxStates {
		if !i.once(fmt.Sprint(n), now) {
			t.Fatalf("%d is refused", n)
		}
	}
	if i.once("one more", now) || i.once("1", now) {
		t.Error("there is no bound, or a state counts twice")
	}
	if !i.once("one more", now.Add(3*signingIn)) || len(i.used) != 1 {
		t.Error("old states are remembered")
	}
}

// TestSlowIssuer: an issuer that does not answer is asked once for all who wait, and holds up
// nobody who has come back from it.
func TestSlowIssuer(t *testing.T) {
	s := newSite(t, nil)
	asked, end := make(chan struct{}, 100), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-end
	}))
	t.Cleanup(slow.Close)
	s.OIDC = &config.OIDC{Issuer: slow.URL, ClientID: "sotto", URL: s.server.URL}
	done := make(chan int, 4)
	for range cap(done) {
		b := s.browser(t)
		go func() { done <- b.get("/sign-in/oidc").status }()
	}
	<-asked
	first := make(chan bool, 1)
	go func() { first <- s.issuer.once("a state", time.Now()) }()
	select {
	case <-first:
	case <-time.After(5 * time.Second):
		t.Error("the issuer holds up others")
	}
	time.Sleep(100 * time.Millisecond) // the rest come to wait
	close(end)
	for range cap(done) {
		if status := <-done; status != 502 {
			t.Errorf("%d", status)
		}
	}
	if n := len(asked) + 1; n >= cap(done) {
		t.Errorf("asked %d times", n)
	}
}

// TestLosingAClaim: one whom the issuer no longer lets in, or with less, is signed out everywhere, and
// their account may no more than the claims say.
func TestLosingAClaim(t *testing.T) {
	o := newOrganisation(t)
	s := newSiteOf(t, o, "sotto-viewers")
	enter := func(groups ...string) (*browser, int) {
		t.Helper()
		o.groups = groups
		b := s.browser(t)
		return b, b.get(o.through(b)).status
	}
	role := func() store.Role {
		t.Helper()
		all, err := s.Store.Accounts(t.Context())
		must(t, err)
		for _, a := range all {
			if a.Name == "some.body" {
				return a.Role
			}
		}
		return ""
	}
	if _, status := enter("others"); status != 403 || role() != "" {
		t.Errorf("a stranger: %d", status)
	}
	owner, status := enter("sotto-owners")
	if status != 303 || owner.get("/").status != 200 {
		t.Fatalf("%d", status)
	}
	operator, _ := enter("sotto-operators")
	at := expect.At(t, "with less the session of before continues, as")
	expect.Equal(at, "owner.get('/').status", owner.get("/").status, 303)
	expect.Equal(at, "operator.get('/').status", operator.get("/").status, 200)
	expect.Equal(at, "role", role(), store.Operator)
	more, _ := enter("sotto-owners")
	if operator.get("/").status != 200 || more.get("/").status != 200 {
		t.Error("with more the session of before ends")
	}
	if _, status := enter("others"); status != 403 {
		t.Errorf("no group lets them in: %d", status)
	}
	at = expect.At(t, "sessions continue, as")
	expect.Equal(at, "more.get('/').status", more.get("/").status, 303)
	expect.Equal(at, "operator.get('/').status", operator.get("/").status, 303)
	expect.Equal(at, "role", role(), store.Viewer)
}

// TestProxyWithTLS: where TLS ends at a proxy, cookies and headers are as with TLS.
func TestProxyWithTLS(t *testing.T) {
	s := newSite(t, nil)
	if a := s.browser(t).get("/sign-in"); a.header.Get("Strict-Transport-Security") != "" || strings.Contains(a.header.Get("Set-Cookie"), "Secure") {
		t.Errorf("without TLS: %v", a.header)
	}
	for what, change := range map[string]func(){
		"url": func() { s.URL = "https://sotto.example" },
		"oidc": func() {
			s.OIDC = &config.OIDC{Issuer: "https://issuer.example", ClientID: "sotto", URL: "https://sotto.example/"}
		},
	} {
		s.URL, s.OIDC = "", nil
		change()
		a := s.browser(t).get("/sign-in")
		if cookie := a.header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-sotto-visit=") || !strings.Contains(cookie, "; Secure") {
			t.Errorf("%s: cookie %q", what, cookie)
		}
		if a.header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%s: browsers may come back without TLS", what)
		}
	}
}
