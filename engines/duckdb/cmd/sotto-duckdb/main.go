//go:build cgo

package main

import (
	"cmp"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/engines/duckdb"
	"github.com/sotto-dp/sotto/engines/internal/tablecmd"
	"github.com/sotto-dp/sotto/internal/ui"
)

const usage = `sotto-duckdb profile --schema S --data F.duckdb --table T --size N --epsilon E --out DIR [flags]
sotto-duckdb perturb --schema S --data F.duckdb --table T --epsilon E --out DIR [flags]

--query SQL takes the rows of a query in place of --table. The same command resumes with
a run that was interrupted. Exit codes are as for sotto: 2 if what was asked for is
wrong, 3 if a budget does not allow it, 4 if a ledger was tampered with, 1 for all else.
`

func main() {
	var t ui.Terminal
	ui.Main("sotto-duckdb", &t, func(ctx context.Context) int { return execute(ctx, &t, os.Args[1:]) })
}

// execute runs the verb that args name, and returns the exit code.
func execute(ctx context.Context, t *ui.Terminal, args []string) int {
	var table, query string
	c := tablecmd.Command{
		Name: "sotto-duckdb", Usage: usage, Data: "a DuckDB file",
		Add: func(_ string, f *flag.FlagSet) {
			f.StringVar(&table, "table", "", "which table of the file")
			f.StringVar(&query, "query", "", "the rows as SQL, in place of --table")
		},
		Source: func(data string) (sotto.TableSource, string, error) {
			if (table == "") == (query == "") {
				return sotto.TableSource{}, "", ui.Usage("name the rows by either --table or --query")
			}
			source := duckdb.Source(data, table)
			source.Query = query
			base := filepath.Base(data)
			return source, cmp.Or(table, strings.TrimSuffix(base, filepath.Ext(base))), nil
		},
	}
	return c.Execute(ctx, t, args)
}
