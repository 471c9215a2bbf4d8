package tablecmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/schema"
)

// request is what the flags say.
type request struct {
	*Command
	*ui.Terminal
	schema, plan, data, out string
	places                  config.Places
	name                    string
	label                   []string
	epsilon, delta          float64
	size                    int64
	seed                    uint64
	onError                 string
	settings                []*ui.SettingFlag
	given                   map[string]bool
}

func (r *request) add(f *flag.FlagSet, verb string) {
	f.StringVar(&r.schema, "schema", "", "schema of the table: a ready-made one, or the path of a file (required without --plan)")
	f.StringVar(&r.plan, "plan", "", "a plan.json of another run, of sotto table too: settings, schema and ε are taken from it")
	f.StringVar(&r.data, "data", "", r.Data+" (required)")
	f.StringVar(&r.out, "out", "", "folder to write to, also to continue with a run (required)")
	f.Float64Var(&r.epsilon, "epsilon", 0, "the most ε that all of it may cost; of perturbed rows that of each (required without --plan)")
	f.StringVar(&r.places.Ledger, "ledger", "", "ledger that pays: a path or postgres://… (default: SOTTO_LEDGER, your configuration, the user's data directory)")
	f.StringVar(&r.places.Keys, "keys", "", "folder of the key that signs (default: SOTTO_KEYS, your configuration, the user's data directory)")
	f.StringVar(&r.places.Private, "private", "", "folder with the key by which the ledger knows tables; that of sotto (default: SOTTO_PRIVATE, your configuration, the user's data directory)")
	f.StringVar(&r.places.File, "config", "", "read the configuration from this file; that of sotto (default: SOTTO_CONFIG, sotto/sotto.toml in the folder of your configuration)")
	f.StringVar(&r.name, "dataset", "", "name of the data set in the ledger: for a new one, and for rows that are not on this machine")
	f.Func("label", "a LABEL=VALUE of the charge, for scoped budgets; may be repeated", func(pair string) error { r.label = append(r.label, pair); return nil })
	f.StringVar(&r.onError, "on-error", string(table.Fail), "what to do about rows that the schema refuses: fail, or in a profile skip")
	f.Uint64Var(&r.seed, "seed", 0, "take all random numbers from this one, for tests: what comes out is NOT PRIVATE")
	f.BoolVar(&r.JSON, "json", false, "print the result as JSON")
	kind := method.Perturbation
	if verb == Profile {
		kind = method.Profile
		f.Int64Var(&r.size, "size", 0, "about how many rows there are, a public number (required without --plan)")
		f.Float64Var(&r.delta, "delta", 0, "δ of the guarantee (default: 0; for Gaussian noise min(1e-6, N^-1.1))")
	}
	r.settings = ui.SettingFlags(kind)
	for _, one := range r.settings {
		f.Var(one, one.Flag(), one.Usage)
	}
}

// planned reads a plan from the file of --plan, or makes one for the schema that is named.
func planned[P interface{ Check() error }](r *request, plan func(schema.Schema) (P, error)) (p P, err error) {
	switch {
	case r.plan != "":
		return read[P](r)
	case r.schema == "":
		return p, ui.Usage("--schema is missing: one of %s, or the path of a file", strings.Join(schema.Builtins(), ", "))
	case !r.given["epsilon"]:
		return p, ui.Usage("--epsilon is missing: the most that it may cost, such as 1")
	case math.IsInf(r.epsilon, 0) || math.IsNaN(r.epsilon):
		return p, ui.Usage("--epsilon is %v, and has no privacy guarantee: give a finite number", r.epsilon)
	}
	of, err := schema.Find(r.schema)
	if err != nil {
		return p, err
	}
	return plan(of)
}

// read takes a plan from a file.
func read[P interface{ Check() error }](r *request) (p P, err error) {
	if r.schema != "" || r.epsilon != 0 {
		return p, ui.Usage("--plan says what the schema and ε are: leave out --schema and --epsilon")
	}
	data, err := os.ReadFile(r.plan)
	if err != nil {
		return p, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, ui.Usage("%s is no plan of this kind: give the plan.json of a profile to profile, and of a perturbation to perturb: %w", r.plan, err)
	}
	if err := p.Check(); err != nil {
		return p, ui.Usage("the plan cannot be carried out: %w", err)
	}
	return p, nil
}

