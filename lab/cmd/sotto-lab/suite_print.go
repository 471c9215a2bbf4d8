package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lab/suite"
)

type suiteResult struct {
	Suite         string             `json:"suite"`
	Title         string             `json:"title"`
	Dir           string             `json:"dir"`
	Files         []string           `json:"files"`
	OK            bool               `json:"ok"`
	Cells         int                `json:"cells"`
	Written       int                `json:"written"`
	Answered      int                `json:"answered"`
	ReusedSets    int                `json:"reused_sets"`
	ReusedAnswers int                `json:"reused_answers"`
	Tokens        int64              `json:"model_tokens"`
	Seconds       float64            `json:"seconds"`
	Rows          []suite.Summary    `json:"rows"`
	Comparisons   []suite.Comparison `json:"comparisons"`
	Failed        []failedCell       `json:"failed,omitempty"`
}

type failedCell struct {
	Cell  string `json:"cell"`
	Error string `json:"error"`
}

func (r *suiteResult) Print(p *ui.Page) {
	title := cmp.Or(r.Title, r.Suite)
	p.Line("%s", p.Paint(ui.Bold, title))
	type models struct{ writer, answerer string }
	var order []models
	for _, s := range r.Rows {
		if m := (models{s.Model, s.Answerer}); !slices.Contains(order, m) {
			order = append(order, m)
		}
	}
	raw := false
	for _, m := range order {
		var rows []suite.Summary
		for _, s := range r.Rows {
			if m == (models{s.Model, s.Answerer}) {
				rows = append(rows, s)
			}
		}
		rows, left := calibratedOnly(rows)
		raw = raw || left
		who := fmt.Sprintf("written by %s, answered by %s", m.writer, m.answerer)
		if m.answerer == "" {
			who = "without a language model"
		}
		p.Line("\n  %s\n", who)
		printSummaries(p, rows)
	}
	p.Line("")
	notes := []string{"Means ± standard deviations over sets of demonstrations, with 95 % intervals for other sets and other questions. NOT PRIVATE: suites are seeded, so that they can be repeated."}
	if slices.ContainsFunc(r.Rows, func(s suite.Summary) bool { return s.Online }) {
		notes = append(notes, "Online: records answer, and ε is for several answers together; the report says how many.")
	}
	if slices.ContainsFunc(r.Rows, func(s suite.Summary) bool { return s.Claimed }) {
		notes = append(notes, "The ε of what is published and not proven is a claim.")
	}
	if raw {
		notes = append(notes, "Values are calibrated; the others are in the report.")
	}
	for _, note := range notes {
		p.Text(2, note)
	}
	p.Line("")
	p.Facts(
		"report", filepath.Join(r.Dir, "report.html"),
		"rows", strings.Join([]string{filepath.Join(r.Dir, "rows.jsonl"), filepath.Join(r.Dir, "rows.parquet")}, ", "),
		"done", fmt.Sprintf("%s written and %s answered, %s tokens in %s", ui.Counted(r.Written, "set"), ui.Counted(r.Answered, "test"), ui.Thousands(r.Tokens), ui.Span(r.Seconds)),
		"reused", r.reused(),
	)
}

// reused says what the cache spared.
func (r *suiteResult) reused() string {
	var parts []string
	if r.ReusedSets > 0 {
		parts = append(parts, ui.Counted(r.ReusedSets, "set"))
	}
	if r.ReusedAnswers > 0 {
		parts = append(parts, "the answers of "+ui.Counted(r.ReusedAnswers, "test"))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " and ") + ", from the cache"
}

// calibratedOnly leaves calibrated rows where there are both, and reports whether there
// were others.
func calibratedOnly(rows []suite.Summary) ([]suite.Summary, bool) {
	both := map[string]bool{}
	for _, s := range rows {
		if s.Calibrated {
			both[s.Dataset] = true
		}
	}
	kept := slices.DeleteFunc(slices.Clone(rows), func(s suite.Summary) bool { return !s.Calibrated && !s.Online && both[s.Dataset] })
	return kept, len(kept) < len(rows)
}

func printSummaries(p *ui.Page, rows []suite.Summary) {
	t := ui.NewTable("data set", "method", "#ε", "#shots", "#mean", "#", "#95 % interval")
	// Where numbers of answers are compared, they are in the place of what writing takes.
	several := slices.ContainsFunc(rows, func(s suite.Summary) bool { return s.Online && s.Queries != firstQueries(rows) })
	if several {
		t.Column("#answers for ε")
	} else {
		t.Column("#tokens written")
	}
	last := ""
	for _, s := range rows {
		spread := ui.If(s.Seeds > 1, fmt.Sprintf("± %.1f", 100*s.Std))
		name := s.Dataset
		if name == last {
			name = ""
		}
		last = s.Dataset
		written := ui.If(s.WriteTokens > 0, ui.Thousands(int64(s.WriteTokens)))
		shots := fmt.Sprint(s.Shots)
		if s.Online {
			shots = "online"
		}
		line := []string{name, ui.Cut(s.Name, 18), epsilonOf(s.Epsilon), shots, ui.Percent(s.Mean), spread, ui.Between(s.Low, s.High), written}
		if several {
			line[7] = ""
			if s.Online {
				line[7] = ui.Thousands(s.Queries)
			}
		}
		t.Add(line...)
	}
	t.Paint = func(row, column int) string {
		return ui.If(column == 1 && (rows[row].Epsilon == nil || rows[row].Claimed), ui.Red)
	}
	p.Table(t)
}

