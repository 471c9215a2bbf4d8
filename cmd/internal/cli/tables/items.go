package tables

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	tabular "github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/schema"
)

type itemsOptions struct {
	cli.SchemaFlag
	data, table, query string
	out                string
	limit              int
	bins               bool
	skip               bool
}

func newTableItemsCommand(p *cli.Program) *cobra.Command {
	var opt itemsOptions
	cmd := &cobra.Command{
		Use:   "items --schema S --data test.csv --out items.jsonl",
		Short: "Public rows in words, as questions for eval",
		Long: `Puts rows of a table that may be seen, such as a public test set, into words by
the schema, with their labels as answers: the --test of "sotto eval --task
table:S". The file holds the rows as they are: do not make one of private rows.

With --bins, numbers of columns that have bins are written as their bins, as in
examples from perturbed rows.` + ui.JSONKeys(itemsResult{}),
		Example: `  sotto table items --schema adult --data test.csv --limit 300 --out items.jsonl
  sotto table items --schema adult-local --bins --data test.csv --out items.jsonl
  sotto eval --task table:adult --demos zero --demos demos --test items.jsonl`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runItems(cmd.Context(), p, opt, cmd.Flags().Changed)
		},
	}
	opt.SchemaFlag.Add(cmd)
	f := cmd.Flags()
	f.StringVar(&opt.data, "data", "", "the public rows: a `FILE`, a folder, or a database; required")
	f.StringVar(&opt.table, "table", "", "which `TABLE` of a database")
	f.StringVar(&opt.query, "query", "", "the rows of a database, as `SQL`")
	f.StringVar(&opt.out, "out", "", "the `FILE`.jsonl to write; required")
	f.IntVar(&opt.limit, "limit", 0, "the first `N` rows (default: all)")
	f.BoolVar(&opt.bins, "bins", false, "write numbers as their bins, as examples from perturbed rows do")
	f.BoolVar(&opt.skip, "skip", false, "leave out rows that the schema refuses")
	cli.Needs(cmd, "data", "out")
	return cmd
}

type itemsResult struct {
	Out      string   `json:"out"`
	Items    int64    `json:"items"`
	Warnings []string `json:"warnings"`
}

// errEnough ends a scan.
var errEnough = errors.New("enough rows")

func runItems(ctx context.Context, p *cli.Program, opt itemsOptions, given func(string) bool) (err error) {
	of, err := opt.Schema()
	if err != nil {
		return err
	}
	if err := (&cli.SettingFlags{Given: given}).Positive(map[string]float64{"limit": float64(opt.limit)}); err != nil {
		return err
	}
	if _, err := of.Task(); err != nil {
		return cli.Usage("%w", err)
	}
	o := tabular.Options{Schema: of, Discrete: opt.bins, Table: opt.table, Query: opt.query}
	if opt.skip {
		o.OnError = tabular.Skip
	}
	data, err := tabular.Open(ctx, opt.data, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	f, err := os.OpenFile(opt.out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return cli.Usage("--out: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := &itemsResult{Out: opt.out, Warnings: []string{
		fmt.Sprintf("%s holds rows in words, as they are: it is for public rows, and nothing protects anybody in it", opt.out),
	}}
	out, words := bufio.NewWriter(f), of.Wording()
	lines := json.NewEncoder(out)
	err = data.Scan(ctx, nil, 1, func(_ int, b *tabular.Batch) error {
		for i := range b.Rows {
			if opt.limit > 0 && r.Items == int64(opt.limit) {
				return errEnough
			}
			row := publicRow(of, b, i)
			if err := lines.Encode(sampleDemo{words.Text(row), words.Answer(row)}); err != nil {
				return fmt.Errorf("write the questions: %w", err)
			}
			r.Items++
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the questions: %w", err)
	}
	return p.Warned(r, r.Warnings)
}

// publicRow is the i-th row of a batch.
func publicRow(of schema.Schema, b *tabular.Batch, i int) schema.Row {
	row := make(schema.Row, len(of.Columns))
	for j, c := range of.Columns {
		if v := b.Columns[j]; v.Codes != nil {
			row[j] = schema.Value{Code: int(v.Codes[i]), Discrete: true}
		} else {
			row[j] = schema.Value{Number: tabular.NewScale(c).Value(float64(v.Steps[i]))}
		}
	}
	return row
}

func (r *itemsResult) Print(p *ui.Page) {
	p.Line("%s", p.Paint(ui.Bold, fmt.Sprintf("%s questions are in %s", ui.Thousands(r.Items), r.Out)))
}
