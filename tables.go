package sotto

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sotto-dp/sotto/internal/compute"
	"github.com/sotto-dp/sotto/internal/env"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/stream"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// TableSource says where a private table is.
type TableSource struct {
	// Location is the path of a file (CSV, also compressed, or Parquet), or a database
	// (postgres://…, an SQLite file), which needs a Table or a Query. Required without
	// Open.
	Location     string
	Table, Query string
	// Open, if set, opens the table in place of [table.Open] on Location: for sources of
	// other modules, such as engines/duckdb. It has to open it with these options.
	Open func(ctx context.Context, o table.Options) (*table.Data, error)
	// Engine, if set, opens the table and computes on it in place of this process: that of
	// engines/beam. It excludes Location and Open.
	Engine compute.Engine
	// SkipRefused leaves out rows that the schema refuses. Default: any of them is an
	// error.
	SkipRefused bool
	// PushDown says whether a database adds up a profile by itself. Default: where it can
	// and that is faster.
	PushDown table.PushDown
	// Private is a folder for the key by which the ledger knows the table again. Required.
	Private string
	// Progress, if set, hears how many bytes of how many (0: not known) were read.
	Progress func(read, total int64)
}

// options are those that the table is opened with.
func (s TableSource) options(of schema.Schema, unit privacy.Unit, discrete bool) table.Options {
	o := table.Options{
		Schema: of, Discrete: discrete, Table: s.Table, Query: s.Query, PushDown: s.PushDown, Private: s.Private, Progress: s.Progress,
	}
	if s.SkipRefused {
		o.OnError = table.Skip
	}
	if column, ok := strings.CutPrefix(string(unit), "user:"); ok {
		o.Unit = column
	}
	return o
}

func (s TableSource) open(ctx context.Context, of schema.Schema, unit privacy.Unit, discrete bool) (*table.Data, error) {
	o := s.options(of, unit, discrete)
	if s.Open != nil {
		return s.Open(ctx, o)
	}
	return table.Open(ctx, s.Location, o)
}

// TableOptions say what runs on a table work with.
type TableOptions struct {
	Source TableSource
	// Out is the folder of the run. An unfinished run of the same request goes on.
	// Required.
	Out string
	// Ledger, Keys, NewLedger, Dataset and Labels are as in [SynthesizeOptions].
	Ledger, Keys string
	NewLedger    bool
	Dataset      string
	Labels       map[string]string
	// NonPrivate allows a profile without noise.
	NonPrivate bool
	// Seed is for tests and simulations: what comes out is NOT PRIVATE.
	Seed *uint64
	// Workers is how many threads read the table; 0 takes one for every processor.
	Workers int
	// Version of the program. Required.
	Version string
	// Observe, if set, is told how it goes.
	Observe func(Progress)
}

// ProfileOptions say what to tell of a table.
type ProfileOptions struct {
	// Request is what is asked for: its Schema, Epsilon and Size are required. Plan is used
	// instead if it is set.
	Request plan.ProfileRequest
	Plan    *plan.Profile
	TableOptions
}

// ProfileRun is a finished profile.
type ProfileRun struct {
	run.Profiled
	Plan plan.Profile
	// Problems are rows that were left out.
	Problems table.Problems
}

// Words say what is guaranteed; nil if nothing is.
func (r *ProfileRun) Words() []string { return words(r.Result) }

func words(r run.Result) []string {
	if !r.Private {
		return nil
	}
	return release.Words(r.Guarantee, r.Inner...)
}

// Profile tells a private table in typical rows: noisy averages of groups, as examples
// with a certificate. Errors are as those of [Synthesize].
func Profile(ctx context.Context, o ProfileOptions) (result *ProfileRun, err error) {
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	if !p.Private() && !o.NonPrivate {
		return nil, &plan.InputError{Reason: "a profile without noise protects nobody: it is for comparisons, and has to be allowed explicitly (--non-private)"}
	}
	t := &tabling{TableOptions: o.TableOptions}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.openAll(ctx, p.Schema, p.Unit, false, p.Private()); err != nil {
		return nil, err
	}
	done, err := run.Profile(ctx, p, t.options())
	if err != nil {
		return nil, err
	}
	return &ProfileRun{Profiled: *done, Plan: p, Problems: t.data().Problems()}, nil
}

func (o *ProfileOptions) plan() (plan.Profile, error) {
	if o.Plan == nil {
		return plan.NewProfile(o.Request)
	}
	if err := o.Plan.Check(); err != nil {
		return plan.Profile{}, &plan.InputError{Reason: fmt.Sprintf("the plan cannot be carried out: %v", err)}
	}
	return *o.Plan, nil
}

// PerturbOptions say how to perturb the rows of a table.
type PerturbOptions struct {
	// Request is what is asked for: its Schema and Epsilon are required. Plan is used
	// instead if it is set.
	Request plan.LocalRequest
	Plan    *plan.Local
	TableOptions
}

// PerturbRun is a finished perturbation.
type PerturbRun struct {
	run.Perturbed
	Plan plan.Local
	// Problems are rows that were left out.
	Problems table.Problems
}

