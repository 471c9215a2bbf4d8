package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	tabular "github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy"
)

type profileOptions struct {
	tableFlags
	profileFlags
	nonPrivate bool
	pushDown   string
}

func newTableProfileCommand(p *program) *cobra.Command {
	var opt profileOptions
	cmd := &cobra.Command{
		Use:   "profile --schema S --data F --size N --epsilon E --out DIR",
		Short: "Typical rows of groups, with noise and a certificate",
		Long: `Divides a private table into public groups and describes each by a typical row:
the noisy mean of every numeric column, and of every other the value that is
most frequent, by chance in proportion to how clearly. The rows are put into
words by the schema and serve as examples; all of them together cost ε.

Groups are combinations of classes: of a column's values (--group repaid), of
lists of them (--group home:own/rent,family; an empty last list takes the rest),
or of numbers that are cut (--group income:40,70). --groups 4 takes the schema's
ready-made partition into four. Without either, rows are grouped by the label.
Where the label is grouped on, the group says what the answer is, not the rows.

The size is declared: it is public, errors are predicted and the budget is
divided by it, and it should be about right. The cost is charged to the table's
budget in the ledger before a row is added up; what the budget does not allow is
refused (exit code 3) and nothing is charged. A run that was interrupted goes on
when the same command is repeated, and nothing is charged twice. --unit COLUMN
protects all rows of one value together, of which --rows-per-unit are used.
--rate samples rows first; at the same ε that does not make noise smaller
relative to what is left. In databases, sums and counts are added up where the
rows are if that can be done and is faster (--push-down).

--statistic COLUMN=median tells a numeric column by its median (or
quantile:0.9), histogram releases all counts, skip asks nothing of a column.
--paper divides the budget and adds up as published, for comparison.

DIR gets the examples in several formats, profile.json with all numbers,
report.html, the plan and the certificate: see "sotto verify".

Keys of --json: dir, files, schema, private, event, epsilon, delta, adjacency,
unit, guarantee (sentences), inner (event, epsilon), profiles (where, count,
count_error, columns, text, label), charge, ledger, keys, resumed, warnings.`,
		Example: `  sotto table profile --schema adult --data adult.csv --size 32561 --epsilon 1 --groups 4 --out demos
  sotto table profile --schema loans.toml --data loans.parquet --size 20000 --epsilon 0.5 --group repaid --group income:60 --out demos
  sotto table profile --schema loans.toml --data postgres://db/bank --table loans --size 20000 --epsilon 1 --unit customer --out demos
  sotto table profile --schema adult --data adult.csv --size 32561 --epsilon 1 --noise gaussian --delta 1e-6 --statistic capital_gain=median --out demos`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runProfile(cmd.Context(), p, opt, cmd.Flags().Changed)
		},
	}
	opt.tableFlags.add(cmd)
	p.addPrivate(cmd)
	opt.profileFlags.add(cmd)
	cmd.Flags().BoolVar(&opt.nonPrivate, "non-private", false, "allow --noise none, which protects nobody, for comparisons")
	cmd.Flags().StringVar(&opt.pushDown, "push-down", "auto", "whether a database adds up by itself: auto (if it can and that is faster), always (if it can), or never")
	complete(cmd, "push-down", "auto", string(tabular.Always), string(tabular.Never))
	_ = cmd.MarkFlagDirname("out") // the flag exists
	return cmd
}

func runProfile(ctx context.Context, p *program, opt profileOptions, given func(string) bool) error {
	of, err := opt.schema()
	if err != nil {
		return err
	}
	request, err := opt.request(of, given)
	if err != nil {
		return err
	}
	tables, err := opt.options(given("seed"))
	if err != nil {
		return err
	}
	switch tables.Source.PushDown = tabular.PushDown(strings.TrimPrefix(opt.pushDown, "auto")); tables.Source.PushDown {
	case tabular.Auto, tabular.Always, tabular.Never:
	default:
		return usage("--push-down is %q, it should be auto, always or never", opt.pushDown)
	}
	client, err := p.client(opt.ledger, opt.keys, backend.Spec{})
	if err != nil {
		return err
	}
	progress := newSynthProgress(p)
	tables.Observe, tables.Source.Progress, tables.NonPrivate = progress.tell, progress.Reading, opt.nonPrivate
	done, err := client.Profile(ctx, sotto.ProfileOptions{Request: request, TableOptions: tables})
	progress.Clear()
	if err != nil {
		return goingOn(ctx, progress, err)
	}
	r := newProfileResult(done)
	r.Ledger, r.Keys, r.standing = redact(client.Ledger()), client.Keys(), standing(ctx, client.Ledger(), r.Charge)
	p.Warn(r.Warnings[len(done.Warnings):]...)
	p.leftOut(done.LeftOut)
	p.Took("one table", done.Seconds)
	return p.Emit(r)
}

