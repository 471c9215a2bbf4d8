package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/eval/suite"
	"github.com/sotto-dp/sotto/internal/ui"
)

type suiteSummary struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Cells are the sets of demonstrations that it has.
	Cells int `json:"cells"`
}

type suiteList struct {
	Suites []suiteSummary `json:"suites"`
}

// runSuiteList lists the built-in suites, as the flags change them.
func runSuiteList(p *program, opt suiteOptions) error {
	for _, flag := range []string{"data", "out", "cache", "seeds", "items", "datasets", "methods", "dry-run"} {
		if opt.asked(flag) && !opt.list {
			return usage("--%s is for running a suite, and none is named: one of those that \"sotto eval suite\" lists, or the path of a file", flag)
		}
	}
	r := &suiteList{}
	for _, name := range suite.Builtins() {
		s, err := suite.Builtin(name)
		if err != nil {
			return err
		}
		cells, err := suite.Cells(s)
		if err != nil {
			return err
		}
		r.Suites = append(r.Suites, suiteSummary{s.Name, s.Title, len(cells)})
	}
	return p.Emit(r)
}

func (r *suiteList) Print(p *ui.Page) {
	t := ui.NewTable("suite", "#sets", "what it compares")
	for _, s := range r.Suites {
		t.Add(s.Name, fmt.Sprint(s.Cells), s.Title)
	}
	p.Table(t)
	p.Line("\n  run one:  sotto eval suite quick --data DIR\n  its file: sotto eval suite show quick > mine.toml")
}

type suiteShowResult struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	About string `json:"about"`
	Cells int    `json:"cells"`
	File  string `json:"file"`
}

func newSuiteShowCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "The file of a suite",
		Long: `Prints the file of a suite: redirect that of a built-in one to a file of your
own and change it. All that is wrong with a file is told at once.

Keys of --json: name, title, about, cells (sets of demonstrations), file (its
text).`,
		Example: `  sotto eval suite show quick > mine.toml
  sotto eval suite show mine.toml --json`,
		Args: takes("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := suite.Find(args[0])
			if err != nil {
				return documentError(err)
			}
			data, err := suite.Source(args[0])
			if err != nil {
				return documentError(err)
			}
			cells, err := suite.Cells(s)
			if err != nil {
				return documentError(err)
			}
			return p.Emit(&suiteShowResult{s.Name, s.Title, s.About, len(cells), string(data)})
		},
	}
	cmd.ValidArgsFunction = completeSuites
	return cmd
}

func (r *suiteShowResult) Print(p *ui.Page) { fmt.Fprint(p.W, r.File) }

func completeSuites(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return suite.Builtins(), cobra.ShellCompDirectiveDefault
}
