package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sotto-dp/sotto"
	service "github.com/sotto-dp/sotto/cmd/internal/serve"
	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/remote"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/sys/fault"
)

// embeddedUpstream is the name of the model in this program.
const embeddedUpstream = "embedded"

type serveOptions struct {
	flags.Model
	listen                     string
	certificate, key, clientCA string
	open, openPrivate          bool
	drain                      time.Duration
	admin, adminURL, requests  string
	jobs                       int
	jobsDir                    string
	beat                       time.Duration
}

func newServeCommand(p *program) *cobra.Command {
	var opt serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve OpenAI's API, with released examples in every prompt",
		Long: `Serves OpenAI's API. A model name that clients use is a route ("sotto serve
route set"): an upstream model, and a release whose instruction and examples go
before every question. They were released and paid for, so that any upstream
may see them, however often; the certificate of a release is checked before it
is served. Or ("sotto serve route answer") it answers from private records, with
the model of this command, and each answer is charged to their budget.

Upstreams are the servers that your configuration names, in tables such as
[upstream.openai] with url, key_env, key_file and allow_plaintext, and
"embedded", the model in this program. Clients show a key ("sotto serve key
add"). Routes and keys are in the service's store: a file, or a PostgreSQL
database for several processes (--store, SOTTO_STORE, "service" in your
configuration). What changes there counts when a process looks next, every
second, and no request is dropped.

Other machines are served over TLS only, and only with keys. --open serves every
user and program of this machine without one; routes that answer from private
records are then refused, unless --open-private lets everybody there spend their
budgets. On SIGINT or SIGTERM requests under way may end. GET /healthz and
/readyz say how it is.

At --admin is the dashboard, for accounts of "sotto serve account add" and, with
a table [oidc] in your configuration, people of your organisation. Beside it are
/metrics for Prometheus, and keys, routes and the log of their changes as JSON
under /admin/v1, for keys of "sotto serve key add --admin". --requests notes who
used what and what it was charged, and nothing of what was asked or answered.
Traces go to an OpenTelemetry collector if OTEL_EXPORTER_OTLP_ENDPOINT names
one.

Without TLS a browser sends the dashboard's cookies to every port of its host,
so that other programs that listen there can act as who is signed in. With
--tls-cert, or an https address of a proxy in --admin-url, they stay here.` + ui.JSONKeys(servedResult{}),
		Example: `  sotto serve route set tickets --upstream embedded --release demos --task tickets.toml
  sotto serve key add 'support team' --route tickets
  sotto serve
  sotto serve --listen 0.0.0.0:8443 --tls-cert server.pem --tls-key server-key.pem`,
		Annotations: map[string]string{runsItself: "yes"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), p, opt) },
	}
	opt.Add(cmd)
	f := cmd.Flags()
	f.StringVar(&opt.listen, "listen", "127.0.0.1:8080", "serve clients at `HOST:PORT`")
	f.StringVar(&opt.admin, "admin", "127.0.0.1:8081", "serve those who look after the service at `HOST:PORT`; \"\" for nowhere")
	f.StringVar(&opt.adminURL, "admin-url", "", "people reach the dashboard at `URL`, through a proxy; with https its cookies are for TLS alone")
	f.StringVar(&opt.requests, "requests", "", "append a line of JSON for every request to `FILE`")
	f.StringVar(&opt.certificate, "tls-cert", "", "use TLS with the certificates in `FILE`")
	f.StringVar(&opt.key, "tls-key", "", "and the private key in `FILE`")
	f.StringVar(&opt.clientCA, "tls-client-ca", "", "have clients show certificates of the authorities in `FILE`")
	f.BoolVar(&opt.open, "open", false, "let clients in without a key, every user and program of this machine; not to private routes")
	f.BoolVar(&opt.openPrivate, "open-private", false, "with --open, also answer from private records: everybody on this machine can spend their budgets")
	f.DurationVar(&opt.drain, "drain", 30*time.Second, "how long requests may take to end")
	f.IntVar(&opt.jobs, "jobs", 1, "carry out this many jobs at once (\"sotto job\"); 0 leaves them to \"sotto worker\"")
	addDir(cmd, &opt.jobsDir, "jobs-dir", "the `DIR` with a folder for each job (default: jobs in the user's data directory)")
	addBeat(cmd, &opt.beat)
	p.addStore(cmd)
	p.addLedger(f)
	p.addPrivate(cmd)
	p.addKeys(cmd)
	cmd.AddCommand(newServeRouteCommand(p), newServeKeyCommand(p), newServeAccountCommand(p))
	return cmd
}

