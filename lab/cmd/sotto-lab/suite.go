package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/internal/sys/version"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lab/report"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
)

type suiteOptions struct {
	flags.Model
	data     string
	out      string
	cache    string
	seeds    int
	items    int
	datasets []string
	methods  []string
	parallel int

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
them; or, for methods that are online, answers from the records themselves, with
an ε for a number of them together ("queries"). Without a name it lists the
built-in suites, which follow the papers' tables; "sotto-lab suite show NAME"
prints the file of one, to start your own from. "{data}/" in its paths stands
for --data.

Each set and each answer is kept in a cache as soon as it is there: a suite that
was interrupted resumes when the same command is repeated, and one that shares
sets with another does not write them again. DIR gets rows.jsonl and
rows.parquet (a row for each set), and README.md with tables, which "sotto-lab
report DIR" makes again.

Runs of a suite are seeded so that they can be repeated. So their texts are NOT
PRIVATE, whatever the method: they stay in the cache, and rows hold numbers
alone. Nothing is charged. Models have to be embedded or trusted.

` + flags.ModelHelp + `
A model that is given replaces those of the suite.` + ui.JSONKeys(suiteResult{}),
		Example: `  sotto-lab suite
  sotto-lab suite quick --data data
  sotto-lab suite text --data data --out results --seeds 3 --items 100 --datasets agnews,trec
  sotto-lab suite mine.toml --out results --model qwen2.5-coder`,
		Args: takes(0, "suite"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.asked = cmd.Flags().Changed
			if len(args) == 0 {
				return p.Emit(&suiteList{suite.Builtins()})
			}
			opt.command = commandLine(cmd, args)
			return runSuite(cmd.Context(), p, args[0], opt)
		},
	}
	opt.add(cmd)
	cmd.ValidArgsFunction = cobra.FixedCompletions(suite.Builtins(), cobra.ShellCompDirectiveDefault)
	cmd.AddCommand(&cobra.Command{
		Use:   "show NAME|FILE",
		Short: "The file of a suite",
		Args:  takes(1, "NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := suite.Source(args[0])
			if err != nil {
				return documentError(err)
			}
			_, err = p.Stdout.Write(file)
			return err
		},
	})
	return cmd
}

func (o *suiteOptions) add(cmd *cobra.Command) {
	o.Model.Add(cmd)
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
	models map[string]lm.TrustedScorer
	// writers are models that only write text, of servers that may see records.
	writers  map[string]lm.Model
	encoders []io.Closer
}

func runSuite(ctx context.Context, p *program, ref string, opt suiteOptions) (err error) {
	s := &suiteRun{suiteOptions: opt, program: p, models: map[string]lm.TrustedScorer{}, writers: map[string]lm.Model{}}
	if err := s.load(ref); err != nil {
		return err
	}
	cells, err := suite.Cells(s.suite)
	if err != nil {
		return documentError(err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.openModels(ctx, cells); err != nil {
		return err
	}
	return s.run(ctx, cells)
}

// run works through the suite and writes the report.
func (s *suiteRun) run(ctx context.Context, cells []suite.Cell) error {
	progress := s.Progress()
	encoder, err := s.openEncoder(cells, progress.Say)
	if err != nil {
		return err
	}
	sentences, err := s.openSentences(cells)
	if err != nil {
		return err
	}
	done, err := suite.Run(ctx, s.suite, suite.Options{
		Open: s.open, OpenAnswerer: s.openAnswerer, Encoder: encoder, Sentences: sentences,
		Cache: s.cache, Out: s.out, Parallel: s.parallel, Version: version.String(),
		Observe: func(e suite.Progress) {
			switch e.Kind {
			case suite.Failed:
				progress.Say(fmt.Sprintf("%s failed: %v", e.Cell, e.Err))
			case suite.Finished:
				progress.Say(fmt.Sprintf("%d of %d  %s: %s %s", e.Done, e.Cells, e.Cell, e.Rows[0].Metric, ui.Percent(e.Rows[0].Value)))
			}
		},
	})
	var stopped *suite.InterruptedError
	if errors.As(err, &stopped) && ctx.Err() != nil {
		progress.Say(fmt.Sprintf("%d of %d sets are done; the same command resumes from here, and does nothing twice", stopped.Done, stopped.Cells))
		return err
	}
	var failed *suite.FailedError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	if failed != nil && len(done.Rows) == 0 {
		return fmt.Errorf("%w", failed.Failures[0].Err)
	}
	about := report.About{Command: s.command, Notes: []string{
		fmt.Sprintf("Made by sotto-lab %s on %d processors (%s/%s).", version.String(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH),
	}}
	if err := report.Save(s.out, s.suite, s.source, done.Rows, about); err != nil {
		return err
	}
	if err := s.Emit(&suiteResult{
		Suite: s.suite.Name, Dir: s.out, OK: failed == nil, Cells: done.Cells, Written: done.Written, Answered: done.Answered,
		ReusedSets: done.ReusedSets, ReusedAnswers: done.ReusedAnswers, Tokens: done.Tokens, Seconds: done.Seconds,
	}); err != nil || failed == nil {
		return err
	}
	return ui.Partial(failed)
}

type suiteResult struct {
	Suite         string  `json:"suite"`
	Dir           string  `json:"dir"`
	OK            bool    `json:"ok"`
	Cells         int     `json:"cells"`
	Written       int     `json:"written"`
	Answered      int     `json:"answered"`
	ReusedSets    int     `json:"reused_sets"`
	ReusedAnswers int     `json:"reused_answers"`
	Tokens        int64   `json:"model_tokens"`
	Seconds       float64 `json:"seconds"`
}

func (r *suiteResult) Print(p *ui.Page) {
	p.Head("%s: %s, NOT PRIVATE", r.Suite, ui.Counted(r.Cells, "set"))
	p.Facts(
		"report", filepath.Join(r.Dir, report.MarkdownName),
		"done", fmt.Sprintf("%s written and %s answered, %s tokens in %s", ui.Counted(r.Written, "set"), ui.Counted(r.Answered, "test"), ui.Thousands(r.Tokens), ui.Span(r.Seconds)),
		"reused", fmt.Sprintf("%s and the answers of %s, from the cache", ui.Counted(r.ReusedSets, "set"), ui.Counted(r.ReusedAnswers, "test")),
	)
}

type suiteList struct {
	Suites []string `json:"suites"`
}

func (r *suiteList) Print(p *ui.Page) {
	p.Line("%s", strings.Join(r.Suites, "\n"))
}
