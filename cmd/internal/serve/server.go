package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/cmd/internal/serve/web"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/sys/machine"
)

// Options of a [Server].
type Options struct {
	// Listen is the address for clients, and Admin that for those who look after the service;
	// "" for none.
	Listen, Admin string
	// Certificate and Key are files for TLS; ClientCA has clients show certificates too.
	Certificate, Key, ClientCA string
	// Open lets clients in without a key. It is for this machine alone. Routes that answer from
	// private records are then refused, unless OpenPrivate says that everybody on it may spend
	// their budgets.
	Open, OpenPrivate bool
	// Store and Builder are required.
	Store   *store.Store
	Builder *Builder
	// Log has events, and Requests, if set, a line for every request of a client; neither has
	// anything of what was asked or answered.
	Log, Requests *slog.Logger
	// Dashboard, if set, has pages at that address. Only what the service does not know is read: Ledger,
	// OIDC and URL.
	Dashboard *web.Options
	// PollInterval is how often the store is looked at, 1 s by default; Drain how long requests may
	// take to end, 30 s.
	PollInterval, Drain time.Duration
}

// Server serves clients until it is stopped.
type Server struct {
	Options
	gateway *gateway.Handler
	ring    atomic.Pointer[store.Ring]
	limits  limiter
	metrics *metrics
	// forms bounds what administrators' requests hold at a time.
	forms bounded.Capacity
	// life ends when requests had their time to end.
	life context.Context
	end  context.CancelFunc
	// keysAt is the generation of the keys.
	keysAt     int64
	generation int64
	// again is when routes that could not be made are tried again, if there are any.
	again time.Time
	// ready: it serves; looked is when the store was last read.
	ready  atomic.Bool
	looked atomic.Int64
}

// patience is how long the store may take to answer, and stale how long it may be out of
// reach before this process no longer counts as ready.
const (
	patience = 10 * time.Second
	stale    = time.Minute
	retry    = 30 * time.Second
)

// New checks the options and reads keys and routes.
func New(ctx context.Context, o Options) (*Server, error) {
	o.PollInterval, o.Drain = cmp.Or(o.PollInterval, time.Second), cmp.Or(o.Drain, 30*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{Options: o, metrics: newMetrics(), forms: bounded.Capacity{All: 32 << 20, Each: 8 << 20}}
	if err := s.checkAddress(); err != nil {
		return nil, err
	}
	empty, err := gateway.NewTable(nil)
	if err != nil {
		return nil, err
	}
	s.gateway = gateway.New(empty, gateway.Options{Allow: s.allow, RefusePrivate: o.Open && !o.OpenPrivate, Done: s.done})
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.Builder.allow, s.Builder.life, s.Builder.Log = s.spend, s.life, o.Log
	if err := s.renewKeys(ctx); err != nil {
		return nil, err
	}
	return s, s.renewRoutes(ctx)
}

// checkAddress: without keys, or in clear, only this machine is served.
func (s *Server) checkAddress() error {
	if (s.Certificate == "") != (s.Key == "") {
		return errors.New("TLS takes a certificate and its key: name both files")
	}
	if s.OpenPrivate && !s.Open {
		return errors.New("with keys, private routes are for those whose keys name them: --open-private goes with --open")
	}
	if s.ClientCA != "" && s.Certificate == "" {
		return errors.New("clients can show certificates over TLS only: name a certificate and its key")
	}
	if s.Admin != "" && !loopback(s.Admin) && s.Certificate == "" {
		return fmt.Errorf("%s is reached from other machines, and keys would travel in clear: name a certificate and its key for TLS, or use an address on 127.0.0.1", s.Admin)
	}
	if loopback(s.Listen) {
		return nil
	}
	if s.Open {
		return fmt.Errorf("%s is reached from other machines, and without keys everybody could use the models behind it: leave out --open, or listen on 127.0.0.1", s.Listen)
	}
	if s.Certificate == "" {
		return fmt.Errorf("%s is reached from other machines, and keys would travel in clear: name a certificate and its key for TLS, or listen on 127.0.0.1 behind a proxy that has TLS", s.Listen)
	}
	return nil
}

// loopback reports whether an address is reached from this machine alone.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && machine.Loopback(host)
}

