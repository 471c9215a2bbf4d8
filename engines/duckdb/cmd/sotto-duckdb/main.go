//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"sotto"
	"sotto/plan"
	"sotto/privacy"
	"sotto/privacy/accountant"
	"sotto/privacy/ledger"
	"sotto/private/table"
	"sotto/schema"
)

// version is set when a release is built.
var version = "development"

const usage = `sotto-duckdb profile --schema S --data F.duckdb --table T --size N --epsilon E --out DIR --ledger L [flags]
sotto-duckdb perturb --schema S --data F.duckdb --table T --epsilon E --out DIR --ledger L [flags]

--query SQL takes the rows of a query in place of --table. The same command goes on with
a run that was interrupted. Exit codes are those of sotto: 2 if what was asked for is
wrong, 3 if a budget does not allow it, 4 if a ledger was tampered with, 1 for all else.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the next one ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute does what args say, and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	r := &request{stdout: stdout, stderr: stderr}
	done, err := r.do(ctx, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err == nil && r.json:
		err = writeJSON(stdout, done)
	case err == nil:
		done.tell(stdout)
	}
	if err == nil {
		return 0
	}
	code := exitCode(err)
	if r.json {
		_ = writeJSON(stdout, failure{err.Error(), code}) // the exit code tells too
	}
	fmt.Fprintln(stderr, "sotto-duckdb:", err)
	return code
}

func (r *request) do(ctx context.Context, args []string) (*result, error) {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	f := flag.NewFlagSet("sotto-duckdb "+verb, flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are told once, by execute
	f.Usage = func() {}
	r.add(f)
	do := r.perturb
	switch verb {
	case "profile":
		r.addProfile(f)
		do = r.profile
	case "perturb":
		f.StringVar(&r.split, "split", "", "how ε is divided over columns: equal or optimal (default equal)")
	case "help", "-h", "-help", "--help":
		fmt.Fprint(r.stdout, usage)
		return nil, flag.ErrHelp
	default:
		return nil, wrong("say what to do, profile or perturb, and then flags (--help lists them)")
	}
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(r.stdout, usage, "\n")
		f.SetOutput(r.stdout)
		f.PrintDefaults()
		return nil, err
	case err != nil:
		return nil, usageError{err}
	}
	if f.NArg() > 0 {
		return nil, wrong("%q is no flag: after the verb all arguments are flags", f.Arg(0))
	}
	return do(ctx)
}

// usageError is about the command line.
type usageError struct{ error }

func wrong(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

type failure struct {
	Error string `json:"error"`
	Code  int    `json:"code"`
}

func writeJSON(w io.Writer, of any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(of)
}

func is[T error](err error) bool {
	var t T
	return errors.As(err, &t)
}

// exitCode is the class of an error, as sotto has them.
func exitCode(err error) int {
	var source *table.Error
	switch {
	case errors.Is(err, ledger.ErrBudget):
		return 3
	case is[*ledger.TamperedError](err), is[*ledger.OverspentError](err):
		return 4
	case is[usageError](err), is[*plan.InputError](err), is[*sotto.FolderError](err), is[*table.RefusedError](err),
		is[*schema.InvalidError](err), is[*schema.UnknownError](err), is[*privacy.ParameterError](err), is[*accountant.UnsupportedError](err),
		is[*ledger.InputError](err), is[*ledger.MismatchError](err), is[*ledger.KeyError](err), is[*ledger.UnknownDatasetError](err),
		errors.Is(err, ledger.ErrMissing), errors.Is(err, fs.ErrNotExist),
		errors.As(err, &source) && source.Code != table.Unreadable && source.Code != table.Changed:
		return 2
	}
	return 1
}
