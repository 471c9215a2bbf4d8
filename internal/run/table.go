package run

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/run/compute"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/schema"
)

// TableOptions of runs on tables. What they have in common with [Options] means
// the same.
type TableOptions struct {
	Env env.Environment
	// Dir is the run folder. Required.
	Dir string
	// Data is opened by the caller, by the schema of the plan. Required.
	Data *table.Data
	// Engine computes on the data, in place of this process. Default: none.
	Engine compute.Table
	// Workers is how many threads read; 0 takes one for every processor.
	Workers int
}

// source is the table of a run.
type source struct {
	env     env.Environment
	data    *table.Data
	by      compute.Table // nil: this process
	workers int
	sum     [sha256.Size]byte
	known   ledger.Fingerprint // how the ledger knows rows that are elsewhere
}

// open finds out how the ledger knows the table, and begins a run on it. Of a file that reads
// its bytes; no row is looked at.
func (s *source) open(ctx context.Context, o TableOptions, d disk) (_ *execution, err error) {
	s.env, s.data, s.by, s.workers = o.Env, o.Data, o.Engine, o.Workers
	if s.data == nil {
		return nil, errors.New("a run needs a table that is open")
	}
	if s.sum, err = s.data.Fingerprint(ctx); err == nil && s.data.Elsewhere() && o.Env.Ledger != nil && o.Env.Seed == nil {
		err = s.named(ctx, o)
	}
	return newExecution(&s.env, s, o.Dir, d), err
}

// named finds the data set of rows that are elsewhere. Nobody here has seen them, and only
// their owner knows whose they are.
func (s *source) named(ctx context.Context, o TableOptions) error {
	if o.Env.Dataset == "" {
		return &plan.InputError{Option: "Dataset", Reason: "rows that are not on this machine are charged to a data set that is in the ledger: name it (sotto ledger show shows them), or enter it with sotto ledger init"}
	}
	d, err := o.Env.Ledger.Balance(ctx, o.Env.Dataset)
	if err != nil {
		return fmt.Errorf("%w (rows that are not on this machine are charged to a data set that is in the ledger: enter it with sotto ledger init)", err)
	}
	s.known = d.Fingerprint
	return nil
}

func (s *source) leftOut() int64 { return s.data.Problems().Count }

func (s *source) fingerprint() (sum [sha256.Size]byte, ok bool) { return s.sum, true }

// elsewhere names the engine that computes; "" is this process.
func (s *source) elsewhere() string {
	if s.by == nil {
		return ""
	}
	return s.by.Name()
}

// placed: the table is known by where it is, and may be another one next time.
func (s *source) placed() bool { return s.data.Placed() }

// usable refuses a file with rows that the schema refuses before anything is charged for
// it: with those corrected it is another file, and the charge would be lost. A table in a
// database stays the same to the ledger when its rows are corrected, and the run continues.
func (s *source) usable(ctx context.Context, columns []int) error {
	switch {
	case s.placed() || s.data.Options().OnError == table.Skip:
		return nil
	case s.by != nil:
		return s.by.Check(ctx, columns)
	}
	return s.data.Scan(ctx, columns, s.workers, func(int, *table.Batch) error { return nil })
}

// fitting makes sure that the table was opened as a plan needs it.
func (s *source) fitting(of schema.Schema, unit privacy.Unit, discrete bool) error {
	o := s.data.Options()
	switch {
	case string(o.Schema.Canonical()) != string(of.Canonical()):
		return errors.New("the table was opened with another schema than the plan has: open it with that of the plan")
	case s.data.Unit() != unit:
		return fmt.Errorf("the plan protects the unit %s, and the table was opened with the unit %s: open it with that of the plan", unit, s.data.Unit())
	case o.Discrete != discrete:
		return fmt.Errorf("the table was opened with discrete = %v, and the plan needs the other: this is an internal error", o.Discrete)
	}
	return nil
}

// assumptions returns what every run on a table assumes.
func (s *source) assumptions() []string {
	out := []string{assumeSchema}
	if s.by != nil {
		out = append(out, s.by.Assumption())
	}
	return out
}

const assumeSchema = "The schema is public: its bounds, bins, values and groups were not taken from the rows."
