package tablecmd

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/schema"
)

// UsageError is about the command line.
type UsageError struct{ error }

// Unwrap returns the cause.
func (e UsageError) Unwrap() error { return e.error }

// Wrong is an error about the command line.
func Wrong(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

func is[T error](err error) bool {
	var t T
	return errors.As(err, &t)
}

// ExitCode is the class of an error, as sotto has them: 2 if what was asked for is wrong, 3
// if a budget does not allow it, 4 if a ledger was tampered with, 1 for all else.
func ExitCode(err error) int {
	var source *table.Error
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ledger.ErrBudget):
		return 3
	case is[*ledger.TamperedError](err), is[*ledger.OverspentError](err):
		return 4
	case is[UsageError](err), is[*plan.InputError](err), is[*sotto.FolderError](err), is[*table.RefusedError](err),
		is[*schema.InvalidError](err), is[*schema.UnknownError](err), is[*privacy.ParameterError](err), is[*accountant.UnsupportedError](err),
		is[*ledger.InputError](err), is[*ledger.MismatchError](err), is[*ledger.KeyError](err), is[*ledger.UnknownDatasetError](err), is[*ledger.ExistsError](err),
		is[*ledger.OverlapError](err), is[*ledger.KeyIDError](err),
		errors.Is(err, ledger.ErrMissing), errors.Is(err, fs.ErrNotExist),
		errors.As(err, &source) && source.Code != table.Unreadable && source.Code != table.Changed:
		return 2
	}
	return 1
}
