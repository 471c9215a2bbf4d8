package main

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// number is the value of a flag: a decimal such as 1e-6, or a fraction such as
// 1/30000.
type number struct {
	value float64
	set   bool
}

// Set implements [pflag.Value].
func (n *number) Set(s string) (err error) {
	n.value, err = method.ParseNumber(s)
	n.set = err == nil
	return err
}

// String implements [pflag.Value].
func (n *number) String() string {
	if !n.set {
		return ""
	}
	return strconv.FormatFloat(n.value, 'g', -1, 64)
}

// Type implements [pflag.Value].
func (n *number) Type() string { return "number" }

// share is that of a setting for which 0 is the default and what is below 0 is none: a flag says none with 0.
func (n *number) share() float64 {
	if n.set && n.value == 0 {
		return -1
	}
	return n.value
}

// unitFlag is the value of --unit, which means the same for all verbs.
type unitFlag struct {
	unit privacy.Unit // "" if it was not given
}

func (u *unitFlag) add(cmd *cobra.Command) {
	cmd.Flags().Var(u, "unit", "protect all records with one value of `COLUMN` together; user:COLUMN is the same (default: record, each by itself)")
}

// Set implements [pflag.Value].
func (u *unitFlag) Set(s string) (err error) {
	u.unit, err = privacy.ParseUnit(s)
	return err
}

// String implements [pflag.Value].
func (u *unitFlag) String() string { return string(u.unit) }

// Type implements [pflag.Value].
func (u *unitFlag) Type() string { return "unit" }

// shown is what people write for the unit, "" for the default.
func (u *unitFlag) shown() string {
	column := u.unit.Column()
	if same, err := privacy.ParseUnit(column); err == nil && same == u.unit || column == "" {
		return column
	}
	return string(u.unit)
}

// termFlags are the terms under which ε is asked for.
type termFlags struct {
	delta      number
	size       int64
	adjacency  string
	accountant string
}

func (q *termFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(&q.delta, "delta", "the δ of the guarantee, such as 1e-6 or 1/30000; required unless --size is given")
	f.Int64Var(&q.size, "size", 0, "how many records there are, a public number `N`; without --delta, δ = min(1e-6, N^-1.1)")
	addAdjacency(cmd, &q.adjacency)
	addChoice(cmd, &q.accountant, "accountant", "auto", "which accountant to ask: auto, pld, rdp, zcdp or bounded-range", "auto", "pld", "rdp", "zcdp", "bounded-range")
}

func addAdjacency(cmd *cobra.Command, to *string) {
	addChoice(cmd, to, "adjacency", string(privacy.AddRemove), "what neighbouring data sets differ by: add-remove or replace-one", string(privacy.AddRemove), string(privacy.ReplaceOne))
}

// addChoice adds a flag whose values shells complete.
func addChoice(cmd *cobra.Command, to *string, flag, value, help string, values ...string) {
	cmd.Flags().StringVar(to, flag, value, help)
	complete(cmd, flag, values...)
}

// addDir adds a flag that names a folder.
func addDir(cmd *cobra.Command, to *string, flag, help string) {
	cmd.Flags().StringVar(to, flag, "", help)
	_ = cmd.MarkFlagDirname(flag) // the flag exists
}

// Names that shells complete, beside files.
var (
	completeTasks   = cobra.FixedCompletions(prompt.Builtins(), cobra.ShellCompDirectiveDefault)
	completeSchemas = cobra.FixedCompletions(schema.Builtins(), cobra.ShellCompDirectiveDefault)
)

// complete lets shells complete the values of a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	// The error is for flags that do not exist or have completions already.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// terms are flags that were checked.
type terms struct {
	delta      float64
	adjacency  privacy.Adjacency
	accountant accountant.Accountant
	warnings   []string
}

// terms checks the flags; sized says that the number of records is given.
func (q *termFlags) terms(sized bool) (terms, error) {
	var t terms
	var err error
	if t.adjacency, err = privacy.ParseAdjacency(q.adjacency); err != nil {
		return t, ui.AsUsage(err)
	}
	if t.accountant, err = accountant.ByName(q.accountant); err != nil {
		return t, ui.AsUsage(err)
	}
	switch {
	case sized && q.size < 1:
		return t, usage("--size is %d, it should be the number of records, at least 1", q.size)
	case q.delta.set:
		t.delta = q.delta.value
	case sized:
		t.delta = privacy.DefaultDelta(q.size)
	default:
		return t, usage("--delta is missing: give it, such as --delta 1e-6, or the number of records with --size")
	}
	if err := privacy.CheckDelta(t.delta); err != nil {
		return t, usage("--delta: %w", err)
	}
	if sized {
		t.warnings = append(t.warnings, deltaAbove(t.delta, q.size)...)
	}
	return t, nil
}

// checkPlotPath refuses the path of a plot that is no SVG.
func checkPlotPath(path string) error {
	if path != "" && !strings.EqualFold(filepath.Ext(path), ".svg") {
		return usage("--plot is %q, it should end in .svg", path)
	}
	return nil
}