// addStore adds the flag for the service's store.
func (p *program) addStore(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.places.Service, "store", "", "the service's store: a `FILE` or a PostgreSQL URL (default: SOTTO_STORE, your configuration, the user's data directory)")
}

// withStore opens the store, makes it if that is wanted, and prints what comes of it.
func (p *program) withStore(ctx context.Context, create bool, use func(*store.Store) (ui.Result, error)) (err error) {
	s, err := p.openStore(ctx, create)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, err := use(s)
	if err != nil {
		return err
	}
	return p.Emit(r)
}

func (p *program) openStore(ctx context.Context, create bool) (*store.Store, error) {
	address, err := p.places.ServiceAt()
	if err != nil {
		return nil, ui.AsUsage(err)
	}
	s, err := store.Open(ctx, address, create)
	if errors.Is(err, store.ErrMissing) {
		err = usage("%w: sotto serve route set makes it", err)
	}
	return s, err
}

// servedResult is what is known of a service when it ends.
type servedResult struct {
	Address string `json:"address"`
}

// Print: all was said while it ran.
func (r *servedResult) Print(*ui.Page) {}

// shared opens something once, and again only if that failed.
func shared[T any](open func() (T, error)) func() (T, error) {
	var mu sync.Mutex
	var there bool
	var opened T
	return func() (_ T, err error) {
		mu.Lock()
		defer mu.Unlock()
		if !there {
			opened, err = open()
			there = err == nil
		}
		return opened, err
	}
}

// upstreams opens those of the configuration, and the model in this program when it is asked
// for the first time. One whose key is not there is among the unusable, with the reason.
func (p *program) upstreams(model *sharedModel, encoder func() (lm.Embedder, error)) (all map[string]http.RoundTripper, unusable map[string]error, err error) {
	settings, err := p.configured()
	if err != nil {
		return nil, nil, err
	}
	all, unusable = map[string]http.RoundTripper{}, map[string]error{}
	for name, u := range settings.Upstreams {
		if name == embeddedUpstream {
			return nil, nil, usage("an upstream of your configuration is called %s, which is the model in this program: call it something else", name)
		}
		key, wrong := remote.Key{Env: u.KeyEnv, File: u.KeyFile}.Read()
		server, err := gateway.NewServer(u.URL, key, u.AllowPlaintext)
		if err != nil {
			return nil, nil, usage("upstream %s: %w", name, err)
		}
		if wrong != nil {
			unusable[name] = wrong
			continue
		}
		all[name] = server
	}
	all[embeddedUpstream] = &gateway.Local{Open: model.open, Encoder: encoder, Turns: &model.turns}
	return all, unusable, nil
}

// builder makes routes, with the model of this process, which it returns too.
func (p *program) builder(m flags.Model) (*service.Builder, *sharedModel, error) {
	spec, err := p.modelSpec(m)
	if err != nil {
		return nil, nil, err
	}
	encoder, model := shared(backend.Encoder), &sharedModel{spec: spec}
	all, unusable, err := p.upstreams(model, encoder)
	if err != nil {
		return nil, nil, err
	}
	return &service.Builder{
		Upstreams: all, Unusable: unusable, Task: findTask, Encoder: encoder, Records: p.records(model),
		Verify: func(dir string) (*certificate.Report, error) {
			trust, err := p.trust(nil, nil)
			if err != nil {
				return nil, err
			}
			return sotto.Verify(dir, trust)
		},
	}, model, nil
}

