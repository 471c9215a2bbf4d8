package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
)

// sourceFlags say where private records are and who pays for their use, as verbs have
// them that read records.
type sourceFlags struct {
	data, query string
	onError     string
	textColumn  string
	labelColumn string
	name        string
	scope       []string
	ledger      string
	nonPrivate  bool
	seed        int64
	parallel    int
}

// add takes what the verb makes of records, in the plural.
func (o *sourceFlags) add(cmd *cobra.Command, texts string) {
	o.addRecords(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.nonPrivate, "non-private", false, "allow a method that protects nobody, for comparisons")
	f.IntVar(&o.parallel, "parallel", 0, "write this many "+texts+" at once (default: what suits the method)")
}

// addRecords adds the flags that are about records and their budget.
func (o *sourceFlags) addRecords(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "the private records: a `FILE`, or the address of a database; required")
	f.StringVar(&o.query, "query", "", "the rows of a database, as `SQL` with an ORDER BY that leaves no ties")
	f.StringVar(&o.onError, "on-error", string(record.Fail), "what to do about records that cannot be used: fail, or skip them")
	complete(cmd, "on-error", string(record.Fail), string(record.Skip))
	f.StringVar(&o.textColumn, "text-column", "", "the `COLUMN` of the text, if not the task's (for generation: of the output)")
	f.StringVar(&o.labelColumn, "label-column", "", "the `COLUMN` of the label, if not the task's (for generation: of the input)")
	f.Int64Var(&o.seed, "seed", 0, "take all random numbers from `N`, for tests: what comes out is NOT PRIVATE")
	f.StringVar(&o.name, "name", "", "what people call the data set, for the ledger if it is new there (default: the name of the file)")
	f.StringArrayVar(&o.scope, "label", nil, "a `LABEL=VALUE` of the charge, for scoped budgets; may be repeated")
	f.StringVar(&o.ledger, "ledger", "", "the ledger: a `PATH`, or a postgres:// URL (default: SOTTO_LEDGER, your configuration, the user's data directory)")
}

// check finds what is wrong with them for a method.
func (o *sourceFlags) check(method string) error {
	switch {
	case o.data == "" && method != "public":
		return usage("--data is missing: a file of records, or the address of a database")
	case o.onError != string(record.Fail) && o.onError != string(record.Skip):
		return usage("--on-error is %q, it should be fail or skip", o.onError)
	case o.parallel < 0:
		return usage("--parallel is %d, it should be positive", o.parallel)
	}
	return nil
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

// source says where the records are.
func (o *sourceFlags) source(task string) (sotto.Source, error) {
	of, err := tableOf(task)
	return sotto.Source{Location: o.data, Query: o.query, Schema: of, SkipMalformed: o.onError == string(record.Skip)}, err
}

// use says how it is charged.
func (o *sourceFlags) use(seeded bool) (sotto.Use, error) {
	scope, err := ui.Pairs("label", o.scope)
	return sotto.Use{Dataset: o.dataset(), Labels: scope, NonPrivate: o.nonPrivate, Seed: o.seeded(seeded)}, err
}

// dataset is what people call the data.
func (o *sourceFlags) dataset() string {
	if o.name == "" && !isURL(o.data) {
		return strings.TrimSuffix(filepath.Base(o.data), filepath.Ext(o.data))
	}
	return o.name
}

// seeded is the seed, nil unless it was given.
func (o *sourceFlags) seeded(given bool) *uint64 { return seedOf(o.seed, given) }

// seedOf returns the seed of a flag, nil unless it was given.
func seedOf(seed int64, given bool) *uint64 {
	if !given {
		return nil
	}
	n := uint64(seed)
	return &n
}
