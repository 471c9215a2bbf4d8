package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/config"
)

// roleOf is what claims give, the highest of several. ok is false for anyone who is not let in.
func roleOf(o *config.OIDC, claims map[string]any) (role store.Role, ok bool) {
	if o.Claim == "" {
		return "", true
	}
	var values []string
	switch c := claims[o.Claim].(type) {
	case string:
		values = []string{c}
	case []any:
		for _, v := range c {
			if s, is := v.(string); is {
				values = append(values, s)
			}
		}
	}
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(v string) bool { return slices.Contains(values, v) })
	}
	switch {
	case has(o.Owners):
		return store.Owner, true
	case has(o.Operators):
		return store.Operator, true
	}
	return store.Viewer, len(o.Viewers) == 0 || has(o.Viewers)
}

// issuer is what is known of the issuer, once it was asked, and which answers were used.
type issuer struct {
	mu       sync.Mutex
	provider *oidc.Provider
	used     map[string]time.Time
	asking   singleflight.Group
	// key shows that an attempt began here.
	key [32]byte
}

// client asks the issuer, whose answers are small.
var client = &http.Client{Timeout: 10 * time.Second, Transport: boundedTransport{http.DefaultTransport}}

// maxStatement is more than what an issuer says of itself, its keys or somebody.
const maxStatement = 1 << 20

// boundedTransport gives answers of a bounded length.
type boundedTransport struct{ http.RoundTripper }

func (b boundedTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := b.RoundTripper.RoundTrip(q)
	if err == nil {
		r.Body = http.MaxBytesReader(nil, r.Body, maxStatement)
	}
	return r, err
}

func (d *Dashboard) provider(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	d.issuer.mu.Lock()
	known := d.issuer.provider
	d.issuer.mu.Unlock()
	if known == nil {
		// An issuer that takes long is asked once for all who wait, and holds up nobody else.
		found, err, _ := d.issuer.asking.Do("", func() (any, error) {
			// It gets the issuer's keys later too, when the request is over.
			p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), client), d.OIDC.Issuer)
			if err != nil {
				return nil, err
			}
			d.issuer.mu.Lock()
			defer d.issuer.mu.Unlock()
			d.issuer.provider = p
			return p, nil
		})
		if err != nil {
			return nil, nil, err
		}
		known, _ = found.(*oidc.Provider)
	}
	return known, &oauth2.Config{
		ClientID: d.OIDC.ClientID, ClientSecret: d.OIDCSecret, Endpoint: known.Endpoint(),
		RedirectURL: strings.TrimSuffix(d.OIDC.URL, "/") + "/sign-in/oidc/callback", Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}, nil
}

// maxStates bounds the states that are remembered. They are of attempts that began here, and are
// forgotten when those are too old.
const maxStates = 10000

// once reports whether a state is used for the first time. If too many are remembered none is.
func (i *issuer) once(state string, now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for old, at := range i.used {
		if now.Sub(at) > 2*signingIn {
			delete(i.used, old)
		}
	}
	if _, again := i.used[state]; again || len(i.used) >= maxStates {
		return false
	}
	if i.used == nil {
		i.used = map[string]time.Time{}
	}
	i.used[state] = now
	return true
}

const (
	oidcCookie = "sotto-oidc"
	signingIn  = 10 * time.Minute
)

// attempt is what the browser keeps of an attempt to sign in, and the issuer is told in parts.
type attempt struct {
	State, Nonce, Verifier, Next string
	Began                        int64
}

// seal writes an attempt so that only this process can have written it.
func (i *issuer) seal(a attempt) (string, error) {
	data, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(i.mac(data), data...)), nil
}

// open reads an attempt that began here.
func (i *issuer) open(cookie string) (a attempt, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil || len(data) < sha256.Size || !hmac.Equal(data[:sha256.Size], i.mac(data[sha256.Size:])) {
		return a, false
	}
	return a, json.Unmarshal(data[sha256.Size:], &a) == nil
}

func (i *issuer) mac(data []byte) []byte {
	sum := hmac.New(sha256.New, i.key[:])
	sum.Write(data)
	return sum.Sum(nil)
}

var errIssuer = &problem{http.StatusBadGateway, "Your organisation cannot be asked now. The service's log says why. Try again later."}

func (d *Dashboard) beginOIDC(v *visit) error {
	if d.OIDC == nil {
		return errNotFound
	}
	_, config, err := d.provider(v.ctx())
	if err != nil {
		d.Log.Error("the issuer cannot be asked", "error", err.Error())
		return errIssuer
	}
	a := attempt{rand.Text(), rand.Text(), oauth2.GenerateVerifier(), local(v.URL.Query().Get("next")), d.Now().Unix()}
	sealed, err := d.issuer.seal(a)
	if err != nil {
		return err
	}
	http.SetCookie(v.ResponseWriter, d.cookie(oidcCookie, sealed, signingIn))
	v.redirect(config.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)))
	return nil
}

// errRefused does not say what was wrong: the log does.
var errRefused = &problem{http.StatusForbidden, "You could not be signed in. Begin again; if it stays so, ask anyone who looks after the service."}

func (d *Dashboard) endOIDC(v *visit) error {
	if d.OIDC == nil {
		return errNotFound
	}
	cookie := v.cookieValue(oidcCookie)
	http.SetCookie(v.ResponseWriter, d.cookie(oidcCookie, "", 0))
	person, to, err := d.person(v, cookie)
	if err != nil {
		d.Log.Warn("somebody of the issuer is not let in", "error", err.Error())
		return errRefused
	}
	account, err := d.Store.Welcome(v.ctx(), person)
	if errors.Is(err, store.ErrDenied) {
		return errRefused
	}
	if err != nil {
		return err
	}
	return d.begin(v, account, to)
}

// person checks what the issuer said: it belongs to an attempt of this browser, which is used
// once, and is for this client, of this attempt, and not too old.
func (d *Dashboard) person(v *visit, cookie string) (p store.Person, to string, err error) {
	a, ok := d.issuer.open(cookie)
	q := v.URL.Query()
	switch {
	case !ok:
		return p, "", errors.New("there is no attempt to sign in that began here")
	case !sameToken(q.Get("state"), a.State):
		return p, "", errors.New("the state belongs to another attempt")
	case d.Now().Unix()-a.Began > int64(signingIn/time.Second):
		return p, "", errors.New("the attempt is too old")
	case !d.issuer.once(a.State, d.Now()):
		return p, "", errors.New("the attempt was used already")
	case q.Get("error") != "":
		return p, "", errors.New("the issuer refused")
	}
	provider, config, err := d.provider(v.ctx())
	if err != nil {
		return p, "", err
	}
	ctx := oidc.ClientContext(v.ctx(), client)
	token, err := config.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return p, "", errors.New("the issuer does not know the code")
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: d.OIDC.ClientID, Now: d.Now}).Verify(ctx, raw)
	if err != nil {
		return p, "", err
	}
	if id.Subject == "" {
		return p, "", errors.New("the token does not say who it is about")
	}
	if !sameToken(id.Nonce, a.Nonce) {
		return p, "", errors.New("the token belongs to another attempt")
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return p, "", err
	}
	p = store.Person{Issuer: id.Issuer, Subject: id.Subject}
	if p.Role, ok = roleOf(d.OIDC, claims); !ok {
		return p, "", errors.Join(errors.New("no claim lets them in"), d.Store.Dismiss(v.ctx(), p))
	}
	if p.Name, _ = claims["preferred_username"].(string); p.Name == "" {
		p.Name, _ = claims["email"].(string)
	}
	return p, local(a.Next), nil
}
