package web

import (
	"context"
	"crypto/rand"
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

	"github.com/sotto-dp/sotto/internal/serve/store"
)

// OIDC is how people of an organisation sign in, by OpenID Connect.
type OIDC struct {
	// Issuer, ClientID, Secret and URL are required. URL is where people reach the dashboard:
	// the issuer sends them back to it.
	Issuer, ClientID, Secret, URL string
	// Claim names the claim whose values give a role. Without it everyone the issuer knows is a
	// viewer, unless a role is given to the account here.
	Claim string
	// Viewers, Operators and Owners are the values that give each role; the most counts. If there
	// are Viewers, whoever has none of all these values is not let in.
	Viewers, Operators, Owners []string
}

// role is what claims give. ok is false for whoever is not let in.
func (o *OIDC) role(claims map[string]any) (role store.Role, ok bool) {
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
}

// client asks the issuer.
var client = &http.Client{Timeout: 10 * time.Second}

func (d *Dashboard) provider(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	d.issuer.mu.Lock()
	defer d.issuer.mu.Unlock()
	if d.issuer.provider == nil {
		// It gets the issuer's keys later too, when the request is over.
		p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), client), d.OIDC.Issuer)
		if err != nil {
			return nil, nil, err
		}
		d.issuer.provider = p
	}
	return d.issuer.provider, &oauth2.Config{
		ClientID: d.OIDC.ClientID, ClientSecret: d.OIDC.Secret, Endpoint: d.issuer.provider.Endpoint(),
		RedirectURL: strings.TrimSuffix(d.OIDC.URL, "/") + "/sign-in/oidc/callback", Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}, nil
}

// once reports whether a state is used for the first time.
func (i *issuer) once(state string, now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for old, at := range i.used {
		if now.Sub(at) > 2*signingIn {
			delete(i.used, old)
		}
	}
	if _, again := i.used[state]; again {
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

// attempt is what the browser keeps of an attempt to sign in, and the issuer hears in parts.
type attempt struct {
	State, Nonce, Verifier, Next string
	Began                        int64
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
	a := attempt{rand.Text(), rand.Text(), oauth2.GenerateVerifier(), local(v.FormValue("next")), d.Now().Unix()}
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	http.SetCookie(v.ResponseWriter, d.cookie(oidcCookie, base64.RawURLEncoding.EncodeToString(data), signingIn))
	v.redirect(config.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)))
	return nil
}

// errRefused does not say what was wrong: the log does.
var errRefused = &problem{http.StatusForbidden, "You could not be signed in. Begin again; if it stays so, ask whoever looks after the service."}

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
	data, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil {
		return p, "", errors.New("there is no attempt to sign in")
	}
	var a attempt
	q := v.URL.Query()
	switch {
	case json.Unmarshal(data, &a) != nil || a.State == "" || a.Nonce == "" || a.Verifier == "":
		return p, "", errors.New("there is no attempt to sign in")
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
	role, ok := d.OIDC.role(claims)
	if !ok {
		return p, "", errors.New("no claim lets them in")
	}
	name, _ := claims["preferred_username"].(string)
	if name == "" {
		name, _ = claims["email"].(string)
	}
	return store.Person{Issuer: id.Issuer, Subject: id.Subject, Name: name, Role: role}, local(a.Next), nil
}
