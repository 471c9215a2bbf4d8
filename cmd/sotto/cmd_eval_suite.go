package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sotto/eval"
	"sotto/eval/report"
	"sotto/eval/suite"
	"sotto/lm"
	"sotto/lm/backend"
)

type suiteOptions struct {
	modelFlags
	data     string
	out      string
	cache    string
	seeds    int
	items    int
	datasets []string
	methods  []string
	parallel int
	list     bool
	dry      bool

	asked func(flag string) bool
	// command is what reports say that they were made by.
	command string
}

func newSuiteCommand(p *program) *cobra.Command {
	var opt suiteOptions
	cmd := &cobra.Command{
		Use:   "suite [FILE|NAME] [--data DIR] [--out DIR]",
		Short: "Data sets × methods × ε × seeds, with a report",
		Long: `Runs a comparison that a file describes: demonstrations by every method, at
every ε, from every seed, for every data set, and how well a model answers with
them. Without a name it lists the built-in suites, which follow the papers'
tables; "sotto eval suite show NAME" prints the file of one, to start your own
from. "{data}/" in its paths stands for --data.

Each set and each answer is kept in a cache as soon as it is there: a suite that
was interrupted goes on when the same command is repeated, and one that shares
sets with another does not write them again. DIR gets rows.jsonl and
rows.parquet (a row for each set), report.html with tables and plots, and
README.md with the tables. "sotto eval report DIR" makes the last two again.

Runs of a suite are seeded so that they can be repeated. So their texts are NOT
PRIVATE, whatever the method: they stay in the cache, and rows hold numbers
alone. Nothing is charged. Models have to be embedded or trusted.

` + modelHelp + `
A model that is given replaces those of the suite.

Keys of --json: suite, dir, files, ok, cells, written, answered, reused_sets,
reused_answers, model_tokens, seconds, rows (dataset, method, name, epsilon,
shots, model, answerer, calibrated, metric, mean, std, low, high, seeds, n,
write_tokens, published_tokens, answer_tokens, metrics), comparisons (a, b,
difference, interval, p, adjusted), failed (cell, error); with --list suites
(name, title, cells); with --dry-run cells, groups (dataset, name, epsilon,
shots, cells, write_tokens, answer_tokens, seconds), model_tokens, seconds.
With --json and no terminal, progress is on standard error, an object a line.`,
		Example: `  sotto eval suite
  sotto eval suite quick --data data
  sotto eval suite text --data data --out results --seeds 3 --items 100 --datasets agnews,trec
  sotto eval suite text --data data --dry-run
  sotto eval suite mine.toml --out results --model qwen2.5-coder`,
		Args:        upTo("suite"),
		Annotations: map[string]string{runsItself: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.asked = cmd.Flags().Changed
			if len(args) == 0 || opt.list {
				return runSuiteList(p, opt)
			}
			opt.command = commandLine(cmd, args)
			return runSuite(cmd.Context(), p, args[0], opt)
		},
	}
	opt.add(cmd)
	cmd.ValidArgsFunction = completeSuites
	cmd.AddCommand(newSuiteShowCommand(p))
	return cmd
}

func (o *suiteOptions) add(cmd *cobra.Command) {
	o.modelFlags.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "the `DIR` that \"{data}/\" stands for in the suite")
	f.StringVar(&o.out, "out", "", "the `DIR` for rows and report (default: sotto-eval/ and the suite's name)")
	f.StringVar(&o.cache, "cache", "", "the `DIR` for what was written and answered (default: in the user's cache)")
	for _, name := range []string{"data", "out", "cache"} {
		_ = cmd.MarkFlagDirname(name) // the flag exists
	}
	f.IntVar(&o.seeds, "seeds", 0, "how many sets of each kind (default: the suite's)")
	f.IntVar(&o.items, "items", 0, "how many questions of each data set (default: the suite's)")
	f.StringSliceVar(&o.datasets, "datasets", nil, "only these `DATASETS`, separated by commas")
	f.StringSliceVar(&o.methods, "methods", nil, "only these `METHODS`, separated by commas")
	f.IntVar(&o.parallel, "parallel", 1, "work on this many sets at once: 1 suits the embedded model, a server takes more")
	f.BoolVar(&o.list, "list", false, "list the built-in suites")
	f.BoolVar(&o.dry, "dry-run", false, "say how much there is to do and how long it would take, and do nothing")
}

