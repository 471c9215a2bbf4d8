package serve

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/cmd/internal/serve/web"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// description is the administration as OpenAPI has it.
//
//go:embed openapi.json
var description []byte

// The address for those who look after the service is apart from that for clients: a key of one
// is no good at the other. Health and metrics need a key only where other machines reach them;
// what shows or changes keys and routes always does.
func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	s.health(mux)
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(description) // anyone who asked may be gone
	})
	mux.Handle("GET /metrics", s.unlessHere(s.metrics.handler()))
	for pattern, serve := range map[string]func(r *http.Request, by store.Actor) (any, error){
		"GET /admin/v1/keys": func(r *http.Request, _ store.Actor) (any, error) { return listed(s.Store.Keys(r.Context())) },
		"GET /admin/v1/routes": func(r *http.Request, _ store.Actor) (any, error) {
			all, err := s.Store.Routes(r.Context(), r.URL.Query().Get("all") == "")
			for i := range all {
				all[i].Spec.Answers = withoutPlace(all[i].Spec.Answers)
			}
			return listed(all, err)
		},
		"GET /admin/v1/audit":               func(r *http.Request, _ store.Actor) (any, error) { return listed(s.Store.Audit(r.Context(), 1000)) },
		"POST /admin/v1/keys":               s.addKey,
		"POST /admin/v1/keys/{id}/rotate":   s.rotateKey,
		"DELETE /admin/v1/keys/{id}":        s.revokeKey,
		"PUT /admin/v1/routes/{name...}":    s.setRoute,
		"DELETE /admin/v1/routes/{name...}": s.removeRoute,
		"POST /admin/v1/use/{name...}":      s.useRoute,
	} {
		mux.HandleFunc(pattern, s.admin(serve))
	}
	if s.Dashboard != nil {
		pages := *s.Dashboard
		pages.Store, pages.Verify, pages.Routes, pages.Ask, pages.Log = s.Store, s.Builder.Verify, s, s.Ask, s.Log
		pages.Secure, pages.Local = s.Certificate != "", loopback(s.Admin)
		mux.Handle("/", web.New(pages))
	}
	var all http.Handler = mux
	if loopback(s.Admin) {
		all = onlyHere(mux)
	}
	return http.NewCrossOriginProtection().Handler(all)
}

// withoutPlace leaves out where private records are.
func withoutPlace(a *store.AnswerSpec) *store.AnswerSpec {
	if a == nil {
		return nil
	}
	return &store.AnswerSpec{Plan: a.Plan, Dataset: a.Dataset, Pace: a.Pace}
}

// items is a list as the admin API has it.
type items[T any] struct {
	Items []T `json:"items"`
}

func listed[T any](all []T, err error) (any, error) {
	if all == nil {
		all = []T{}
	}
	return items[T]{all}, err
}

// administrator finds the key of the one who looks after the service.
func (s *Server) administrator(r *http.Request) (store.Actor, bool) {
	secret, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	key, known := s.ring.Load().Find(secret)
	return actorOf(key.ID), is && known && key.Admin
}

// actorOf is how the audit log names anyone who has a key.
func actorOf(key string) store.Actor { return store.Actor("key " + key) }

const notAdmin = `this needs a key that looks after the service, as "Authorization: Bearer sk-sotto-…": sotto serve key add NAME --admin makes one`

