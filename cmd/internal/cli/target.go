package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// TaskFlag names a task, as all verbs on records have it.
type TaskFlag struct {
	Task string
}

// Add adds the flag, and what it says of rows of a table.
func (t *TaskFlag) Add(cmd *cobra.Command, rows string) {
	cmd.Flags().StringVar(&t.Task, "task", "", "the task: a `NAME` of \"sotto task list\", the path of a task file, or table:SCHEMA"+rows+"; required")
	_ = cmd.RegisterFlagCompletionFunc("task", CompleteTasks) // the flag exists
}

// Find finds the task that the flag names.
func (t *TaskFlag) Find() (prompt.Task, error) {
	if t.Task == "" {
		return prompt.Task{}, Usage("--task is missing: one of %s, the path of a task file, or table:SCHEMA", strings.Join(prompt.Builtins(), ", "))
	}
	return FindTask(t.Task)
}

// TargetFlags say what records are for, how many there are, and what may be spent.
type TargetFlags struct {
	TaskFlag
	Size    string
	Epsilon Number
	Delta   Number
	unit    UnitFlag
}

// Add takes what may be spent for what, and more about --size.
func (r *TargetFlags) Add(cmd *cobra.Command, rows, epsilon, size string) {
	r.TaskFlag.Add(cmd, rows)
	f := cmd.Flags()
	f.Var(&r.Epsilon, "epsilon", "the most ε that "+epsilon+"; required")
	f.Var(&r.Delta, "delta", "the δ of the guarantee (default: min(1e-6, N^-1.1))")
	r.unit.Add(cmd)
	f.StringVar(&r.Size, "size", "", "how many records (or units) there are, a public number `N`; "+size)
}

// Target reads the flags.
func (r *TargetFlags) Target() (t prompt.Task, size int64, unit privacy.Unit, err error) {
	if t, err = r.Find(); err != nil {
		return t, 0, "", err
	}
	if r.Delta.Given && !(r.Delta.Value > 0) {
		return t, 0, "", Usage("--delta is %s, it should be above 0, such as 1e-6", ui.Whole(r.Delta.Value))
	}
	if r.Delta.Given && r.Delta.Value >= 1 {
		return t, 0, "", Usage("--delta is %s, it should be below 1 and far below 1/n for n records, such as 1e-6", ui.Whole(r.Delta.Value))
	}
	if r.Size != "" && r.Size != SizeAuto {
		if size, err = SizeOf(r.Size, "records"); err != nil {
			return t, 0, "", err
		}
	}
	return t, size, r.unit.Unit, nil
}

// SizeOf reads --size.
func SizeOf(text, records string) (int64, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil || n < 1 {
		return 0, Usage("--size is %q, it should be a number of %s such as 20000", text, records)
	}
	return n, nil
}

// RequestFlags say what is asked for, as all verbs have them that plan.
type RequestFlags struct {
	TargetFlags
	SettingFlags
}

// Add takes what ε is the cost of, more about --size, and the kinds of methods that the verb has.
func (r *RequestFlags) Add(cmd *cobra.Command, of, size string, kinds ...method.Kind) {
	r.TargetFlags.Add(cmd, " for rows of a table in words", of+" may cost, such as 1", size)
	all := settings.Add(cmd)
	r.SettingFlags.Add(cmd, kinds...)
	settings.Choice(cmd, &r.sampler, "sampler", "", "how to draw: poisson, fixed-size or disjoint (default: the method's, mostly poisson)", string(scheme.Poisson), string(scheme.FixedSize), string(scheme.Disjoint))
	settings.Choice(cmd, &r.proof, "proof", proofOurs, "mixing: proven, or published: the paper's rule, whose guarantee is claimed and NOT PROVEN", proofOurs, proofPublished)
	all.Group(settings.Methods)
}

// Request reads the flags.
func (r *RequestFlags) Request(method string) (plan.Request, error) {
	task, size, unit, err := r.Target()
	return plan.Request{
		Task: task, Method: method, Size: size, Unit: unit, Epsilon: r.Epsilon.Value, Delta: r.Delta.Value,
		Sampler: scheme.Kind(r.sampler), Settings: ui.SettingValues(r.Values),
	}, err
}

// SizeAuto is what --size takes to have records counted.
const SizeAuto = "auto"

// DeltaAbove warns of a δ that is too large for a number of records.
func DeltaAbove(delta float64, n int64) []string {
	if large := privacy.LargeDelta(delta, n); large != "" {
		return []string{large + "; use a smaller --delta"}
	}
	return nil
}
