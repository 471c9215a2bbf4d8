package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lab/attack"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// attackFlags are what attacks on releases have.
type attackFlags struct {
	flags.Model
	epsilons   []string
	method     string
	tokens     int
	confidence float64
	seed       int64
	// seeded: a seed was given.
	seeded bool
}

func (o *attackFlags) add(cmd *cobra.Command, methods ...string) {
	o.Model.Add(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&o.epsilons, "epsilon", []string{"1", "8"}, "attack releases under this ε; may be repeated")
	f.StringVar(&o.method, "method", methods[0], "how releases are made: "+strings.Join(methods, ", "))
	_ = cmd.RegisterFlagCompletionFunc("method", cobra.FixedCompletions(methods, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	f.IntVar(&o.tokens, "tokens", 0, "write texts of at most `N` tokens (default: the task's limit)")
	f.Float64Var(&o.confidence, "confidence", 0.99, "how sure an interval is")
	f.Int64Var(&o.seed, "seed", 0, "take all random numbers from `N`, to repeat an attack")
}

// check finds what is wrong with flags, and returns the ε.
func (o *attackFlags) check(methods ...string) ([]float64, error) {
	switch {
	case !slices.Contains(methods, o.method):
		return nil, ui.Usage("--method is %q, it should be one of %s", o.method, strings.Join(methods, ", "))
	case !(o.confidence > 0 && o.confidence < 1):
		return nil, ui.Usage("--confidence is %v, it should be between 0 and 1, such as 0.99", o.confidence)
	case o.tokens < 0:
		return nil, ui.Usage("--tokens is %d, it should be positive; leave it out for the task's limit", o.tokens)
	}
	var all []float64
	for _, text := range o.epsilons {
		e, err := method.ParseNumber(text)
		if err != nil {
			return nil, ui.Usage("--epsilon: %w", err)
		}
		if err := privacy.CheckEpsilon(e); err != nil || e == 0 {
			return nil, ui.Usage("--epsilon is %s, it should be above 0, such as 1; real demonstrations are attacked in any case", text)
		}
		if slices.Contains(all, e) {
			return nil, ui.Usage("--epsilon %s is given twice", text)
		}
		all = append(all, e)
	}
	return all, nil
}

// key is what all randomness of an attack comes from.
func (o *attackFlags) key() (noise.Key, error) {
	if o.seeded {
		return noise.KeyFromSeed(uint64(o.seed)), nil
	}
	return noise.NewKey()
}

// open opens the model, for releases and for the adversary.
func (o *attackFlags) open(ctx context.Context, p *program) (m lm.TrustedScorer, name string, err error) {
	spec, err := p.modelSpec(o.Model)
	if err != nil {
		return m, "", err
	}
	if m, err = p.openTrusted(ctx, spec); err != nil {
		return m, "", err
	}
	return m, flags.ModelName(spec, m.Info()), nil
}

type membersOptions struct {
	attackFlags
	task, data                     string
	trials, size, scored, canaries int
	sets                           int
}

// memberMethods make releases that members are looked for in.
var memberMethods = []string{"clipped", plan.Chooses, "mixing", "gaussian"}

func newMembersCommand(p *program) *cobra.Command {
	var opt membersOptions
	cmd := &cobra.Command{
		Use:   "members [--task T --data FILE]",
		Short: "Membership inference: whose record is behind a release?",
		Long: `Plays membership inference, on data that may be shown: the program's own made-up
messages, or --task and --data. Nothing of it is private, nothing is charged and
nothing is signed. Small data sets are dealt, each record in or out by a coin of
its own. Releases are made of them by the code that ships, from seeds. Then an
adversary scores records that are in and others that are not:

  answers   how likely the model finds the record's label, with the released
            demonstration in its prompt: as the papers on few-shot generation
            have it (published), and against the same without demonstrations,
            with the sign that half of the releases suggest
  record    how much likelier the whole record is with the demonstration in
            the prompt than without any
  text      how much likelier the released text is after the record than
            without any
  choice    how much better the chosen demonstrations answer the record than
            those that were not chosen (--method choose)
  canary    the same for records unlike all others, as a likelihood ratio
            fitted to half of the releases at a time

The same attacks are played on real demonstrations, which are records as they
are: an attack that does not find those is too weak to count. For private ones
the table says what any attack may get at their ε. More than that is a failure:
the exit code is 4. The papers' figures stand beside.

A rate of false positives of 0.1 % needs more than 1000 others to be seen: with
fewer, the threshold is the highest of them. Conclusions allow for that.

` + flags.ModelHelp + ui.JSONKeys(membersResult{}, "Areas and shares are from 0 to 1. Rows of real demonstrations have no epsilon."),
		Example: `  sotto-lab members
  sotto-lab members --trials 200 --epsilon 1 --epsilon 8 --seed 1
  sotto-lab members --method choose --task trec --data public.jsonl --json`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt.seeded = cmd.Flags().Changed("seed")
			return runMembers(cmd.Context(), p, opt)
		},
	}
	opt.add(cmd, memberMethods...)
	f := cmd.Flags()
	f.StringVar(&opt.task, "task", "", "the task of --data: a `NAME` of \"sotto task list\", or the path of a task file (default: the made-up messages')")
	_ = cmd.RegisterFlagCompletionFunc("task", cobra.FixedCompletions(prompt.Builtins(), cobra.ShellCompDirectiveDefault)) // the flag exists
	f.StringVar(&opt.data, "data", "", "public records with labels that may be shown: a `FILE` in the format of the task (default: made-up messages)")
	f.IntVar(&opt.trials, "trials", 40, "attack `N` releases of each kind")
	f.IntVar(&opt.size, "size", 20, "make each release of about `N` records: the fewer, the more each is worth")
	f.IntVar(&opt.scored, "scored", 8, "score `N` records of each release, that are in or not")
	f.IntVar(&opt.canaries, "canaries", 2, "plant one of `N` canaries in every second release")
	f.IntVar(&opt.sets, "sets", 4, "for choose: choose from `N` sets of demonstrations")
	return cmd
}

func (o *membersOptions) check() ([]float64, error) {
	for _, n := range []struct {
		flag       string
		value, min int
	}{{"trials", o.trials, 4}, {"size", o.size, 8}, {"scored", o.scored, 2}, {"canaries", o.canaries, 1}, {"sets", o.sets, 2}} {
		if n.value < n.min {
			return nil, ui.Usage("--%s is %d, it should be at least %d", n.flag, n.value, n.min)
		}
	}
	switch {
	case o.scored > 2*o.size:
		return nil, ui.Usage("--scored is %d, and --size %d deals %d records, in and out: score at most as many", o.scored, o.size, 2*o.size)
	case (o.task == "") != (o.data == ""):
		return nil, ui.Usage("--task and --data belong together: give both, or neither for the made-up messages")
	case o.trials < 8*o.canaries:
		return nil, ui.Usage("--trials is %d for %d canaries: a ratio needs 8 releases of each, so --trials %d or more, or fewer --canaries", o.trials, o.canaries, 8*o.canaries)
	}
	return o.attackFlags.check(memberMethods...)
}

// records are those of the file, or made up.
func (o *membersOptions) records() (prompt.Task, []prompt.Example, error) {
	if o.data == "" {
		task, err := demo.Office().Task()
		var out []prompt.Example
		for _, t := range demo.Office().Tickets(8 * 4 * o.size) {
			out = append(out, prompt.Example{Input: t.Text, Output: t.Label})
		}
		return task, out, err
	}
	task, err := prompt.Find(o.task)
	if err != nil {
		return task, nil, documentError(err)
	}
	if task.Kind == prompt.Generate || task.Open() {
		return task, nil, ui.Usage("--task %s has no list of labels, and the attacks are about records with labels: take a task such as agnews", o.task)
	}
	out, err := readShown(o.data, task)
	return task, out, err
}

// readShown reads public records for an attack.
func readShown(path string, t prompt.Task) ([]prompt.Example, error) {
	items, err := eval.ReadItems(path, t)
	if err != nil {
		return nil, ui.Usage("--data: %w", err)
	}
	notPrivate, err := worth.Marked(path)
	if err != nil {
		if ui.Is[*worth.InputError](err) {
			err = ui.AsUsage(err)
		}
		return nil, err
	}
	if notPrivate {
		return nil, ui.Usage("--data %s says that it is NOT PRIVATE: an attack shows records, so take public ones", path)
	}
	out := make([]prompt.Example, len(items))
	for i, item := range items {
		out[i] = prompt.Example{Input: item.Input, Output: item.Output}
	}
	return out, nil
}

func runMembers(ctx context.Context, p *program, opt membersOptions) (err error) {
	began := time.Now()
	epsilons, err := opt.check()
	if err != nil {
		return err
	}
	task, records, err := opt.records()
	if err != nil {
		return err
	}
	key, err := opt.key()
	if err != nil {
		return err
	}
	model, name, err := opt.open(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	maker, err := attack.NewMaker(model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, maker.Close()) }()

	kinds := 1 + len(epsilons)
	if opt.method == plan.Chooses {
		kinds++
	}
	bar := p.SharedBar("releases attacked")
	g := &attack.Game{
		Model: model.Public(), Task: task, Records: records, Trials: opt.trials, Size: opt.size, Scored: opt.scored, Canaries: opt.canaries,
		Confidence: opt.confidence, Key: key, Observe: func(done int) { bar.Show(done, kinds*opt.trials, "releases") },
	}
	if err := g.Prepare(); err != nil {
		return ui.Usage("%w", err)
	}
	r := &membersResult{
		Method: opt.method, Task: task.Name, Records: len(records), Trials: opt.trials, Size: opt.size, Scored: opt.scored, Canaries: opt.canaries,
		Confidence: opt.confidence, Seeded: opt.seeded, Model: name, Papers: publishedMembers,
	}
	r.Rows, err = opt.play(ctx, g, maker, task, epsilons)
	bar.Clear()
	if err != nil {
		return err
	}
	r.Tokens, r.Seconds = model.Usage().Computed, math.Round(10*time.Since(began).Seconds())/10
	return p.finishMembers(r, opt)
}

// play attacks real demonstrations, then private ones at each ε.
func (o *membersOptions) play(ctx context.Context, g *attack.Game, maker *attack.Maker, task prompt.Task, epsilons []float64) ([]attack.Row, error) {
	delta := privacy.DefaultDelta(int64(o.size))
	rows, err := g.Real(ctx)
	if err != nil {
		return nil, err
	}
	if o.method != plan.Chooses {
		for _, e := range epsilons {
			terms := attack.Terms{Method: o.method, Epsilon: e, Delta: delta, Size: int64(o.size), Shots: 1, Tokens: o.tokens}
			more, err := g.Private(ctx, func(ctx context.Context, label string, members []prompt.Example, seed uint64) ([]prompt.Example, error) {
				return maker.Write(ctx, task, terms, label, members, seed)
			}, e, delta)
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
		return rows, nil
	}
	sets, err := g.Sets(o.sets, 4)
	if err != nil {
		return nil, ui.Usage("%w", err)
	}
	exact, err := g.Choices(ctx, sets, nil, math.Inf(1), 0)
	if err != nil {
		return nil, err
	}
	rows = append(rows, exact...)
	for _, e := range epsilons {
		terms := attack.Terms{Epsilon: e, Delta: delta, Size: int64(o.size)}
		more, err := g.Choices(ctx, sets, func(ctx context.Context, sets [][]prompt.Example, members []prompt.Example, seed uint64) (int, error) {
			return maker.Choose(ctx, task, terms, sets, members, seed)
		}, e, delta)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// finishMembers prints what was found, and fails if a release gives too much away.
func (p *program) finishMembers(r *membersResult, o membersOptions) error {
	r.judge()
	if err := p.Emit(r); err != nil || !r.Beyond {
		return err
	}
	return ui.Reported("%s gives more away than its ε allows", o.method)
}
