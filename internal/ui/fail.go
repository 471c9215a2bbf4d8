package ui

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// failure is what programs get about an error.
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

// Fail reports an error to people, and to programs unless a result reports it, and returns
// the exit code. A command, if given, is where the user finds help about wrong usage.
func (t *Terminal) Fail(program, command string, err error) int {
	code := ExitCode(err)
	text, expr, offset := describe(err)
	if t.JSON && !Is[ReportedError](err) {
		f := failure{Error: Outline(err), Code: code}
		if expr != "" {
			f.Expression, f.Column = expr, utf8.RuneCountInString(expr[:offset])+1
		}
		var tampered *ledger.TamperedError
		if errors.As(err, &tampered) {
			f.Row = tampered.Seq
		}
		errors.As(err, &f.Refused)
		_ = t.WriteJSON(f) // the exit code says so too
	}
	fmt.Fprintf(t.Stderr, "%s: %s\n", program, text)
	if expr != "" {
		fmt.Fprintf(t.Stderr, "\n%s\n", caret(expr, offset))
	}
	if (Is[UsageError](err) || code == Wrong && expr == "" && !Actionable(text)) && !Is[ReportedError](err) && command != "" {
		fmt.Fprintf(t.Stderr, "Run \"%s --help\" for usage.\n", command)
	}
	return code
}

// outliner is an error that says which records it is about, or how many, and can do without.
type outliner interface {
	error
	Outline() string
}

// Outline returns what programs read about an error, which may be kept and handed on: what people
// read, who have to find the records, without which they are and how many.
func Outline(err error) string {
	text := Describe(err)
	if errors.Is(err, context.Canceled) {
		return text
	}
	for _, e := range outlines(err) {
		whole, outline := e.Error(), e.Outline()
		switch {
		case whole == outline:
		case strings.Contains(text, whole):
			text = strings.ReplaceAll(text, whole, outline)
		default: // in other words, which may have them too
			return outline
		}
	}
	return text
}

// outlines are the errors in a tree that have an outline, without those within them.
func outlines(err error) []outliner {
	if e, is := err.(outliner); is {
		return []outliner{e}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			return outlines(cause)
		}
	case interface{ Unwrap() []error }:
		var all []outliner
		for _, cause := range e.Unwrap() {
			all = append(all, outlines(cause)...)
		}
		return all
	}
	return nil
}

// Describe returns what people read about an error.
func Describe(err error) string {
	text, _, _ := describe(err)
	return text
}

// action is a flag, or a command of sotto.
var action = regexp.MustCompile(`--[a-z]|\bsotto [a-z]`)

// Actionable reports whether a message names a flag or a command, so that its reader knows what to do next.
func Actionable(text string) bool { return action.MatchString(text) }

// describe gives the text of an error, and the place in an expression that it is
// about, if it is about one.
func describe(err error) (text, expr string, offset int) {
	var (
		setting     *plan.InputError
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
	case errors.As(err, &setting) && setting.Option != "" && strings.HasPrefix(setting.Reason, setting.Option):
		return strings.ReplaceAll(setting.Option, "_", "-") + strings.TrimPrefix(setting.Reason, setting.Option), "", 0
	default:
		text = err.Error()
		return text + If(!Actionable(text), byFlag(err)), "", 0
	}
	if expr != "" {
		text = fmt.Sprintf("column %d: %s", utf8.RuneCountInString(expr[:offset])+1, text)
	}
	return text, expr, offset
}

// optionFlags are the flags of options that errors of the library name.
var optionFlags = map[string]string{
	"NonPrivate": "--non-private", "StandIn": "--stand-in", "Answers": "--answers", "Dataset": "--dataset",
	"Epsilon": "--epsilon E", "Delta": "--delta D", "Size": "--size N", "Method": "--method NAME", "Sampler": "sampler=NAME",
	"Batch": "--set batch=N, --set prompts=N, or a larger --size if there are more", "Sizes": "--set label-size=LABEL=N", "Shots": "--shots N",
	"Inputs": "--inputs FILE", "Labels": "--inputs FILE, or --set discover-labels",
}

// byFlag names the flag that would help, in brackets.
func byFlag(err error) string {
	var input *plan.InputError
	if errors.As(err, &input) && optionFlags[input.Option] != "" {
		return " (" + optionFlags[input.Option] + ")"
	}
	return ""
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
