package tables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/privacy"
)

type perturbOptions struct {
	cli.SchemaFlag
	tableFlags
	cli.SettingFlags
	epsilon cli.Number
}

// ownRows is the location of rows that come as they are made.
const ownRows = "-"

func newTablePerturbCommand(p *cli.Program) *cobra.Command {
	var opt perturbOptions
	cmd := &cobra.Command{
		Use:   "perturb --schema S --data F --epsilon E --out G",
		Short: "Every row exchanged for one that may be seen, by its owner",
		Long: `Perturbs every row by itself: each value is kept with a probability that depends
on its column's part of ε, and otherwise exchanged for another of the domain.
What comes out may be seen by anyone, and protects each row by ε even against
someone who knows all others. Numeric columns need bins (edges in the schema).
That there is a row, and how many there are, is public.

--data - reads CSV from standard input, for owners of rows: each is perturbed as
it comes, to the file G (or - for standard output) with G.json beside it that
says what was done. There is no ledger: perturbing the same row again costs ε
again. A file or a database is charged to its budget in the ledger before a row
is read, and G is a folder: rows.csv and rows.csv.json, the plan and the
certificate. Runs that were interrupted resume with the same command.

ε is divided over the columns equally, by --weights, or with --split optimal so
that combinations of values are known best.` + ui.JSONKeys(perturbResult{}),
		Example: `  sotto table perturb --schema adult-local --data adult.csv --epsilon 8 --out perturbed
  sotto table perturb --schema survey.toml --data - --epsilon 2 --out mine.csv
  sotto table perturb --schema loans.toml --data loans.csv --epsilon 8 --weights repaid=2,income=2 --out perturbed`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runPerturb(cmd.Context(), p, opt)
		},
	}
	settings.AddSet(cmd)
	opt.SchemaFlag.Add(cmd)
	opt.tableFlags.add(cmd)
	opt.Shown = []string{"split", "weights"}
	opt.SettingFlags.Add(cmd, method.Perturbation)
	cmd.Flags().Var(&opt.epsilon, "epsilon", "the ε of a row, all its columns together, such as 8; required")
	cli.Needs(cmd, "schema", "data", "epsilon", "out")
	return cmd
}

// localPlan reads how rows are perturbed.
func localPlan(of cli.SchemaFlag, epsilon cli.Number, given cli.SettingFlags) (l plan.Local, err error) {
	r := plan.LocalRequest{Epsilon: epsilon.Value}
	if r.Schema, err = of.Schema(); err != nil {
		return l, err
	}
	if !epsilon.Given {
		return l, cli.Usage("--epsilon is missing: the ε of a row, such as 8")
	}
	if r, err = r.With(ui.SettingValues(given.Values)); err != nil {
		return l, err
	}
	return plan.NewLocal(r)
}

func runPerturb(ctx context.Context, p *cli.Program, opt perturbOptions) error {
	made, err := localPlan(opt.SchemaFlag, opt.epsilon, opt.SettingFlags)
	if err != nil {
		return err
	}
	if exposed := made.Exposed(); exposed != "" {
		p.Warn(exposed)
	}
	if opt.Data == ownRows {
		return perturbOwn(ctx, p, opt, made)
	}
	if opt.Given("on-error") {
		return cli.Usage("--set on-error: rows that the schema refuses cannot be left out of perturbed ones, since leaving them out would reveal what they are not. Correct them, or give their columns rules in the schema (other, missing, clamp)")
	}
	tables, err := opt.options()
	if err != nil {
		return err
	}
	client, progress, err := p.BeginWithoutModel()
	if err != nil {
		return err
	}
	tables.Observe, tables.Source.Progress = progress.Report, progress.Reading
	return cli.CarryOut(ctx, p, client, progress, client.Perturb, sotto.PerturbOptions{Plan: &made, TableOptions: tables}, func(done *sotto.PerturbRun) *perturbResult {
		r := newPerturbResult(opt.out, done.Sidecar)
		r.Guarantee, r.files, r.ref = done.Words(), done.Files, opt.Ref
		r.ChargeResult = cli.NewChargeResult(done.Result, ui.Counted(int(r.Rows), "row"))
		r.warn(made)
		return r
	})
}

