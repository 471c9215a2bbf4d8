package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
)

// Files that a suite leaves beside its rows, so that its report can be made again.
const (
	suiteFile = "suite.toml"
	aboutFile = "about.json"
)

// About is what a report says of how its rows were made.
type About struct {
	Command string   `json:"command"`
	Notes   []string `json:"notes"`
}

// InputError is about a folder that the user named.
type InputError struct{ error }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.error }

func wrong(format string, args ...any) error { return &InputError{fmt.Errorf(format, args...)} }

// Save writes the report of a suite's rows into their folder, with what is needed to make it
// again. Source is the suite's file.
func Save(dir string, s suite.Suite, source []byte, rows []result.Row, about About) error {
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
	return write(dir, s, rows, about)
}

func write(dir string, s suite.Suite, rows []result.Row, about About) error {
	in := Of(s, rows)
	in.Command, in.Notes = about.Command, about.Notes
	return Write(dir, in)
}

// Again makes the report of a folder again from its rows, and returns how many there are.
func Again(dir string) (int, error) {
	path := filepath.Join(dir, "rows.jsonl")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		path = filepath.Join(dir, "rows.parquet")
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return 0, wrong("%s has no rows.jsonl or rows.parquet: name the folder that \"sotto-lab suite\" wrote to", dir)
	}
	rows, err := result.ReadRows(path)
	if err != nil {
		return 0, wrong("%w", err)
	}
	if len(rows) == 0 {
		return 0, wrong("%s has no rows: run the suite first", path)
	}
	rows = result.Tidy(rows) // a suite that was interrupted has added rows to those of before
	s := suite.Suite{Name: filepath.Base(dir)}
	if data, err := bounded.ReadFile(filepath.Join(dir, suiteFile), bounded.Small); err == nil {
		if s, err = suite.Parse(rows[0].Suite, data); err != nil {
			return 0, err
		}
	}
	var about About
	if data, err := bounded.ReadFile(filepath.Join(dir, aboutFile), bounded.Small); err == nil {
		if err := bounded.UnmarshalJSON(data, bounded.Small, &about); err != nil {
			return 0, wrong("%s is no JSON: correct or remove it: %w", filepath.Join(dir, aboutFile), err)
		}
	}
	return len(rows), write(dir, s, rows, about)
}
