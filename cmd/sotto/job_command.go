package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
)

// jobVerbs are the verbs that can be jobs, with what --out is called in a job's folder; "" if they
// write nothing.
var jobVerbs = map[string]string{
	"synth": jobOut, "choose": jobOut, "learn": jobOut, "table profile": jobOut, "table perturb": jobOut,
	"answer": "answers.jsonl", "eval private": jobOut, "eval": "", "rehearse": "",
}

// jobOut is the folder of a job's release, in the job's own.
const jobOut = "out"

func jobNames() []string { return slices.Sorted(maps.Keys(jobVerbs)) }

// jobCall is a verb with a request that a job can have, no matter who made it: a command line, the
// dashboard, or the store.
type jobCall struct {
	verb string
	cmd  *cobra.Command
	// request is what the verb's flags are read into. Its fields are those that a job may have.
	request any
	fields  []field
	// args of the verb.
	args []string
}

// newJobCall is the verb that words begin with, with an empty request, and what comes after it.
func newJobCall(p *program, words []string) (*jobCall, []string, error) {
	root := newRootCommand(p)
	cmd, rest, err := root.Find(literalPrivate(words))
	if err != nil || cmd == root {
		return nil, nil, usage("a job needs a verb, as in sotto job add synth --task T: one of %s", strings.Join(jobNames(), ", "))
	}
	c := &jobCall{verb: strings.TrimPrefix(cmd.CommandPath(), root.Name()+" "), cmd: cmd, request: p.requests[cmd]}
	if _, known := jobVerbs[c.verb]; !known {
		return nil, nil, usage("%s cannot be a job: one of %s can", c.verb, strings.Join(jobNames(), ", "))
	}
	c.fields = fieldsOf(c.request, cmd.Flags())
	return c, rest, nil
}

// parseJob reads a job's request from a command line.
func parseJob(args []string) (*jobCall, error) {
	c, rest, err := newJobCall(&program{}, args)
	if err != nil {
		return nil, err
	}
	if err := c.cmd.ParseFlags(rest); err != nil {
		return nil, usage("%w", err)
	}
	c.args = c.cmd.Flags().Args()
	return c, c.check()
}

// readJob reads it from a job. The verb belongs to p, whose own flags stay as they are.
func (p *program) readJob(w jobs.Work) (*jobCall, error) {
	places, printing, verbose := p.places, p.JSON, p.Verbose
	c, rest, err := newJobCall(p, strings.Fields(w.Verb))
	p.places, p.JSON, p.Verbose = places, printing, verbose
	if err != nil {
		return nil, err
	}
	if c.verb != w.Verb || len(rest) > 0 {
		return nil, usage("there is no verb %q", w.Verb)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Request)) {
		if err := c.set(name, w.Request[name]); err != nil {
			return nil, usage("the job's request: %s %w", name, err)
		}
	}
	return c, c.check()
}

// check refuses what a job cannot ask for, wherever it comes from. What is no field of the request
// cannot be asked at all: who pays and signs, which server sees records, what is written where, seeds,
// and methods that have no privacy guarantee.
func (c *jobCall) check() (err error) {
	if err := c.cmd.ValidateArgs(c.args); err != nil {
		return err
	}
	c.cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch value := f.Value.String(); {
		case err != nil || !given(f):
		case !slices.ContainsFunc(c.fields, func(d field) bool { return d.name == f.Name }):
			err = usage("a job cannot have --%s: it says what is asked for, of which records, and the rest is decided where it is carried out", f.Name)
		case f.Name == "model" && config.IsURL(value):
			err = usage("a job cannot name a server as its model: the worker's configuration says which server sees records")
		case value == "-":
			err = usage("--%s - reads standard input, which a job does not have: name a file", f.Name)
		case config.IsURL(value):
			err = withoutPassword(value, keptInStore)
		}
	})
	switch {
	case err != nil:
		return err
	case c.verb == "answer" && !given(c.cmd.Flags().Lookup("inputs")):
		return usage("a job that answers needs --inputs, a file of questions; one question is quickly asked: sotto answer --input")
	}
	return nil
}

