package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// Builder makes routes of what the store says.
type Builder struct {
	// Upstreams by name, and Unusable why there is none of a name that the configuration has: routes to
	// others are served all the same.
	Upstreams map[string]http.RoundTripper
	Unusable  map[string]error
	// Task finds a task by its name or file.
	Task func(name string) (prompt.Task, error)
	// Verify checks the certificate of a release's folder.
	Verify func(dir string) (*certificate.Report, error)
	// Encoder is opened for the first route that needs one, and Records for the first that
	// answers from them.
	Encoder func() (lm.Embedder, error)
	Records func(context.Context) (*Records, error)
	// Log has events, and nothing of requests or answers.
	Log *slog.Logger

	// made are the routes of the last table. A version does not change, so that what was
	// checked once is not checked again.
	made map[string]*gateway.Route
	// allow is what routes that answer from records need of the server; answers end with life.
	allow func(ctx context.Context, who string) (back func(), err error)
	life  context.Context

	retiring sync.WaitGroup
	ended    chan struct{}
	once     sync.Once
}

// ending is closed when nobody asks any more.
func (b *Builder) ending() chan struct{} {
	b.once.Do(func() { b.ended = make(chan struct{}) })
	return b.ended
}

// Close closes what routes have open. It is called once, after the last request.
func (b *Builder) Close() {
	for _, r := range b.made {
		b.retire(r)
	}
	b.made = nil
	close(b.ending())
	b.retiring.Wait()
}

// Check makes a route as it would be used, to find what is wrong with it before it is.
func (b *Builder) Check(ctx context.Context, name string, spec store.RouteSpec) error {
	if err := cmp.Or(store.CheckName(name), spec.Check()); err != nil {
		return err
	}
	r, err := b.route(ctx, store.Route{Name: name, Version: 1, Spec: spec})
	if err != nil {
		return err
	}
	b.retire(r)
	_, err = gateway.NewTable([]*gateway.Route{r})
	return err
}

// CheckAnswers is [Builder.Check] of a route that answers from records. It is refused if the budget of the data does not
// allow one answer; short, if not nil, is why it does not allow as many as were planned. Nothing is charged.
func (b *Builder) CheckAnswers(ctx context.Context, name string, spec store.RouteSpec) (short, err error) {
	if err := cmp.Or(store.CheckName(name), spec.Check()); err != nil {
		return nil, err
	}
	r, err := b.route(ctx, store.Route{Name: name, Version: 1, Spec: spec})
	if err != nil {
		return nil, err
	}
	defer b.retire(r)
	answers := r.Private.Answerer.(*privateRoute).answers
	if err := answers.CheckBudget(ctx, 1); err != nil || answers.Plan.Answers < 2 {
		return nil, err
	}
	if short = answers.CheckBudget(ctx, answers.Plan.Answers); short != nil && !errors.Is(short, ledger.ErrBudget) {
		return nil, short
	}
	return short, nil
}

// Table makes a table of all routes. One that cannot be made is left out, and reported. It is
// for one goroutine at a time.
func (b *Builder) Table(ctx context.Context, all []store.Route) (*gateway.Table, error) {
	var routes []*gateway.Route
	var problems []error
	made := map[string]*gateway.Route{}
	for _, r := range all {
		id := fmt.Sprintf("%s %d", r.Name, r.Version)
		route, there := b.made[id]
		if !there {
			var err error
			if route, err = b.route(ctx, r); err != nil {
				problems = append(problems, fmt.Errorf("route %s, version %d: %w", r.Name, r.Version, err))
				if id, route = b.before(r.Name); route == nil {
					continue
				}
			} else {
				b.checkPace(ctx, r)
			}
		}
		made[id] = route
		routes = append(routes, route)
	}
	t, err := gateway.NewTable(routes)
	if err != nil {
		return nil, errors.Join(append(problems, err)...)
	}
	for id, r := range b.made {
		if made[id] == nil {
			b.retire(r)
		}
	}
	b.made = made
	return t, errors.Join(problems...)
}

// before returns the version of a route that was in the last table.
func (b *Builder) before(name string) (string, *gateway.Route) {
	for id, r := range b.made {
		if r.Name == name {
			return id, r
		}
	}
	return "", nil
}

