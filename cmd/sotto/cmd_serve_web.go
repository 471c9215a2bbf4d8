package main

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"

	service "github.com/sotto-dp/sotto/cmd/internal/serve"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/cmd/internal/serve/web"
	"github.com/sotto-dp/sotto/lm/remote"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/sys/machine"
)

// openLedger opens the ledger when a page first needs it, and again only if that failed.
type openLedger struct {
	address string
	mu      sync.Mutex
	open    *ledger.Ledger
}

func (o *openLedger) get(ctx context.Context) (web.Ledger, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		l, err := ledger.Open(ctx, o.address, ledger.Options{})
		if err != nil {
			return nil, err
		}
		o.open = l
	}
	return o.open, nil
}

func (o *openLedger) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		return nil
	}
	return o.open.Close()
}

// dashboard makes the pages of a service. What it returns beside closes the ledger.
func (p *program) dashboard(s *store.Store, verify func(string) (*certificate.Report, error), runs *runMaker, opt serveOptions) (func(context.Context, *service.Server) http.Handler, func() error, error) {
	address, err := p.ledgerAddress()
	if err != nil {
		return nil, nil, err
	}
	if !strings.HasPrefix(cmp.Or(opt.adminURL, "https://"), "https://") && !strings.HasPrefix(opt.adminURL, "http://") {
		return nil, nil, usage("--admin-url %q is no address of a web page: it begins with https:// or http://", opt.adminURL)
	}
	people, err := p.oidc()
	if err != nil {
		return nil, nil, err
	}
	l := &openLedger{address: address}
	host, _, err := net.SplitHostPort(opt.admin)
	local := err == nil && machine.Loopback(host)
	return func(life context.Context, server *service.Server) http.Handler {
		return web.New(web.Options{
			Store: s, Ledger: l.get, Verify: verify, Routes: server, Runs: runs, Ask: server.Ask, OIDC: people, Secure: opt.certificate != "", URL: opt.adminURL, Local: local, Life: life,
			Log: slog.New(slog.NewTextHandler(p.Stderr, nil)),
		})
	}, l.close, nil
}

// oidc reads how people of an organisation sign in; nil if the configuration does not say.
func (p *program) oidc() (*web.OIDC, error) {
	settings, err := p.configured()
	if err != nil || settings.OIDC == nil {
		return nil, err
	}
	o := settings.OIDC
	secret, err := remote.Key{Env: o.SecretEnv, File: o.SecretFile}.Read()
	if err != nil {
		return nil, usage("the client's secret of [oidc]: %w", err)
	}
	return &web.OIDC{
		Issuer: o.Issuer, ClientID: o.ClientID, Secret: secret, URL: o.URL,
		Claim: o.Claim, Viewers: o.Viewers, Operators: o.Operators, Owners: o.Owners,
	}, nil
}