func runServe(ctx context.Context, p *program, opt serveOptions) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	builder, model, err := p.builder(opt.Model)
	if err != nil {
		return err
	}
	s, err := p.openStore(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	requests, err := appendTo(opt.requests)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, requests.Close()) }()
	tracer, flush, err := traces(ctx)
	if err != nil {
		return err
	}
	defer flush()
	runs, err := p.newRunMaker(ctx, s, model, opt.jobsDir)
	if err != nil {
		return err
	}
	pages, closeLedger, err := p.dashboard(s, builder.Verify, runs, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLedger()) }()
	server, err := service.New(ctx, service.Options{
		Listen: opt.listen, Admin: opt.admin, Certificate: opt.certificate, Key: opt.key, ClientCA: opt.clientCA, Open: opt.open, OpenPrivate: opt.openPrivate,
		Store: s, Builder: builder, Drain: opt.drain, Log: slog.New(slog.NewTextHandler(p.Stderr, nil)),
		Requests: requests.log, Tracer: tracer, Dashboard: pages,
	})
	if err != nil {
		return ui.AsUsage(err)
	}
	ended, err := p.workBeside(ctx, s, opt)
	if err != nil {
		return err
	}
	defer func() { stop(); err = errors.Join(err, ended()) }()
	settings, err := p.configured()
	if err != nil {
		return err
	}
	people := settings.OIDC
	address := ""
	err = server.Run(ctx, func(at, admin net.Addr) {
		address = at.String()
		scheme := "http"
		if opt.certificate != "" {
			scheme = "https"
		}
		fmt.Fprintf(p.Stderr, "serving %s://%s/v1; Ctrl-C ends it\n", scheme, address)
		if admin != nil {
			fmt.Fprintf(p.Stderr, "dashboard, metrics and administration at %s://%s\n", scheme, admin)
		}
		p.Warn(exposed(opt, people, admin != nil)...)
	})
	if err != nil {
		return err
	}
	return p.Emit(&servedResult{address})
}

// exposed says what of a service others on its machine can reach.
func exposed(opt serveOptions, people *config.OIDC, dashboard bool) (warnings []string) {
	switch {
	case opt.openPrivate:
		warnings = append(warnings, "--open-private: every user and program of this machine can ask all routes without a key, and spend the budgets of private records")
	case opt.open:
		warnings = append(warnings, "--open: every user and program of this machine can ask all routes without a key, except for those that answer from private records")
	}
	overTLS := func(url string) bool { return strings.HasPrefix(strings.ToLower(url), "https://") }
	if dashboard && opt.certificate == "" && !overTLS(opt.adminURL) && (people == nil || !overTLS(people.URL)) {
		warnings = append(warnings, "the dashboard has no TLS: a browser sends its cookies to every port of this host, so that other programs that listen here can act as anyone who is signed in. --tls-cert and --tls-key, or --admin-url with the https address of a proxy, keep them here")
	}
	return warnings
}

// workBeside carries out jobs while the service serves, and returns what waits for their end.
func (p *program) workBeside(ctx context.Context, s *store.Store, opt serveOptions) (ended func() error, err error) {
	if opt.jobs < 0 {
		return nil, usage("--jobs is %d, it should be 0 or more", opt.jobs)
	}
	if opt.jobs == 0 {
		return func() error { return nil }, nil
	}
	if err := checkBeat(opt.beat); err != nil {
		return nil, err
	}
	work, err := p.workOptions(s, workerOptions{dir: opt.jobsDir, parallel: opt.jobs, beat: opt.beat})
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() {
		defer fault.Watch()
		done <- jobs.Run(ctx, work)
	}()
	return func() error { return <-done }, nil
}

// traces sends them to the collector that OpenTelemetry's variables name; to nobody if they name
// none.
func traces(ctx context.Context) (_ trace.Tracer, flush func(), err error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, func() {}, nil
	}
	to, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, usage("the collector of traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(to), sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithResource(resource.NewSchemaless(
		attribute.String("service.name", "sotto"), attribute.String("service.version", sotto.Version()))))
	return provider.Tracer("sotto"), func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = provider.Shutdown(ending) // a collector that is gone is no fault of the service
	}, nil
}

// requestLog is a file of requests, or none.
type requestLog struct {
	*os.File
	log *slog.Logger
}

// Close closes the file, if there is one.
func (r requestLog) Close() error {
	if r.File == nil {
		return nil
	}
	return r.File.Close()
}

// appendTo opens a file of requests; "" is none.
func appendTo(path string) (requestLog, error) {
	if path == "" {
		return requestLog{}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return requestLog{}, usage("the file of requests: %w", err)
	}
	return requestLog{f, slog.New(slog.NewJSONHandler(f, nil))}, nil
}