// firstQueries is the number of answers that the first ε of those online is for.
func firstQueries(rows []suite.Summary) int64 {
	for _, s := range rows {
		if s.Online {
			return s.Queries
		}
	}
	return 0
}

// epsilonOf prints an ε that nobody may have.
func epsilonOf(epsilon *float64) string {
	if epsilon == nil {
		return "∞"
	}
	return ui.Whole(*epsilon)
}

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
			return ui.Usage("--%s is for running a suite, and none is named: one of those that \"sotto-lab suite\" lists, or the path of a file", flag)
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
	p.Line("\n  run one:  sotto-lab suite quick --data DIR\n  its file: sotto-lab suite show quick > mine.toml")
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
own and change it. All errors in a file are reported at once.` + ui.JSONKeys(suiteShowResult{}, "cells are sets of demonstrations."),
		Example: `  sotto-lab suite show quick > mine.toml
  sotto-lab suite show mine.toml --json`,
		Args: takes(1, "NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := suite.Find(args[0])
			if err != nil {
				return documentError(err)
			}
			file, err := suite.Source(args[0])
			if err != nil {
				return documentError(err)
			}
			cells, err := suite.Cells(s)
			if err != nil {
				return documentError(err)
			}
			return p.Emit(&suiteShowResult{s.Name, s.Title, s.About, len(cells), string(file)})
		},
	}
	cmd.ValidArgsFunction = cobra.FixedCompletions(suite.Builtins(), cobra.ShellCompDirectiveDefault)
	return cmd
}

func (r *suiteShowResult) Print(p *ui.Page) { p.File(r.File) }

type dryResult struct {
	Suite   string            `json:"suite"`
	Cells   int               `json:"cells"`
	Groups  []suite.GroupCost `json:"groups"`
	Tokens  float64           `json:"model_tokens"`
	Seconds float64           `json:"seconds"`
	Model   string            `json:"model"`
}

// estimate reports what the suite would take, without the cache. No record is read.
func (s *suiteRun) estimate(ctx context.Context, cells []suite.Cell) (err error) {
	r := &dryResult{Suite: s.suite.Name, Cells: len(cells)}
	bar := s.Bar("planning")
	r.Groups, err = s.suite.Estimate(ctx, cells, suite.Options{Open: s.open, OpenAnswerer: s.openAnswerer}, func(done, of int) { bar.Show(done, of, "methods") })
	bar.Clear()
	if err != nil {
		return err
	}
	for _, g := range r.Groups {
		r.Tokens += g.Write + g.Answer
		r.Seconds += g.Seconds
	}
	at := slices.IndexFunc(cells, func(c suite.Cell) bool { return !c.Learns() })
	if at < 0 {
		r.Model = "no language model"
		return s.Emit(r)
	}
	spec, err := s.specOf(cells[at].Answerer)
	if err != nil {
		return err
	}
	answerer, err := s.openAnswerer(ctx, cells[at].Answerer)
	if err != nil {
		return err
	}
	r.Model = flags.ModelName(spec, answerer.Info())
	return s.Emit(r)
}

func (r *dryResult) Print(p *ui.Page) {
	p.Head("%s: %s of demonstrations, about %s tokens, %s", r.Suite, ui.Counted(r.Cells, "set"), ui.Thousands(int64(r.Tokens)), ui.Span(r.Seconds))
	t := ui.NewTable("data set", "method", "#ε", "#shots", "#sets", "#tokens written", "#answered", "#time")
	last := ""
	for _, g := range r.Groups {
		name := g.Dataset
		if name == last {
			name = ""
		}
		last = g.Dataset
		shots := fmt.Sprint(g.Shots)
		if g.Online {
			shots = "for " + ui.Thousands(g.Queries)
		}
		t.Add(
			name, ui.Cut(g.Name, 18), epsilonOf(g.Epsilon), shots, fmt.Sprint(g.Cells),
			ui.Thousands(int64(g.Write)), ui.Thousands(int64(g.Answer)), ui.Span(g.Seconds),
		)
	}
	p.Table(t)
	p.Line("")
	p.Text(2, fmt.Sprintf("Texts count with their full length, records with the task's limit, and nothing is taken from the cache. Times are for %s on this machine, measured now, one set after the other. No record was read.", r.Model))
}
