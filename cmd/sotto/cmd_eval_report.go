package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/eval/report"
	"github.com/sotto-dp/sotto/eval/suite"
	"github.com/sotto-dp/sotto/internal/bounded"
	"github.com/sotto-dp/sotto/internal/ui"
)

// Files that a suite leaves beside its rows, so that its report can be made again.
const (
	suiteFile = "suite.toml"
	aboutFile = "about.json"
)

// suiteAbout is what a report says of how its rows were made.
type suiteAbout struct {
	Command string   `json:"command"`
	Notes   []string `json:"notes"`
}

func saveAbout(dir string, source []byte, about suiteAbout) error {
	data, err := json.MarshalIndent(about, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, aboutFile), append(data, '\n'), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, suiteFile), source, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write what the report is about: %w", err)
	}
	return nil
}

type reportResult struct {
	Dir   string   `json:"dir"`
	Files []string `json:"files"`
	Rows  int      `json:"rows"`
}

func newReportCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "The report of a suite, made again from its rows",
		Long: `Makes report.html and README.md of a folder again, from its rows.jsonl (or, if
that is not there, rows.parquet), and from suite.toml and about.json if they are
there: after an update of the program, or after rows were added or taken out. No
model is asked.

Keys of --json: dir, files, rows.`,
		Example: `  sotto eval report sotto-eval/quick`,
		Args:    takes("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := reportAgain(args[0])
			if err != nil {
				return err
			}
			return p.Emit(r)
		},
	}
	return cmd
}

func reportAgain(dir string) (*reportResult, error) {
	path := filepath.Join(dir, "rows.jsonl")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		path = filepath.Join(dir, "rows.parquet")
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, usage("%s has no rows.jsonl or rows.parquet: name the folder that \"sotto eval suite\" wrote to", dir)
	}
	rows, err := eval.ReadRows(path)
	if err != nil {
		return nil, usage("%w", err)
	}
	if len(rows) == 0 {
		return nil, usage("%s has no rows: run the suite first", path)
	}
	rows = eval.Tidy(rows) // a suite that was interrupted has added rows to those of before
	s := suite.Suite{Name: filepath.Base(dir)}
	if data, err := bounded.ReadFile(filepath.Join(dir, suiteFile), bounded.Small); err == nil {
		if s, err = suite.Parse(rows[0].Suite, data); err != nil {
			return nil, suiteError(err)
		}
	}
	var about suiteAbout
	if data, err := bounded.ReadFile(filepath.Join(dir, aboutFile), bounded.Small); err == nil {
		if err := bounded.UnmarshalJSON(data, bounded.Small, &about); err != nil {
			return nil, usage("%s is no JSON: correct or remove it: %w", filepath.Join(dir, aboutFile), err)
		}
	}
	if err := writeReport(dir, s, rows, about); err != nil {
		return nil, err
	}
	return &reportResult{Dir: dir, Files: []string{report.PageName, report.MarkdownName}, Rows: len(rows)}, nil
}

func (r *reportResult) Print(p *ui.Page) {
	p.Head("the report of %d rows", r.Rows)
	for i, name := range r.Files {
		p.Facts([]string{"page", "text"}[i], filepath.Join(r.Dir, name))
	}
}
