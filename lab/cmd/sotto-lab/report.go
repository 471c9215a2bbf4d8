package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lab/report"
)

type reportResult struct {
	Dir  string `json:"dir"`
	Rows int    `json:"rows"`
}

func newReportCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "The report of a suite, made again from its rows",
		Long: `Makes README.md of a folder again, from its rows.jsonl (or, if that is not
there, rows.parquet), and from suite.toml and about.json if they are there: after an update of the program, or after rows were added or taken out. No
model is asked.` + ui.JSONKeys(reportResult{}),
		Example: `  sotto-lab report sotto-eval/quick`,
		Args:    takes(1, "DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			rows, err := report.Again(args[0])
			if err != nil {
				return documentError(err)
			}
			return p.Emit(&reportResult{args[0], rows})
		},
	}
	return cmd
}

func (r *reportResult) Print(p *ui.Page) {
	p.Head("the report of %s", ui.Counted(r.Rows, "row"))
	p.Facts("report", filepath.Join(r.Dir, report.MarkdownName))
}
