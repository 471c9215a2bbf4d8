package cli

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

// Number is the value of a flag: a decimal such as 1e-6, or a fraction such as
// 1/30000.
type Number struct {
	Value float64
	Given bool
}

// Set implements [pflag.Value].
func (n *Number) Set(s string) (err error) {
	n.Value, err = method.ParseNumber(s)
	n.Given = err == nil
	return err
}

// String implements [pflag.Value].
func (n *Number) String() string {
	if !n.Given {
		return ""
	}
	return strconv.FormatFloat(n.Value, 'g', -1, 64)
}

// Type implements [pflag.Value].
func (n *Number) Type() string { return "number" }

// Share is that of a setting for which 0 is the default and what is below 0 is none: a flag says none with 0.
func (n *Number) Share() float64 {
	if n.Given && n.Value == 0 {
		return -1
	}
	return n.Value
}

// UnitFlag is the value of --unit, which means the same for all verbs.
type UnitFlag struct {
	Unit privacy.Unit // "" if it was not given
}

// Add adds the flag to a verb.
func (u *UnitFlag) Add(cmd *cobra.Command) {
	cmd.Flags().Var(u, "unit", "protect all records with one value of `COLUMN` together; user:COLUMN is the same (default: record, each by itself)")
}

// Set implements [pflag.Value].
func (u *UnitFlag) Set(s string) (err error) {
	u.Unit, err = privacy.ParseUnit(s)
	return err
}

// String implements [pflag.Value].
func (u *UnitFlag) String() string { return string(u.Unit) }

// Type implements [pflag.Value].
func (u *UnitFlag) Type() string { return "unit" }

// Words is what people write for the unit, "" for the default.
func (u *UnitFlag) Words() string {
	column := u.Unit.Column()
	if same, err := privacy.ParseUnit(column); err == nil && same == u.Unit || column == "" {
		return column
	}
	return string(u.Unit)
}

// TermFlags are the terms under which ε is asked for.
type TermFlags struct {
	Delta      Number
	Size       int64
	Adjacency  string
	Accountant string
}

// Add adds the flags to a verb.
func (q *TermFlags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(&q.Delta, "delta", "the δ of the guarantee, such as 1e-6 or 1/30000; required unless --size is given")
	f.Int64Var(&q.Size, "size", 0, "how many records there are, a public number `N`; without --delta, δ = min(1e-6, N^-1.1)")
	AddAdjacency(cmd, &q.Adjacency)
	AddChoice(cmd, &q.Accountant, "accountant", "auto", "which accountant to ask: auto, pld or rdp", "auto", "pld", "rdp")
}

// AddAdjacency adds the flag for what neighbouring data sets differ by.
func AddAdjacency(cmd *cobra.Command, to *string) {
	AddChoice(cmd, to, "adjacency", string(privacy.AddRemove), "what neighbouring data sets differ by: add-remove or replace-one", string(privacy.AddRemove), string(privacy.ReplaceOne))
}

// AddChoice adds a flag whose values shells complete.
func AddChoice(cmd *cobra.Command, to *string, flag, value, help string, values ...string) {
	cmd.Flags().StringVar(to, flag, value, help)
	Complete(cmd, flag, values...)
}

// AddDir adds a flag that names a folder.
func AddDir(cmd *cobra.Command, to *string, flag, help string) {
	cmd.Flags().StringVar(to, flag, "", help)
	_ = cmd.MarkFlagDirname(flag) // the flag exists
}

// Names that shells complete, beside files.
var (
	CompleteTasks   = cobra.FixedCompletions(prompt.Builtins(), cobra.ShellCompDirectiveDefault)
	CompleteSchemas = cobra.FixedCompletions(schema.Builtins(), cobra.ShellCompDirectiveDefault)
)

// Complete lets shells complete the values of a flag.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	// The error is for flags that do not exist or have completions already.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// Terms are flags that were checked.
type Terms struct {
	Delta      float64
	Adjacency  privacy.Adjacency
	Accountant accountant.Accountant
	Warnings   []string
}

// Terms checks the flags; sized says that the number of records is given.
func (q *TermFlags) Terms(sized bool) (Terms, error) {
	var t Terms
	var err error
	if t.Adjacency, err = privacy.ParseAdjacency(q.Adjacency); err != nil {
		return t, ui.AsUsage(err)
	}
	if t.Accountant, err = accountant.ByName(q.Accountant); err != nil {
		return t, ui.AsUsage(err)
	}
	switch {
	case sized && q.Size < 1:
		return t, Usage("--size is %d, it should be the number of records, at least 1", q.Size)
	case q.Delta.Given:
		t.Delta = q.Delta.Value
	case sized:
		t.Delta = privacy.DefaultDelta(q.Size)
	default:
		return t, Usage("--delta is missing: give it, such as --delta 1e-6, or the number of records with --size")
	}
	if err := privacy.CheckDelta(t.Delta); err != nil {
		return t, Usage("--delta: %w", err)
	}
	if sized {
		t.Warnings = append(t.Warnings, DeltaAbove(t.Delta, q.Size)...)
	}
	return t, nil
}

// CheckPlotPath refuses the path of a plot that is no SVG.
func CheckPlotPath(path string) error {
	if path != "" && !strings.EqualFold(filepath.Ext(path), ".svg") {
		return Usage("--plot is %q, it should end in .svg", path)
	}
	return nil
}
