package sotto

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/stream"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// TableOptions say what runs on a table work with.
type TableOptions struct {
	Use
	Source TableSource
	// Out is the folder of the run. An unfinished run of the same request continues.
	// Required.
	Out string
	// Workers is how many threads read the table; 0 takes one for every processor.
	Workers int
}

// ProfileOptions say what to profile.
type ProfileOptions struct {
	TableOptions
	// Request is what is asked for: its Schema, Epsilon and Size are required.
	Request ProfileRequest
	// Plan is used instead of the Request if it is set.
	Plan *ProfilePlan
}

// Profile describes a private table by typical rows: noisy averages of groups, as examples
// with a certificate. Errors are as those of [Client.Synthesize].
func (c *Client) Profile(ctx context.Context, o ProfileOptions) (result *ProfileRun, err error) {
	p, err := planned(o.Plan, plan.ProfileRequest(o.Request), plan.NewProfile)
	if err != nil {
		return nil, err
	}
	if !p.Private() && !o.NonPrivate {
		return nil, wrongAbout("NonPrivate", "a profile without noise has no privacy guarantee: it is for comparisons, and has to be allowed explicitly")
	}
	if err := o.Approval.Check(p, p.Event()); err != nil {
		return nil, err
	}
	t := c.call(o.Use)
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.openTable(ctx, o.TableOptions, p.Schema, p.Unit, false, p.Private()); err != nil {
		return nil, err
	}
	done, err := run.Profile(ctx, p, t.tableOptions(o.TableOptions))
	if err != nil {
		return nil, err
	}
	return &ProfileRun{Result(done.Result), done.Plan, done.Profile}, nil
}

// PerturbOptions say how to perturb the rows of a table.
type PerturbOptions struct {
	TableOptions
	// Request is what is asked for: its Schema and Epsilon are required.
	Request PerturbRequest
	// Plan is used instead of the Request if it is set.
	Plan *PerturbPlan
}

// Perturb exchanges every row of a private table for one that may be seen. Errors are as
// those of [Client.Synthesize].
func (c *Client) Perturb(ctx context.Context, o PerturbOptions) (result *PerturbRun, err error) {
	p, err := planned(o.Plan, plan.LocalRequest(o.Request), plan.NewLocal)
	if err != nil {
		return nil, err
	}
	if err := o.Approval.Check(p, p.Event()); err != nil {
		return nil, err
	}
	t := c.call(o.Use)
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.openTable(ctx, o.TableOptions, p.Schema, p.Unit(), true, true); err != nil {
		return nil, err
	}
	done, err := run.Perturb(ctx, p, t.tableOptions(o.TableOptions))
	if err != nil {
		return nil, err
	}
	return &PerturbRun{Result(done.Result), done.Plan, done.Sidecar}, nil
}

// PerturbRows perturbs rows of anyone who calls it, as they come: CSV with a header from in,
// perturbed rows to out, each at once. Nothing is charged, for there is no table: each time
// a row is perturbed costs it the plan's ε. format is "csv" or "jsonl". With a seed the
// result is NOT PRIVATE.
func PerturbRows(ctx context.Context, p PerturbPlan, in io.Reader, out io.Writer, format reconstruct.Format, seed *uint64) (reconstruct.Sidecar, error) {
	if err := p.Check(); err != nil {
		return reconstruct.Sidecar{}, wrong("the plan cannot be carried out: %v", err)
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

// openTable opens what a run on a table needs.
func (c *call) openTable(ctx context.Context, o TableOptions, of schema.Schema, unit privacy.Unit, discrete, private bool) (err error) {
	private = private && c.use.Seed == nil
	switch {
	case o.Out == "":
		return wrong("a folder to write to is missing")
	case isURL(o.Out):
		return wrong("the folder to write to must be one of this machine, or one that is mounted here")
	case o.Source.Location == "" && o.Source.Engine == nil:
		return wrong("the data is missing: a file, or a database")
	case o.Source.Engine != nil && o.Source.Location != "":
		return wrong("the data is named twice: by an engine, and by a location")
	}
	if private {
		if err := c.openLedger(ctx); err != nil {
			return err
		}
	}
	if c.table, c.computed, err = c.client.rows(ctx, o.Source, of, unit, discrete); err != nil {
		return err
	}
	if is := c.table.Note(); is != "" {
		c.note("the data is %s", is)
	}
	if !private {
		return nil
	}
	return c.openKeys()
}

func (c *call) tableOptions(o TableOptions) run.TableOptions {
	return run.TableOptions{Environment: c.environment(), Dir: o.Out, Data: c.table, Engine: c.computed, Workers: o.Workers}
}
