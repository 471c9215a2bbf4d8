package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	service "github.com/sotto-dp/sotto/cmd/internal/serve"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/cmd/internal/serve/web"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lm/remote"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// defaultAdmin is the address of the dashboard and the metrics: this machine alone.
const defaultAdmin = "127.0.0.1:8081"

type serveOptions struct {
	flags.Model
	service.Options
	adminURL, requests string
}

func newServeCommand(p *cli.Program) *cobra.Command {
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

At --admin is the dashboard, for people of your organisation (a table [oidc] in
your configuration) and by links of "sotto serve account link". Beside it are
/metrics for Prometheus, and keys, routes and the log of their changes as JSON
under /admin/v1, for keys of "sotto serve key add --admin". --requests notes who
used what and what it was charged, and nothing of what was asked or answered.

Without TLS a browser sends the dashboard's cookies to every port of its host,
so that other programs that listen there can act as who is signed in. With
--tls-cert, or an https address of a proxy in --admin-url, they stay here.` + ui.JSONKeys(servedResult{}),
		Example: `  sotto serve route set tickets --upstream embedded --release demos --task tickets.toml
  sotto serve key add 'support team' --route tickets
  sotto serve
  sotto serve --listen 0.0.0.0:8443 --tls-cert server.pem --tls-key server-key.pem`,
		Annotations: map[string]string{cli.RunsItself: "yes"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), p, opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.Listen, "listen", "127.0.0.1:8080", "serve clients at `HOST:PORT`")
	f.StringVar(&opt.Admin, "admin", defaultAdmin, "serve those who look after the service at `HOST:PORT`; \"\" for nowhere")
	f.StringVar(&opt.adminURL, "admin-url", "", "people reach the dashboard at `URL`, through a proxy; with https its cookies are for TLS alone")
	f.StringVar(&opt.requests, "requests", "", "append a line of JSON for every request to `FILE`")
	f.StringVar(&opt.Certificate, "tls-cert", "", "use TLS with the certificates in `FILE`")
	f.StringVar(&opt.Key, "tls-key", "", "and the private key in `FILE`")
	f.StringVar(&opt.ClientCA, "tls-client-ca", "", "have clients show certificates of the authorities in `FILE`")
	f.BoolVar(&opt.Open, "open", false, "let clients in without a key, every user and program of this machine; not to private routes")
	f.BoolVar(&opt.OpenPrivate, "open-private", false, "with --open, also answer from private records: everybody on this machine can spend their budgets")
	cmd.AddCommand(newServeRouteCommand(p), newServeKeyCommand(p), newServeAccountCommand(p))
	return cmd
}

// withStore opens the store, makes it if that is wanted, and prints what comes of it.
func withStore(ctx context.Context, p *cli.Program, create bool, use func(*store.Store) (ui.Result, error)) (err error) {
	s, err := openStore(ctx, p, create)
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

func openStore(ctx context.Context, p *cli.Program, create bool) (*store.Store, error) {
	address, err := p.Places.ServiceAt()
	if err != nil {
		return nil, ui.AsUsage(err)
	}
	s, err := store.Open(ctx, address, create)
	if errors.Is(err, store.ErrMissing) {
		err = cli.Usage("%w: sotto serve route set makes it", err)
	}
	return s, err
}

// servedResult is what is known of a service when it ends.
type servedResult struct {
	Address string `json:"address"`
}

// Print: all was said while it ran.
func (r *servedResult) Print(*ui.Page) {}

// environment is what a service with the model that flags name gets of this program.
func environment(p *cli.Program, m flags.Model) (e service.Environment, err error) {
	e = service.Environment{
		Model: &service.Model{}, Task: cli.FindTask, Table: cli.TableOf, Client: p.ClientOf,
		Verify: func(dir string) (*certificate.Report, error) {
			trust, err := p.Trust(nil)
			if err != nil {
				return nil, err
			}
			return sotto.Verify(dir, trust)
		},
		Announce: func(text string) { fmt.Fprintln(p.Stderr, text) },
	}
	if e.Settings, err = p.Configured(); err != nil {
		return e, err
	}
	e.Model.Spec, err = p.ModelSpec(m)
	return e, err
}

// builder makes routes with the model that flags name.
func builder(p *cli.Program, m flags.Model) (*service.Builder, error) {
	e, err := environment(p, m)
	if err != nil {
		return nil, err
	}
	return e.Builder()
}

func runServe(ctx context.Context, p *cli.Program, opt serveOptions) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	environment, err := environment(p, opt.Model)
	if err != nil {
		return err
	}
	o := opt.Options
	if o.Builder, err = environment.Builder(); err != nil {
		return err
	}
	if o.Store, err = openStore(ctx, p, false); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Store.Close()) }()
	o.Log = slog.New(slog.NewTextHandler(p.Stderr, nil))
	requests, closeRequests, err := service.AppendTo(opt.requests)
	if err != nil {
		return err
	}
	o.Requests = requests
	defer func() { err = errors.Join(err, closeRequests()) }()
	pages, err := dashboard(environment, opt)
	if err != nil {
		return err
	}
	l := &web.LedgerAt{}
	if l.Address, err = p.LedgerAddress(); err != nil {
		return err
	}
	pages.Ledger, o.Dashboard = l.Get, pages
	defer func() { err = errors.Join(err, l.Close()) }()
	server, err := service.New(ctx, o)
	if err != nil {
		return ui.AsUsage(err)
	}
	address := ""
	err = server.Run(ctx, func(at, admin net.Addr) {
		address = at.String()
		scheme := ui.If(o.Certificate == "", "http") + ui.If(o.Certificate != "", "https")
		fmt.Fprintf(p.Stderr, "serving %s://%s/v1; Ctrl-C ends it\n", scheme, address)
		if admin != nil {
			fmt.Fprintf(p.Stderr, "dashboard, metrics and administration at %s://%s\n", scheme, admin)
		}
		p.Warn(o.Exposed(opt.adminURL, pages.OIDC)...)
	})
	if err != nil {
		return err
	}
	return p.Emit(&servedResult{address})
}

// dashboard is what the pages of a service need of the configuration.
func dashboard(e service.Environment, opt serveOptions) (pages *web.Options, err error) {
	pages = &web.Options{OIDC: e.Settings.OIDC}
	if opt.adminURL != "" {
		if pages.URL, err = pageAddress(opt.adminURL); err != nil {
			return nil, err
		}
	}
	if o := pages.OIDC; o != nil {
		if pages.OIDCSecret, err = (remote.Key{Env: o.SecretEnv, File: o.SecretFile}).Read(); err != nil {
			return nil, cli.Usage("the client's secret of [oidc]: %w", err)
		}
	}
	return pages, nil
}

// pageAddress is the address of a web page, without a slash at its end.
func pageAddress(url string) (string, error) {
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		return "", cli.Usage("--admin-url %q is no address of a web page: it begins with https:// or http://", url)
	}
	return strings.TrimSuffix(url, "/"), nil
}
