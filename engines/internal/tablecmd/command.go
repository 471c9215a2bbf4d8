// Package tablecmd is what the programs of engines share: the verbs profile and perturb,
// with the flags, the places and the exit codes of "sotto table".
//
// A program adds where its rows come from, and nothing that decides about privacy: all of
// it goes through sotto.Client, and so through package run.
package tablecmd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/ui"
)

// Verbs.
const (
	Profile = "profile"
	Perturb = "perturb"
)

// Command is a program of an engine.
type Command struct {
	// Name of the program, and the text that its help begins with.
	Name, Usage string
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

// Execute runs the verb that args name, and returns the exit code.
func (c *Command) Execute(ctx context.Context, t *ui.Terminal, args []string) int {
	r := &request{Command: c, Terminal: t}
	done, err := r.do(ctx, args)
	if err == nil && done != nil {
		err = t.Emit(done)
	}
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return ui.Done
	}
	return t.Fail(c.Name, "", err)
}

func (r *request) do(ctx context.Context, args []string) (*result, error) {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	switch verb {
	case Profile, Perturb:
	case "help", "-h", "-help", "--help":
		fmt.Fprint(r.Stdout, r.Usage)
		return nil, flag.ErrHelp
	default:
		return nil, ui.Usage("say what to do, profile or perturb, and then flags (--help lists them)")
	}
	f := r.flags(verb)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(r.Stdout, r.Usage, "\n")
		f.SetOutput(r.Stdout)
		f.PrintDefaults()
		return nil, err
	case err != nil:
		return nil, ui.AsUsage(err)
	}
	if f.NArg() > 0 {
		return nil, ui.Usage("%q is no flag: after the verb all arguments are flags", f.Arg(0))
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
	f.SetOutput(io.Discard) // Execute reports errors, once
	f.Usage = func() {}
	r.add(f, verb)
	if r.Add != nil {
		r.Add(verb, f)
	}
	return f
}
