package report

import (
	"fmt"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/sys/durable"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
)

// MarkdownName is the file that [Write] makes.
const MarkdownName = "README.md"

// Input is what a report is made from.
type Input struct {
	// Title and About are for people; About is a paragraph.
	Title, About string
	// Rows to show; required. Those of one data set must have the same metric.
	Rows []result.Row
	// Published values of papers to print beside them.
	Published []suite.PublishedValue
	// Order of data sets and of methods' names, such as a suite's; what is not in it
	// comes after, in order of the rows.
	Datasets, Methods []string
	// Reference is the name of the method that others are compared with. Default, and where
	// it has no rows: "clipped" if there is such, else the first that has an ε.
	Reference string
	// Command that makes the rows, Notes on the machine and the models, a sentence each.
	Command string
	Notes   []string
}

// Of fills in what a suite says.
func Of(s suite.Suite, rows []result.Row) Input {
	s = s.WithDefaults()
	in := Input{Title: s.Title, About: s.About, Rows: rows, Published: s.Published, Reference: s.Reference}
	if in.Title == "" {
		in.Title = s.Name
	}
	for _, d := range s.Datasets {
		in.Datasets = append(in.Datasets, d.Name)
	}
	for _, m := range s.Methods {
		in.Methods = append(in.Methods, m.Name)
	}
	return in
}

// Write makes the report in a folder, which must exist.
func Write(dir string, in Input) error {
	d, err := compose(in)
	if err != nil {
		return err
	}
	if err := durable.Replace(filepath.Join(dir, MarkdownName), 0o644, durable.Bytes(d.markdown())); err != nil {
		return fmt.Errorf("report: write %s: %w", MarkdownName, err)
	}
	return nil
}
