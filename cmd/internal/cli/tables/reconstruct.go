package tables

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/estimate"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/sys/version"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

type reconstructOptions struct {
	cli.SchemaFlag
	cli.SettingFlags
	data    []string
	epsilon cli.Number
	method  string
	sample  int
	columns string
	groups  string
	out     string
	seed    cli.SeedFlag
}

func newTableReconstructCommand(p *cli.Program) *cobra.Command {
	var opt reconstructOptions
	cmd := &cobra.Command{
		Use:   "reconstruct --schema S --data G",
		Short: "The distribution that perturbed rows come from, and examples of it",
		Long: `Estimates from perturbed rows how often each combination of values occurs in
the table, with standard errors, and draws examples from that. It sees perturbed
rows only, so nothing it does costs any privacy.

--data names what "sotto table perturb" wrote, or several such files or folders
of the same settings, also those that owners of rows sent in. Files without a
.json beside them need --epsilon (and --weights or --split, if they were given).

ibu, the iterative Bayesian update, is never negative and the better estimate;
inverse is unbiased before it is made a distribution. All columns are estimated
together where they have at most 2^24 combinations. Beyond that, or to be surer,
name columns (--columns a,b,c) or groups of them (--groups
'repaid+income+late,repaid+age'): examples are then drawn group by group, as if
columns of different groups were independent given those they share.

The errors are of the unbiased estimate of each column by itself.

With --out, DIR gets estimate.json, from which "sotto table sample" draws more,
and with --sample the examples in several formats.` + ui.JSONKeys(reconstructResult{}),
		Example: `  sotto table reconstruct --schema adult-local --data perturbed --epsilon 8 --sample 4
  sotto table reconstruct --schema loans.toml --data perturbed --sample 8 --out demos
  sotto table reconstruct --schema survey.toml --data inbox/a.csv --data inbox/b.csv --epsilon 2 --method inverse
  sotto table reconstruct --schema adult-local --data perturbed --groups 'income+education,income+age+hours_per_week'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runReconstruct(cmd.Context(), p, opt) },
	}
	opt.SchemaFlag.Add(cmd)
	opt.SettingFlags.Add(cmd, method.Perturbation)
	f := cmd.Flags()
	f.StringArrayVar(&opt.data, "data", nil, "perturbed rows: a `FILE` or a folder; may be repeated; required")
	f.Var(&opt.epsilon, "epsilon", "the ε of a row that they were perturbed with; required for files without a .json beside them")
	cli.AddChoice(cmd, &opt.method, "method", reconstruct.MethodIBU, "ibu or inverse", reconstruct.MethodIBU, reconstruct.MethodInverse)
	f.IntVar(&opt.sample, "sample", 0, "draw `K` examples")
	f.StringVar(&opt.columns, "columns", "", "estimate these columns only, together, as `A,B,C`")
	f.StringVar(&opt.groups, "groups", "", "estimate groups of columns, as `'A+B+C,A+D'`")
	cli.AddDir(cmd, &opt.out, "out", "the `DIR` to write to, a new or empty one")
	f.Var(&opt.seed, "seed", "draw the same examples every time, by `N`")
	cli.Needs(cmd, "data")
	cmd.MarkFlagsMutuallyExclusive("columns", "groups")
	return cmd
}

func (o *reconstructOptions) check() error {
	switch {
	case o.method != reconstruct.MethodIBU && o.method != reconstruct.MethodInverse:
		return cli.Usage("--method is %q, it should be ibu or inverse", o.method)
	case o.columns != "" && o.sample > 0:
		return cli.Usage("--columns leaves columns out, and examples need all of them: use --groups that cover the table")
	case o.sample > maxExamples:
		return cli.Usage("--sample is %d, and at most %d examples are drawn at a time; \"sotto table sample\" draws more", o.sample, maxExamples)
	case o.seed.Value != nil && o.sample == 0:
		return cli.Usage("--seed is for --sample")
	}
	return o.Positive(map[string]float64{"sample": float64(o.sample)})
}

func runReconstruct(ctx context.Context, p *cli.Program, opt reconstructOptions) error {
	if err := opt.check(); err != nil {
		return err
	}
	of, err := opt.Schema()
	if err != nil {
		return err
	}
	rows, err := estimate.Open(of, opt.data, opt.undescribed)
	if err != nil {
		return cli.AsUsage[*estimate.InputError](err)
	}
	if opt.epsilon.Given {
		if err := rows.Sidecar.CheckEpsilon(opt.epsilon.Value); err != nil {
			return cli.Usage("%w", err)
		}
	}
	groups, err := opt.partition(of)
	if err != nil {
		return err
	}
	counts, err := rows.Count(groups)
	if err != nil {
		return cli.AsUsage[*estimate.InputError](err)
	}
	r := &reconstructResult{
		Schema: of.Name, Rows: rows.Sidecar.Rows, Epsilon: rows.Sidecar.Epsilon, Private: rows.Sidecar.Private, Method: opt.method, Demos: []sampleDemo{},
	}
	if _, err = fault.Await(ctx, func() (_ struct{}, err error) {
		r.of, r.Marginals, err = estimate.Estimate(ctx, opt.method, rows, counts)
		return
	}); err != nil {
		return err
	}
	for _, e := range r.of.Estimates {
		r.Cells += int64(len(e.Cells))
	}
	if !r.Private {
		r.Warnings = append(r.Warnings, r.of.Warning())
	}
	if err := r.draw(opt); err != nil {
		return cli.AsUsage[*estimate.InputError](err)
	}
	return p.Warned(r, r.Warnings)
}

// undescribed returns how rows were perturbed that have no description beside them.
func (o *reconstructOptions) undescribed() (reconstruct.Sidecar, error) {
	if !o.epsilon.Given {
		return reconstruct.Sidecar{}, fmt.Errorf("there is no .json beside it that says how it was perturbed: give --epsilon, and --weights or --split if perturb had them")
	}
	l, err := localPlan(o.SchemaFlag, o.epsilon, o.SettingFlags)
	if err != nil {
		return reconstruct.Sidecar{}, err
	}
	return l.Settings.Sidecar(l.Schema, 0, true)
}

// partition is what is estimated together.
func (o *reconstructOptions) partition(of schema.Schema) ([][]int, error) {
	if o.groups != "" {
		return groupsOf(of, "groups", o.groups)
	}
	if o.columns != "" {
		return groupsOf(of, "columns", strings.ReplaceAll(o.columns, ",", "+"))
	}
	return [][]int{nil}, nil
}

type reconstructResult struct {
	Schema    string              `json:"schema"`
	Rows      int64               `json:"rows"`
	Epsilon   float64             `json:"epsilon"`
	Private   bool                `json:"private"`
	Method    string              `json:"method"`
	Cells     int64               `json:"cells"`
	Marginals []estimate.Marginal `json:"marginals"`
	Demos     []sampleDemo        `json:"demos"`
	Dir       string              `json:"dir,omitempty"`
	Files     []string            `json:"files,omitempty"`
	Warnings  []string            `json:"warnings,omitempty"`

	of *estimate.File
}

type sampleDemo struct {
	Text  string `json:"text"`
	Label string `json:"label"`
}

func sampleDemos(examples []prompt.Example) []sampleDemo {
	out := []sampleDemo{}
	for _, e := range examples {
		out = append(out, sampleDemo{e.Input, e.Output})
	}
	return out
}

// draw adds examples, and writes what is to be written.
func (r *reconstructResult) draw(o reconstructOptions) (err error) {
	var examples []prompt.Example
	if o.sample > 0 {
		if examples, err = r.of.Sample(o.sample, o.seed.Value); err != nil {
			return err
		}
		r.Demos = sampleDemos(examples)
	}
	if o.out == "" {
		return nil
	}
	if err := emptyDir(o.out); err != nil {
		return err
	}
	files, err := r.of.Save(o.out, version.Read().Version, examples, estimate.Report(r.Marginals))
	r.Dir, r.Files = o.out, append(files, estimate.Name)
	if err != nil {
		return err
	}
	return r.of.Write(o.out)
}

// groupsOf reads columns that are estimated together: a+b+c,… or none for all.
func groupsOf(of schema.Schema, flag, list string) ([][]int, error) {
	if list == "" {
		return nil, nil
	}
	var out [][]int
	for part := range strings.SplitSeq(list, ",") {
		var group []int
		for name := range strings.SplitSeq(part, "+") {
			i, err := of.Named(strings.TrimSpace(name))
			if err != nil {
				return nil, cli.Usage("--%s: %w", flag, err)
			}
			group = append(group, i)
		}
		out = append(out, group)
	}
	return out, nil
}

// emptyDir makes a folder, and refuses one that holds something.
func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cli.Usage("--out: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return cli.Usage("--out: %w", err)
	}
	if len(entries) > 0 {
		return cli.Usage("--out: %s holds %q: choose a new or an empty folder", dir, entries[0].Name())
	}
	return nil
}

func (r *reconstructResult) Print(p *ui.Page) {
	p.Head("%s cells are estimated from %s rows that were perturbed at ε = %s each", ui.Thousands(r.Cells), ui.Thousands(r.Rows), ui.AtMost(r.Epsilon))
	t := ui.NewTable("column", "value", "#share", "± one standard error")
	for _, m := range r.Marginals {
		name := m.Column
		for _, v := range m.Values {
			t.Add(name, ui.Cut(v.Value, 30), fmt.Sprintf("%.1f %%", 100*v.Share), fmt.Sprintf("%.1f %%", 100*v.Error))
			name = ""
		}
	}
	p.Table(t)
	p.Line("")
	printDemos(p, r.Demos)
	p.Facts(
		"method", r.Method,
		"files", strings.Join(r.Files, ", "),
		"cost", "nothing more: the rows were perturbed before",
		"continue", ui.If(r.Dir != "", "sotto table sample --estimate "+r.Dir+" --count 4"),
	)
}

// printDemos prints examples of rows.
func printDemos(p *ui.Page, list []sampleDemo) {
	for i, d := range list {
		printDemo(p, i+1, "", d.Text, d.Label)
	}
}

// printDemo prints a row in words below its head, if it has one, and what it answers.
func printDemo(p *ui.Page, n int, head, text, answer string) {
	number := fmt.Sprintf("%3d  ", n)
	if head != "" {
		p.Line("%s%s", number, p.Paint(ui.Bold, head))
		number = ui.Pad("", len(number))
	}
	p.Hanging(number, ui.Visible(text)+" Answer: "+ui.Visible(answer), ui.Width-6)
	p.Line("")
}