// work is the request as a job keeps it, without a plan.
func (c *jobCall) work() jobs.Work {
	w := jobs.Work{Verb: c.verb, Request: map[string]json.RawMessage{}}
	for _, d := range c.fields {
		f := c.cmd.Flags().Lookup(d.name)
		if !given(f) {
			continue
		}
		w.Request[d.name] = encoded(f)
		switch value := f.Value.String(); d.shown {
		case "shown":
			w.Shown = append(w.Shown, [2]string{d.name, value})
		case "named":
			w.Shown = append(w.Shown, [2]string{d.name, filepath.Base(strings.Trim(value, "[]"))})
		}
	}
	return w
}

// set reads a field of a request.
func (c *jobCall) set(name string, value json.RawMessage) error {
	if !slices.ContainsFunc(c.fields, func(d field) bool { return d.name == name }) {
		return fmt.Errorf("is nothing that a job of %s can ask for", c.verb)
	}
	return decodeField(c.cmd.Flags(), name, value)
}

// charges reports whether the verb charges a budget, so that its plan is approved first. What it prints
// is private by itself. Others measure exactly, and what they print may be seen if their data is public.
func (c *jobCall) charges() bool {
	return c.verb != "eval" && c.verb != "rehearse"
}

// run carries the verb out, with its result in a folder, once the plan was approved; or makes it, if
// there is none yet.
func (c *jobCall) run(ctx context.Context, out string, plan *sotto.Approval) error {
	if name := jobVerbs[c.verb]; name != "" {
		if err := c.cmd.Flags().Set("out", filepath.Join(out, name)); err != nil {
			return err
		}
	}
	if c.charges() {
		c.request.(interface{ approve(*sotto.Approval) }).approve(plan)
	}
	c.cmd.SetContext(ctx)
	return c.cmd.RunE(c.cmd, c.args)
}

// planJob adds to a job the plan that its worker would make here and now. No record is read.
func (p *program) planJob(ctx context.Context, w *jobs.Work) error {
	c, err := (&program{Terminal: ui.Terminal{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: p.Stderr}, places: p.places}).readJob(*w)
	if err != nil || !c.charges() {
		return err
	}
	out, err := os.MkdirTemp("", "sotto-plan-")
	if err != nil {
		return fmt.Errorf("make a folder to plan in: %w", err)
	}
	defer func() { _ = os.RemoveAll(out) }() // it is empty
	var plan sotto.Approval
	if err := c.run(ctx, out, &plan); !errors.Is(err, sotto.ErrUnapproved) {
		return cmp.Or(err, errors.New("the verb has no plan to approve"))
	}
	w.Approval = &plan
	return nil
}

// newJobCarryOutCommand is what a worker runs for a job, which comes on standard input.
func newJobCarryOutCommand(p *program) *cobra.Command {
	var out, as string
	cmd := &cobra.Command{
		Use: "carry-out", Short: "Carry out the job on standard input, for workers", Hidden: true,
		Long: `Carries out a job as the store keeps it, which comes on standard input. Workers
run it in the job's directory.

Keys of --json: those of the job's verb.`,
		Example: "  sotto job carry-out --json --out jobs/3fq2kx9a0b1c",
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := io.ReadAll(p.Stdin)
			if err != nil {
				return fmt.Errorf("read the job: %w", err)
			}
			w, err := jobs.ReadWork(data)
			if err != nil {
				return ui.AsUsage(err)
			}
			c, err := p.readJob(w)
			if err != nil {
				return err
			}
			if c.charges() && (w.Approval == nil || len(w.Approval.Plan) == 0) {
				return usage("the job has no plan that somebody approved: add it again")
			}
			if as != "" {
				if err := c.cmd.Flags().Set("as", as); err != nil {
					return err
				}
			}
			return c.run(cmd.Context(), out, w.Approval)
		},
	}
	cmd.Flags().StringVar(&out, "out", ".", "the job's `DIR`")
	cmd.Flags().StringVar(&as, "as", "", "the `DATASET` that an upload was assigned to")
	return cmd
}

