package main

import (
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/settings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// taskFlag names a task, as all verbs on records have it.
type taskFlag struct {
	task string `job:"task,named"`
}

func (t *taskFlag) add(cmd *cobra.Command, rows string) {
	cmd.Flags().StringVar(&t.task, "task", "", "the task: a `NAME` of \"sotto task list\", the path of a task file, or table:SCHEMA"+rows+"; required")
	_ = cmd.RegisterFlagCompletionFunc("task", completeTasks) // the flag exists
}

func (t *taskFlag) find() (prompt.Task, error) {
	if t.task == "" {
		return prompt.Task{}, usage("--task is missing: one of %s, the path of a task file, or table:SCHEMA", strings.Join(prompt.Builtins(), ", "))
	}
	return findTask(t.task)
}

// targetFlags say what records are for, how many there are, and what may be spent.
type targetFlags struct {
	taskFlag
	size    string   `job:"size,shown"`
	epsilon number   `job:"epsilon,shown"`
	delta   number   `job:"delta,shown"`
	unit    unitFlag `job:"unit,shown"`
}

// add takes what may be spent for what, and more about --size.
func (r *targetFlags) add(cmd *cobra.Command, rows, epsilon, size string) {
	r.taskFlag.add(cmd, rows)
	f := cmd.Flags()
	f.Var(&r.epsilon, "epsilon", "the most ε that "+epsilon+"; required")
	f.Var(&r.delta, "delta", "the δ of the guarantee (default: min(1e-6, N^-1.1))")
	r.unit.add(cmd)
	f.StringVar(&r.size, "size", "", "how many records (or units) there are, a public number `N`; "+size)
}

// target reads the flags.
func (r *targetFlags) target() (t prompt.Task, size int64, unit privacy.Unit, err error) {
	if t, err = r.find(); err != nil {
		return t, 0, "", err
	}
	if r.delta.set && !(r.delta.value > 0) {
		return t, 0, "", usage("--delta is %s, it should be above 0, such as 1e-6", ui.Whole(r.delta.value))
	}
	if r.delta.set && r.delta.value >= 1 {
		return t, 0, "", usage("--delta is %s, it should be below 1 and far below 1/n for n records, such as 1e-6", ui.Whole(r.delta.value))
	}
	if r.size != "" && r.size != sizeAuto {
		if size, err = sizeOf(r.size, "records"); err != nil {
			return t, 0, "", err
		}
	}
	return t, size, r.unit.unit, nil
}

// sizeOf reads --size.
func sizeOf(text, records string) (int64, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil || n < 1 {
		return 0, usage("--size is %q, it should be a number of %s such as 20000", text, records)
	}
	return n, nil
}

// requestFlags say what is asked for, as all verbs have them that plan.
type requestFlags struct {
	targetFlags
	settingFlags
}

// add takes what ε is the cost of, more about --size, and the kinds of methods that the verb has.
func (r *requestFlags) add(cmd *cobra.Command, of, size string, kinds ...method.Kind) {
	r.targetFlags.add(cmd, " for rows of a table in words", of+" may cost, such as 1", size)
	all := settings.Add(cmd)
	r.settingFlags.add(cmd, kinds...)
	settings.Choice(cmd, &r.sampler, "sampler", "", "how to draw: poisson, fixed-size or disjoint (default: the method's, mostly poisson)", string(scheme.Poisson), string(scheme.FixedSize), string(scheme.Disjoint))
	settings.Choice(cmd, &r.proof, "proof", proofOurs, "mixing: proven, or published: the paper's rule, whose guarantee is claimed and NOT PROVEN", proofOurs, proofPublished)
	all.Group(settings.Methods)
}

// request reads the flags.
func (r *requestFlags) request(method string) (plan.Request, error) {
	task, size, unit, err := r.target()
	return plan.Request{
		Task: task, Method: method, Size: size, Unit: unit, Epsilon: r.epsilon.value, Delta: r.delta.value,
		Sampler: scheme.Kind(r.sampler), Settings: ui.SettingValues(r.values),
	}, err
}

// sizeAuto is what --size takes to have records counted.
const sizeAuto = "auto"

// textFlags say what texts are to be written, as "sotto synth" and "sotto plan" have them.
type textFlags struct {
	requestFlags
	minSize    int64    `job:"min-size"`
	labelSizes []string `job:"label-size"`
	shots      int      `job:"shots,shown"`
	tokens     int      `job:"tokens"`

	labels   string `job:"labels"`
	inputs   string `job:"inputs"`
	discover string `job:"discover-labels"`
	ending   string `job:"shared-ending"`
}

func (r *textFlags) add(cmd *cobra.Command, kinds ...method.Kind) {
	r.requestFlags.add(cmd, "all texts together", "\"auto\" counts them with noise, for a twentieth of ε", kinds...)
	f := cmd.Flags()
	f.StringArrayVar(&r.labelSizes, "label-size", nil, "how many of them have a label, as `LABEL=N`; may be repeated (default: all labels have as many)")
	f.IntVar(&r.shots, "shots", 0, "how many texts to write (default: the task's)")
	f.StringVar(&r.labels, "labels", "", "for open labels: write for the labels in `FILE`, a line each; the list is public")
	f.StringVar(&r.inputs, "inputs", "", "for generation: write for the inputs in `FILE`, public ones: a line each, or JSONL")
	f.StringVar(&r.discover, "discover-labels", "", "for open labels: find those that many records have, for `EPSILON` of ε (default: a tenth)")
	f.Lookup("discover-labels").NoOptDefVal = "auto"
	s := r.rest.Flags
	s.IntVar(&r.tokens, "tokens", 0, "the most tokens that a text has (default: the task's)")
	s.Int64Var(&r.minSize, "min-size", 0, "with --size auto: assume at least `N` in each part (default 1000)")
	s.StringVar(&r.ending, "shared-ending", "", "find the last two words that most records share, such as a signature, and end every text that is written with them: auto, or the `EPSILON` of ε for it (default: none; auto takes a twentieth)")
	s.Lookup("shared-ending").NoOptDefVal = "auto"
	r.rest.Group(settings.Texts)
}

// spends lists the flags that a method needs which spends ε.
func (r *textFlags) spends(name string) (flags []string) {
	if spec, known := method.Lookup(name); name != methodChoose && (!known || !spec.Bounded()) {
		return nil
	}
	if len(r.labelSizes) == 0 {
		flags = append(flags, "size")
	}
	return append(flags, "epsilon")
}

// explicit finds flags that are given, and would be taken for not given, or not be used
// by any of the methods.
func (r *textFlags) explicit(methods ...string) error {
	if err := r.positive(map[string]float64{"shots": float64(r.shots), "tokens": float64(r.tokens), "min-size": float64(r.minSize)}); err != nil {
		return err
	}
	return r.settingFlags.explicit(methods...)
}

// request reads the flags.
func (r *textFlags) request(method string) (plan.Request, error) {
	q, err := r.requestFlags.request(method)
	if err != nil {
		return q, err
	}
	q.Shots, q.Tokens = r.shots, r.tokens
	if err := r.sizes(&q); err != nil {
		return q, err
	}
	return q, r.conditions(&q)
}

// sizes reads how many there are.
func (r *textFlags) sizes(q *plan.Request) error {
	switch {
	case r.size == sizeAuto:
		q.Count, q.Least = true, r.minSize
	case r.minSize != 0:
		return usage("--set min-size goes with --size auto")
	case r.size == "" && q.Method == "public" && len(r.labelSizes) == 0:
		q.Size = int64(max(1, len(q.Task.Labels))) // nobody is drawn from them
	}
	for _, pair := range r.labelSizes {
		at := strings.LastIndexByte(pair, '=')
		if at < 0 {
			return usage("--label-size is %q, it should be LABEL=N, such as Sports=5000", pair)
		}
		n, err := strconv.ParseInt(pair[at+1:], 10, 64)
		if err != nil || n < 1 {
			return usage("--label-size is %q: %q should be a number of records", pair, pair[at+1:])
		}
		label, known := q.Task.ResolveLabel(pair[:at])
		if !known || q.Task.Open() {
			return usage("--label-size is %q, and %q is not on the task's list of labels", pair, pair[:at])
		}
		if q.Sizes == nil {
			q.Sizes = map[string]int64{}
		}
		if _, twice := q.Sizes[label]; twice {
			return usage("--label-size gives %q twice", label)
		}
		q.Sizes[label] = n
	}
	return nil
}

// conditions reads what texts are written for.
func (r *textFlags) conditions(q *plan.Request) error {
	var err error
	if q.Discover, q.DiscoverEpsilon, err = partOf("--discover-labels", r.discover); err != nil {
		return err
	}
	if q.Ending, q.EndingEpsilon, err = partOf("--set shared-ending", r.ending); err != nil {
		return err
	}
	generate := q.Task.Kind == prompt.Generate
	switch {
	case r.labels != "" && r.inputs != "":
		return usage("--labels and --inputs exclude each other: tasks of kind generate have inputs, others labels")
	case r.labels != "" && generate:
		return usage("--labels is for tasks with labels, and this one writes outputs for inputs: use --inputs")
	case r.inputs != "" && !generate:
		return usage("--inputs is for tasks of kind generate, and this one is of kind %s: use --labels, or leave it out for a task with a list of labels", q.Task.Kind)
	}
	path := r.labels + r.inputs
	if path == "" {
		return nil
	}
	q.Conditions, err = prompt.ReadList(path, q.Task.Label, "condition")
	return ui.AsUsage(err)
}

// partOf reads a flag that asks for something, for a part of ε if one is given.
func partOf(flag, value string) (asked bool, epsilon float64, err error) {
	if value == "" || value == "auto" {
		return value != "", 0, nil
	}
	var n number
	if err := n.Set(value); err != nil {
		return false, 0, usage("%s: %w", flag, err)
	}
	return true, n.value, nil
}

// deltaWarning warns of a δ that has no privacy guarantee.
func deltaWarning(p plan.Plan) []string {
	var n int64
	for _, part := range p.Parts {
		n += part.Size
	}
	if p.Method() == "public" || !p.Private() {
		return nil
	}
	return deltaAbove(p.Delta, n)
}

// deltaAbove warns of a δ that is too large for a number of records.
func deltaAbove(delta float64, n int64) []string {
	if large := privacy.LargeDelta(delta, n); large != "" {
		return []string{large + "; use a smaller --delta"}
	}
	return nil
}
