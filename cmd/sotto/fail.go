package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/bounded"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/record"
	tabular "github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/stream"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/gguf"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/lm/safetensors"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Exit codes, as the help lists them.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitRefused    = 3
	exitUnverified = 4
)

// usageError is about the command line, the configuration, or what they name.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// unverified says that something signed or sealed is not what it should be.
type unverified struct{ error }

func (e unverified) Unwrap() error { return e.error }

// reported is the error of a verb whose result has been printed, and tells that
// something does not hold. Within a usageError it is about what the user wrote.
type reported struct{ error }

// partial is the error of a verb whose result has been printed, and lacks some of what
// was asked for.
type partial struct{ error }

func (e partial) Unwrap() error { return e.error }

// is reports whether an error of type T is in the chain of err.
func is[T error](err error) bool {
	var t T
	return errors.As(err, &t)
}

// exitCode is the class of an error.
func exitCode(err error) int {
	switch {
	case errors.Is(err, ledger.ErrBudget):
		return exitRefused
	case is[usageError](err) && is[reported](err):
		return exitUsage
	case is[partial](err):
		return exitFailed
	case is[*models.PullError](err):
		return exitFailed // though one source may have sent something wrong
	case is[*models.HashError](err), is[*models.ChangedError](err),
		is[reported](err), is[unverified](err), is[*ledger.TamperedError](err), is[*ledger.OverspentError](err):
		return exitUnverified
	case is[usageError](err),
		is[*privacy.SyntaxError](err),
		is[*privacy.ParameterError](err),
		is[*accountant.UnsupportedError](err),
		errors.Is(err, ledger.ErrMissing),
		is[*ledger.InputError](err),
		is[*ledger.UnknownDatasetError](err),
		is[*ledger.UnknownChargeError](err),
		is[*ledger.MismatchError](err),
		is[*ledger.KeyError](err),
		is[*ledger.ExistsError](err),
		is[*ledger.OverlapError](err),
		is[*ledger.KeyIDError](err),
		is[*ledger.UnprovenError](err),
		is[*models.MissingError](err),
		is[*models.UnknownError](err),
		is[*models.RequestError](err),
		is[*backend.UntrustedError](err),
		is[*lm.ContextError](err),
		is[*lm.FileError](err),
		is[*gguf.FormatError](err),
		is[*safetensors.FormatError](err),
		is[*bounded.Error](err),
		is[*lm.StepError](err),
		is[*lm.UnsupportedError](err),
		is[*plan.InputError](err),
		is[*eval.ItemError](err),
		is[*sotto.FolderError](err),
		is[*record.MalformedError](err),
		is[*tabular.RefusedError](err),
		is[*stream.RowError](err),
		is[*schema.InvalidError](err),
		is[*schema.UnknownError](err),
		unusable(err),
		is[*prompt.InvalidError](err),
		is[*prompt.UnknownError](err),
		errors.Is(err, fs.ErrNotExist):
		return exitUsage
	}
	return exitFailed
}

// unusable reports whether a source of records is not what the user should have named.
func unusable(err error) bool {
	var e *record.Error
	return errors.As(err, &e) && e.Code != record.Unreadable && e.Code != record.Changed
}

// failure is what --json prints about an error.
type failure struct {
	Error string `json:"error"`
	Code  int    `json:"code"`
	// Expression and Column say where in an event it is wrong, Column from 1.
	Expression string `json:"expression,omitempty"`
	Column     int    `json:"column,omitempty"`
	// Refused has the numbers of a budget.
	Refused *ledger.RefusedError `json:"refused,omitempty"`
	// Row is the first row of a ledger that was tampered with.
	Row int64 `json:"row,omitempty"`
}

// fail tells of an error, and returns the exit code.
func (p *program) fail(cmd *cobra.Command, err error) int {
	code := exitCode(err)
	text, expr, offset := describe(err)
	if p.json && !is[reported](err) {
		f := failure{Error: text, Code: code}
		if expr != "" {
			f.Expression, f.Column = expr, utf8.RuneCountInString(expr[:offset])+1
		}
		var tampered *ledger.TamperedError
		if errors.As(err, &tampered) {
			f.Row = tampered.Seq
		}
		errors.As(err, &f.Refused)
		p.writeJSON(f)
	}
	fmt.Fprintf(p.stderr, "sotto: %s\n", text)
	if expr != "" {
		fmt.Fprintf(p.stderr, "\n%s\n", caret(expr, offset))
	}
	if is[usageError](err) && !is[reported](err) && cmd != nil {
		fmt.Fprintf(p.stderr, "Run \"%s --help\" for usage.\n", cmd.CommandPath())
	}
	return code
}

// describe gives the text of an error, and the place in an expression that it is
// about, if it is about one.
func describe(err error) (text, expr string, offset int) {
	var (
		syntax      *privacy.SyntaxError
		parameter   *privacy.ParameterError
		unsupported *accountant.UnsupportedError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted", "", 0
	case errors.As(err, &syntax):
		text, expr, offset = syntax.Msg, syntax.Expr, syntax.Offset
	case errors.As(err, &parameter):
		text, expr, offset = parameter.Node+": "+parameter.Msg, parameter.Expr, parameter.Offset
	case errors.As(err, &unsupported):
		text = fmt.Sprintf("the %s accountant cannot handle %s: %s", unsupported.Accountant, unsupported.Node, unsupported.Reason)
		expr, offset = unsupported.Expr, unsupported.Offset
	default:
		return err.Error(), "", 0
	}
	if expr != "" {
		text = fmt.Sprintf("column %d: %s", utf8.RuneCountInString(expr[:offset])+1, text)
	}
	return text, expr, offset
}

// caret shows the part of an expression around an offset, with a mark below.
func caret(expr string, offset int) string {
	const width, indent = 72, 2
	before := []rune(strings.Map(oneColumn, strings.ToValidUTF8(expr[:offset], "?")))
	after := []rune(strings.Map(oneColumn, strings.ToValidUTF8(expr[offset:], "?")))
	if over := len(before) - width*2/3; over > 0 && len(before)+len(after) > width {
		before = append([]rune("…"), before[over:]...)
	}
	if room := width - len(before); len(after) > room {
		after = append(after[:room], '…')
	}
	pad := strings.Repeat(" ", indent)
	return pad + string(before) + string(after) + "\n" + pad + strings.Repeat(" ", len(before)) + "^"
}

// oneColumn keeps an expression on one line, each character one column wide.
func oneColumn(r rune) rune {
	if r < ' ' || r == '\u007f' {
		return ' '
	}
	return r
}
