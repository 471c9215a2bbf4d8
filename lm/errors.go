package lm

import (
	"errors"
	"fmt"
	"io/fs"
)

// Sentinel errors. None holds text or tokens of a prompt.
var (
	// ErrClosed is returned by models and sessions after Close.
	ErrClosed = errors.New("the model or session is closed")
	// ErrUnknownSequence: the sequence was dropped, or belongs to another session.
	ErrUnknownSequence = errors.New("no such sequence in this session")
)

// FileError reports a model file that cannot be used: it is damaged, or not a model that
// the engine knows.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *FileError) Unwrap() error { return e.Err }

// FileProblem wraps an error of opening a model as a [*FileError], unless the disk or the
// system failed.
func FileProblem(err error) error {
	if failed := (*fs.PathError)(nil); err == nil || errors.As(err, &failed) {
		return err
	}
	return &FileError{err}
}

// ContextError reports that a sequence would not fit the model's context.
type ContextError struct {
	// Step is the index of the step (or prompt) that does not fit.
	Step int
	// Have is the length of the sequence, Adding the number of new tokens, Limit the
	// context length.
	Have, Adding, Limit int
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("sequence %d would have %d tokens (%d and %d more), but the model takes %d: shorten the prompt, use fewer or shorter demonstrations, or a model with a longer context",
		e.Step, e.Have+e.Adding, e.Have, e.Adding, e.Limit)
}

// StepError reports that a step is not well formed.
type StepError struct {
	// Step is the index of the step.
	Step int
	// Why explains what is wrong and what to do, without naming tokens.
	Why string
	// Err, if any, is the error behind it, such as ErrUnknownSequence.
	Err error
}

func (e *StepError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("step %d: %s: %v", e.Step, e.Why, e.Err)
	}
	return fmt.Sprintf("step %d: %s", e.Step, e.Why)
}

func (e *StepError) Unwrap() error { return e.Err }

// UnsupportedError reports that a back-end lacks a capability.
type UnsupportedError struct {
	Backend string
	// What was requested, and Missing: what the back-end would have to offer.
	What, Missing string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s cannot %s: %s", e.Backend, e.What, e.Missing)
}

// WithoutScores says what a server without scores of chosen tokens can do, and what else will.
const WithoutScores = "if you trust it with records, they can choose prompts by what it answers (`sotto synth --url URL --form chat --pool-model URL`); " +
	"if you do not, have it write the pool (--pool-model URL), let the embedded engine choose, and ask it through `sotto serve`. " +
	"To write or to answer from records, use the embedded engine, vLLM, SGLang or llama.cpp's server (docs/howto/hosted-model.md)"

// MissingScoreError reports that a server left out requested scores. They are never
// replaced by a guess.
type MissingScoreError struct {
	Backend string
	// Step is the index of the step, Missing the number of candidates without a score.
	Step, Missing int
}

func (e *MissingScoreError) Error() string {
	return fmt.Sprintf("%s gave no score for %d of the candidates of step %d: the server does not answer for chosen tokens as its interface says; see `sotto model show --url`", e.Backend, e.Missing, e.Step)
}
