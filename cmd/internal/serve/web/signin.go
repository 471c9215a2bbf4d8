package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
)

func (d *Dashboard) signInRoutes() []route {
	return []route{
		{"GET /static/{name}", "", d.static},
		{"GET /sign-in", "", d.signInPage},
		{"POST /sign-in", "", d.signIn},
		{"GET /sign-in/oidc", "", d.beginOIDC},
		{"GET /sign-in/oidc/callback", "", d.endOIDC},
		{"POST /sign-out", store.Viewer, d.signOut},
	}
}

// cookie is one that no script reads and no other page sends. Over TLS its name ties it to this
// very host.
func (d *Dashboard) cookie(name, value string, lives time.Duration) *http.Cookie {
	c := &http.Cookie{Name: d.cookieName(name), Value: value, Path: "/", HttpOnly: true, Secure: d.secure(), SameSite: http.SameSiteLaxMode}
	c.MaxAge = int(lives / time.Second)
	if lives <= 0 {
		c.MaxAge = -1
	}
	return c
}

// secure reports whether people reach it over TLS: its own, or that of a proxy before it.
func (d *Dashboard) secure() bool {
	return d.Secure || overTLS(d.URL) || d.OIDC != nil && overTLS(d.OIDC.URL)
}

func overTLS(address string) bool { return strings.HasPrefix(strings.ToLower(address), "https://") }

func (d *Dashboard) cookieName(name string) string {
	if d.secure() {
		return "__Host-" + name
	}
	return name
}

func (v *visit) cookieValue(name string) string {
	c, err := v.Cookie(v.d.cookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

const (
	sessionCookie = "sotto-session"
	visitCookie   = "sotto-visit"
)

// identify finds out whose session it is. Before there is one, a form has the token of the visit.
func (d *Dashboard) identify(v *visit) (err error) {
	if v.token = v.cookieValue(sessionCookie); v.token != "" {
		if v.account, err = d.Store.Session(v.ctx(), v.token); err == nil {
			return nil
		}
	}
	if v.token = v.cookieValue(visitCookie); v.token == "" && v.Pattern == "GET /sign-in" {
		v.token = rand.Text()
		http.SetCookie(v.ResponseWriter, d.cookie(visitCookie, v.token, time.Hour))
	}
	if err == nil {
		err = store.ErrDenied
	}
	return err
}

// formToken is what forms of a session carry. Who has it does not have the session.
func (v *visit) formToken() string {
	if v.token == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("sotto form\x00" + v.token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func sameToken(given, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(given), []byte(want)) == 1
}

// next says where to continue after signing in.
func next(u *url.URL) string {
	if u.Path == "/" {
		return ""
	}
	return "?next=" + url.QueryEscape(u.RequestURI())
}

// local is a place of this dashboard, or its first page: nobody is sent elsewhere.
func local(place string) string {
	if !strings.HasPrefix(place, "/") || strings.HasPrefix(place, "//") || strings.ContainsAny(place, "\\\r\n\t") {
		return "/"
	}
	return place
}

// signInData is what the page for signing in shows.
type signInData struct {
	OIDC bool
	Next string
	// Link is the token of a link that somebody followed.
	Link    string
	Problem string
}

// signInPage shows how to sign in. A link signs nobody in before its button is pressed: programs follow
// links too, to show what is behind them, and would use it up.
func (d *Dashboard) signInPage(v *visit) error {
	to := local(v.URL.Query().Get("next"))
	if v.account.Name != "" {
		v.redirect(to)
		return nil
	}
	return d.showSignIn(v, http.StatusOK, signInData{Next: to, Link: v.URL.Query().Get("link")})
}

func (d *Dashboard) showSignIn(v *visit, status int, data signInData) error {
	data.OIDC = d.OIDC != nil
	v.render(status, "signin", page{Title: "Sign in", Data: data})
	return nil
}

// signIn signs in by a link.
func (d *Dashboard) signIn(v *visit) error {
	account, err := d.Store.UseLink(v.ctx(), v.PostForm.Get("link"))
	if errors.Is(err, store.ErrDenied) {
		return d.showSignIn(v, http.StatusUnauthorized, signInData{Problem: "The link was used, or it is too old. Ask for another: sotto serve account link."})
	}
	if err != nil {
		return err
	}
	return d.begin(v, account, "/")
}

// begin begins a session. Its token is new, whatever the browser had before.
func (d *Dashboard) begin(v *visit, account store.Account, to string) error {
	token, err := d.Store.AddSession(v.ctx(), account.Name)
	if err != nil {
		return err
	}
	http.SetCookie(v.ResponseWriter, d.cookie(sessionCookie, token, store.SessionMax))
	http.SetCookie(v.ResponseWriter, d.cookie(visitCookie, "", 0))
	v.redirect(to)
	return nil
}

func (d *Dashboard) signOut(v *visit) error {
	if err := d.Store.EndSession(v.ctx(), v.account.Name, v.token); err != nil {
		return err
	}
	http.SetCookie(v.ResponseWriter, d.cookie(sessionCookie, "", 0))
	v.redirect("/sign-in")
	return nil
}
