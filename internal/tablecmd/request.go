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
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

// request is what the flags say.
type request struct {
	*Command
	*ui.Terminal
	schema, plan, data, out     string
	ledger, keys, private, name string
	label                       []string
	epsilon, delta, rate        float64
	size                        int64
	seed                        uint64
	groups                      string
	group                       []string
	noise, unit, adjacency      string
	onError, split              string
	rowsPerUnit                 int
	given                       map[string]bool
}

func (r *request) add(f *flag.FlagSet, verb string) {
	f.StringVar(&r.schema, "schema", "", "schema of the table: a ready-made one, or the path of a file (required without --plan)")
	f.StringVar(&r.plan, "plan", "", "a plan.json of another run, of sotto table too: settings, schema and ε are taken from it")
	f.StringVar(&r.data, "data", "", r.Data+" (required)")
	f.StringVar(&r.out, "out", "", "folder to write to, also to go on with a run (required)")
	f.Float64Var(&r.epsilon, "epsilon", 0, "the most ε that all of it may cost; of perturbed rows that of each (required without --plan)")
	f.StringVar(&r.ledger, "ledger", "", "ledger that pays: a path or postgres://… (default: SOTTO_LEDGER, the user's data directory)")
	f.StringVar(&r.keys, "keys", "", "key ring that signs (default: SOTTO_KEYS, the user's data directory)")
	f.StringVar(&r.private, "private", "", "folder with the key by which the ledger knows tables; that of sotto (default: SOTTO_PRIVATE, the user's data directory)")
	f.StringVar(&r.name, "dataset", "", "name of the data set in the ledger: for a new one, and for rows that are not on this machine")
	f.Func("label", "a LABEL=VALUE of the charge, for scoped budgets; may be repeated", appending(&r.label))
	f.StringVar(&r.onError, "on-error", string(table.Fail), "what to do about rows that the schema refuses: fail, or in a profile skip")
	f.Uint64Var(&r.seed, "seed", 0, "take all random numbers from this one, for tests: what comes out is NOT PRIVATE")
	f.BoolVar(&r.JSON, "json", false, "print the result as JSON")
	if verb == Perturb {
		f.StringVar(&r.split, "split", "", "how ε is divided over columns: equal or optimal (default equal)")
		return
	}
	f.Int64Var(&r.size, "size", 0, "about how many rows there are, a public number (required without --plan)")
	f.Float64Var(&r.delta, "delta", 0, "δ of the guarantee (default: 0; for Gaussian noise min(1e-6, N^-1.1))")
	f.Float64Var(&r.rate, "rate", 0, "rate of Poisson sampling (default: all rows)")
	f.StringVar(&r.groups, "groups", "", "the schema's ready-made partition into so many groups")
	f.Func("group", "group by COLUMN[:CLASSES]; may be repeated (default: by the label)", appending(&r.group))
	f.StringVar(&r.noise, "noise", string(global.Laplace), "laplace or gaussian")
	f.StringVar(&r.adjacency, "adjacency", "", "what neighbours are: add-remove or replace-one (default add-remove)")
	f.StringVar(&r.unit, "unit", "", "protect all rows with one value of this column together (default: each row)")
	f.IntVar(&r.rowsPerUnit, "rows-per-unit", 0, "with --unit: how many rows of each are used at most (default 1)")
}

func appending(to *[]string) func(string) error {
	return func(text string) error {
		*to = append(*to, text)
		return nil
	}
}

// find reads the schema that is named.
func (r *request) find() (schema.Schema, error) {
	switch {
	case r.schema == "":
		return schema.Schema{}, ui.Usage("--schema is missing: one of %s, or the path of a file", strings.Join(schema.Builtins(), ", "))
	case !r.given["epsilon"]:
		return schema.Schema{}, ui.Usage("--epsilon is missing: the most that it may cost, such as 1")
	case math.IsInf(r.epsilon, 0) || math.IsNaN(r.epsilon):
		return schema.Schema{}, ui.Usage("--epsilon is %v, and protects nobody: give a finite number", r.epsilon)
	}
	return schema.Find(r.schema)
}