func (b *Builder) route(ctx context.Context, r store.Route) (*gateway.Route, error) {
	out := &gateway.Route{Name: r.Name, Model: r.Spec.Model, About: gateway.About{Route: r.Name, Version: r.Version}}
	if r.Spec.Answers != nil {
		var err error
		out.About.Private = true
		out.Private, out.About.Price, err = b.online(ctx, r)
		return out, err
	}
	if why := b.Unusable[r.Spec.Upstream]; why != nil {
		return nil, fmt.Errorf("upstream %s: %w", r.Spec.Upstream, why)
	}
	if out.Upstream = b.Upstreams[r.Spec.Upstream]; out.Upstream == nil {
		return nil, fmt.Errorf("there is no upstream %q: name one of your configuration, or embedded", r.Spec.Upstream)
	}
	if r.Spec.Release == "" {
		return out, nil
	}
	t, err := b.Task(r.Spec.Task)
	if err != nil {
		return nil, err
	}
	var report *certificate.Report
	var chosen prompt.Prompt
	var said *evidence.Reader
	if out.Shots, chosen, said, report, err = b.shots(ctx, r.Spec.Release, t, r.Spec.Nearest); err != nil {
		return nil, err
	}
	local, own := out.Upstream.(*gateway.Local)
	if own && AsJudged(r.Spec, chosen) || chosen.Evidence.How == prompt.Alone {
		out.Judged = &gateway.PromptAnswerer{Local: local, Task: t, Prompt: chosen, Evidence: said}
		if chosen.Nearest.Used() {
			if out.Judged.Encoder, err = b.Encoder(); err != nil {
				return nil, err
			}
		}
	}
	out.About.Release, out.About.Private = filepath.Base(r.Spec.Release), true
	out.About.Epsilon, out.About.Delta = report.Predicate.Epsilon.Upper, report.Predicate.Delta
	return out, nil
}

// AsJudged reports whether a route with a model of this program answers with a prompt as its records judged
// it: one text, and all of it.
func AsJudged(s store.RouteSpec, chosen prompt.Prompt) bool {
	return chosen.Form == prompt.TextForm && s.Nearest == 0
}

// shots reads a release whose certificate holds, with the prompt that its records chose, if they did, and
// the evidence that it uses.
func (b *Builder) shots(ctx context.Context, dir string, t prompt.Task, nearest int) (*gateway.Shots, prompt.Prompt, *evidence.Reader, *certificate.Report, error) {
	var none prompt.Prompt
	if bare, err := worth.ReadSet(dir, t); err != nil {
		return nil, none, nil, nil, err
	} else if bare.NotPrivate {
		return nil, none, nil, nil, fmt.Errorf("the release is marked as not private, and every upstream would see it: use one with a certificate")
	}
	report, err := b.Verify(dir)
	if err != nil {
		return nil, none, nil, nil, fmt.Errorf("its certificate: %w", err)
	}
	if !report.OK {
		return nil, none, nil, nil, fmt.Errorf("its certificate does not hold: sotto verify %s says why", dir)
	}
	set, err := signed(dir, t, report)
	if err != nil {
		return nil, none, nil, nil, err
	}
	var p prompt.Prompt
	if set.Chosen != nil {
		p = *set.Chosen
		p.Form = p.Form.Name()
	}
	p.Examples = set.Examples
	var encoder lm.Embedder
	if gateway.Picks(p, nearest) {
		if encoder, err = b.Encoder(); err != nil {
			return nil, none, nil, nil, err
		}
	}
	shots, err := gateway.NewShots(ctx, t, p, nearest, encoder)
	if err != nil || set.Evidence == nil {
		return shots, p, nil, report, err
	}
	var reads evidence.Encodes // nil for rows of a table, which need no encoder of sentences
	if !set.Evidence.Rows() {
		if reads, err = b.Encoder(); err != nil {
			return nil, none, nil, nil, err
		}
	}
	said, err := evidence.Open(set.Evidence, reads)
	if err == nil && p.Evidence.How == prompt.Hinted {
		err = shots.Hint(ctx, said, p.Evidence.Wording)
	}
	return shots, p, said, report, err
}

// signed reads the examples of a release from the very bytes that its certificate lists: a
// file beside them, or one that is changed meanwhile, may hold anything.
func signed(dir string, t prompt.Task, report *certificate.Report) (_ worth.Set, err error) {
	own, err := os.MkdirTemp("", "sotto-serve-")
	if err != nil {
		return worth.Set{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(own)) }()
	for _, name := range []string{"demos.jsonl", "prompt.json", evidence.File} {
		data, err := report.ReadFile(os.DirFS(dir), name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return worth.Set{}, err
		}
		if err := os.WriteFile(filepath.Join(own, name), data, 0o600); err != nil {
			return worth.Set{}, err
		}
	}
	return worth.ReadSet(own, t)
}
