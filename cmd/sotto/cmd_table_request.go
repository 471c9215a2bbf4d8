package main

import (
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

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
	f.StringVar(&o.noise, "noise", string(global.Laplace), "laplace, gaussian, or none")
	complete(cmd, "noise", string(global.Laplace), string(global.Gaussian), string(global.None))
	f.StringVar(&o.weights, "weights", "", "parts of the budget relative to each other, as `COLUMN=W,…` (default: 1 each)")
	f.Var(&o.countWeight, "count-weight", "the part of the budget for the count of rows (default: 1)")
	f.StringVar(&o.unit, "unit", "", "protect all rows with one value of `COLUMN` together (default: each row)")
	f.IntVar(&o.rowsPerUnit, "rows-per-unit", 0, "with --unit: use at most `N` rows of each, with noise in proportion (default: 1)")
	f.StringVar(&o.adjacency, "adjacency", string(privacy.AddRemove), "what neighbours are: add-remove or replace-one")
	complete(cmd, "adjacency", string(privacy.AddRemove), string(privacy.ReplaceOne))
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
