package plan

import (
	"math"
	"strings"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

// With fills in the settings of the method global, as people write them. The request has
// its Schema already.
func (r ProfileRequest) With(v method.Values) (ProfileRequest, error) {
	spec, _ := method.Lookup("global")
	v, err := v.Check(spec)
	if err != nil {
		return r, err
	}
	r.Noise, r.Adjacency = global.Noise(v.Word("noise", "")), privacy.Adjacency(v.Word("adjacency", ""))
	r.Rate, r.CountWeight = v.Float("rate", 0), v.Float("count_weight", 0)
	if r.Noise == global.None {
		if r.Epsilon != 0 {
			return r, about("noise", "noise none has no ε: leave ε out")
		}
		r.Epsilon = math.Inf(1)
	}
	if r.Unit, err = privacy.ParseUnit(v.Word("unit", "")); err != nil {
		return r, about("unit", "%v", err)
	} else if r.Unit == privacy.Record && v.Has("rows_per_unit") {
		return r, about("rows_per_unit", "rows_per_unit goes with unit")
	}
	r.RowsPerUnit = v.Int("rows_per_unit", 0)
	if r.Weights, err = columnNumbers(r.Schema, v.Word("weights", "")); err != nil {
		return r, err
	}
	if v.Is("histograms") {
		if v.Has("statistic") || v.Has("group") || v.Has("groups") {
			return r, about("histograms", "histograms says what to release for which groups: leave statistic, group and groups out")
		}
		if r, err = r.Histograms(); err != nil {
			return r, about("histograms", "histograms: %v", err)
		}
		return r, nil
	}
	if err := r.statistics(v.List("statistic")); err != nil {
		return r, err
	}
	ready, setting := v.Word("groups", ""), "group"
	if ready != "" {
		setting = "groups"
	}
	if r.Groups, err = r.Schema.Partition(ready, v.List("group")); err != nil {
		return r, about(setting, "%s: %v", setting, err)
	}
	return r, nil
}

// statistics reads COLUMN=STATISTIC of columns.
func (r *ProfileRequest) statistics(list []string) error {
	r.Statistics, r.Quantiles = map[string]global.Statistic{}, map[string][]float64{}
	for _, pair := range list {
		name, what, ok := strings.Cut(pair, "=")
		if !ok {
			return about("statistic", "statistic is %q, it should be COLUMN=STATISTIC: %s", pair, global.StatisticNames)
		}
		if _, err := r.Schema.Named(name); err != nil {
			return about("statistic", "statistic: %v", err)
		}
		rank, quantile := strings.CutPrefix(what, "quantile:")
		if _, twice := r.Statistics[name]; twice && !quantile {
			return about("statistic", "statistic is given twice for %q", name)
		}
		switch s := global.Statistic(what); {
		case what == "median":
			r.Statistics[name], r.Quantiles[name] = global.Quantiles, []float64{0.5}
		case quantile:
			q, err := method.ParseNumber(rank)
			if err != nil {
				return about("statistic", "statistic %s: %v", pair, err)
			}
			r.Statistics[name], r.Quantiles[name] = global.Quantiles, append(r.Quantiles[name], q)
		case s == global.Mean || s == global.Moments || s == global.Mode || s == global.Histogram || s == global.Skip:
			r.Statistics[name] = s
		default:
			return about("statistic", "statistic is %q: %q is not %s", pair, what, global.StatisticNames)
		}
	}
	return nil
}

// With fills in the settings of the method local, as people write them. The request has its
// Schema already.
func (r LocalRequest) With(v method.Values) (LocalRequest, error) {
	spec, _ := method.Lookup("local")
	v, err := v.Check(spec)
	if err != nil {
		return r, err
	}
	r.Split = v.Word("split", "")
	r.Weights, err = columnNumbers(r.Schema, v.Word("weights", ""))
	return r, err
}

// columnNumbers reads weights such as age=2,income=1.
func columnNumbers(s schema.Schema, list string) (map[string]float64, error) {
	if list == "" {
		return nil, nil
	}
	out := map[string]float64{}
	for pair := range strings.SplitSeq(list, ",") {
		name, text, ok := strings.Cut(strings.TrimSpace(pair), "=")
		n, wrong := method.ParseNumber(text)
		if !ok || wrong != nil {
			return nil, about("weights", "weights has %q, it should be COLUMN=NUMBER, such as %s=2", pair, s.Columns[0].Name)
		}
		if _, err := s.Named(name); err != nil {
			return nil, about("weights", "weights: %v", err)
		}
		if _, twice := out[name]; twice {
			return nil, about("weights", "weights gives %q twice", name)
		}
		out[name] = n
	}
	return out, nil
}

// about returns an [InputError] about an option or a setting.
func about(setting, format string, args ...any) error {
	return method.About(setting, format, args...)
}
