package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	tabular "github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
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
	p.addPlaces(cmd)
	opt.profileFlags.add(cmd)
	cmd.Flags().BoolVar(&opt.nonPrivate, "non-private", false, "allow --noise none, which protects nobody, for comparisons")
	addChoice(cmd, &opt.pushDown, "push-down", "auto", "whether a database adds up by itself: auto (if it can and that is faster), always (if it can), or never", "auto", string(tabular.Always), string(tabular.Never))
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
	tables, err := opt.options()
	if err != nil {
		return err
	}
	switch tables.Source.PushDown = tabular.PushDown(strings.TrimPrefix(opt.pushDown, "auto")); tables.Source.PushDown {
	case tabular.Auto, tabular.Always, tabular.Never:
	default:
		return usage("--push-down is %q, it should be auto, always or never", opt.pushDown)
	}
	client, err := p.client(backend.Spec{})
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
	r.by(ctx, client)
	p.Warn(r.Warnings[len(done.Warnings):]...)
	p.leftOut(done.LeftOut)
	p.Took("one table", done.Seconds)
	return p.Emit(r)
}

type profileResult struct {
	released
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
		released: newReleased(d.Result, d.Plan.Delta, d.Plan.Adjacency(), d.Plan.Unit), Schema: d.Plan.Schema.Name, plan: d.Plan,
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
		p.Head("%d profiles are in %s: ε ≤ %s at δ = %s, %s", len(r.Profiles), r.Dir, ui.AtMost(r.Epsilon), ui.Whole(r.Delta), r.Adjacency)
	case r.plan.Private():
		p.Alarm("%d profiles are in %s: NOT PRIVATE, the random numbers are known", len(r.Profiles), r.Dir)
	default:
		p.Alarm("%d profiles are in %s: NOT PRIVATE, no noise was added", len(r.Profiles), r.Dir)
	}
	for i, g := range r.Profiles {
		head := cmp.Or(g.Where, "all rows")
		head += ui.If(g.Count != 0 || g.CountError != 0, fmt.Sprintf(": %.0f ± %.0f rows", g.Count, g.CountError))
		printDemo(p, i+1, head, g.Text, g.Label)
	}
	p.Sentences(r.Guarantee)
	p.Facts(
		"event", r.Event,
		"noise", string(r.plan.Settings.WithDefaults().Noise),
		"charge", r.Charge,
		"budget", r.standing,
		"cost", r.free(),
		"files", strings.Join(r.Files, ", "),
		"look at", filepath.Join(r.Dir, "report.html"),
		"check", r.check(),
	)
}

// profileFlags say what to tell of a table, as "sotto table profile" and "sotto table
// plan" have them.
type profileFlags struct {
	size        string
	epsilon     number
	delta       number
	rate        number
	group       []string
	groups      string
	statistic   []string
	noise       string
	weights     string
	countWeight number
	unit        string
	rowsPerUnit int
	adjacency   string
	paper       bool
	histograms  bool
}

func (o *profileFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.size, "size", "", "about how many rows there are, a public number `N`; required")
	f.Var(&o.epsilon, "epsilon", "the most ε that all of it may cost, such as 1; required")
	f.Var(&o.delta, "delta", "the δ of the guarantee (default: 0; for Gaussian noise min(1e-6, N^-1.1))")
	f.Var(&o.rate, "rate", "sample each row (or unit) with this probability first (default: 1, all of them)")
	f.StringArrayVar(&o.group, "group", nil, "group by `COLUMN[:CLASSES]`; may be repeated (default: by the label)")
	f.StringVar(&o.groups, "groups", "", "the schema's ready-made partition into `K` groups")
	f.StringArrayVar(&o.statistic, "statistic", nil, "tell `COLUMN=mean|median|quantile:Q|moments|mode|histogram|skip`; may be repeated")
	addChoice(cmd, &o.noise, "noise", string(global.Laplace), "laplace, gaussian, or none", string(global.Laplace), string(global.Gaussian), string(global.None))
	f.StringVar(&o.weights, "weights", "", "parts of the budget relative to each other, as `COLUMN=W,…` (default: 1 each)")
	f.Var(&o.countWeight, "count-weight", "the part of the budget for the count of rows (default: 1)")
	f.StringVar(&o.unit, "unit", "", "protect all rows with one value of `COLUMN` together (default: each row)")
	f.IntVar(&o.rowsPerUnit, "rows-per-unit", 0, "with --unit: use at most `N` rows of each, with noise in proportion (default: 1)")
	addChoice(cmd, &o.adjacency, "adjacency", string(privacy.AddRemove), "what neighbours are: add-remove or replace-one", string(privacy.AddRemove), string(privacy.ReplaceOne))
	f.BoolVar(&o.histograms, "histograms", false, "a histogram of every column by label, for \"sotto table sample --profile\"")
	f.BoolVar(&o.paper, "paper", false, "divide the budget and add up as published: a count for every numeric column, sums that are not centred")
}

