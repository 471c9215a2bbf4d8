package tables

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

type profileOptions struct {
	tableFlags
	profileFlags
	nonPrivate bool
}

func newTableProfileCommand(p *cli.Program) *cobra.Command {
	var opt profileOptions
	cmd := &cobra.Command{
		Use:   "profile --schema S --data F --size N --epsilon E --out DIR",
		Short: "Typical rows of groups, with noise and a certificate",
		Long: `Divides a private table into public groups and describes each by a typical row:
the noisy mean of every numeric column, and for every other its most frequent
value, chosen with noise. The rows are put into words by the schema and serve as
examples; all of them together cost ε.

Groups are combinations of classes: of a column's values (--group repaid), of
lists of them (--group home:own/rent,family; an empty last list takes the rest),
or of numbers that are cut (--group income:40,70). --groups 4 takes the schema's
ready-made partition into four. Without either, rows are grouped by the label.
Where rows are grouped by the label, the group says what the answer is.

The size is declared: it is public, errors are predicted and the budget is
divided by it, and it should be about right. The cost is charged to the table's
budget in the ledger before a row is added up; what the budget does not allow is
refused (exit code 3) and nothing is charged. A run that was interrupted resumes
when the same command is repeated, and nothing is charged twice. --unit COLUMN
protects all rows of one value together (--set rows-per-unit=N uses N of each).
--rate samples rows first; at the same ε that does not make noise smaller
relative to what is left.

--statistic COLUMN=median releases the median of a numeric column (or
quantile:0.9), histogram all counts, and skip nothing.

DIR gets the examples in several formats, profile.json with all numbers,
report.html, the plan and the certificate: see "sotto verify".` + ui.JSONKeys(profileResult{}),
		Example: `  sotto table profile --schema adult --data adult.csv --size 32561 --epsilon 1 --groups 4 --out demos
  sotto table profile --schema loans.toml --data loans.parquet --size 20000 --epsilon 0.5 --group repaid --group income:60 --out demos
  sotto table profile --schema loans.toml --data postgres://db/bank --table loans --size 20000 --epsilon 1 --unit customer --out demos
  sotto table profile --schema adult --data adult.csv --size 32561 --epsilon 1 --set noise=gaussian --delta 1e-6 --statistic capital_gain=median --out demos`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			needs := []string{"schema", "data", "size", "out"}
			if !opt.nonPrivate && !opt.Given("noise") {
				needs = append(needs, "epsilon")
			}
			if err := cli.Require(cmd, needs...); err != nil {
				return err
			}
			return runProfile(cmd.Context(), p, opt)
		},
	}
	settings.AddSet(cmd)
	opt.tableFlags.add(cmd)
	opt.profileFlags.add(cmd, method.Profile)
	cmd.Flags().BoolVar(&opt.nonPrivate, "non-private", false, "allow the noise none, which has no privacy guarantee, for comparisons")
	_ = cmd.MarkFlagDirname("out") // the flag exists
	return cmd
}

func runProfile(ctx context.Context, p *cli.Program, opt profileOptions) error {
	request, err := opt.request()
	if err != nil {
		return err
	}
	tables, err := opt.options()
	if err != nil {
		return err
	}
	client, progress, err := p.BeginWithoutModel()
	if err != nil {
		return err
	}
	tables.Observe, tables.Source.Progress, tables.NonPrivate = progress.Report, progress.Reading, opt.nonPrivate
	return cli.CarryOut(ctx, p, client, progress, client.Profile, sotto.ProfileOptions{Request: sotto.ProfileRequest(request), TableOptions: tables}, func(done *sotto.ProfileRun) *profileResult {
		r := newProfileResult(done)
		p.Warn(r.Warnings[len(done.Warnings):]...)
		leftOut(p, done.LeftOut)
		return r
	})
}

type profileResult struct {
	cli.ReleaseResult
	Schema   string         `json:"schema"`
	Profiles []profileGroup `json:"profiles"`

	plan plan.Profile
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
		ReleaseResult: cli.NewReleaseResult(d.Result, "one table", d.Plan.Delta, d.Plan.Adjacency(), d.Plan.Unit), Schema: d.Plan.Schema.Name, plan: d.Plan,
	}
	r.Warnings = append(r.Warnings, d.Plan.Warnings()...)
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
	switch {
	case r.Private:
		p.Head("%s in %s: ε ≤ %s at δ = %s, %s", ui.Are(len(r.Profiles), "profile"), r.Dir, ui.AtMost(r.Epsilon), ui.Whole(r.Delta), r.Adjacency)
	case r.plan.Private():
		p.Alarm("%s in %s: NOT PRIVATE, the random numbers are known", ui.Are(len(r.Profiles), "profile"), r.Dir)
	default:
		p.Alarm("%s in %s: NOT PRIVATE, no noise was added", ui.Are(len(r.Profiles), "profile"), r.Dir)
	}
	for i, g := range r.Profiles {
		head := cmp.Or(g.Where, "all rows")
		head += ui.If(g.Count != 0 || g.CountError != 0, fmt.Sprintf(": %.0f ± %.0f rows", g.Count, g.CountError))
		printDemo(p, i+1, head, g.Text, g.Label)
	}
	p.Sentences(r.Guarantee)
	r.Facts(p,
		"event", r.Event,
		"noise", string(r.plan.Settings.WithDefaults().Noise),
		"cost", r.Free(),
	)
}

// profileFlags say what a profile releases, as "sotto table profile" and "sotto table plan"
// have them.
type profileFlags struct {
	cli.SchemaFlag
	cli.SettingFlags
	size    string
	epsilon cli.Number
	delta   cli.Number
}

func (o *profileFlags) add(cmd *cobra.Command, kinds ...method.Kind) {
	o.SchemaFlag.Add(cmd)
	o.Shown = []string{"group", "groups", "statistic", "histograms", "unit", "rate", "split"}
	o.SettingFlags.Add(cmd, kinds...)
	f := cmd.Flags()
	f.StringVar(&o.size, "size", "", "about how many rows there are, a public number `N`; required")
	f.Var(&o.epsilon, "epsilon", "the most ε that all of it may cost, such as 1; required")
	f.Var(&o.delta, "delta", "the δ of the guarantee (default: 0; for Gaussian noise min(1e-6, N^-1.1))")
}

// request reads the flags.
func (o *profileFlags) request() (r plan.ProfileRequest, err error) {
	if r.Schema, err = o.Schema(); err != nil {
		return r, err
	}
	if o.size == "" {
		return r, cli.Usage("--size is missing: about how many rows there are, a public number such as 20000")
	}
	if r.Size, err = cli.SizeOf(o.size, "rows"); err != nil {
		return r, err
	}
	r.Epsilon, r.Delta = o.epsilon.Value, o.delta.Value
	spec, _ := method.Lookup("global")
	if r, err = r.With(ui.SettingValues(o.Values).For(spec)); err == nil && r.Noise != global.None && !o.epsilon.Given {
		err = cli.Usage("--epsilon is missing: the most that it may cost, such as 1")
	}
	return r, err
}
