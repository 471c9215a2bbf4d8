package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
)

// jobVerbs are the verbs that can be jobs, with what --out is called in a job's folder; "" if they
// write nothing.
var jobVerbs = map[string]string{
	"synth": jobOut, "choose": jobOut, "learn": jobOut, "table profile": jobOut, "table perturb": jobOut,
	"answer": "answers.jsonl", "eval private": jobOut, "eval": "", "eval suite": jobOut, "rehearse": "",
}

// jobOut is the folder of a job's release, in the job's own.
const jobOut = "out"

// inJobs are the flags that a job may have, besides the settings of methods: what is asked for, and
// of which records. Which server sees them, who pays and signs, and what is written where is for
// whoever runs the worker.
var inJobs = strings.Fields(`task schema data query table name label unit size epsilon delta adjacency sampler proof on-error known
	text-column label-column label-size labels discover-labels shared-ending inputs least shots tokens max-tokens answers as-many-as-fit cut
	method no-choose set sets examples instruction pool pool-model reword vary reading utility rounds records time writing evidence nearest measuring no-measure
	demos test limit form compare calibrate normalise metric datasets methods seeds items stand-in invent group groups rows-per-unit push-down
	parallel workers model threads`)

// notInJobs are others, with the reason.
var notInJobs = map[string]string{
	"out": "a job has a folder of its own", "json": "a worker reads what is printed", "verbose": "a worker reads what is printed",
	"ledger": "the worker's ledger pays", "as": "the worker knows which data set an upload was assigned to", "keys": "the worker's keys sign", "private": "the worker has the key by which data sets are known", "config": "the worker has a configuration", "store": "the job is in one",
	"url": "the worker's configuration says which server sees records", "dialect": "the worker's configuration says which server sees records",
	"key-env": "the worker's configuration names keys", "pool-key-env": "the worker's configuration names keys", "encoder": "the worker's configuration says which servers are asked",
	"seed": "what comes out would not be private", "non-private": "what comes out would not be private",
	"predictions": "a job writes into its own folder", "cache": "a job writes into its own folder",
	"list": "that is quickly done here", "dry-run": "that is quickly done here", "input": "a job has a file of questions (--inputs)",
}

// mayHave reports whether a job may have a flag.
func mayHave(flag string) bool {
	return slices.Contains(inJobs, flag) || slices.ContainsFunc(ui.SettingFlags(), func(s *ui.SettingFlag) bool { return s.Flag() == flag })
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
		return nil, usage("a job needs a verb, as in sotto job add synth --task T: one of %s", strings.Join(jobNames(), ", "))
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
		switch {
		case err != nil:
		case !mayHave(f.Name):
			err = usage("a job cannot have --%s: %s", f.Name, cmp.Or(notInJobs[f.Name], "it is not known to be for jobs"))
		case f.Name == "model" && config.IsURL(value):
			err = usage("a job cannot name a server as its model: the worker's configuration says which server sees records")
		case f.Name == "proof" && value == proofPublished:
			err = usage("a job cannot have --proof published: its guarantee is claimed and not proven, so that nothing would be charged")
		case value == "-":
			err = usage("--%s - reads standard input, which a job does not have: name a file", f.Name)
		case config.IsURL(value):
			err = withoutPassword(value, keptInStore)
		}
	})
	switch given := c.flags.Changed; {
	case err != nil:
		return err
	case c.verb == "answer" && !given("inputs"):
		return usage("a job that answers needs --inputs, a file of questions; one question is quickly asked: sotto answer --input")
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

// Parts of results that everybody may see who may see jobs: of runs with a guarantee what they
// release and what it costs, and of others, where all data is public, what they measure. Warnings,
// places, and what depends on who was drawn are in neither.
var (
	releasedParts = strings.Fields(`private event epsilon delta adjacency unit guarantee drawn charge files method claim count_epsilon discover_epsilon
		ending ending_epsilon texts chosen model worth model_tokens_planned schema profiles rows keep_probability metric task asked size noise_scale
		value low high comparisons`)
	measuredParts = strings.Fields(`metric value low high n task model how calibrated rows comparisons suite title ok cells rehearsal items
		gains method epsilon delta chosen texts`)
)

// jobCommand is what a worker runs for a job of a store.
func (p *program) jobCommand(ctx context.Context, s *store.Store, j *store.Job, place string) (jobs.Command, error) {
	c, err := readJob(j.Args)
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
	args := append([]string{self}, c.words...)
	args = append(args, "--json")
	if name := jobVerbs[c.verb]; name != "" {
		args = append(args, "--out", filepath.Join(place, name))
	}
	out := jobs.Command{Args: slices.Concat(args, as, c.rest)}
	switch {
	case c.protects():
		out.Published = releasedParts
	case j.Open:
		out.Published = measuredParts
	}
	return out, nil
}

// protects reports whether what the verb prints is private by itself. Others measure exactly, and
// what they print may be seen if their data is public.
func (c *jobCall) protects() bool {
	return c.verb != "eval" && c.verb != "eval suite" && c.verb != "rehearse"
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
// are named in full: a job works in the directory of whoever added it, where relative paths and the
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
