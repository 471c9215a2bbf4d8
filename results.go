package sotto

import (
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// Result of a run: its folder, examples, guarantee and charge.
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
	// Examples are what was written, in the order of the files, or those of the Prompt that the records chose.
	Examples []prompt.Example
	Prompt   *prompt.Prompt
	// Ending is what most records end with, if the plan had it found and there is such.
	Ending string
	// Evidence is what all records say about labels, if they were added up.
	Evidence *Evidence
	// Worth is what the prompt was measured to be on the records, if it was.
	Worth *Worth
	// Private says that there is a Guarantee, of Event. Drawn is what is left of it, over all that was released, against
	// someone who knows whose records were drawn; nil where nothing is sampled, or nothing is left. Certificate says that
	// it is signed.
	Private     bool
	Event       privacy.Event
	Guarantee   privacy.Guarantee
	Drawn       *privacy.Guarantee
	Certificate bool
	// Charge in the ledger, and those of texts that were paid for again.
	Charge    ledger.ChargeID
	Recharges []ledger.ChargeID
	// Planned is how many tokens the plan puts through the model, on average over who is drawn; 0 where there is none.
	Planned int64
	// Usage and Seconds count this call, not calls before it. They depend on the records that were drawn: do not publish
	// them.
	Usage   lm.Usage `json:"-"`
	Seconds float64  `json:"-"`
	// Resumed: an earlier call began the run. Finished: it also ended it, and this one did nothing.
	Resumed, Finished bool
	Warnings          []string
}

// Words states what is guaranteed, in sentences; nil if nothing is.
func (r *Result) Words() []string { return (*run.Result)(r).Words() }

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

// Worth is the quality of a prompt as measured on the private records, with noise: a Value from 0 to 1, with its interval.
type Worth = release.Worth

// Text is one that a run has released, and what it is for.
type Text struct {
	Condition string `json:"condition"`
	Text      string `json:"text"`
}

// SoFar returns the texts that a run under way in a folder has released: each was paid for before it was written. A run
// without a privacy guarantee has none.
func SoFar(dir string) ([]Text, error) {
	list, err := run.SoFar(dir)
	var out []Text
	for _, t := range list {
		out = append(out, Text(t))
	}
	return out, err
}