// title is what a job is called if nobody gave it a name.
func (c *jobCall) title() string {
	parts := []string{c.verb}
	for _, name := range []string{"task", "schema", "epsilon"} {
		if f := c.cmd.Flags().Lookup(name); f != nil && given(f) {
			parts = append(parts, ui.If(name == "epsilon", "ε = ")+filepath.Base(f.Value.String()))
		}
	}
	return strings.Join(parts, " ")
}

// Parts of results that everybody may see who may see jobs: of runs with a guarantee what they
// release and what it costs, and of others, where all data is public, what they measure. Warnings,
// places, and what depends on who was drawn are in neither.
var (
	releasedParts = strings.Fields(`private event epsilon delta adjacency unit guarantee drawn charge files method claim count_epsilon discover_epsilon
		ending ending_epsilon texts chosen model worth model_tokens_planned schema profiles rows keep_probability metric task asked size noise_scale
		value low high comparisons`)
	measuredParts = strings.Fields(`metric value low high n task model how calibrated rows comparisons ok rehearsal items
		gains method epsilon delta chosen texts`)
)

// jobCommand is what a worker runs for a job of a store.
func (p *program) jobCommand(ctx context.Context, s *store.Store, j *store.Job, place string) (jobs.Command, error) {
	w, err := jobs.ReadWork(j.Work)
	if err != nil {
		return jobs.Command{}, err
	}
	c, err := (&program{}).readJob(w)
	if err != nil {
		return jobs.Command{}, err
	}
	as, err := c.assigned(ctx, s, j.Dir)
	if err != nil {
		return jobs.Command{}, err
	}
	self := p.self
	if self == "" {
		if self, err = os.Executable(); err != nil {
			return jobs.Command{}, fmt.Errorf("find the program itself: %w", err)
		}
	}
	out := jobs.Command{Args: slices.Concat([]string{self, "job", "carry-out", "--json", "--out", place}, as), Input: j.Work}
	switch {
	case c.charges():
		out.Published = releasedParts
	case j.Open:
		out.Published = measuredParts
	}
	return out, nil
}

// forJobs reports whether a job gets a variable of this process: what programs need to run and to
// reach records, and not keys of other servers.
func (p *program) forJobs(name string) bool {
	if settings, err := p.configured(); err == nil {
		if name == settings.Model.KeyEnv {
			return true
		}
		if settings.OIDC != nil && name == settings.OIDC.SecretEnv {
			return false
		}
		for _, u := range settings.Upstreams {
			if name == u.KeyEnv {
				return false
			}
		}
	}
	if name == "SOTTO_STORE" {
		return false
	}
	return slices.Contains([]string{"PATH", "HOME", "USER", "TMPDIR", "TMP", "TEMP", "TZ", "LANG", "SystemRoot", "APPDATA", "LOCALAPPDATA", "USERPROFILE"}, name) ||
		slices.ContainsFunc([]string{"LC_", "XDG_", "PG", "SOTTO_", "SSL_CERT_", "GO"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// jobEnvironment is that of a job: some of this process, and the places that this process has. They
// are named in full: a job works in the directory of the one who added it, where relative paths and the
// defaults of another user would lead elsewhere.
func (p *program) jobEnvironment() (env []string, err error) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); p.forJobs(name) {
			env = append(env, v)
		}
	}
	for _, place := range []struct {
		name string
		find func() (string, error)
	}{
		{config.LedgerVariable, p.ledgerAddress},
		{config.KeysVariable, p.keysDir},
		{config.PrivateVariable, p.privateDir},
		{config.FileVariable, func() (string, error) { return cmp.Or(p.places.File, os.Getenv(config.FileVariable)), nil }},
	} {
		value, err := place.find()
		if err != nil {
			return nil, err
		}
		if value != "" && !config.IsURL(value) {
			if value, err = filepath.Abs(value); err != nil {
				return nil, fmt.Errorf("name %s in full for jobs: %w", place.name, err)
			}
		}
		if value != "" {
			env = append(env, place.name+"="+value)
		}
	}
	return env, nil
}
