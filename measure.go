package sotto

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/env"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
)

// MeasureOptions say which prompts to measure, on what, and where to.
type MeasureOptions struct {
	// Request is what is asked for: its Task, Prompts, Epsilon and Size are required. Plan is
	// used instead if it is set.
	Request plan.MeasurementRequest
	Plan    *plan.Measurement
	// Source of the private records. Required.
	Source Source
	// Out is the folder of the run. An unfinished run of the same request goes on. Required.
	Out string
	// Model to open; the zero value is the default one, embedded. Trusted is used instead if
	// it is set, and stays open.
	Model   backend.Spec
	Trusted lm.Trusted
	// Ledger, Keys, NewLedger, Dataset and Labels are as in [SynthesizeOptions].
	Ledger, Keys string
	NewLedger    bool
	Dataset      string
	Labels       map[string]string
	// Seed is for tests and simulations: what comes out is NOT PRIVATE.
	Seed *uint64
	// Version of the program. Required.
	Version string
	// Observe, if set, is told how it goes.
	Observe func(Progress)
}

// Measurement is a finished one.
type Measurement struct {
	run.Measured
	Plan plan.Measurement
	// Model is what people call it.
	Model string
	// Problems are records that were left out.
	Problems record.Problems
}

// Words say what is guaranteed; nil if nothing is.
func (r *Measurement) Words() []string { return words(r.Result) }

// Measure says how well a model answers the questions of private records with each of some
// public prompts: noisy numbers, with intervals that cover noise and sampling, a charge and a
// certificate. Errors are as those of [Synthesize].
func Measure(ctx context.Context, o MeasureOptions) (result *Measurement, err error) {
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &measuring{MeasureOptions: o, plan: p}
	s.tell = s.notice
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	done, err := run.Measure(ctx, run.MeasureOptions{
		Environment: s.environment(env.Environment{Dataset: o.Dataset, Labels: o.Labels, Version: o.Version, Seed: o.Seed, Observe: o.Observe}),
		Dir:         o.Out, Plan: p, Data: s.data,
	})
	if err != nil {
		return nil, err
	}
	return &Measurement{Measured: *done, Plan: p, Model: s.name, Problems: s.data.Problems()}, nil
}

func (o *MeasureOptions) plan() (plan.Measurement, error) {
	if o.Plan == nil {
		return plan.NewMeasurement(o.Request)
	}
	if err := o.Plan.Check(); err != nil {
		return plan.Measurement{}, &plan.InputError{Reason: fmt.Sprintf("the plan cannot be carried out: %v", err)}
	}
	return *o.Plan, nil
}

// check finds what is missing before anything is opened.
func (o *MeasureOptions) check() error {
	wrong := func(reason string) error { return &plan.InputError{Reason: reason} }
	switch {
	case o.Out == "":
		return wrong("a folder to write to is missing")
	case o.Source.Location == "":
		return wrong("the data is missing: a file of records, or a database")
	case o.Source.Private == "":
		return wrong("a private folder is missing, for the key by which the ledger knows the data again")
	case o.Seed == nil && o.Ledger == "":
		return wrong("a ledger is missing: what protects records is that every use of them is charged to a budget")
	case o.Seed == nil && o.Keys == "":
		return wrong("a key ring is missing, to sign the certificate with")
	}
	return nil
}

// measuring holds what is open.
type measuring struct {
	MeasureOptions
	opened
	plan plan.Measurement
}

func (s *measuring) notice(format string, args ...any) {
	if s.Observe != nil {
		s.Observe(Progress{Kind: Notice, Message: fmt.Sprintf(format, args...)})
	}
}

// open opens all that a measurement needs, and says what to expect of it.
func (s *measuring) open(ctx context.Context) error {
	s.destined(s.Model, s.Trusted)
	if err := s.openModel(ctx, s.Model, s.Trusted); err != nil {
		return err
	}
	if s.Seed == nil {
		if err := s.openLedger(ctx, s.Ledger, s.NewLedger, s.Source.Private); err != nil {
			return err
		}
	}
	if err := s.openData(ctx, s.Source, s.plan.Task, s.plan.Unit, true); err != nil {
		return err
	}
	if s.Seed == nil {
		if err := s.openKeys(s.Keys); err != nil {
			return err
		}
	}
	return s.forecast()
}

// forecast says what to expect, before anything is spent. It is a function of the plan.
func (s *measuring) forecast() error {
	const share = 0.8 // as an example; the interval is widest at a half
	half, err := s.plan.Expected(share)
	if err == nil {
		s.notice("about %.0f of %d records are going to be asked; for a prompt that is right for %.0f %% of them the interval will be about ± %.1f points", s.plan.Asked(), s.plan.Size, 100*share, 100*half)
	}
	return err
}
