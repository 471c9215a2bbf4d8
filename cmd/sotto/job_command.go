package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/serve/store"
)

// jobVerbs are the verbs that can be jobs, with what --out is called in a job's folder; "" if they
// write nothing.
var jobVerbs = map[string]string{
	"synth": jobOut, "choose": jobOut, "table profile": jobOut, "table perturb": jobOut,
	"answer": "answers.jsonl", "eval private": jobOut, "eval": "", "eval suite": jobOut, "rehearse": "",
}

// jobOut is the folder of a job's release, in the job's own.
const jobOut = "out"

// notInJobs are flags that whoever runs the worker decides about, with the reason.
var notInJobs = map[string]string{
	"out": "a job has a folder of its own", "json": "a worker reads what is printed", "verbose": "a worker reads what is printed",
	"ledger": "the worker's ledger pays", "keys": "the worker's keys sign", "private": "the worker has the key by which data sets are known", "config": "the worker has a configuration", "store": "the job is in one",
	"seed": "what comes out would not be private", "non-private": "what comes out would not be private",
	"list": "that is quickly done here", "dry-run": "that is quickly done here",
}

// jobCall is a verb with its flags, as a job has them.
type jobCall struct {
	verb string
	// words of the verb, and everything else.
	words, rest []string
	flags       *pflag.FlagSet
}

// readJob finds the verb and flags of a job, and what a job cannot have.
func readJob(args []string) (*jobCall, error) {
	root := newRootCommand(&program{})
	cmd, rest, err := root.Find(literalPrivate(args))
	if err != nil || cmd == root {
		return nil, usage("a job needs a verb, such as synth: one of %s", strings.Join(jobNames(), ", "))
	}
	words := strings.Fields(cmd.CommandPath())[1:]
	c := &jobCall{verb: strings.Join(words, " "), words: words, rest: rest, flags: cmd.Flags()}
	if _, known := jobVerbs[c.verb]; !known {
		return nil, usage("%s cannot be a job: one of %s can", c.verb, strings.Join(jobNames(), ", "))
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return nil, usage("%w", err)
	}
	if err := cmd.ValidateArgs(c.flags.Args()); err != nil {
		return nil, err
	}
	return c, c.check(cmd)
}

// check finds flags that a job cannot have.
func (c *jobCall) check(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		switch reason, no := notInJobs[f.Name]; {
		case err != nil:
		case no:
			err = usage("a job cannot have --%s: %s", f.Name, reason)
		case f.Name == "proof" && value == proofPublished:
			err = usage("a job cannot have --proof published: its guarantee is claimed and not proven, so that nothing would be charged")
		case value == "-":
			err = usage("--%s - reads standard input, which a job does not have: name a file", f.Name)
		case config.IsURL(value):
			err = withoutPassword(value)
		}
	})
	switch given := c.flags.Changed; {
	case err != nil:
		return err
	case c.verb == "answer" && !given("inputs"):
		return usage("a job that answers needs --inputs, a file of questions; one question is quickly asked: sotto answer --input")
	case c.verb == "answer" && given("input"):
		return usage("a job cannot have --input: give a file of questions (--inputs)")
	case c.verb == "eval" && given("data"):
		return usage("a job cannot have --data with eval: what comes out would not be private. For numbers with a guarantee: eval private")
	case c.verb == "eval suite" && len(c.flags.Args()) == 0:
		return usage("a job needs the suite that it should run: eval suite FILE|NAME")
	}
	return nil
}

func jobNames() []string {
	names := make([]string, 0, len(jobVerbs))
	for name := range jobVerbs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// title is what a job is called if nobody gave it a name.
func (c *jobCall) title() string {
	parts := []string{c.verb}
	for _, name := range []string{"task", "schema", "epsilon"} {
		if f := c.flags.Lookup(name); f != nil && f.Changed {
			parts = append(parts, ifEpsilon(name)+filepath.Base(f.Value.String()))
		}
	}
	return strings.Join(parts, " ")
}

func ifEpsilon(flag string) string {
	if flag == "epsilon" {
		return "ε = "
	}
	return ""
}

// jobCommand is what a worker runs for a job.
func (p *program) jobCommand(j *store.Job, place string) ([]string, error) {
	c, err := readJob(j.Args)
	if err != nil {
		return nil, err
	}
	self := p.self
	if self == "" {
		if self, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the program itself: %w", err)
		}
	}
	args := append([]string{self}, c.words...)
	args = append(args, "--json")
	if name := jobVerbs[c.verb]; name != "" {
		args = append(args, "--out", filepath.Join(place, name))
	}
	return append(args, c.rest...), nil
}

// jobEnvironment is that of this process, with what its flags say. The store is nothing to a job.
func (p *program) jobEnvironment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SOTTO_STORE=") })
	for name, value := range map[string]string{"SOTTO_LEDGER": p.ledger, "SOTTO_KEYS": p.keys, "SOTTO_PRIVATE": p.private, "SOTTO_CONFIG": p.configPath} {
		if value == "" {
			continue
		}
		if !config.IsURL(value) {
			if absolute, err := filepath.Abs(value); err == nil {
				value = absolute // a job may work in another directory
			}
		}
		env = append(env, name+"="+value)
	}
	return env
}
