package sotto

import (
	"context"
	"errors"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// MeasureOptions say which prompts to measure, on what, and where to.
type MeasureOptions struct {
	Use
	// Request is what is asked for: its Task, Prompts, Epsilon and Size are required.
	Request MeasureRequest
	// Plan is used instead of the Request if it is set.
	Plan *MeasurePlan
	// Source of the private records. Required.
	Source Source
	// Out is the folder of the run. An unfinished run of the same request continues. Required.
	Out string
}

// MeasureRequest asks how well prompts do on private records.
type MeasureRequest struct {
	// Task is required.
	Task prompt.Task
	// Prompts are required.
	Prompts []NamedPrompt
	// Evidence is that of the release that the prompts which use evidence are of; nil if none does.
	Evidence *Evidence
	// Form of prompts that have none; the model decides by default.
	Form prompt.Form
	// Epsilon is required.
	Epsilon float64
	// Delta is min(1e-6, n^-1.1) by default.
	Delta float64
	// Unit is a record by default.
	Unit privacy.Unit
	// Size is the declared number of units. Required.
	Size int64
	// Records is about how many are asked, each about every prompt; 1000 by default, or all if there are fewer. Noise
	// weighs the less the more are asked, at the same ε: what bounds it is time.
	Records int64
	// Grade of a record: right or wrong by default, and for written outputs their overlap with what the model writes.
	Grade Grade
	// Sampler is Poisson by default; a fixed size is for replace-one adjacency.
	Sampler Sampler
	// Uncounted: records are not counted by label, for example since how many have each is declared. Where they are is
	// decided by how much noise that adds.
	Uncounted bool
}

// Measurement is a finished one: noisy numbers, and what follows from them.
type Measurement struct {
	Result
	// Plan that was carried out.
	Plan MeasurePlan
	// Outcome are the noisy counts, Shares what follows from them for each prompt, and Difference how much better the first
	// of two is.
	Outcome    measure.Outcome
	Shares     []stat.Estimate
	Difference *stat.Estimate
}

// Measure reports how well a model answers the questions of private records with each of
// some public prompts: noisy numbers, with intervals that cover noise and sampling, a charge
// and a certificate. Errors are as those of [Client.Synthesize].
func (c *Client) Measure(ctx context.Context, o MeasureOptions) (result *Measurement, err error) {
	p, err := planned(o.Plan, plan.MeasurementRequest(o.Request), plan.NewMeasurement)
	switch {
	case err != nil:
		return nil, err
	case o.Out == "":
		return nil, wrong("a folder to write to is missing")
	case o.Source.Location == "":
		return nil, wrong("the data is missing: a file of records, or a database")
	}
	m := c.call(o.Use)
	defer func() { err = errors.Join(err, m.close()) }()
	if o.Plan == nil && len(p.Forms()) > 0 { // the model decides what was left open
		if err := m.openModel(ctx, true); err != nil {
			return nil, err
		}
		if p, err = plan.NewMeasurement(plan.MeasurementRequest(o.Request).For(m.model.Info())); err != nil {
			return nil, err
		}
	}
	if err := o.Approval.Check(p, p.Event()); err != nil {
		return nil, err
	}
	if err := m.openMeasurement(ctx, o.Source, p); err != nil {
		return nil, err
	}
	done, err := run.Measure(ctx, run.MeasureOptions{Env: m.environment(), Dir: o.Out, Plan: p, Data: m.data})
	if err != nil {
		return nil, err
	}
	return &Measurement{Result(done.Result), done.Plan, done.Outcome, done.Shares, done.Difference}, nil
}

// openMeasurement opens all that a measurement needs, and says what to expect of it before
// anything is spent: that is a function of the plan.
func (c *call) openMeasurement(ctx context.Context, from Source, p MeasurePlan) error {
	if p.Evidence != nil || p.Encoder() != "" {
		var of *schema.Schema
		if p.Evidence != nil {
			of = p.Evidence.Schema
		}
		if err := c.openEncoder(of); err != nil {
			return err
		}
	}
	opens := c.openRun
	if len(p.Forms()) == 0 { // evidence alone: no model is asked
		opens = c.openRecords
	}
	if err := opens(ctx, from, p.Task, p.Unit, true, true, c.use.Seed == nil); err != nil {
		return err
	}
	const share = 0.8 // as an example; the interval is widest at a half
	half, err := p.Expected(share)
	if err == nil {
		c.note("about %.0f of %d records are going to be asked; for a prompt that is right for %.0f %% of them the interval will be about ± %.1f points", p.Asked(), p.Size, 100*share, 100*half)
	}
	return err
}