// unlessHere asks for a key where other machines can reach the address.
func (s *Server) unlessHere(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, is := s.administrator(r); !is && !loopback(s.Admin) {
			adminError(w, http.StatusUnauthorized, errors.New(notAdmin))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// admin serves a request of the one who looks after the service.
func (s *Server) admin(serve func(r *http.Request, by store.Actor) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, is := s.administrator(r)
		if !is {
			adminError(w, http.StatusUnauthorized, errors.New(notAdmin))
			return
		}
		held := s.forms.Hold(string(by))
		defer held.Release()
		r.Body = heldBody{r.Body, held}
		out, err := serve(r, by)
		if err != nil {
			status := http.StatusBadRequest
			switch {
			case errors.Is(err, store.ErrStore):
				status = http.StatusServiceUnavailable
			case errors.Is(err, errBusy):
				status = http.StatusServiceUnavailable
				w.Header().Set("Retry-After", "1")
			}
			adminError(w, status, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(out) // anyone who asked may be gone
	}
}

func adminError(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct { // anyone who asked may be gone
		Error string `json:"error"`
	}{err.Error()})
}

// Bounds of an administrator's request: its bytes, and its values, of members and lists together. A
// key may use about as many routes.
const (
	maxForm   = 1 << 20
	maxValues = 10_000
)

var errBusy = errors.New("too many requests are under way: try again in a moment")

// heldBody is a request that is held while it is read.
type heldBody struct {
	io.ReadCloser
	held *bounded.Reservation
}

func (b heldBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	return n, cmp.Or(b.held.Add(int64(n)), err)
}

// readAdmin reads the JSON of a request. Members that are not known are errors: they would be
// taken for done.
func readAdmin(r *http.Request, into any) error {
	data, err := bounded.Read(r.Body, maxForm)
	switch {
	case errors.Is(err, bounded.ErrClientFull), errors.Is(err, bounded.ErrFull):
		return errBusy
	case err != nil:
		return errors.New("the request broke off, or it is too long")
	}
	if bounded.Count(data) > maxValues || bounded.JSON(data, maxForm) != nil {
		return fmt.Errorf("the request has more than %d values, or it is nested more than %d deep", maxValues, bounded.Depth)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) || !json.Valid(data) {
		return errors.New("the request is not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	return nil
}

// newKey is a request for a key.
type newKey struct {
	Name      string   `json:"name"`
	Routes    []string `json:"routes"`
	Admin     bool     `json:"admin"`
	PerMinute int64    `json:"per_minute"`
	Answers   int64    `json:"answers"`
	// ExpiresIn is how long it counts, in seconds; 0: until it is revoked.
	ExpiresIn int64 `json:"expires_in"`
}

// madeKey has the secret of a key that was made. It is nowhere else.
type madeKey struct {
	store.Key
	Secret string `json:"secret"`
}

func (s *Server) addKey(r *http.Request, by store.Actor) (any, error) {
	var q newKey
	if err := readAdmin(r, &q); err != nil {
		return nil, err
	}
	k := store.Key{Name: q.Name, Routes: q.Routes, Admin: q.Admin, PerMinute: q.PerMinute, Answers: q.Answers}
	if q.ExpiresIn < 0 || q.ExpiresIn > int64(100*365*24*time.Hour/time.Second) {
		return nil, errors.New("expires_in should be a number of seconds, at most a hundred years")
	}
	if q.ExpiresIn > 0 {
		end := time.Now().Add(time.Duration(q.ExpiresIn) * time.Second)
		k.Expires = &end
	}
	made, secret, err := s.Store.AddKey(r.Context(), by, k)
	return madeKey{made, secret}, err
}

func (s *Server) rotateKey(r *http.Request, by store.Actor) (any, error) {
	q := struct {
		// Overlap is how long the old key counts, in seconds.
		Overlap int64 `json:"overlap"`
	}{24 * 3600}
	if r.ContentLength != 0 {
		if err := readAdmin(r, &q); err != nil {
			return nil, err
		}
	}
	if q.Overlap < 0 || q.Overlap > 366*24*3600 {
		return nil, errors.New("overlap should be a number of seconds, at most a year")
	}
	made, secret, err := s.Store.RotateKey(r.Context(), by, r.PathValue("id"), time.Duration(q.Overlap)*time.Second)
	return madeKey{made, secret}, err
}

func (s *Server) revokeKey(r *http.Request, by store.Actor) (any, error) {
	id := r.PathValue("id")
	if by == actorOf(id) {
		return nil, errors.New("a key cannot end itself, or nobody might look after the service: use another, or sotto serve key revoke")
	}
	return struct{}{}, s.Store.RevokeKey(r.Context(), by, id)
}

// setRoute makes a version of a route that sends requests to an upstream. Anyone who answers from
// private records decides where these are, which is for the command line of their machine.
func (s *Server) setRoute(r *http.Request, by store.Actor) (any, error) {
	var spec store.RouteSpec
	if err := readAdmin(r, &spec); err != nil {
		return nil, err
	}
	if spec.Answers != nil {
		return nil, errors.New("routes that answer from private records are set by sotto serve route answer, where the records are")
	}
	return s.SetRoute(r.Context(), by, r.PathValue("name"), spec)
}

// SetRoute makes a version of a route to an upstream, for the one who looks after the service.
func (s *Server) SetRoute(ctx context.Context, by store.Actor, name string, spec store.RouteSpec) (store.Route, error) {
	if err := s.public(ctx, name); err != nil {
		return store.Route{}, err
	}
	if _, known := s.Builder.Upstreams[spec.Upstream]; !known || spec.Answers != nil {
		return store.Route{}, errors.New("there is no such upstream: name one of the configuration, or embedded")
	}
	if err := spec.Check(); err != nil {
		return store.Route{}, err
	}
	if err := s.Builder.Check(ctx, name, spec); err != nil {
		// What is in the files of this machine is not for anyone who has a key.
		s.Log.Warn("a route cannot be set", "by", string(by), "error", err.Error())
		return store.Route{}, errors.New("the route cannot be served with this task and these releases: the service's log says why")
	}
	return s.Store.SetRoute(ctx, by, name, spec)
}

// UseRoute has requests use a version of a route; 0 is the one before.
func (s *Server) UseRoute(ctx context.Context, by store.Actor, name string, version int64) (int64, error) {
	if err := s.public(ctx, name); err != nil {
		return 0, err
	}
	return s.Store.UseRoute(ctx, by, name, version)
}

// RemoveRoute takes a route away from requests.
func (s *Server) RemoveRoute(ctx context.Context, by store.Actor, name string) error {
	if err := s.public(ctx, name); err != nil {
		return err
	}
	return s.Store.RemoveRoute(ctx, by, name)
}

// Upstreams are the names that routes may have.
func (s *Server) Upstreams() []string { return slices.Sorted(maps.Keys(s.Builder.Upstreams)) }

// public refuses routes that answer from records, or once did: anyone who has a key must not spend
// their budget by another plan, nor send their questions elsewhere.
func (s *Server) public(ctx context.Context, name string) error {
	all, err := s.Store.Routes(ctx, false)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(v store.Route) bool { return v.Name == name && v.Spec.Answers != nil }) {
		return errors.New("the route answers from private records, or did: sotto serve route, on the machine that has them, changes it")
	}
	return nil
}

func (s *Server) removeRoute(r *http.Request, by store.Actor) (any, error) {
	return struct{}{}, s.RemoveRoute(r.Context(), by, r.PathValue("name"))
}

func (s *Server) useRoute(r *http.Request, by store.Actor) (any, error) {
	var q struct {
		// Version to use; 0 is the one before.
		Version int64 `json:"version"`
	}
	if r.ContentLength != 0 {
		if err := readAdmin(r, &q); err != nil {
			return nil, err
		}
	}
	version, err := s.UseRoute(r.Context(), by, r.PathValue("name"), q.Version)
	return struct {
		Version int64 `json:"version"`
	}{version}, err
}
