// Package tablecmd is what the programs of engines share: the verbs profile and perturb,
// with the flags, the places and the exit codes of "sotto table".
//
// A program adds where its rows come from, and nothing that decides about privacy: all of
// it goes through sotto.Profile and sotto.Perturb, and so through package run.
package tablecmd

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
)

// Verbs.
const (
	Profile = "profile"
	Perturb = "perturb"
)

// Command is a program of an engine.
type Command struct {
	// Name of the program, its version, and the text that its help begins with.
	Name, Version, Usage string
	// Flags of the program, to which those of this package are added; nil makes new ones.
	Flags *flag.FlagSet
	// Data says what --data is.
	Data string
	// Add adds flags of the engine, if there are any.
	Add func(verb string, f *flag.FlagSet)
	// Parsed, if set, is called once the flags are read. It may refuse them.
	Parsed func(f *flag.FlagSet) error
	// Source makes a table of the flags, with what people call it, if they do.
	Source func(data string) (_ sotto.TableSource, name string, err error)
	// Measure, if set, may do something else with a plan than to carry it out: it returns
	// false if it was not asked to.
	Measure func(ctx context.Context, p *plan.Profile, l *plan.Local, stderr io.Writer) (bool, error)
}

// Execute does what args say, and returns the exit code.
func (c *Command) Execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	r := &request{Command: c, stdout: stdout, stderr: stderr}
	done, err := r.do(ctx, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err == nil && done == nil:
		return 0
	case err == nil && r.json:
		err = writeJSON(stdout, done)
	case err == nil:
		done.tell(stdout)
	}
	if err == nil {
		return 0
	}
	code := ExitCode(err)
	if r.json {
		_ = writeJSON(stdout, failure{err.Error(), code}) // the exit code tells too
	}
	fmt.Fprintf(stderr, "%s: %v\n", c.Name, err)
	return code
}

func (r *request) do(ctx context.Context, args []string) (*result, error) {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	switch verb {
	case Profile, Perturb:
	case "help", "-h", "-help", "--help":
		fmt.Fprint(r.stdout, r.Usage)
		return nil, flag.ErrHelp
	default:
		return nil, Wrong("say what to do, profile or perturb, and then flags (--help lists them)")
	}
	f := r.flags(verb)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(r.stdout, r.Usage, "\n")
		f.SetOutput(r.stdout)
		f.PrintDefaults()
		return nil, err
	case err != nil:
		return nil, UsageError{err}
	}
	if f.NArg() > 0 {
		return nil, Wrong("%q is no flag: after the verb all arguments are flags", f.Arg(0))
	}
	if r.Parsed != nil {
		if err := r.Parsed(f); err != nil {
			return nil, err
		}
	}
	r.given = map[string]bool{}
	f.Visit(func(f *flag.Flag) { r.given[f.Name] = true })
	if verb == Profile {
		return r.profile(ctx)
	}
	return r.perturb(ctx)
}

func (r *request) flags(verb string) *flag.FlagSet {
	f := r.Flags
	if f == nil {
		f = flag.NewFlagSet("", flag.ContinueOnError)
	}
	f.Init(r.Name+" "+verb, flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are told once, by Execute
	f.Usage = func() {}
	r.add(f, verb)
	if r.Add != nil {
		r.Add(verb, f)
	}
	return f
}

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