// goingOn tells who interrupted a run that it can go on.
func goingOn(ctx context.Context, progress *synthProgress, err error) error {
	var stopped *sotto.InterruptedError
	if ctx.Err() != nil && errors.As(err, &stopped) {
		progress.Say("the same command goes on from here, and nothing is charged twice")
	}
	return err
}

type profileResult struct {
	Dir       string            `json:"dir"`
	Files     []string          `json:"files"`
	Schema    string            `json:"schema"`
	Private   bool              `json:"private"`
	Event     string            `json:"event"`
	Epsilon   ui.Real           `json:"epsilon"`
	Delta     float64           `json:"delta"`
	Adjacency privacy.Adjacency `json:"adjacency"`
	Unit      privacy.Unit      `json:"unit"`
	Guarantee []string          `json:"guarantee"`
	Inner     []synthInner      `json:"inner,omitempty"`
	Profiles  []profileGroup    `json:"profiles"`
	Charge    string            `json:"charge,omitempty"`
	Ledger    string            `json:"ledger,omitempty"`
	standing  string            // of the budget, in words
	Keys      string            `json:"keys,omitempty"`
	Resumed   bool              `json:"resumed"`
	Warnings  []string          `json:"warnings,omitempty"`

	plan     plan.Profile
	finished bool
}

type profileGroup struct {
	Where      string         `json:"where"`
	Count      float64        `json:"count"`
	CountError float64        `json:"count_error"`
	Columns    map[string]any `json:"columns"`
	Text       string         `json:"text"`
	Label      string         `json:"label"`
}

func newProfileResult(d *sotto.ProfileRun) *profileResult {
	r := &profileResult{
		Dir: d.Dir, Files: d.Files, Schema: d.Plan.Schema.Name, Private: d.Private, Event: d.Event.String(), Epsilon: ui.Real(math.Inf(1)),
		Delta: d.Plan.Delta, Adjacency: d.Plan.Adjacency(), Unit: d.Plan.Unit, Guarantee: d.Words(), Charge: string(d.Charge),
		Resumed: d.Resumed, Warnings: append(d.Warnings, d.Plan.Warnings()...), plan: d.Plan, finished: d.Finished,
	}
	if d.Private {
		r.Epsilon = ui.Real(d.Guarantee.Epsilon.Upper)
		for _, g := range d.Inner {
			r.Inner = append(r.Inner, synthInner{g.Event.String(), ui.Real(g.Epsilon.Upper)})
		}
	}
	for i, g := range d.Profile.Groups {
		out := profileGroup{Where: g.Where, Count: g.Count, CountError: g.CountError, Columns: map[string]any{}, Text: d.Examples[i].Input, Label: d.Examples[i].Output}
		for j, c := range d.Plan.Schema.Columns {
			if v := g.Row[j]; v.Discrete {
				out.Columns[c.Name] = c.Domain()[v.Code]
			} else {
				out.Columns[c.Name] = v.Number
			}
		}
		r.Profiles = append(r.Profiles, out)
	}
	return r
}

func (r *profileResult) Print(p *ui.Page) {
	head := fmt.Sprintf("%d profiles are in %s: ε ≤ %s at δ = %s, %s", len(r.Profiles), r.Dir, ui.AtMost(r.Epsilon), ui.Whole(r.Delta), r.Adjacency)
	switch {
	case r.Private:
		p.Head("%s", head)
	case r.plan.Private():
		p.Alarm("%d profiles are in %s: NOT PRIVATE, the random numbers are known", len(r.Profiles), r.Dir)
	default:
		p.Alarm("%d profiles are in %s: NOT PRIVATE, no noise was added", len(r.Profiles), r.Dir)
	}
	for i, g := range r.Profiles {
		head := cmp.Or(g.Where, "all rows")
		if g.Count != 0 || g.CountError != 0 {
			head += fmt.Sprintf(": %.0f ± %.0f rows", g.Count, g.CountError)
		}
		printDemo(p, i+1, head, g.Text, g.Label)
	}
	p.Sentences(r.Guarantee)
	p.Facts(
		"event", r.Event,
		"noise", string(r.plan.Settings.WithDefaults().Noise),
		"charge", r.Charge,
		"budget", r.standing,
		"cost", ui.If(r.finished, "nothing: the run was complete already"),
		"files", strings.Join(r.Files, ", "),
		"look at", filepath.Join(r.Dir, "report.html"),
		"check", ui.If(r.Private, "sotto verify "+r.Dir),
	)
}
