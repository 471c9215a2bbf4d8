package sotto

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/internal/run/answer"
	"github.com/sotto-dp/sotto/internal/run/env"
)

// Plans have the settings and the event that a request comes to. They are JSON: one plan serves many runs.
type (
	// Plan of texts, or of a prompt that records choose.
	Plan = plan.Plan
	// AnswerPlan is the plan of one answer.
	AnswerPlan = plan.Answers
	// MeasurePlan is the plan of a measurement.
	MeasurePlan = plan.Measurement
	// ProfilePlan is the plan of a profile.
	ProfilePlan = plan.Profile
	// PerturbPlan is the plan of a perturbation.
	PerturbPlan = plan.Local
	// Cost is what a plan takes of a model.
	Cost = plan.Cost
)

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

// InterruptedError says that a run stopped on its way and resumes by the same call.
type InterruptedError = run.InterruptedError

// FolderError says why a folder cannot be used for a run.
type FolderError = run.FolderError

// ChargedError says that questions were charged and not answered.
type ChargedError = answer.ChargedError

func wrong(format string, args ...any) error { return wrongAbout("", format, args...) }

func wrongAbout(option, format string, args ...any) error {
	return &InputError{Reason: fmt.Sprintf(format, args...), Option: option}
}
