package tables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/estimate"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/sys/version"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

type sampleOptions struct {
	nearFlags
	estimate string
	profile  string
	count    int
	out      string
	seed     cli.SeedFlag
}

func newTableSampleCommand(p *cli.Program) *cobra.Command {
	var opt sampleOptions
	cmd := &cobra.Command{
		Use:   "sample --estimate DIR | --profile DIR",
		Short: "Fresh examples from what was found out already, at no cost",
		Long: `Draws examples from an estimate that "sotto table reconstruct --out" wrote, or
from a profile by "sotto table profile --histograms": other ones every time, any
number of times. It costs nothing, since perturbed rows or noisy counts are all
that is looked at; a fresh set for every question is fine.

Better for a question: examples that resemble it (--near). An example is as
likely as the estimate says, times --mismatch for each column that differs from
the question; the nearest ones come last. Values are as the table has them, or
bins in words. --near-rows does it for each row of a CSV file, and with --out
writes a line for each of them to sets.jsonl.

From a profile, the columns of an example are drawn independently given its
answer.` + ui.JSONKeys(sampleResult{}, "With --near-rows there are sets instead of demos."),
		Example: `  sotto table sample --estimate demos --count 8
  sotto table sample --estimate demos --count 4 --out more --json
  sotto table sample --estimate demos --near age=33,home=rent,income=42
  sotto table sample --profile demos --near-rows questions.csv --out sets`,
		RunE: func(*cobra.Command, []string) error { return runSample(p, opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.estimate, "estimate", "", "the `DIR` or file that reconstruct wrote")
	f.StringVar(&opt.profile, "profile", "", "the `DIR` that \"sotto table profile --histograms\" wrote, instead")
	opt.nearFlags.add(cmd)
	f.IntVar(&opt.count, "count", 4, "draw `K` examples")
	cli.AddDir(cmd, &opt.out, "out", "write them in all formats into `DIR`, a new or empty one")
	f.Var(&opt.seed, "seed", "draw the same examples every time, by `N`")
	cmd.MarkFlagsOneRequired("estimate", "profile")
	cmd.MarkFlagsMutuallyExclusive("estimate", "profile")
	cmd.MarkFlagsMutuallyExclusive("near", "near-rows")
	return cmd
}

// maxExamples are drawn at a time: they are held in memory, in words.
const maxExamples = 100_000

func runSample(p *cli.Program, opt sampleOptions) error {
	switch {
	case opt.count < 1:
		return cli.Usage("--count is %d, it should be positive", opt.count)
	case opt.count > maxExamples:
		return cli.Usage("--count is %d, and at most %d examples are drawn at a time; run it again for more, which costs nothing", opt.count, maxExamples)
	}
	read, from := estimate.Read, opt.estimate
	if opt.profile != "" {
		read, from = estimate.ReadProfile, opt.profile
	}
	of, err := read(from)
	if err != nil {
		return cli.AsUsage[*estimate.InputError](err)
	}
	rows, err := opt.nearFlags.read(of.Schema)
	if err != nil {
		return err
	}
	if n := max(len(rows), 1); opt.count > maxExamples/n {
		return cli.Usage("%d examples for each of %d rows are too many at a time, at most %d in all are drawn; cut the file of --near-rows", opt.count, n, maxExamples)
	}
	r := &sampleResult{Schema: of.Schema.Name, Rows: of.Rows, Epsilon: of.Epsilon, Private: of.Private, made: of.Origin()}
	if err := r.draw(opt, of, rows); err != nil {
		return cli.AsUsage[*estimate.InputError](err)
	}
	if !of.Private {
		r.Warnings = append(r.Warnings, of.Warning())
	}
	return p.Warned(r, r.Warnings)
}

// draw draws examples, for each row if there are any, and writes them.
func (r *sampleResult) draw(o sampleOptions, of *estimate.File, rows []estimate.Question) (err error) {
	sets := make([][]prompt.Example, 1)
	if len(rows) == 0 {
		sets[0], err = of.Sample(o.count, o.seed.Value)
	} else {
		near := make([]reconstruct.Near, len(rows))
		for i, row := range rows {
			near[i] = row.Near
		}
		sets, err = of.Near(near, o.count, o.seed.Value)
	}
	if err != nil {
		return err
	}
	if o.rows == "" {
		r.Demos = sampleDemos(sets[0])
	} else {
		for i, row := range rows {
			r.Sets = append(r.Sets, sampleSet{!of.Private, row.Text, sampleDemos(sets[i])})
		}
	}
	if o.out == "" {
		return nil
	}
	if err := emptyDir(o.out); err != nil {
		return err
	}
	r.Dir = o.out
	if r.Sets != nil {
		r.Files, err = saveSets(o.out, r.Sets)
	} else {
		r.Files, err = of.Save(o.out, version.Read().Version, sets[0])
	}
	return err
}

type sampleResult struct {
	Schema   string       `json:"schema"`
	Rows     int64        `json:"rows"`
	Epsilon  float64      `json:"epsilon"`
	Private  bool         `json:"private"`
	Demos    []sampleDemo `json:"demos,omitempty"`
	Sets     []sampleSet  `json:"sets,omitempty"`
	Dir      string       `json:"dir,omitempty"`
	Files    []string     `json:"files,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`

	made release.Origin
}

func (r *sampleResult) Print(p *ui.Page) {
	from := fmt.Sprintf("an estimate of %s rows that were perturbed at ε = %s each", ui.Thousands(r.Rows), ui.AtMost(r.Epsilon))
	spent := "the rows were perturbed before"
	if r.made == release.Drawn {
		from, spent = fmt.Sprintf("noisy histograms of about %s rows: ε ≤ %s", ui.Thousands(r.Rows), ui.AtMost(r.Epsilon)), "the profile was paid for before"
		if !r.Private {
			from = fmt.Sprintf("histograms of about %s rows", ui.Thousands(r.Rows))
		}
	}
	if r.Sets == nil {
		p.Head("%s, drawn from %s", ui.Counted(len(r.Demos), "example"), from)
		printDemos(p, r.Demos)
	} else {
		p.Head("%s of %s, drawn from %s", ui.Counted(len(r.Sets), "set"), ui.Counted(len(r.Sets[0].Demos), "example"), from)
		for i, s := range r.Sets {
			p.Line("%s", p.Paint(ui.Bold, fmt.Sprintf("for row %d", i+1)))
			printDemos(p, s.Demos)
		}
	}
	p.Facts("files", strings.Join(r.Files, ", "), "cost", "nothing more: "+spent)
}

// nearFlags say which rows examples are to resemble.
type nearFlags struct {
	near     string
	rows     string
	mismatch cli.Number
}

func (o *nearFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.near, "near", "", "draw examples that resemble a row, `COLUMN=VALUE,…`; columns left out take no part")
	f.StringVar(&o.rows, "near-rows", "", "the same for every row of a CSV `FILE` with a header, a set of examples for each")
	f.Var(&o.mismatch, "mismatch", fmt.Sprintf("how much less likely each column that differs makes an example, up to 1 (default: %v)", reconstruct.DefaultMismatch))
}

// read finds the rows that flags name.
func (o *nearFlags) read(of schema.Schema) ([]estimate.Question, error) {
	switch {
	case o.mismatch.Given && o.near == "" && o.rows == "":
		return nil, cli.Usage("--mismatch goes with --near or --near-rows")
	case o.mismatch.Given && !(o.mismatch.Value >= reconstruct.MinMismatch && o.mismatch.Value <= 1):
		return nil, cli.Usage("--mismatch is %v, it should be from %v to 1", o.mismatch.Value, float64(reconstruct.MinMismatch))
	case o.near != "":
		q, err := estimate.ParseQuestion(of, o.near, o.mismatch.Value)
		if err != nil {
			return nil, cli.Usage("--near: %w", err)
		}
		return []estimate.Question{q}, nil
	case o.rows == "":
		return nil, nil
	}
	f, err := os.Open(o.rows)
	if err != nil {
		return nil, cli.Usage("--near-rows: %w", err)
	}
	defer f.Close()
	list, err := estimate.ReadQuestions(of, f, o.mismatch.Value)
	if err != nil {
		return nil, cli.Usage("--near-rows %s: %w", o.rows, err)
	}
	return list, nil
}

// sampleSet are the examples for one row.
type sampleSet struct {
	NotPrivate bool `json:"not_private,omitempty"`
	// Question is the row in words, if all of it is known.
	Question string       `json:"question,omitempty"`
	Demos    []sampleDemo `json:"demos"`
}

// setsName is the file of examples for many rows.
const setsName = "sets.jsonl"

// saveSets writes a line for each row.
func saveSets(dir string, sets []sampleSet) ([]string, error) {
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	for _, s := range sets {
		if err := lines.Encode(s); err != nil {
			return nil, fmt.Errorf("write the examples: %w", err)
		}
	}
	return []string{setsName}, os.WriteFile(filepath.Join(dir, setsName), out.Bytes(), 0o644)
}
