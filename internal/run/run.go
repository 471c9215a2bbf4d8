package run

import (
	"context"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/machine"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// Options of a run.
type Options struct {
	// Env has the model, which is required, and who pays and signs.
	Env env.Environment
	// Dir is the run folder. It is made if it is missing; a run of the same plan on the
	// same data that did not end continues. Required.
	Dir string
	// Plan is required.
	Plan plan.Plan
	// Data is opened by the caller. Required unless the plan reads no record.
	Data *record.Data
	// Parallel is how many texts are written at once; 0 means 1.
	Parallel int
	// PassTokens is about how many tokens of questions go through the model at once where
	// records choose; 0 takes what suits a processor.
	PassTokens int
	// Vary writes n texts after a round, like examples, which are released: it is shown nothing
	// else, so that who writes need not be trusted. Fewer may come. Required where the plan
	// varies winners.
	Vary func(ctx context.Context, round int64, like []prompt.Example, n int) ([]prompt.Example, error)
	// Repeats says that Vary gives the same for the same.
	Repeats bool
}

// Result of a run that is complete.
type Result struct {
	// Dir has the Files.
	Dir   string
	Files []string
	// Run is its name, in the journal and the ledger.
	Run string
	// Model is what people call it, if one reads records.
	Model string
	// LeftOut is how many records could not be used. It depends on them: do not publish it.
	LeftOut int64 `json:"-"`
	// Examples are what was written, in the order of the files, or those of the Prompt that
	// the records chose.
	Examples []prompt.Example
	Prompt   *prompt.Prompt
	// Ending is what most records end with, if the plan had it found and there is such.
	Ending string
	// Evidence is what all records say about labels, if they were added up.
	Evidence *evidence.Evidence
	// Worth is what the prompt was measured to be on the records, if it was.
	Worth *release.Worth
	// Private says that there is a Guarantee, of Event. Drawn is what is left of it, over all
	// that was released, against someone who knows whose records were drawn; nil where nothing
	// is sampled, or nothing is left. Certificate says that it is signed.
	Private     bool
	Event       privacy.Event
	Guarantee   privacy.Guarantee
	Drawn       *privacy.Guarantee
	Certificate bool
	// Charge in the ledger, and those of texts that were paid for again.
	Charge    ledger.ChargeID
	Recharges []ledger.ChargeID
	// Planned is how many tokens the plan puts through the model, on average over who is
	// drawn; 0 where there is none.
	Planned int64
	// Usage and Seconds count this call, not calls before it. They depend on
	// the records that were drawn: do not publish them.
	Usage   lm.Usage `json:"-"`
	Seconds float64  `json:"-"`
	// Resumed: an earlier call began the run. Finished: it also ended it, and this one
	// did nothing.
	Resumed, Finished bool
	Warnings          []string
}

// Words states what is guaranteed, in sentences; nil if nothing is.
func (r *Result) Words() []string {
	if !r.Private {
		return nil
	}
	return release.Words(r.Guarantee, r.Drawn)
}

// Do carries out a plan. It returns when the run is complete; after an error that is an
// [*InterruptedError] the same call resumes where it stopped. A run that the budget does
// not allow is a [*ledger.RefusedError], and nothing is charged.
func Do(ctx context.Context, o Options) (*Result, error) {
	r := newRunner(o, osDisk{})
	return newEngine(r, r.exec).do(ctx)
}

func newRunner(o Options, d disk) *runner {
	r := &runner{options: o, plan: o.Plan, free: machine.Free}
	r.exec = newExecution(&r.options.Env, records{o.Data}, o.Dir, d)
	return r
}

// runner is a run of texts.
type runner struct {
	options Options
	plan    plan.Plan
	exec    *execution
	reader  reader
	free    func() int64 // memory of this machine
}
