package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
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
	// deviceCookie shows that somebody signed in here before. It lets nobody in.
	deviceCookie = "sotto-device"
	deviceLives  = 180 * 24 * time.Hour
)

// identify finds out whose session it is. Before there is one, a form has the token of the visit.
func (d *Dashboard) identify(v *visit) (err error) {
	if v.token = v.cookieValue(sessionCookie); v.token != "" {
		if v.account, err = d.Store.Session(v.ctx(), v.token, v.Pattern != "GET /events"); err == nil {
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
	First      bool // there is no account yet
	OIDC       bool
	Name, Next string
	Problem    string
}

func (d *Dashboard) signInPage(v *visit) error {
	if v.account.Name != "" {
		v.redirect(local(v.URL.Query().Get("next")))
		return nil
	}
	return d.showSignIn(v, http.StatusOK, signInData{Next: local(v.URL.Query().Get("next"))})
}

func (d *Dashboard) showSignIn(v *visit, status int, data signInData) error {
	all, err := d.Store.Accounts(v.ctx())
	if err != nil {
		return err
	}
	data.OIDC = d.OIDC != nil
	data.First = len(all) == 0 && d.Local && !data.OIDC
	v.render(status, "signin", page{Title: "Sign in", Data: data})
	return nil
}

func (d *Dashboard) signIn(v *visit) error {
	name, to := strings.TrimSpace(v.PostForm.Get("name")), local(v.PostForm.Get("next"))
	account, err := d.Store.SignIn(v.ctx(), store.Attempt{Name: name, Password: v.PostForm.Get("password"), Address: v.RemoteAddr, Device: v.cookieValue(deviceCookie)})
	var wait *store.WaitError
	var busy *store.BusyError
	switch {
	case v.ctx().Err() != nil:
		return nil // nobody is there to see it
	case errors.As(err, &busy):
		v.Header().Set("Retry-After", strconv.Itoa(int(busy.For/time.Second)))
		return d.showSignIn(v, http.StatusServiceUnavailable, signInData{Name: name, Next: to, Problem: sentence(busy.Error())})
	case errors.As(err, &wait):
		v.Header().Set("Retry-After", strconv.Itoa(int(wait.For/time.Second)+1))
		return d.showSignIn(v, http.StatusTooManyRequests, signInData{Name: name, Next: to, Problem: sentence(wait.Error())})
	case errors.Is(err, store.ErrDenied):
		return d.showSignIn(v, http.StatusUnauthorized, signInData{Name: name, Next: to, Problem: sentence(err.Error())})
	case err != nil:
		return err
	}
	if !account.Knows(v.cookieValue(deviceCookie)) {
		http.SetCookie(v.ResponseWriter, d.cookie(deviceCookie, account.Device(), deviceLives))
	}
	return d.begin(v, account, to)
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
