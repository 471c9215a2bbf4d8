package lm

import (
	"errors"
	"fmt"
	"io/fs"
)

// Errors that callers tell apart. None holds text or tokens of a prompt.
var (
	// ErrClosed is returned by models and sessions after Close.
	ErrClosed = errors.New("the model or session is closed")
	// ErrUnknownSequence: dropped, or of another session.
	ErrUnknownSequence = errors.New("no such sequence in this session")
)

// FileError is about a model's file that cannot be used: it is damaged, or not a model
// that the engine knows.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *FileError) Unwrap() error { return e.Err }

// FileProblem returns an error of opening a model as a [*FileError], unless the disk or
// the system failed.
func FileProblem(err error) error {
	if failed := (*fs.PathError)(nil); err == nil || errors.As(err, &failed) {
		return err
	}
	return &FileError{err}
}

// ContextError says that a sequence would not fit the model.
type ContextError struct {
	// Step is the index of the step (or prompt) that does not fit.
	Step int
	// Have tokens are there, Adding were to come, Limit is the most.
	Have, Adding, Limit int
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("sequence %d would have %d tokens (%d and %d more), but the model takes %d: shorten the prompt, use fewer or shorter demonstrations, or a model with a longer context",
		e.Step, e.Have+e.Adding, e.Have, e.Adding, e.Limit)
}

// StepError says that a step is not well formed.
type StepError struct {
	// Step is the index of the step.
	Step int
	// Why says what is wrong and what to do, without naming tokens.
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

// UnsupportedError says that a back-end cannot do what was asked.
type UnsupportedError struct {
	Backend string
	// What was asked for, and Missing: what the back-end would have to offer.
	What, Missing string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s cannot %s: %s", e.Backend, e.What, e.Missing)
}

// MissingScoreError says that a server left out scores that it was asked for. They
// are never replaced by a guess.
type MissingScoreError struct {
	Backend string
	// Step is the index of the step, Missing the number of candidates without a score.
	Step, Missing int
}

func (e *MissingScoreError) Error() string {
	return fmt.Sprintf("%s gave no score for %d of the candidates of step %d: the server does not answer for chosen tokens as its interface says; see `sotto model show --url`", e.Backend, e.Missing, e.Step)
}
