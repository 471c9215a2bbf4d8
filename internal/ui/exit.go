package ui

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/safetensors"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/stream"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// Exit codes, as the help lists them.
const (
	Done       = 0
	Failed     = 1
	Wrong      = 2 // usage, or input
	Refused    = 3 // by a budget, or since another plan was approved
	Unverified = 4
)

// UsageError is about the command line, the configuration, or what they name.
type UsageError struct{ error }

// Unwrap returns the cause.
func (e UsageError) Unwrap() error { return e.error }

// Usage makes a [UsageError] of a message.
func Usage(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// AsUsage makes a [UsageError] of an error, and nothing of none.
func AsUsage(err error) error {
	if err == nil {
		return nil
	}
	return UsageError{err}
}

// InputError is about what the user's files hold, of a package that this one does not know.
type InputError struct{ error }

// AsInput makes an [InputError] of an error that has one of type T in its chain.
func AsInput[T error](err error) error {
	if Is[T](err) {
		return InputError{err}
	}
	return err
}

// Unwrap returns the cause.
func (e InputError) Unwrap() error { return e.error }

// UnverifiedError reports that something signed or sealed is not what it should be.
type UnverifiedError struct{ error }

// NotVerified makes an [UnverifiedError] of a message.
func NotVerified(format string, args ...any) error {
	return UnverifiedError{fmt.Errorf(format, args...)}
}

// Unwrap returns the cause.
func (e UnverifiedError) Unwrap() error { return e.error }

// ReportedError is the error of a verb whose result was printed and reports that something
// does not hold. Within a [UsageError] it is about what the user wrote.
type ReportedError struct{ error }

// Reported makes a [ReportedError] of a message.
func Reported(format string, args ...any) error { return ReportedError{fmt.Errorf(format, args...)} }

// PartialError is the error of a verb whose result was printed and lacks some of what was
// asked for.
type PartialError struct{ error }

// Partial makes a [PartialError] of an error whose result was printed.
func Partial(err error) error { return PartialError{ReportedError{err}} }

// Unwrap returns the cause.
func (e PartialError) Unwrap() error { return e.error }

// Is reports whether an error of type T is in the chain of err.
func Is[T error](err error) bool {
	var t T
	return errors.As(err, &t)
}

// ExitCode returns the class of an error.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return Done
	case errors.Is(err, ledger.ErrBudget), Is[*plan.ChangedError](err):
		return Refused
	case Is[UsageError](err) && Is[ReportedError](err):
		return Wrong
	case Is[PartialError](err):
		return Failed
	case Is[*models.PullError](err):
		return Failed // though one source may have sent something wrong
	case Is[*models.HashError](err), Is[*models.ChangedError](err),
		Is[ReportedError](err), Is[UnverifiedError](err), Is[*ledger.TamperedError](err), Is[*ledger.OverspentError](err):
		return Unverified
	case Is[UsageError](err),
		Is[*privacy.SyntaxError](err),
		Is[*privacy.ParameterError](err),
		Is[*accountant.UnsupportedError](err),
		errors.Is(err, ledger.ErrMissing),
		Is[*ledger.InputError](err),
		Is[*ledger.UnknownDatasetError](err),
		Is[*ledger.UnknownChargeError](err),
		Is[*ledger.MismatchError](err),
		Is[*ledger.KeyError](err),
		Is[*ledger.ExistsError](err),
		Is[*ledger.OverlapError](err),
		Is[*ledger.KeyIDError](err),
		Is[*ledger.UnprovenError](err),
		Is[*models.MissingError](err),
		Is[*models.UnknownError](err),
		Is[*models.RequestError](err),
		Is[*backend.UntrustedError](err),
		Is[*lm.ContextError](err),
		Is[*lm.FileError](err),
		Is[*gguf.FormatError](err),
		Is[*safetensors.FormatError](err),
		Is[*bounded.Error](err),
		Is[*lm.StepError](err),
		Is[*lm.UnsupportedError](err),
		Is[*plan.InputError](err),
		Is[InputError](err),
		Is[*run.FolderError](err),
		Is[*record.MalformedError](err),
		Is[*table.RefusedError](err),
		Is[*stream.RowError](err),
		unusable(err),
		Is[*document.InvalidError](err),
		Is[*document.UnknownError](err),
		errors.Is(err, fs.ErrNotExist):
		return Wrong
	}
	return Failed
}

// unusable reports whether a source of records is not what the user should have named.
func unusable(err error) bool {
	var e *record.Error
	return errors.As(err, &e) && e.Code != record.Unreadable && e.Code != record.Changed
}
