// Package request reads what a job asks for into the flags of a verb.
//
// A request is the struct that a verb's flags are read into. Those of its fields that have a tag, as in
//
//	epsilon number `job:"epsilon,shown"`
//
// are what a job may ask for, by the name of the flag; all others belong to the one who carries it out, so
// that a job cannot have them. Who may see jobs also sees fields that are shown, and of those that are
// named, which are files mostly, the last part. The tag * stands for settings of methods.
package request

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

// verbs are the verbs that can be jobs, with what --out is called in a job's folder; "" if they
// write nothing.
var verbs = map[string]string{
	"synth": releaseDir, "learn": releaseDir, "table profile": releaseDir, "table perturb": releaseDir,
	"answer": "answers.jsonl", "eval private": releaseDir, "eval": "", "rehearse": "",
}

// releaseDir is the folder of a job's release, in the job's own.
const releaseDir = "out"

// Verbs are those that can be jobs.
func Verbs() []string { return slices.Sorted(maps.Keys(verbs)) }

// Call is a verb with a request that a job can have, no matter who made it: a command line, the
// dashboard, or the store.
type Call struct {
	verb    string
	Command *cobra.Command
	// Request is what the verb's flags are read into, and Fields those of it that a job may have.
	Request any
	Fields  []Field
	// Args of the verb.
	Args []string
}

// Find finds the verb that words begin with: its command, whose flags are read into request, and the words
// after it. It fails, or cmd has no parent, where there is no verb.
type Find func(words []string) (cmd *cobra.Command, request any, rest []string, err error)

// New is the verb that words begin with, with an empty request, and what comes after it.
func New(find Find, words []string) (*Call, []string, error) {
	cmd, of, rest, err := find(words)
	if err != nil || !cmd.HasParent() {
		return nil, nil, ErrNoVerb()
	}
	_, verb, _ := strings.Cut(cmd.CommandPath(), " ")
	if _, known := verbs[verb]; !known {
		return nil, nil, ui.Usage("%s cannot be a job: one of %s can", verb, strings.Join(Verbs(), ", "))
	}
	return &Call{verb: verb, Command: cmd, Request: of, Fields: fieldsOf(of, cmd)}, rest, nil
}

// ErrNoVerb is about a job of nothing.
func ErrNoVerb() error {
	return ui.Usage("a job needs a verb, as in sotto job add synth --task T: one of %s", strings.Join(Verbs(), ", "))
}

// Parse reads a job's request from a command line.
func Parse(find Find, args []string) (*Call, error) {
	c, rest, err := New(find, args)
	if err != nil {
		return nil, err
	}
	if err := c.Command.ParseFlags(rest); err != nil {
		return nil, ui.Usage("%w", err)
	}
	c.Args = c.Command.Flags().Args()
	if s := settings.Of(c.Command); s != nil {
		if err := s.Read(c.Command); err != nil {
			return nil, err
		}
	}
	return c, c.Check()
}

// Read reads it from a job.
func Read(find Find, w jobs.Work) (*Call, error) {
	c, rest, err := New(find, strings.Fields(w.Verb))
	if err != nil {
		return nil, err
	}
	if c.verb != w.Verb || len(rest) > 0 {
		return nil, ui.Usage("there is no verb %q", w.Verb)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Request)) {
		if err := c.set(name, w.Request[name]); err != nil {
			return nil, ui.Usage("the job's request: %s %w", name, err)
		}
	}
	return c, c.Check()
}

// Check refuses what a job cannot ask for, wherever it comes from. What is no field of the request
// cannot be asked at all: who pays and signs, which server sees records, what is written where, seeds,
// and methods that have no privacy guarantee.
func (c *Call) Check() (err error) {
	if err := c.Command.ValidateArgs(c.Args); err != nil {
		return err
	}
	settings.Visit(c.Command, func(f *pflag.Flag) {
		switch value := f.Value.String(); {
		case err != nil || !given(f):
		case !slices.ContainsFunc(c.Fields, func(d Field) bool { return d.Name == f.Name }):
			err = ui.Usage("a job cannot have %s: it says what is asked for, of which records, and the rest is decided where it is carried out", ui.If(c.Command.Flags().Lookup(f.Name) == f, "--")+f.Name)
		case f.Name == "model" && config.IsURL(value):
			err = ui.Usage("a job cannot name a server as its model: the worker's configuration says which server sees records")
		case value == "-":
			err = ui.Usage("--%s - reads standard input, which a job does not have: name a file", f.Name)
		case config.IsURL(value):
			err = ui.AsUsage(config.WithoutPassword(value, config.KeptInStore))
		}
	})
	switch {
	case err != nil:
		return err
	case c.verb == "answer" && !given(c.Command.Flags().Lookup("inputs")):
		return ui.Usage("a job that answers needs --inputs, a file of questions; one question is quickly asked: sotto answer --input")
	}
	return nil
}

// Work is the request as a job keeps it, without a plan.
func (c *Call) Work() jobs.Work {
	w := jobs.Work{Verb: c.verb, Request: map[string]json.RawMessage{}}
	for _, d := range c.Fields {
		f := settings.Flag(c.Command, d.Name)
		if !given(f) {
			continue
		}
		w.Request[d.Name] = encoded(f)
		switch value := f.Value.String(); d.Shown {
		case "shown":
			w.Shown = append(w.Shown, [2]string{d.Name, value})
		case "named":
			w.Shown = append(w.Shown, [2]string{d.Name, filepath.Base(strings.Trim(value, "[]"))})
		}
	}
	return w
}

// set reads a field of a request.
func (c *Call) set(name string, value json.RawMessage) error {
	if !slices.ContainsFunc(c.Fields, func(d Field) bool { return d.Name == name }) {
		return fmt.Errorf("is nothing that a job of %s can ask for", c.verb)
	}
	return decodeField(settings.Flag(c.Command, name), value)
}

// Charges reports whether the verb charges a budget, so that its plan is approved first. What it prints
// is private by itself. Others measure exactly, and what they print may be seen if their data is public.
func (c *Call) Charges() bool {
	return c.verb != "eval" && c.verb != "rehearse"
}

// run carries the verb out, with its result in a folder, once the plan was approved; or makes it, if
// there is none yet.
func (c *Call) run(ctx context.Context, out string, plan *sotto.Approval) error {
	if name := verbs[c.verb]; name != "" {
		if err := c.Command.Flags().Set("out", filepath.Join(out, name)); err != nil {
			return err
		}
	}
	if c.Charges() {
		c.Request.(interface{ Approve(*sotto.Approval) }).Approve(plan)
	}
	c.Command.SetContext(ctx)
	return c.Command.RunE(c.Command, c.Args)
}

// Title is what a job is called if nobody gave it a name.
func (c *Call) Title() string {
	parts := []string{c.verb}
	for _, name := range []string{"task", "schema", "epsilon"} {
		if f := c.Command.Flags().Lookup(name); f != nil && given(f) {
			parts = append(parts, ui.If(name == "epsilon", "ε = ")+filepath.Base(f.Value.String()))
		}
	}
	return strings.Join(parts, " ")
}