// commandLine is what was typed, as far as it matters for the result.
func commandLine(cmd *cobra.Command, args []string) string {
	words := append(strings.Fields(cmd.CommandPath()), args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		switch {
		case f.Name == "json" || f.Name == "parallel" || f.Name == "cache":
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name, value)
		}
	})
	for i, w := range words {
		if strings.ContainsAny(w, " '\"$`\\*?&;|<>()") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// suiteRun holds what the steps of a suite share.
type suiteRun struct {
	suiteOptions
	*program
	suite  suite.Suite
	source []byte
	// dir is the folder that relative paths of the suite's file are in.
	dir    string
	models map[string]lm.Trusted
	// writers are models that only write text, of servers that may see records.
	writers map[string]lm.Model
}

func runSuite(ctx context.Context, p *program, ref string, opt suiteOptions) (err error) {
	s := &suiteRun{suiteOptions: opt, program: p, models: map[string]lm.Trusted{}, writers: map[string]lm.Model{}}
	if err := s.load(ref); err != nil {
		return err
	}
	cells, err := suite.Cells(s.suite)
	if err != nil {
		return suiteError(err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.openModels(ctx, cells); err != nil {
		return err
	}
	if s.dry {
		return s.estimate(ctx, cells)
	}
	return s.run(ctx, cells)
}

// load reads the suite and puts what the flags say in its place.
func (s *suiteRun) load(ref string) (err error) {
	for name, n := range map[string]int{"seeds": s.seeds, "items": s.items, "parallel": s.parallel} {
		if s.asked(name) && n < 1 {
			return usage("--%s is %d, it should be positive", name, n)
		}
	}
	s.dir = filepath.Dir(ref)
	if s.source, err = suite.Source(ref); err != nil {
		return suiteError(err)
	}
	if s.suite, err = suite.Find(ref); err != nil {
		return suiteError(err)
	}
	if s.seeds > 0 {
		s.suite.Seeds = s.seeds
	}
	if s.asked("model") || s.asked("url") {
		s.suite.Models, s.suite.Answerers = nil, nil
	}
	if err := s.narrow(); err != nil {
		return err
	}
	if s.items > 0 {
		s.suite.Items = s.items
		for i := range s.suite.Datasets {
			s.suite.Datasets[i].Items = 0
		}
	}
	if err := s.locate(); err != nil {
		return err
	}
	if s.out == "" {
		s.out = filepath.Join("sotto-eval", s.suite.Name)
	}
	if s.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return usage("there is no place for a cache: name one with --cache: %w", err)
		}
		s.cache = filepath.Join(dir, "sotto", "eval")
	}
	return nil
}

// narrow leaves the data sets and methods that are asked for.
func (s *suiteRun) narrow() error {
	nameOf := func(m suite.Method) string {
		if m.Name != "" {
			return m.Name
		}
		return m.Method
	}
	var datasets, methods []string
	for _, d := range s.suite.Datasets {
		datasets = append(datasets, d.Name)
	}
	for _, m := range s.suite.Methods {
		methods = append(methods, nameOf(m), m.Method)
	}
	for _, c := range []struct {
		flag        string
		asked, have []string
	}{{"datasets", s.datasets, datasets}, {"methods", s.methods, methods}} {
		for _, name := range c.asked {
			if !slices.Contains(c.have, name) {
				slices.Sort(c.have)
				return usage("--%s has %q, and the suite has %s", c.flag, name, strings.Join(slices.Compact(c.have), ", "))
			}
		}
	}
	if len(s.datasets) > 0 {
		s.suite.Datasets = slices.DeleteFunc(s.suite.Datasets, func(d suite.Dataset) bool { return !slices.Contains(s.datasets, d.Name) })
		s.suite.Published = slices.DeleteFunc(s.suite.Published, func(v suite.Published) bool { return !slices.Contains(s.datasets, v.Dataset) })
		for i, m := range s.suite.Methods {
			s.suite.Methods[i].Datasets = slices.DeleteFunc(m.Datasets, func(d string) bool { return !slices.Contains(s.datasets, d) })
			if len(m.Datasets) > 0 && len(s.suite.Methods[i].Datasets) == 0 {
				s.suite.Methods[i].Method = "" // it is for others alone
			}
			for d := range m.On {
				if !slices.Contains(s.datasets, d) {
					delete(m.On, d)
				}
			}
		}
		s.suite.Methods = slices.DeleteFunc(s.suite.Methods, func(m suite.Method) bool { return m.Method == "" })
	}
	if len(s.methods) > 0 {
		s.suite.Methods = slices.DeleteFunc(s.suite.Methods, func(m suite.Method) bool {
			return !slices.Contains(s.methods, nameOf(m)) && !slices.Contains(s.methods, m.Method)
		})
	}
	return nil
}

// locate finds the data before anything is computed.
func (s *suiteRun) locate() error {
	for _, d := range s.suite.Datasets {
		if s.data == "" && (strings.HasPrefix(d.Test, "{data}/") || strings.HasPrefix(d.Train, "{data}/")) {
			return usage("--data is missing: the folder that \"{data}/\" stands for in the suite, which has %s", strings.Replace(d.Test, "{data}/", "", 1))
		}
	}
	if s.data != "" {
		var err error
		if s.suite, err = s.suite.In(s.data); err != nil {
			return err
		}
	}
	for _, d := range s.suite.Datasets {
		for _, path := range []string{d.Train, d.Test} {
			if !filepath.IsAbs(path) {
				continue // of a file's folder, which the suite knows
			}
			if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
				return usage("there is no %s, which the data set %s needs: is --data the right folder?", path, d.Name)
			}
		}
	}
	return nil
}

