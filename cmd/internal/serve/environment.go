package serve

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/remote"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Embedded is the name of the upstream that is the model in this program.
const Embedded = "embedded"

// Environment is what a program gives the service that it runs. All its fields are required.
type Environment struct {
	Settings *config.Settings
	Model    *Model
	// Task finds a task by its name or file; Table the schema of the table whose rows are its records, nil
	// if there is none.
	Task  func(ref string) (prompt.Task, error)
	Table func(ref string) (*schema.Schema, error)
	// Client opens the library with the operator's ledger, keys and private folder.
	Client func(sotto.Options) (*sotto.Client, error)
	// Verify checks the certificate of a release's folder.
	Verify func(dir string) (*certificate.Report, error)
	// Announce tells the operator where private records are sent.
	Announce func(text string)
}

// Builder makes routes with the upstreams of the configuration and the model of this process.
func (e *Environment) Builder() (*Builder, error) {
	b := &Builder{Task: e.Task, Verify: e.Verify, Encoder: lazily(func() (lm.Embedder, error) { return backend.Encoder(e.Model.Spec.Encoder) })}
	b.Upstreams, b.Unusable = map[string]http.RoundTripper{}, map[string]error{}
	for name, u := range e.Settings.Upstreams {
		if name == Embedded {
			return nil, ui.Usage("an upstream of your configuration is called %s, which is the model in this program: call it something else", name)
		}
		key, wrong := remote.Key{Env: u.KeyEnv, File: u.KeyFile}.Read()
		server, err := gateway.NewServer(u.URL, key, u.AllowPlaintext)
		if err != nil {
			return nil, ui.Usage("upstream %s: %w", name, err)
		}
		if wrong != nil {
			b.Unusable[name] = wrong
			continue
		}
		b.Upstreams[name] = server
	}
	b.Upstreams[Embedded] = &gateway.Local{Open: e.Model.Open, Encoder: b.Encoder, Turns: &e.Model.Turns}
	var records lazy[*Records]
	b.Records = func(ctx context.Context) (*Records, error) {
		return records.get(func() (*Records, error) { return e.records(ctx) })
	}
	return b, nil
}

// records opens what private answers need.
func (e *Environment) records(ctx context.Context) (*Records, error) {
	if err := e.alone(); err != nil {
		return nil, err
	}
	if to := e.Model.Spec.Destination(); to != "" && e.Model.Spec.Trusted {
		e.Announce(to)
	}
	model, err := e.Model.Trusted(ctx)
	if err != nil {
		return nil, err
	}
	client, err := e.Client(sotto.Options{Trusted: model})
	if err != nil {
		return nil, err
	}
	source := func(task string, spec store.AnswerSpec) (sotto.Source, error) {
		table, err := e.Table(task)
		return sotto.Source{Location: spec.Data, Query: spec.Query, Schema: table, SkipMalformed: spec.Skip}, err
	}
	return &Records{Client: client, Model: model, Turns: &e.Model.Turns, Source: source, Encoder: lazily(func() (lm.TrustedEmbedder, error) { return backend.TrustedEncoder(e.Model.Spec.Encoder) })}, nil
}

// alone refuses upstreams at the server that sees records: what clients ask there would run beside
// private prompts, whose isolation is checked for the requests of this program alone.
func (e *Environment) alone() error {
	if !e.Model.Spec.Remote() {
		return nil
	}
	here, err := url.Parse(e.Model.Spec.URL)
	if err != nil {
		return err
	}
	for name, u := range e.Settings.Upstreams {
		if there, err := url.Parse(u.URL); err == nil && strings.EqualFold(there.Host, here.Host) {
			return ui.Usage("the upstream %s is the server that would see private records, and clients' requests would run beside them: answer from records in another process, without that upstream", name)
		}
	}
	return nil
}