// perturbOwn perturbs rows as they come.
func perturbOwn(ctx context.Context, p *cli.Program, opt perturbOptions, made plan.Local) (err error) {
	for _, flag := range []string{"table", "query", "on-error", "name", "label", "ledger", "keys", "workers"} {
		if opt.Given(flag) {
			return cli.Usage("--%s is for tables that are charged to a ledger; --data - is about rows of your own: leave it out", flag)
		}
	}
	switch {
	case opt.out == "":
		return cli.Usage("--out is missing: the file for perturbed rows, or - for standard output")
	case opt.out == ownRows && p.JSON:
		return cli.Usage("--json and --out - both want standard output: name a file")
	}
	to := io.Writer(p.Stdout)
	if opt.out != ownRows {
		f, err := os.OpenFile(opt.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			return cli.Usage("%s is there already: choose another name, and do not show two versions of the same rows", opt.out)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		to = f
	}
	sidecar, err := sotto.PerturbRows(ctx, made, p.Stdin, to, reconstruct.FormatOf(opt.out), opt.Seed.Value)
	if err != nil {
		return err
	}
	r := newPerturbResult(opt.out, sidecar)
	r.own, r.ref = true, opt.Ref
	r.warn(made)
	if opt.out == ownRows {
		fmt.Fprintf(p.Stderr, "%s perturbed at ε = %s each; reconstruct with --epsilon %s\n", ui.Are(r.Rows, "row"), ui.AtMost(r.Epsilon), ui.Whole(made.Epsilon))
		return nil
	}
	var b bytes.Buffer
	if err := sidecar.Write(&b); err != nil {
		return err
	}
	if err := os.WriteFile(opt.out+".json", b.Bytes(), 0o644); err != nil {
		return err
	}
	r.files = []string{filepath.Base(opt.out), filepath.Base(opt.out) + ".json"}
	return p.Emit(r)
}

type perturbResult struct {
	Out       string             `json:"out"`
	Rows      int64              `json:"rows"`
	Schema    string             `json:"schema"`
	Private   bool               `json:"private"`
	Epsilon   float64            `json:"epsilon"`
	Event     string             `json:"event"`
	Adjacency privacy.Adjacency  `json:"adjacency"`
	Keep      map[string]float64 `json:"keep_probability"`
	Guarantee []string           `json:"guarantee,omitempty"`
	cli.ChargeResult

	ref     string
	columns []reconstruct.SidecarColumn
	files   []string
	own     bool
}

func newPerturbResult(out string, s reconstruct.Sidecar) *perturbResult {
	r := &perturbResult{
		Out: out, Rows: s.Rows, Schema: s.Schema, Private: s.Private, Epsilon: s.Epsilon, Event: s.Event, Adjacency: s.Adjacency,
		Keep: map[string]float64{}, columns: s.Columns,
	}
	for _, c := range s.Columns {
		r.Keep[c.Name] = c.Keep
	}
	return r
}

// warn keeps what was said before rows were perturbed.
func (r *perturbResult) warn(made plan.Local) {
	if exposed := made.Exposed(); exposed != "" {
		r.Warnings = append(r.Warnings, exposed)
	}
}

func (r *perturbResult) Print(p *ui.Page) {
	if r.Private {
		p.Head("%s rows are perturbed, in %s: ε ≤ %s for each, %s", ui.Thousands(r.Rows), r.Out, ui.AtMost(r.Epsilon), r.Adjacency)
	} else {
		p.Alarm("%s rows are perturbed, in %s: NOT PRIVATE, the random numbers are known", ui.Thousands(r.Rows), r.Out)
	}
	t := ui.NewTable("column", "#values", "#ε", "#kept")
	for _, c := range r.columns {
		t.Add(c.Name, fmt.Sprint(c.Values), ui.Nearest(c.Epsilon), fmt.Sprintf("%.1f %%", 100*c.Keep))
	}
	p.Table(t)
	p.Line("")
	p.Sentences(r.Guarantee)
	ledger, next := "", fmt.Sprintf("sotto table reconstruct --schema %s --data %s --sample 4", r.ref, r.Out)
	if r.own {
		ledger = "none: these are rows of your own; to perturb them again costs ε again"
		next = "send both files to anyone who collects perturbed rows"
	}
	p.Facts(
		"event", r.Event, "charge", r.Charge, "budget", r.Standing, "ledger", ledger,
		"files", strings.Join(r.files, ", "),
		"continue", next,
		"check", ui.If(r.Private && !r.own, "sotto verify "+r.Out),
	)
}