// suiteError makes of what is wrong with a suite an error of usage.
func suiteError(err error) error {
	if is[*suite.InvalidError](err) || is[*suite.UnknownError](err) || errors.Is(err, os.ErrNotExist) {
		return usage("%w", err)
	}
	return taskError(err)
}

// openModels opens all that cells name, so that one that is missing is found at once.
func (s *suiteRun) openModels(ctx context.Context, cells []suite.Cell) error {
	for _, c := range cells {
		if c.Method != "zero" {
			if _, err := s.open(ctx, c.Model); err != nil {
				return err
			}
		}
		if _, err := s.openAnswerer(ctx, c.Answerer); err != nil {
			return err
		}
	}
	return nil
}

// open gives a model that may see records: texts of a suite are not private.
func (s *suiteRun) open(ctx context.Context, name string) (lm.Trusted, error) {
	if m, ok := s.models[name]; ok {
		return m, nil
	}
	spec, err := s.specOf(name)
	if err != nil {
		return lm.Trusted{}, err
	}
	m, err := backend.Trusted(ctx, spec)
	if err == nil {
		s.models[name] = m
	}
	return m, err
}

func (s *suiteRun) specOf(name string) (backend.Spec, error) {
	flags := s.modelFlags
	if name != "" {
		flags = modelFlags{model: name, threads: s.threads}
	}
	return s.modelSpec(flags)
}

// openAnswerer gives a model to answer with. A trusted server that gives no scores can
// still write answers.
func (s *suiteRun) openAnswerer(ctx context.Context, name string) (lm.Model, error) {
	if m, ok := s.writers[name]; ok {
		return m, nil
	}
	t, err := s.open(ctx, name)
	if err == nil {
		return t.Public(), nil
	}
	if !is[*lm.UnsupportedError](err) {
		return nil, err
	}
	spec, wrong := s.specOf(name)
	if wrong != nil || !spec.Trusted {
		return nil, err
	}
	m, err := backend.Open(ctx, spec)
	if err == nil {
		s.writers[name] = m
	}
	return m, err
}

func (s *suiteRun) close() error {
	var all []error
	for _, m := range s.models {
		all = append(all, m.Close())
	}
	for _, m := range s.writers {
		all = append(all, m.Close())
	}
	return errors.Join(all...)
}

// run works through the suite and shows what came out.
func (s *suiteRun) run(ctx context.Context, cells []suite.Cell) error {
	progress := newSuiteProgress(s.program, cells, s.parallel)
	done, err := suite.Run(ctx, s.suite, suite.Options{
		Open: s.open, OpenAnswerer: s.openAnswerer, Cache: s.cache, Out: s.out, Parallel: s.parallel,
		Observe: progress.tell, Version: thisVersion().Version,
	})
	progress.clear()
	var stopped *suite.InterruptedError
	if errors.As(err, &stopped) && ctx.Err() != nil {
		progress.say(fmt.Sprintf("%d of %d sets are done; the same command goes on from here, and does nothing twice", stopped.Done, stopped.Cells))
		return err
	}
	var failed *suite.FailedError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	if failed != nil && len(done.Rows) == 0 {
		return fmt.Errorf("%w", failed.Failures[0].Err)
	}
	r, err := s.result(done, failed)
	if err != nil {
		return err
	}
	if err := s.emit(r); err != nil {
		return err
	}
	if failed != nil {
		return partial{reported{failed}}
	}
	return nil
}

// result writes the report and summarises the rows.
func (s *suiteRun) result(done *suite.Result, failed *suite.FailedError) (*suiteResult, error) {
	about := suiteAbout{Command: s.command, Notes: s.notes()}
	if err := saveAbout(s.out, s.source, about); err != nil {
		return nil, err
	}
	if err := writeReport(s.out, s.suite, done.Rows, about); err != nil {
		return nil, err
	}
	r := &suiteResult{
		Suite: s.suite.Name, Title: s.suite.Title, Dir: s.out, Files: []string{"rows.jsonl", "rows.parquet", report.PageName, report.MarkdownName},
		OK: failed == nil, Cells: done.Cells, Written: done.Written, Answered: done.Answered,
		ReusedSets: done.ReusedSets, ReusedAnswers: done.ReusedAnswers, Tokens: done.Tokens, Seconds: done.Seconds,
	}
	if failed != nil {
		for _, f := range failed.Failures {
			r.Failed = append(r.Failed, failedCell{f.Cell.String(), f.Err.Error()})
		}
	}
	return r, r.summarise(s.suite, done.Rows)
}

// notes say where the rows come from.
func (s *suiteRun) notes() []string {
	return []string{fmt.Sprintf("Made by sotto %s on %d processors (%s/%s).", thisVersion().Version, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)}
}

// writeReport makes the page and the Markdown.
func writeReport(dir string, s suite.Suite, rows []eval.Row, about suiteAbout) error {
	in := report.Of(s, rows)
	in.Command, in.Notes = about.Command, about.Notes
	return report.Write(dir, in)
}