// renewKeys reads keys if something changed.
func (s *Server) renewKeys(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now, err := s.Store.Generation(asking)
	if err != nil {
		return err
	}
	if now != s.keysAt {
		ring, err := s.Store.Ring(asking)
		if err != nil {
			return err
		}
		s.ring.Store(ring)
		s.keysAt = now
	}
	s.looked.Store(time.Now().UnixNano())
	s.metrics.looked.SetToCurrentTime()
	return nil
}

// renewRoutes reads routes if something changed, or some could not be made before. That may take
// a while, in which keys are renewed all the same.
func (s *Server) renewRoutes(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now, err := s.Store.Generation(asking)
	if err != nil || now == s.generation && (s.again.IsZero() || time.Now().Before(s.again)) {
		return err
	}
	routes, err := s.Store.Routes(asking, true)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(routes, func(r store.Route) bool { return r.Spec.Answers != nil }) {
		s.metrics.private.Store(true) // and stays: requests under way may have an older version
	}
	table, err := s.Builder.Table(ctx, routes)
	s.again = time.Time{}
	if err != nil {
		s.again = time.Now().Add(retry)
		s.Log.Error("a route cannot be served; its version before is, if there was one", "error", err.Error(), "again", retry)
	}
	if table != nil {
		s.gateway.Use(table)
	}
	s.generation = now
	s.metrics.routes.Set(float64(len(routes)))
	s.Log.Info("keys and routes read", "generation", now, "routes", len(routes))
	return nil
}

// allow checks the key of a request, and with a route whether that may use it. Without one, before
// anything was read, it also counts the request: what is refused later was one too.
func (s *Server) allow(r *http.Request, route string) (who string, err error) {
	if s.Open {
		return "", nil
	}
	secret, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	key, known := s.ring.Load().Find(secret)
	switch {
	case !is:
		return "", gateway.Unauthorized("a key is missing: send it as \"Authorization: Bearer sk-sotto-…\"")
	case !known:
		return "", gateway.Unauthorized("the key is not known here, or it was revoked, or it expired")
	case key.Admin:
		return key.ID, gateway.Unauthorized("this key looks after the service: clients need another")
	case route != "" && !key.May(route):
		return key.ID, gateway.Forbidden("the key may not use this model")
	case route == "" && r.Method == http.MethodPost:
		if wait, ok := s.limits.take(key.Family(), key.PerMinute); !ok {
			return key.ID, gateway.TooMany(wait)
		}
	}
	return key.ID, nil
}

// spend counts a private answer of a key before it is asked for. What it returns takes that
// back, if nothing was charged.
func (s *Server) spend(ctx context.Context, who string) (back func(), err error) {
	if s.Open {
		return func() {}, nil
	}
	key, known := s.ring.Load().Named(who)
	if !known {
		return nil, gateway.Unauthorized("the key is not known here any more")
	}
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	may, err := s.Store.TakeAnswer(asking, key)
	if err != nil {
		s.Log.Error("private answers cannot be counted; none is given", "error", err.Error())
		return nil, gateway.Unavailable("private answers cannot be counted now, and nothing was charged: try again later")
	}
	if !may {
		return nil, gateway.Budget("key_limit_reached", "the key has had all the private answers that it may have: anyone who made it can make another")
	}
	return func() {
		giving, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if err := s.Store.GiveAnswer(giving, key); err != nil {
			s.Log.Error("a private answer that was not given stays counted", "key", key.ID, "error", err.Error())
		}
	}, nil
}

// listeners are the addresses that a server is reached at.
type listeners struct{ clients, admin net.Listener }

