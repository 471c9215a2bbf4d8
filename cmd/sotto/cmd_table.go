package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

func newTableCommand(p *program) *cobra.Command {
	return newGroup("table", "Private tables as examples: perturbed rows, or profiles of groups",
		`Makes few-shot examples from a private table, by a public schema that says what
its columns can be and how a row reads in words. There are two ways.

  local    Every row is perturbed by itself, by its owner (perturb): nobody
           else has to be trusted. From many perturbed rows the distribution
           is estimated (reconstruct), and any number of examples is drawn
           from that (sample).
  global   A trusted keeper of the table sums it up and adds noise: typical
           rows of groups (profile), with far less noise at the same ε.

"sotto table plan" predicts how well each does at an ε, before a row is read.`,
		`  sotto table plan --schema adult --size 32561 --epsilon 1
  sotto table profile --schema adult --data adult.csv --size 32561 --epsilon 1 --groups 4 --out demos
  sotto table perturb --schema adult-local --data adult.csv --epsilon 8 --out perturbed
  sotto table reconstruct --schema adult-local --data perturbed --sample 4 --out demos
  sotto table items --schema adult --data test.csv --out items.jsonl`,
		newTableSchemaCommand(p), newTablePlanCommand(p), newTableProfileCommand(p), newTablePerturbCommand(p),
		newTableReconstructCommand(p), newTableSampleCommand(p), newTablePredictCommand(p), newTableItemsCommand(p))
}

// schemaFlag names a schema, as all verbs on tables have it.
type schemaFlag struct {
	ref string `job:"schema,named"`
}

func (s *schemaFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.ref, "schema", "", "the schema: a `NAME` of \"sotto table schema\", or the path of a schema file; required")
	_ = cmd.RegisterFlagCompletionFunc("schema", completeSchemas) // the flag exists
}

func (s *schemaFlag) schema() (schema.Schema, error) {
	if s.ref == "" {
		return schema.Schema{}, usage("--schema is missing: one of %s, or the path of a schema file", strings.Join(schema.Builtins(), ", "))
	}
	found, err := schema.Find(s.ref)
	return found, documentError(err)
}

// tablePrefix comes before the schema whose rows, in words, are a task's records.
const tablePrefix = "table:"

// tableOf is the schema of a task that is about rows of a table, table:SCHEMA; nil for others.
func tableOf(ref string) (*schema.Schema, error) {
	name, ok := strings.CutPrefix(ref, tablePrefix)
	if !ok {
		return nil, nil
	}
	of, err := (&schemaFlag{name}).schema()
	return &of, err
}

// findTask finds a task by name or path, or that of a table's rows in words.
func findTask(ref string) (prompt.Task, error) {
	of, err := tableOf(ref)
	if err != nil {
		return prompt.Task{}, err
	}
	if of == nil {
		task, err := prompt.Find(ref)
		return task, documentError(err)
	}
	task, err := of.Task()
	if err != nil {
		return task, usage("%w", err)
	}
	return task, nil
}

// tableFlags say where a private table is, who pays for its use, and where results go.
type tableFlags struct {
	dataFlags
	table   string `job:"table"`
	out     string
	workers int `job:"workers"`
}

func (o *tableFlags) add(cmd *cobra.Command) {
	o.dataFlags.add(cmd, "the private table: a `FILE` (CSV, JSON, Parquet, Excel, Arrow, SQLite), a folder of Hugging Face datasets, or postgres://…; required",
		"the rows of a database, as `SQL`, in place of --table", "rows that the schema refuses")
	f := cmd.Flags()
	f.StringVar(&o.table, "table", "", "which `TABLE` of a database")
	f.StringVar(&o.out, "out", "", "the `DIR` to write to, also to continue with a run; required")
	f.IntVar(&o.workers, "workers", 0, "read with `N` threads (default: one for every processor)")
}

// options makes of the flags what the library takes.
func (o *tableFlags) options() (t sotto.TableOptions, err error) {
	skip, err := o.skips()
	switch {
	case o.data == "":
		return t, usage("--data is missing: the file of the table, or a database")
	case o.out == "":
		return t, usage("--out is missing: the folder to write to")
	case err != nil:
		return t, err
	case o.workers < 0:
		return t, usage("--workers is %d, it should be positive", o.workers)
	}
	if err := o.present(); err != nil {
		return t, err
	}
	t = sotto.TableOptions{Out: o.out, Workers: o.workers, Source: sotto.TableSource{Location: o.data, Table: o.table, Query: o.query, SkipRefused: skip}}
	t.Use, err = o.use(o.dataset())
	return t, err
}

// dataset is what people call the table.
func (o *tableFlags) dataset() string {
	switch {
	case o.name != "":
		return o.name
	case o.table != "":
		return o.table
	case config.IsURL(o.data):
		return ""
	}
	base := filepath.Base(o.data)
	for _, packed := range []string{".gz", ".zst"} {
		base = strings.TrimSuffix(base, packed)
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// leftOut warns of rows that the schema refused, on standard error alone: how many
// depends on the rows, so that it is in no result.
func (p *program) leftOut(rows int64) {
	if rows > 0 {
		p.Warn(fmt.Sprintf("%s left out: the schema refuses them. How many depends on the rows: do not publish that number", ui.Were(rows, "row")))
	}
}