// request reads the flags.
func (o *profileFlags) request(of schema.Schema, given func(string) bool) (r plan.ProfileRequest, err error) {
	r = plan.ProfileRequest{
		Schema: of, Epsilon: o.epsilon.value, Delta: o.delta.value, Rate: o.rate.value, Noise: global.Noise(o.noise),
		CountWeight: o.countWeight.value, RowsPerUnit: o.rowsPerUnit, Published: o.paper,
	}
	if r.Size, err = rowCount(o.size); err != nil {
		return r, err
	}
	switch {
	case r.Noise == global.None && o.epsilon.set:
		return r, usage("--noise none has no ε: leave --epsilon out")
	case r.Noise == global.None:
		r.Epsilon = math.Inf(1)
	case !o.epsilon.set:
		return r, usage("--epsilon is missing: the most that it may cost, such as 1")
	}
	if err := positive(given, map[string]float64{"rate": o.rate.value, "rows-per-unit": float64(o.rowsPerUnit), "count-weight": o.countWeight.value}); err != nil {
		return r, err
	}
	if o.unit != "" {
		r.Unit = privacy.Unit("user:" + o.unit)
	} else if o.rowsPerUnit > 0 {
		return r, usage("--rows-per-unit goes with --unit")
	}
	if r.Adjacency, err = privacy.ParseAdjacency(o.adjacency); err != nil {
		return r, usage("--adjacency: %w", err)
	}
	if r.Weights, err = columnNumbers(of, "weights", o.weights); err != nil {
		return r, err
	}
	if o.histograms {
		if len(o.statistic)+len(o.group) > 0 || o.groups != "" || o.paper {
			return r, usage("--histograms says what is told of which groups: leave --statistic, --group, --groups and --paper out")
		}
		if r, err = r.Histograms(); err != nil {
			return r, usage("%w", err)
		}
		return r, nil
	}
	if err := o.statistics(&r); err != nil {
		return r, err
	}
	r.Groups, err = o.partition(of)
	return r, err
}

// partition reads how rows are grouped.
func (o *profileFlags) partition(of schema.Schema) ([]schema.Group, error) {
	if o.groups != "" && len(o.group) > 0 {
		return nil, usage("--groups and --group exclude each other: take a ready-made partition, or say your own")
	}
	groups, err := of.Partition(o.groups, o.group)
	switch {
	case err == nil:
		return groups, nil
	case o.groups != "":
		return nil, usage("--groups: %w (--group)", err)
	}
	return nil, usage("--group: %w", err)
}

// statistics reads what is told of columns.
func (o *profileFlags) statistics(r *plan.ProfileRequest) error {
	const all = "mean, median, quantile:Q, moments, mode, histogram or skip"
	r.Statistics, r.Quantiles = map[string]global.Statistic{}, map[string][]float64{}
	for _, pair := range o.statistic {
		name, what, ok := strings.Cut(pair, "=")
		if !ok {
			return usage("--statistic is %q, it should be COLUMN=%s", pair, all)
		}
		if _, err := column(r.Schema, "statistic", name); err != nil {
			return err
		}
		if _, twice := r.Statistics[name]; twice && !strings.HasPrefix(what, "quantile:") {
			return usage("--statistic is given twice for %q", name)
		}
		switch s := global.Statistic(what); {
		case what == "median":
			r.Statistics[name], r.Quantiles[name] = global.Quantiles, []float64{0.5}
		case strings.HasPrefix(what, "quantile:"):
			var q number
			if err := q.Set(strings.TrimPrefix(what, "quantile:")); err != nil {
				return usage("--statistic %s: %w", pair, err)
			}
			r.Statistics[name], r.Quantiles[name] = global.Quantiles, append(r.Quantiles[name], q.value)
		case slices.Contains([]global.Statistic{global.Mean, global.Moments, global.Mode, global.Histogram, global.Skip}, s):
			r.Statistics[name] = s
		default:
			return usage("--statistic is %q: %q is not %s", pair, what, all)
		}
	}
	return nil
}