// options makes of the flags what the library takes.
func (r *request) options() (o sotto.TableOptions, err error) {
	switch {
	case r.data == "":
		return o, ui.Usage("--data is missing: %s", r.Data)
	case r.out == "":
		return o, ui.Usage("--out is missing: the folder to write to")
	case r.onError != string(table.Fail) && r.onError != string(table.Skip):
		return o, ui.Usage("--on-error is %q, it should be fail or skip", r.onError)
	}
	source, name, err := r.Source(r.data)
	if err != nil {
		return o, err
	}
	source.SkipRefused = r.onError == string(table.Skip)
	o = sotto.TableOptions{Source: source, Out: r.out}
	o.Dataset, o.Observe = cmp.Or(r.name, name), func(e sotto.Progress) {
		if e.Message != "" {
			fmt.Fprintln(r.Stderr, e.Message)
		}
	}
	if r.given["seed"] {
		o.Seed = &r.seed
	}
	o.Labels, err = ui.Pairs("label", r.label)
	return o, err
}

// client finds the ledger, the key ring and the private folder as sotto does: by a flag, a
// variable, the user's configuration, or in the user's data directory.
func (r *request) client() (*sotto.Client, error) {
	at, err := r.places.All()
	if err != nil {
		return nil, ui.AsUsage(err)
	}
	return sotto.Open("", &sotto.Options{Ledger: at.Ledger, Keys: at.Keys, Private: at.Private})
}

// begin opens what a run works with, unless the plan is only to be measured: then there is
// no client.
func (r *request) begin(ctx context.Context, p *plan.Profile, l *plan.Local) (c *sotto.Client, o sotto.TableOptions, err error) {
	if r.Measure != nil {
		if done, err := r.Measure(ctx, p, l, r.Stderr); done || err != nil {
			return nil, o, err
		}
	}
	if o, err = r.options(); err == nil {
		c, err = r.client()
	}
	return c, o, err
}

func (r *request) profile(ctx context.Context) (*result, error) {
	p, err := planned(r, func(of schema.Schema) (p plan.Profile, err error) {
		values := ui.SettingValues(r.settings)
		switch {
		case r.size < 1:
			return p, ui.Usage("--size is missing: about how many rows there are, a public number such as 20000")
		case values.Word("noise", "") == string(global.None):
			return p, ui.Usage("--noise none has no privacy guarantee: choose laplace or gaussian")
		}
		q, err := plan.ProfileRequest{Schema: of, Epsilon: r.epsilon, Delta: r.delta, Size: r.size}.With(values)
		if err != nil {
			return p, err
		}
		return plan.NewProfile(q)
	})
	if err != nil {
		return nil, err
	}
	client, o, err := r.begin(ctx, &p, nil)
	if client == nil || err != nil {
		return nil, err
	}
	done, err := client.Profile(ctx, sotto.ProfileOptions{Plan: &p, TableOptions: o})
	if err != nil {
		return nil, err
	}
	out := newResult(done.Result, p.Schema.Name, done.Words())
	out.Warnings = append(out.Warnings, done.Plan.Warnings()...)
	if n := done.LeftOut; n > 0 {
		out.Warnings = append(out.Warnings, ui.Were(n, "row")+" left out: the schema refuses them. How many depends on the rows: do not publish that number")
	}
	return out, nil
}

func (r *request) perturb(ctx context.Context) (*result, error) {
	p, err := planned(r, func(of schema.Schema) (plan.Local, error) {
		q, err := plan.LocalRequest{Schema: of, Epsilon: r.epsilon}.With(ui.SettingValues(r.settings))
		if err != nil {
			return plan.Local{}, err
		}
		return plan.NewLocal(q)
	})
	if err != nil {
		return nil, err
	}
	client, o, err := r.begin(ctx, nil, &p)
	if client == nil || err != nil {
		return nil, err
	}
	done, err := client.Perturb(ctx, sotto.PerturbOptions{Plan: &p, TableOptions: o})
	if err != nil {
		return nil, err
	}
	out := newResult(done.Result, p.Schema.Name, done.Words())
	out.Rows = done.Sidecar.Rows
	return out, nil
}