// read takes a plan from a file.
func (r *request) read(into any) error {
	if r.schema != "" || r.epsilon != 0 {
		return ui.Usage("--plan says what the schema and ε are: leave out --schema and --epsilon")
	}
	data, err := os.ReadFile(r.plan)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return ui.Usage("%s is no plan of this kind: give the plan.json of a profile to profile, and of a perturbation to perturb: %w", r.plan, err)
	}
	return nil
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

// client finds the ledger, the key ring and the private folder: by a flag, a variable, or
// where sotto has them too.
func (r *request) client() (*sotto.Client, error) {
	c, err := sotto.Open("", &sotto.Options{
		Ledger: cmp.Or(r.ledger, os.Getenv("SOTTO_LEDGER")), Keys: cmp.Or(r.keys, os.Getenv("SOTTO_KEYS")), Private: cmp.Or(r.private, os.Getenv("SOTTO_PRIVATE")),
	})
	if err != nil {
		return nil, ui.Usage("%w; or use --ledger, --keys and --private", err)
	}
	return c, nil
}

// planProfile makes the plan, or reads it.
func (r *request) planProfile() (p plan.Profile, err error) {
	if r.plan != "" {
		if err := r.read(&p); err != nil {
			return p, err
		}
		return p, checked(p.Check())
	}
	of, err := r.find()
	if err != nil {
		return p, err
	}
	q := plan.ProfileRequest{
		Schema: of, Epsilon: r.epsilon, Delta: r.delta, Size: r.size, Rate: r.rate, Noise: global.Noise(r.noise), RowsPerUnit: r.rowsPerUnit,
		Adjacency: privacy.Adjacency(r.adjacency),
	}
	switch {
	case r.size < 1:
		return p, ui.Usage("--size is missing: about how many rows there are, a public number such as 20000")
	case q.Noise == global.None:
		return p, ui.Usage("--noise none protects nobody: choose laplace or gaussian")
	case r.rowsPerUnit < 0 || r.rowsPerUnit > 0 && r.unit == "":
		return p, ui.Usage("--rows-per-unit is a positive number, and goes with --unit")
	case r.unit != "":
		q.Unit = privacy.Unit("user:" + r.unit)
	}
	if q.Groups, err = of.Partition(r.groups, r.group); err != nil {
		return p, ui.AsUsage(err)
	}
	return plan.NewProfile(q)
}

func checked(err error) error {
	if err != nil {
		return ui.Usage("the plan cannot be carried out: %w", err)
	}
	return nil
}

func (r *request) profile(ctx context.Context) (*result, error) {
	p, err := r.planProfile()
	if err != nil {
		return nil, err
	}
	if r.Measure != nil {
		if done, err := r.Measure(ctx, &p, nil, r.Stderr); done || err != nil {
			return nil, err
		}
	}
	o, err := r.options()
	if err != nil {
		return nil, err
	}
	client, err := r.client()
	if err != nil {
		return nil, err
	}
	done, err := client.Profile(ctx, sotto.ProfileOptions{Plan: &p, TableOptions: o})
	if err != nil {
		return nil, err
	}
	out := newResult(done.Result, p.Schema.Name, done.Words())
	out.Warnings = append(out.Warnings, done.Plan.Warnings()...)
	if n := done.LeftOut; n > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d rows were left out: the schema refuses them. How many depends on the rows: do not publish that number", n))
	}
	return out, nil
}

// planLocal makes the plan, or reads it.
func (r *request) planLocal() (p plan.Local, err error) {
	if r.plan != "" {
		if err := r.read(&p); err != nil {
			return p, err
		}
		return p, checked(p.Check())
	}
	of, err := r.find()
	if err != nil {
		return p, err
	}
	return plan.NewLocal(plan.LocalRequest{Schema: of, Epsilon: r.epsilon, Split: r.split})
}

func (r *request) perturb(ctx context.Context) (*result, error) {
	p, err := r.planLocal()
	if err != nil {
		return nil, err
	}
	if r.Measure != nil {
		if done, err := r.Measure(ctx, nil, &p, r.Stderr); done || err != nil {
			return nil, err
		}
	}
	o, err := r.options()
	if err != nil {
		return nil, err
	}
	client, err := r.client()
	if err != nil {
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
