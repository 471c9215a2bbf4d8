package sotto

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/answer"
	"github.com/sotto-dp/sotto/internal/env"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/run"
)

// Requests and plans. A request says what is asked for and at which ε; a plan has the
// settings and the event that this comes to. Plans are JSON: one plan serves many runs.
type (
	// Request is what texts, prompts or answers are asked for. Its fields: Task, which is required; Method;
	// Epsilon and Delta; Unit; Size, or Sizes of labels, or Count; Shots and Tokens; Conditions, or Discover; Ending;
	// Rules; Answers; Sampler; Settings of the method, a map[string]any; and [Choosing] or [Learning].
	Request = plan.Request
	// Choosing has the records choose a prompt: of a pool of texts, in rounds. Its zero value has good defaults.
	Choosing = plan.Choosing
	// Learning adds all records up as a classifier; its Measuring is the share of ε that says in the end how often it is
	// right.
	Learning = plan.Learning
	// Plan of texts, or of a prompt that records choose.
	Plan = plan.Plan
	// AnswerPlan is the plan of one answer.
	AnswerPlan = plan.Answers
	// MeasureRequest asks how well prompts do on private records.
	MeasureRequest = plan.MeasurementRequest
	// MeasurePlan is the plan of a measurement.
	MeasurePlan = plan.Measurement
	// ProfileRequest asks for typical rows of a table's groups.
	ProfileRequest = plan.ProfileRequest
	// ProfilePlan is the plan of a profile.
	ProfilePlan = plan.Profile
	// PerturbRequest asks for perturbed rows.
	PerturbRequest = plan.LocalRequest
	// PerturbPlan is the plan of a perturbation.
	PerturbPlan = plan.Local
	// Cost is what a plan takes of a model.
	Cost = plan.Cost
)

// Result of a run: its folder, examples, guarantee and charge.
type Result = run.Result

// Text is one that a run has released, and what it is for.
type Text = run.Text

// SoFar returns the texts that a run under way in a folder has released: each was paid for before
// it was written. A run that protects nobody has none.
func SoFar(dir string) ([]Text, error) { return run.SoFar(dir) }

// Progress reports how a run or a session goes, in numbers and public words.
type Progress = env.Progress

// Kinds of progress that programs look at; the others have a name and a message.
const (
	// Notice reports a message for people, once.
	Notice = env.Noted
	// Cautioned reports what weakens the guarantee, or what the examples are worth.
	Cautioned = env.Cautioned
	// Wrote reports one more token of a text or an answer.
	Wrote = env.Wrote
	// Released reports that a text is complete.
	Released = env.Released
	// Encoded reports that some records were encoded.
	Encoded = env.Encoded
	// Judged reports that some records have judged the prompts of a round.
	Judged = env.Judged
	// Chose reports that the records have chosen a prompt.
	Chose = env.Chose
)

// InputError says why a request cannot be met. Its Option, if any, is the field of the
// options that would change that.
type InputError = plan.InputError

// InterruptedError says that a run stopped on its way and goes on by the same call.
type InterruptedError = run.InterruptedError

// FolderError says why a folder cannot be used for a run.
type FolderError = run.FolderError

// ChargedError says that questions were charged and not answered.
type ChargedError = answer.ChargedError

func wrong(format string, args ...any) error { return wrongAbout("", format, args...) }

func wrongAbout(option, format string, args ...any) error {
	return &InputError{Reason: fmt.Sprintf(format, args...), Option: option}
}
