package tables

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

func newTableCommand(p *cli.Program) *cobra.Command {
	return cli.NewGroup("table", "Private tables as examples: perturbed rows, or profiles of groups",
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
		newTableReconstructCommand(p), newTableSampleCommand(p), newTableItemsCommand(p))
}

// tableFlags say where a private table is, who pays for its use, and where results go.
type tableFlags struct {
	cli.DataFlags
	table   string
	out     string
	workers int
}

func (o *tableFlags) add(cmd *cobra.Command) {
	o.DataFlags.Add(cmd, "the private table: a `FILE` (CSV, JSON, Parquet, Excel, SQLite) or postgres://…; required",
		"the rows of a database, as `SQL`, in place of --table", "rows that the schema refuses")
	f := cmd.Flags()
	f.StringVar(&o.table, "table", "", "which `TABLE` of a database")
	f.StringVar(&o.out, "out", "", "the `DIR` to write to, also to continue with a run; required")
	settings.Flags(cmd).IntVar(&o.workers, "workers", 0, "read with `N` threads (default: one for every processor)")
}

// options makes of the flags what the library takes.
func (o *tableFlags) options() (t sotto.TableOptions, err error) {
	skip, err := o.Skips()
	switch {
	case o.Data == "":
		return t, cli.Usage("--data is missing: the file of the table, or a database")
	case o.out == "":
		return t, cli.Usage("--out is missing: the folder to write to")
	case err != nil:
		return t, err
	case o.workers < 0:
		return t, cli.Usage("--workers is %d, it should be positive", o.workers)
	}
	if err := o.Present(); err != nil {
		return t, err
	}
	t = sotto.TableOptions{Out: o.out, Workers: o.workers, Source: sotto.TableSource{Location: o.Data, Table: o.table, Query: o.Query, SkipRefused: skip}}
	t.Use, err = o.Use(o.dataset())
	return t, err
}

// dataset is what people call the table.
func (o *tableFlags) dataset() string {
	switch {
	case o.Name != "":
		return o.Name
	case o.table != "":
		return o.table
	case config.IsURL(o.Data):
		return ""
	}
	base := filepath.Base(o.Data)
	for _, packed := range []string{".gz", ".zst"} {
		base = strings.TrimSuffix(base, packed)
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// leftOut warns of rows that the schema refused, on standard error alone: how many
// depends on the rows, so that it is in no result.
func leftOut(p *cli.Program, rows int64) {
	if rows > 0 {
		p.Warn(fmt.Sprintf("%s left out: the schema refuses them. How many depends on the rows: do not publish that number", ui.Were(rows, "row")))
	}
}