// Words say what is guaranteed; nil if nothing is.
func (r *PerturbRun) Words() []string { return words(r.Result) }

// Perturb exchanges every row of a private table for one that may be seen. Errors are as
// those of [Synthesize].
func Perturb(ctx context.Context, o PerturbOptions) (result *PerturbRun, err error) {
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	t := &tabling{TableOptions: o.TableOptions}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.openAll(ctx, p.Schema, p.Unit(), true, true); err != nil {
		return nil, err
	}
	done, err := run.Perturb(ctx, p, t.options())
	if err != nil {
		return nil, err
	}
	return &PerturbRun{Perturbed: *done, Plan: p, Problems: t.data().Problems()}, nil
}

func (o *PerturbOptions) plan() (plan.Local, error) {
	if o.Plan == nil {
		return plan.NewLocal(o.Request)
	}
	if err := o.Plan.Check(); err != nil {
		return plan.Local{}, &plan.InputError{Reason: fmt.Sprintf("the plan cannot be carried out: %v", err)}
	}
	return *o.Plan, nil
}

// PerturbRows perturbs rows of whoever calls it, as they come: CSV with a header from in,
// perturbed rows to out, each at once. Nothing is charged, for there is no table: each time
// a row is perturbed costs it the plan's ε. With a seed the result is NOT PRIVATE.
func PerturbRows(ctx context.Context, p plan.Local, in io.Reader, out io.Writer, format reconstruct.Format, seed *uint64) (reconstruct.Sidecar, error) {
	if err := p.Check(); err != nil {
		return reconstruct.Sidecar{}, &plan.InputError{Reason: fmt.Sprintf("the plan cannot be carried out: %v", err)}
	}
	key, err := noise.NewKey()
	if seed != nil {
		key, err = noise.KeyFromSeed(*seed), nil
	}
	if err != nil {
		return reconstruct.Sidecar{}, fmt.Errorf("draw a key: %w", err)
	}
	defer key.Erase()
	rows, err := stream.Perturb(ctx, in, out, stream.Options{Schema: p.Schema, Settings: p.Settings, Key: key, Format: format})
	if err != nil {
		return reconstruct.Sidecar{}, err
	}
	return p.Settings.Sidecar(p.Schema, rows, key.Private())
}

// tabling holds what a run on a table has open.
type tabling struct {
	TableOptions
	opened
}

// openAll opens what the run needs.
func (t *tabling) openAll(ctx context.Context, of schema.Schema, unit privacy.Unit, discrete, private bool) error {
	t.tell = func(format string, args ...any) {
		if t.Observe != nil {
			t.Observe(Progress{Kind: Notice, Message: fmt.Sprintf(format, args...)})
		}
	}
	wrong := func(text string) error { return &plan.InputError{Reason: text} }
	private = private && t.Seed == nil
	switch {
	case t.Out == "":
		return wrong("a folder to write to is missing")
	case strings.Contains(t.Out, "://"):
		return wrong("the folder to write to must be one of this machine, or one that is mounted here")
	case t.Source.Location == "" && t.Source.Open == nil && t.Source.Engine == nil:
		return wrong("the data is missing: a file, or a database")
	case t.Source.Engine != nil && (t.Source.Location != "" || t.Source.Open != nil):
		return wrong("the data is named twice: by an engine, and by a location or a function that opens it")
	case t.Source.Private == "":
		return wrong("a private folder is missing, for the key by which the ledger knows the table again")
	case private && t.Ledger == "":
		return wrong("a ledger is missing: what protects rows is that every use of them is charged to a budget")
	case private && t.Keys == "":
		return wrong("a key ring is missing, to sign the certificate with")
	}
	if private {
		if err := t.openLedger(ctx, t.Ledger, t.NewLedger, t.Source.Private); err != nil {
			return err
		}
	}
	if err := t.openTable(ctx, of, unit, discrete); err != nil {
		return err
	}
	if !private {
		return nil
	}
	return t.openKeys(t.Keys)
}

// openTable opens the table, by its engine if it has one.
func (t *tabling) openTable(ctx context.Context, of schema.Schema, unit privacy.Unit, discrete bool) error {
	if t.Source.Engine != nil {
		computed, err := t.Source.Engine.Open(ctx, t.Source.options(of, unit, discrete))
		if err == nil {
			t.computed = computed
		}
		return err
	}
	data, err := t.Source.open(ctx, of, unit, discrete)
	if err == nil {
		t.table = data
	}
	return err
}

// data is the table, whoever computes on it.
func (t *tabling) data() *table.Data {
	if t.computed != nil {
		return t.computed.Data()
	}
	return t.table
}

func (t *tabling) options() run.TableOptions {
	return run.TableOptions{
		Environment: t.environment(env.Environment{Dataset: t.Dataset, Labels: t.Labels, Version: t.Version, Seed: t.Seed, Observe: t.Observe}),
		Dir:         t.Out, Data: t.table, Engine: t.computed, Workers: t.Workers,
	}
}