// Run serves until the context ends, and then lets requests end. listening is told the addresses;
// admin is nil if there is none.
func (s *Server) Run(ctx context.Context, listening func(clients, admin net.Addr)) error {
	defer s.Builder.Close()
	defer s.end() // before that
	at, err := s.listen()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	clients, admin := httpServer(s.handler()), httpServer(nil)
	failed := make(chan error, 2)
	serving := func(server *http.Server, l net.Listener) {
		go func() {
			defer fault.Watch()
			failed <- server.Serve(l)
		}()
	}
	var adminAddress net.Addr
	if at.admin != nil {
		admin.Handler = s.adminHandler()
		adminAddress = at.admin.Addr()
		serving(admin, at.admin)
	}
	serving(clients, at.clients)
	if listening != nil {
		listening(at.clients.Addr(), adminAddress)
	}
	s.ready.Store(true)
	var looking sync.WaitGroup
	looking.Go(func() {
		defer fault.Watch()
		s.lookAgain(ctx, "keys", s.renewKeys)
	})
	looking.Go(func() {
		defer fault.Watch()
		s.lookAgain(ctx, "routes", s.renewRoutes)
	})
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	stop()
	s.ready.Store(false)
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Drain)
	defer cancel()
	if cut := clients.Shutdown(draining); cut != nil {
		err = errors.Join(err, fmt.Errorf("some requests did not end in %v and were cut off", s.Drain), clients.Close())
	}
	s.end()
	// It says how it is until the last request has ended.
	ending, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer done()
	err = errors.Join(err, admin.Shutdown(ending))
	looking.Wait()
	return err
}

func httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
}

func (s *Server) listen() (at listeners, err error) {
	var config *tls.Config
	if s.Certificate != "" {
		if config, err = s.tls(); err != nil {
			return at, err
		}
	}
	open := func(address, whom string) (net.Listener, error) {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, fmt.Errorf("listen for %s: %w", whom, err)
		}
		if config != nil {
			l = tls.NewListener(l, config)
		}
		return l, nil
	}
	if at.clients, err = open(s.Listen, "clients"); err != nil || s.Admin == "" {
		return at, err
	}
	if at.admin, err = open(s.Admin, "those who look after the service (--admin names another address, or none)"); err != nil {
		return at, errors.Join(err, at.clients.Close())
	}
	return at, nil
}

func (s *Server) tls() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(s.Certificate, s.Key)
	if err != nil {
		return nil, fmt.Errorf("the certificate for TLS: %w", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if s.ClientCA != "" {
		data, err := os.ReadFile(s.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("the authority of clients' certificates: %w", err)
		}
		c.ClientCAs = x509.NewCertPool()
		if !c.ClientCAs.AppendCertsFromPEM(data) {
			return nil, errors.New("the authority of clients' certificates: the file holds no certificate in PEM")
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// lookAgain renews until the context ends.
func (s *Server) lookAgain(ctx context.Context, what string, renew func(context.Context) error) {
	tick := time.NewTicker(s.PollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := renew(ctx); err != nil && ctx.Err() == nil {
				s.Log.Error("the store cannot be read; "+what+" stay as they were", "error", err.Error())
			}
		}
	}
}

// health says how it is.
func (s *Server) health(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if out := time.Since(time.Unix(0, s.looked.Load())) > stale; out || !s.ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, map[bool]string{true: "the store is out of reach", false: "ending"}[out])
			return
		}
		fmt.Fprintln(w, "ready")
	})
}

// handler adds health to the gateway.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	s.health(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.metrics.underWay.Inc()
		defer s.metrics.underWay.Dec()
		s.gateway.ServeHTTP(w, r)
	})
	if !s.Open {
		return mux
	}
	// Without keys, pages in this machine's browsers must not be able to ask.
	return http.NewCrossOriginProtection().Handler(onlyHere(mux))
}

// onlyHere refuses requests for another host than this machine: a name that a web page had
// changed to this machine's address.
func onlyHere(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) && !loopback(net.JoinHostPort(strings.Trim(r.Host, "[]"), "80")) {
			http.Error(w, "only this machine is served here", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Ask asks a route, for people who try it out, with its examples or without.
func (s *Server) Ask(ctx context.Context, route, question string, examples bool) (string, error) {
	return s.gateway.Ask(ctx, route, question, examples)
}
