package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/rows/convert"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/prompt"
)

// DataFlags say where private records or rows are and who pays for their use.
type DataFlags struct {
	Data    string
	Query   string
	OnError string
	Name    string
	Scope   []string
	known   bool
	Seed    SeedFlag
	// Later: the records need not be there yet.
	Later bool
}

// Add takes what --data and --query are, and the records that the setting on-error is about.
func (o *DataFlags) Add(cmd *cobra.Command, data, query, unusable string) {
	f := cmd.Flags()
	f.StringVar(&o.Data, "data", "", data)
	f.StringVar(&o.Query, "query", "", query)
	f.StringArrayVar(&o.Scope, "label", nil, "a `LABEL=VALUE` of the charge, for scoped budgets; may be repeated")
	f.Var(&o.Seed, "seed", "take all random numbers from `N`, for tests: what comes out is NOT PRIVATE")
	o.addFew(cmd, unusable)
}

// addFew adds what few people change.
func (o *DataFlags) addFew(cmd *cobra.Command, unusable string) {
	AddOnError(cmd, &o.OnError, unusable)
	f := settings.Flags(cmd)
	f.StringVar(&o.Name, "name", "", "what people call the data set, for the ledger if it is new there (default: the name of the file)")
	f.BoolVar(&o.known, "known", false, "refuse data that the ledger does not know, instead of giving it a budget of what is asked for")
}

// AddOnError adds what becomes of data that cannot be used.
func AddOnError(cmd *cobra.Command, to *string, unusable string) {
	settings.Choice(cmd, to, "on-error", string(record.Fail), "what to do about "+unusable+": fail, or skip them", string(record.Fail), string(record.Skip))
}

// Skips reports whether to leave out what cannot be used.
func (o *DataFlags) Skips() (bool, error) {
	if o.OnError != string(record.Fail) && o.OnError != string(record.Skip) {
		return false, Usage("--set on-error is %q, it should be fail or skip", o.OnError)
	}
	return o.OnError == string(record.Skip), nil
}

// Use says how a data set is charged.
func (o *DataFlags) Use(dataset string) (sotto.Use, error) {
	scope, err := ui.Pairs("label", o.Scope)
	return sotto.Use{Dataset: dataset, Labels: scope, Known: o.known, Seed: o.Seed.Value}, err
}

// SourceFlags are the flags of verbs that read records.
type SourceFlags struct {
	DataFlags
	TextColumn  string
	LabelColumn string
	nonPrivate  bool
	Parallel    int
}

// Add takes what the verb makes of records, in the plural.
func (o *SourceFlags) Add(cmd *cobra.Command, texts string) {
	o.AddRecords(cmd)
	// No plan file may say it.
	cmd.Flags().BoolVar(&o.nonPrivate, "non-private", false, "allow a method that has no privacy guarantee, for comparisons")
	AddParallel(cmd, &o.Parallel, texts)
	if s := settings.Of(cmd); s != nil {
		s.Group(settings.Machine)
	}
}

// AddFew adds the settings alone, for plan files.
func (o *SourceFlags) AddFew(cmd *cobra.Command, texts, unusable string) {
	o.addFew(cmd, unusable)
	o.AddColumns(cmd)
	AddParallel(cmd, &o.Parallel, texts)
}

// AddParallel adds how many of what the verb makes are written at once.
func AddParallel(cmd *cobra.Command, to *int, texts string) {
	settings.Flags(cmd).IntVar(to, "parallel", 0, "write this many "+texts+" at once (default: what suits the method)")
}

// AddRecords adds the flags that are about records and their budget.
func (o *SourceFlags) AddRecords(cmd *cobra.Command) {
	o.DataFlags.Add(cmd, "the private records: a `FILE` (CSV, JSON, Parquet, Excel) or the address of a database; required",
		"the rows of a database, as `SQL` with an ORDER BY that leaves no ties", "records that cannot be used")
	o.AddColumns(cmd)
}

// AddColumns adds the flags that name columns in place of the task's.
func (o *SourceFlags) AddColumns(cmd *cobra.Command) {
	f := settings.Flags(cmd)
	f.StringVar(&o.TextColumn, "text-column", "", "the `COLUMN` of the text, if not the task's (for generation: of the output)")
	f.StringVar(&o.LabelColumn, "label-column", "", "the `COLUMN` of the label, if not the task's (for generation: of the input)")
}

// Columns puts the columns that were named in place of the task's.
func (o *SourceFlags) Columns(t *prompt.Task) {
	if o.TextColumn != "" {
		t.Text = o.TextColumn
	}
	if o.LabelColumn != "" {
		t.Label = o.LabelColumn
	}
}

// Source says where the records of a task are, and how a method that reads them is charged.
func (o *SourceFlags) Source(task, method string) (from sotto.Source, use sotto.Use, err error) {
	skip, err := o.Skips()
	switch {
	case o.Data == "" && method != "public":
		return from, use, Usage("--data is missing: a file of records, or the address of a database")
	case err != nil:
		return from, use, err
	case o.Parallel < 0:
		return from, use, Usage("--set parallel is %d, it should be positive", o.Parallel)
	}
	if err := o.Present(); err != nil {
		return from, use, err
	}
	of, err := TableOf(task)
	if err != nil {
		return from, use, err
	}
	dataset := o.Name
	if dataset == "" && !config.IsURL(o.Data) {
		path, _ := convert.Split(o.Data)
		dataset = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	use, err = o.Use(dataset)
	use.NonPrivate = o.nonPrivate
	return sotto.Source{Location: o.Data, Query: o.Query, Schema: of, SkipMalformed: skip}, use, err
}

// SeedFlag is a seed, nil unless it is given.
type SeedFlag struct{ Value *uint64 }

// Set implements [pflag.Value].
func (s *SeedFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, 64)
	seed := uint64(n)
	s.Value = &seed
	return err
}

// String implements [pflag.Value].
func (s *SeedFlag) String() string {
	if s.Value == nil {
		return ""
	}
	return strconv.FormatInt(int64(*s.Value), 10)
}

// Type implements [pflag.Value].
func (s *SeedFlag) Type() string { return "int" }

// Present refuses a file of records that is not there, before anything is opened or made.
func (o *DataFlags) Present() error {
	file, _ := convert.Split(strings.TrimPrefix(o.Data, "sqlite:"))
	if o.Later || o.Data == "" || strings.ContainsAny(file, ":*?[") {
		return nil // an address, or names of several files
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return Usage("%s: give the path of the records with --data", Absent(file))
	}
	return nil
}
