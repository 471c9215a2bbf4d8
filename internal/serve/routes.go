package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/serve/gateway"
	"github.com/sotto-dp/sotto/internal/serve/store"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/prompt"
)

// Builder makes routes of what the store says.
type Builder struct {
	// Upstreams by name.
	Upstreams map[string]http.RoundTripper
	// Task finds a task by its name or file.
	Task func(name string) (prompt.Task, error)
	// Verify checks the certificate of a release's folder.
	Verify func(dir string) (*certificate.Report, error)
	// Encoder is opened for the first route that needs one.
	Encoder func() (lm.Embedder, error)
}

// Check makes a route as it would be used, to find what is wrong with it before it is.
func (b *Builder) Check(ctx context.Context, name string, spec store.RouteSpec) error {
	r, err := b.route(ctx, store.Route{Name: name, Version: 1, Spec: spec})
	if err == nil {
		_, err = gateway.NewTable([]*gateway.Route{r})
	}
	return err
}

// Table makes a table of all routes. One that cannot be made is left out, and reported.
func (b *Builder) Table(ctx context.Context, all []store.Route) (*gateway.Table, error) {
	var routes []*gateway.Route
	var problems []error
	for _, r := range all {
		made, err := b.route(ctx, r)
		if err != nil {
			problems = append(problems, fmt.Errorf("route %s, version %d: %w", r.Name, r.Version, err))
			continue
		}
		routes = append(routes, made)
	}
	t, err := gateway.NewTable(routes)
	return t, errors.Join(append(problems, err)...)
}

func (b *Builder) route(ctx context.Context, r store.Route) (*gateway.Route, error) {
	out := &gateway.Route{
		Name: r.Name, Model: r.Spec.Model, Upstream: b.Upstreams[r.Spec.Upstream],
		About: gateway.About{Route: r.Name, Version: r.Version},
	}
	if out.Upstream == nil {
		return nil, fmt.Errorf("there is no upstream %q: name one of your configuration, or embedded", r.Spec.Upstream)
	}
	if r.Spec.Release == "" {
		return out, nil
	}
	t, err := b.Task(r.Spec.Task)
	if err != nil {
		return nil, err
	}
	set, err := worth.ReadSet(r.Spec.Release, t)
	if err != nil {
		return nil, err
	}
	if set.NotPrivate {
		return nil, fmt.Errorf("the release is marked as not private, and every upstream would see it: use one with a certificate")
	}
	report, err := b.Verify(r.Spec.Release)
	if err != nil {
		return nil, fmt.Errorf("its certificate: %w", err)
	}
	if !report.OK {
		return nil, fmt.Errorf("its certificate does not hold: sotto verify %s says why", r.Spec.Release)
	}
	p := prompt.Prompt{Examples: set.Examples}
	if set.Chosen != nil {
		p.Instruction = set.Chosen.Instruction
	}
	var encoder lm.Embedder
	if r.Spec.Nearest > 0 && r.Spec.Nearest < len(p.Examples) {
		if encoder, err = b.Encoder(); err != nil {
			return nil, err
		}
	}
	if out.Shots, err = gateway.NewShots(ctx, t, p, r.Spec.Nearest, encoder); err != nil {
		return nil, err
	}
	out.About.Release, out.About.Private = filepath.Base(r.Spec.Release), true
	out.About.Epsilon, out.About.Delta = report.Predicate.Epsilon.Upper, report.Predicate.Delta
	return out, nil
}
