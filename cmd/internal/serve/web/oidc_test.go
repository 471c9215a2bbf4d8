package web

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// organisation is a small issuer of OpenID Connect: discovery, keys, codes that count once and need their
// verifier, and tokens signed by RS256.
type organisation struct {
	*httptest.Server
	key    *rsa.PrivateKey
	mu     sync.Mutex
	codes  map[string]url.Values // what was asked for with a code
	groups []string
	// change spoils the claims of a token.
	change func(claims map[string]any)
	signer *rsa.PrivateKey
}

func newOrganisation(t testing.TB) *organisation {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	o := &organisation{key: key, signer: key, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		must(t, json.NewEncoder(w).Encode(v))
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		say(w, map[string]any{
			"issuer": o.URL, "authorization_endpoint": o.URL + "/authorize", "token_endpoint": o.URL + "/token", "jwks_uri": o.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		say(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "one", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		q := r.URL.Query()
		code := rand.Text()
		o.codes[code] = q
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		must(t, r.ParseForm())
		asked := o.codes[r.PostForm.Get("code")]
		delete(o.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		id, secret, _ := r.BasicAuth()
		if asked == nil || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("code_challenge_method") != "S256" || id != "sotto" || secret != "the-secret" {
			w.WriteHeader(http.StatusBadRequest)
			say(w, map[string]string{"error": "invalid_grant"})
			return
		}
		claims := map[string]any{
			"iss": o.URL, "sub": "person-17", "aud": "sotto", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
			"nonce": asked.Get("nonce"), "preferred_username": "Some.Body", "groups": o.groups,
		}
		if o.change != nil {
			o.change(claims)
		}
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: o.signer, KeyID: "one"}}, nil)
		must(t, err)
		token, err := jwt.Signed(signer).Claims(claims).Serialize()
		must(t, err)
		say(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": token})
	})
	o.Server = httptest.NewServer(mux)
	t.Cleanup(o.Close)
	return o
}

// through goes from the dashboard to the issuer, and returns where that sends the browser back to.
func (o *organisation) through(b *browser) (back string) {
	b.t.Helper()
	begin := b.get("/sign-in/oidc?next=/keys")
	if begin.status != http.StatusSeeOther {
		b.t.Fatalf("%d %s", begin.status, begin.body)
	}
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, begin.header.Get("Location"), nil)
	must(b.t, err)
	return strings.TrimPrefix(b.do(r).header.Get("Location"), b.base)
}

func newSiteOf(t testing.TB, o *organisation, viewers ...string) *site {
	t.Helper()
	s := newSite(t, nil)
	s.OIDC = &config.OIDC{
		Issuer: o.URL, ClientID: "sotto", URL: s.server.URL + "/",
		Claim: "groups", Viewers: viewers, Operators: []string{"sotto-operators"}, Owners: []string{"sotto-owners"},
	}
	s.OIDCSecret = "the-secret"
	return s
}

// TestOrganisation: somebody whom the issuer knows is let in, with the role of their groups as they
// are now.
func TestOrganisation(t *testing.T) {
	o := newOrganisation(t)
	s := newSiteOf(t, o)
	if a := s.browser(t).get("/sign-in"); !strings.Contains(a.body, "/sign-in/oidc?next=") {
		t.Error("there is no way to the organisation")
	}
	for _, c := range []struct {
		groups []string
		want   store.Role
	}{{nil, store.Viewer}, {[]string{"others", "sotto-operators"}, store.Operator}, {[]string{"sotto-operators", "sotto-owners"}, store.Owner}, {[]string{"others"}, store.Viewer}} {
		o.groups = c.groups
		b := s.browser(t)
		if a := b.get(o.through(b)); a.status != 303 || a.header.Get("Location") != "/keys" {
			t.Fatalf("%d %s %s", a.status, a.header.Get("Location"), s.log)
		}
		if a := b.get("/"); a.status != 200 || !strings.Contains(a.body, fmt.Sprintf("some.body, %s", c.want)) {
			t.Errorf("%v: %d", c.groups, a.status)
		}
	}
	must(t, s.Store.DisableAccount(t.Context(), "root", "some.body", false))
	b := s.browser(t)
	if a := b.get(o.through(b)); a.status != 403 {
		t.Errorf("disabled: %d", a.status)
	}
	only := newSiteOf(t, o, "sotto-viewers")
	b = only.browser(t)
	if a := b.get(o.through(b)); a.status != 403 {
		t.Errorf("no group lets them in: %d", a.status)
	}
}

// TestOrganisationRefuses: a token for another client, another attempt or another time, by another key, and an
// answer that was used or belongs to another browser, let nobody in.
func TestOrganisationRefuses(t *testing.T) {
	o := newOrganisation(t)
	s := newSiteOf(t, o)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	refused := func(what string, b *browser, path string) {
		t.Helper()
		if a := b.get(path); a.status != 403 {
			t.Errorf("%s: %d", what, a.status)
		}
		if a := b.get("/"); a.status != 303 {
			t.Errorf("%s: signed in", what)
		}
	}
	for what, change := range map[string]func(map[string]any){
		"wrong nonce":    func(c map[string]any) { c["nonce"] = "another" },
		"no nonce":       func(c map[string]any) { delete(c, "nonce") },
		"wrong audience": func(c map[string]any) { c["aud"] = "another" },
		"wrong issuer":   func(c map[string]any) { c["iss"] = "https://issuer.example" },
		"expired":        func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() },
		"no subject":     func(c map[string]any) { delete(c, "sub") },
		"another key":    func(map[string]any) { o.signer = other },
	} {
		o.change = change
		b := s.browser(t)
		refused(what, b, o.through(b))
		o.signer = o.key
	}
	o.change = nil
	b := s.browser(t)
	path := o.through(b)
	refused("another browser", s.browser(t), path)
	refused("another state", b, path+"x")
	b = s.browser(t)
	path = o.through(b)
	kept := b.Jar.Cookies(mustURL(t, s.server.URL))
	if a := b.get(path); a.status != 303 {
		t.Fatalf("%d", a.status)
	}
	again := s.browser(t)
	again.Jar.SetCookies(mustURL(t, s.server.URL), kept)
	refused("used already", again, path)
	b = s.browser(t)
	path = o.through(b)
	s.Now = func() time.Time { return time.Now().Add(signingIn + time.Minute) }
	refused("too old", b, path)
	log := s.log.String()
	at := expect.At(t, "the log")
	expect.Contains(at, "log", log, "used already")
	expect.Contains(at, "log", log, "another attempt")
	expect.True(at, "no the-secret", !strings.Contains(log, "the-secret"), log)
}

// TestNoOrganisation: without one there is no way to it, and one that does not answer is said so.
func TestNoOrganisation(t *testing.T) {
	s := newSite(t, nil)
	b := s.browser(t)
	if a := b.get("/sign-in/oidc"); a.status != 404 {
		t.Errorf("%d", a.status)
	}
	s.OIDC = &config.OIDC{Issuer: "http://127.0.0.1:1", ClientID: "sotto", URL: s.server.URL}
	if a := b.get("/sign-in/oidc"); a.status != 502 {
		t.Errorf("%d", a.status)
	}
}
