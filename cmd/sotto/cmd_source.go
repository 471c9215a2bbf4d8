package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/settings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/rows/convert"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
)

// dataFlags say where private records or rows are and who pays for their use.
type dataFlags struct {
	data    string   `job:"data"`
	query   string   `job:"query"`
	onError string   `job:"on-error"`
	name    string   `job:"name"`
	scope   []string `job:"label"`
	known   bool     `job:"known"`
	as      string
	seed    seedFlag
	// approval is the plan of a job.
	approval *sotto.Approval
}

// Approve has nothing be carried out but a plan, or asks for that.
func (o *dataFlags) Approve(a *sotto.Approval) { o.approval = a }

// add takes what --data and --query are, and the records that --on-error is about.
func (o *dataFlags) add(cmd *cobra.Command, data, query, unusable string) {
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", data)
	f.StringVar(&o.query, "query", "", query)
	addOnError(cmd, &o.onError, unusable)
	f.StringVar(&o.name, "name", "", "what people call the data set, for the ledger if it is new there (default: the name of the file)")
	f.BoolVar(&o.known, "known", false, "refuse data that the ledger does not know, instead of giving it a budget of what is asked for")
	f.StringVar(&o.as, "as", "", "the `DATASET` of the ledger that the data has to be, as it was seen before: other data is refused, and compared with nothing")
	f.StringArrayVar(&o.scope, "label", nil, "a `LABEL=VALUE` of the charge, for scoped budgets; may be repeated")
	f.Var(&o.seed, "seed", "take all random numbers from `N`, for tests: what comes out is NOT PRIVATE")
}

// addOnError adds what becomes of data that cannot be used.
func addOnError(cmd *cobra.Command, to *string, unusable string) {
	settings.Choice(cmd, to, "on-error", string(record.Fail), "what to do about "+unusable+": fail, or skip them", string(record.Fail), string(record.Skip))
}

// skips reports whether to leave out what cannot be used.
func (o *dataFlags) skips() (bool, error) {
	if o.onError != string(record.Fail) && o.onError != string(record.Skip) {
		return false, usage("--on-error is %q, it should be fail or skip", o.onError)
	}
	return o.onError == string(record.Skip), nil
}

// use says how a data set is charged.
func (o *dataFlags) use(dataset string) (sotto.Use, error) {
	scope, err := ui.Pairs("label", o.scope)
	return sotto.Use{Dataset: dataset, Labels: scope, Known: o.known, As: o.as, Seed: o.seed.value, Approval: o.approval}, err
}

// sourceFlags are the flags of verbs that read records.
type sourceFlags struct {
	dataFlags
	textColumn  string `job:"text-column"`
	labelColumn string `job:"label-column"`
	nonPrivate  bool
	parallel    int `job:"parallel"`
}

// add takes what the verb makes of records, in the plural.
func (o *sourceFlags) add(cmd *cobra.Command, texts string) {
	o.addRecords(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.nonPrivate, "non-private", false, "allow a method that has no privacy guarantee, for comparisons")
	addParallel(cmd, &o.parallel, texts)
	if s := settings.Of(cmd); s != nil {
		s.Group(settings.Machine)
	}
}

// addParallel adds how many of what the verb makes are written at once.
func addParallel(cmd *cobra.Command, to *int, texts string) {
	settings.Flags(cmd).IntVar(to, "parallel", 0, "write this many "+texts+" at once (default: what suits the method)")
}

// addRecords adds the flags that are about records and their budget.
func (o *sourceFlags) addRecords(cmd *cobra.Command) {
	o.dataFlags.add(cmd, "the private records: a `FILE` (CSV, JSON, Parquet, Excel, Arrow), a folder of Hugging Face datasets, or the address of a database; required",
		"the rows of a database, as `SQL` with an ORDER BY that leaves no ties", "records that cannot be used")
	o.addColumns(cmd)
}

func (o *sourceFlags) addColumns(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.textColumn, "text-column", "", "the `COLUMN` of the text, if not the task's (for generation: of the output)")
	f.StringVar(&o.labelColumn, "label-column", "", "the `COLUMN` of the label, if not the task's (for generation: of the input)")
}

// columns puts the columns that were named in place of the task's.
func (o *sourceFlags) columns(t *prompt.Task) {
	if o.textColumn != "" {
		t.Text = o.textColumn
	}
	if o.labelColumn != "" {
		t.Label = o.labelColumn
	}
}

// source says where the records of a task are, and how a method that reads them is charged.
func (o *sourceFlags) source(task, method string) (from sotto.Source, use sotto.Use, err error) {
	skip, err := o.skips()
	switch {
	case o.data == "" && method != "public":
		return from, use, usage("--data is missing: a file of records, or the address of a database")
	case err != nil:
		return from, use, err
	case o.parallel < 0:
		return from, use, usage("--set parallel is %d, it should be positive", o.parallel)
	}
	if err := o.present(); err != nil {
		return from, use, err
	}
	of, err := tableOf(task)
	if err != nil {
		return from, use, err
	}
	dataset := o.name
	if dataset == "" && !config.IsURL(o.data) {
		path, _ := convert.Split(o.data)
		dataset = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	use, err = o.use(dataset)
	use.NonPrivate = o.nonPrivate
	return sotto.Source{Location: o.data, Query: o.query, Schema: of, SkipMalformed: skip}, use, err
}

// exists reports whether there is such a file, or sqlite: before its name.
func exists(path string) bool {
	path, _ = convert.Split(strings.TrimPrefix(path, "sqlite:"))
	_, err := os.Stat(path)
	return err == nil
}

// seedFlag is a seed, nil unless it is given.
type seedFlag struct{ value *uint64 }

// Set implements [pflag.Value].
func (s *seedFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, 64)
	seed := uint64(n)
	s.value = &seed
	return err
}

// String implements [pflag.Value].
func (s *seedFlag) String() string {
	if s.value == nil {
		return ""
	}
	return strconv.FormatInt(int64(*s.value), 10)
}

// Type implements [pflag.Value].
func (s *seedFlag) Type() string { return "int" }
