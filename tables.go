package sotto

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
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

// ProfileRequest asks for typical rows of a table's groups.
type ProfileRequest struct {
	// Schema is required.
	Schema schema.Schema
	// Epsilon is required; +Inf adds no noise, and is NOT PRIVATE.
	Epsilon float64
	// Delta is 0 by default: Gaussian noise needs one, and takes min(1e-6, n^-1.1) of a declared Size.
	Delta float64
	// Adjacency is add-remove by default.
	Adjacency privacy.Adjacency
	// Unit is a record by default.
	Unit privacy.Unit
	// RowsPerUnit is how many rows of another unit than a record are used at most; 1 by default.
	RowsPerUnit int
	// Size is the declared number of rows. It is for the prediction of errors only.
	Size int64
	// Rate samples the units first; 0 takes all of them. At equal ε the noise relative to what is left is not smaller.
	Rate float64
	// Groups whose product the rows are divided into; none makes one group of all.
	Groups []schema.Group
	// Noise is "laplace" by default, or "gaussian".
	Noise TableNoise
	// Statistics of columns; their mean or mode by default.
	Statistics map[string]Statistic
	// Quantiles of columns that have them; the median by default.
	Quantiles map[string][]float64
	// Cells of the grids of columns with quantiles; the method's by default.
	Cells map[string]int
	// Weights are the shares of the budget that columns have relative to each other; 1 by default. Where a Size is declared,
	// modes without a weight have less if that is enough.
	Weights map[string]float64
	// CountWeight is that of the count of rows; 1 by default.
	CountWeight float64
	// Even keeps modes without a weight at 1. Default: they have less if that is enough.
	Even bool
	// Published divides the budget and adds up as Carey et al. 2024 do: a share for every column, of which numeric ones
	// spend half on a count of their own, sums that are not centred, and modes by the largest of noisy counts. (Their
	// noise is for a sensitivity of high − low, which is less than what a row can do if low is above 0 or high below it;
	// ours is for the larger bound.)
	Published bool
}

// PerturbRequest asks for perturbed rows.
type PerturbRequest struct {
	// Schema of the table, all of whose columns are discrete. Required.
	Schema schema.Schema
	// Epsilon of a row. Required.
	Epsilon float64
	// Weights of columns; those that are not named have 1. None: by Split.
	Weights map[string]float64
	// Split is "equal" by default, "weights" if there are weights, or "optimal".
	Split string
	// Rows is the declared number of rows, for predictions. Optional.
	Rows int64
}

// ProfileRun is a finished profile. LeftOut is how many rows the schema refused.
type ProfileRun struct {
	Result
	// Plan that was carried out.
	Plan ProfilePlan
	// Profile in numbers: a group for each of Examples.
	Profile global.Profile
}

// PerturbRun is a finished perturbation.
type PerturbRun struct {
	Result
	// Plan that was carried out, and what was done to the rows.
	Plan    PerturbPlan
	Sidecar reconstruct.Sidecar
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
	if !private {
		return nil
	}
	return c.openKeys()
}

func (c *call) tableOptions(o TableOptions) run.TableOptions {
	return run.TableOptions{Env: c.environment(), Dir: o.Out, Data: c.table, Engine: c.computed, Workers: o.Workers}
}

// TablePlan is what perturbed rows and a profile would show of a table at the same ε.
type TablePlan struct {
	// LocalErr says why rows cannot be perturbed, ProfileErr why there is no profile; what
	// they are about is then empty.
	Local      PerturbPlan
	LocalErr   error
	Profile    ProfilePlan
	ProfileErr error
}

// PlanTable plans both ways to use a table: a profile, and rows that are perturbed with the
// same schema, ε and number of rows. No row is read.
func PlanTable(profile ProfileRequest, local PerturbRequest) (*TablePlan, error) {
	out := &TablePlan{}
	local.Schema, local.Epsilon, local.Rows = profile.Schema, profile.Epsilon, profile.Size
	out.Local, out.LocalErr = plan.NewLocal(plan.LocalRequest(local))
	out.Profile, out.ProfileErr = plan.NewProfile(plan.ProfileRequest(profile))
	if out.LocalErr != nil && out.ProfileErr != nil {
		return nil, errors.Join(out.ProfileErr, out.LocalErr)
	}
	return out, nil
}
