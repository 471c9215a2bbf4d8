package plan

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

// shares are parts of a budget that add up to 1.
type shares struct {
	count   float64
	columns []columnShares
}

// columnShares are what the queries about one column have.
type columnShares struct {
	statistic            global.Statistic
	drawn                bool // a mode that is drawn by counts
	main, squares, count float64
}

// split divides the budget: a share for each column that is asked for, and one for the
// count of rows if there are means.
func (r *ProfileRequest) split() (shares, error) {
	if err := r.checkNames(); err != nil {
		return shares{}, err
	}
	given, err := global.Determined(r.Schema, r.Groups)
	if err != nil {
		return shares{}, wrong("%v", err)
	}
	weights, means := make([]float64, len(given)), 0.
	out := shares{columns: make([]columnShares, len(given))}
	for i, c := range r.Schema.Columns {
		s := &out.columns[i]
		s.statistic = r.statistic(i, given[i])
		s.drawn = s.statistic == global.Mode && !r.Published
		if weights[i], err = r.weight(c.Name, s.statistic); err != nil {
			return shares{}, err
		}
		if s.statistic == global.Mean || s.statistic == global.Moments {
			means++
		}
	}
	if !(r.CountWeight >= 0) || math.IsInf(r.CountWeight, 1) {
		return shares{}, wrong("the count has the weight %v: it must be a number above 0", r.CountWeight)
	}
	if means > 0 && !r.Published {
		out.count = r.CountWeight
		setDefault(&out.count, math.Max(1, math.Cbrt(means/2)))
	}
	if !(out.count+total(weights) > 0) {
		return shares{}, wrong("nothing is asked of the rows: all columns are skipped, or given by the groups")
	}
	if means > 0 {
		r.spare(weights, out)
	}
	whole := out.count + total(weights)
	out.count /= whole
	for i, w := range weights {
		out.columns[i].share(w/whole, r.Published)
	}
	return out, nil
}

func total(weights []float64) float64 {
	sum := 0.
	for _, w := range weights {
		sum += w
	}
	return sum
}

// weight is what a column has relative to others.
func (r *ProfileRequest) weight(name string, s global.Statistic) (float64, error) {
	if s == global.Given || s == global.Skip {
		return 0, nil
	}
	w, given := r.Weights[name]
	switch {
	case !given:
		return 1, nil
	case w == 0:
		return 0, wrong("column %s has no weight: give it one, or skip it", name)
	case !(w > 0) || math.IsInf(w, 1):
		return 0, wrong("column %s has the weight %v: it must be a number above 0", name, w)
	}
	return w, nil
}

// EnoughMargin is the share of an average group by which a value has to be more frequent
// than others to be found with 95 %: modes are given no more of the budget than that takes.
const EnoughMargin = 0.01

// spare takes from modes what they do not need, for the sake of the means: a mode is found
// or not, and a mean is the better the less noise there is. It goes by the declared size.
func (r *ProfileRequest) spare(weights []float64, all shares) {
	groups := r.Schema.GroupCount(r.Groups)
	if r.Size == 0 || r.Even || groups == 0 || r.Noise == global.None {
		return
	}
	whole := all.count + total(weights)
	for i, s := range all.columns {
		name := r.Schema.Columns[i].Name
		if _, given := r.Weights[name]; given || !s.drawn {
			continue
		}
		values := len(r.Schema.Columns[i].Domain())
		rows := EnoughMargin * r.Rate * float64(r.Size) / float64(groups)
		tilt := drawnMargin(r.Noise, values) * float64(max(1, r.RowsPerUnit)) / rows
		if r.Adjacency == privacy.ReplaceOne {
			tilt *= 2
		}
		share := tilt / r.within()
		if r.Noise == global.Gaussian {
			// About: σ of all queries together is √(2·ln(1.25/δ))/ε.
			share = tilt * math.Sqrt(2*math.Log(1.25/r.Delta)) / r.within() / 2
			share *= share
		}
		weights[i] = math.Min(1, math.Max(0.05, share*whole))
	}
}

// within is the ε that those who were sampled have, without a δ.
func (r *ProfileRequest) within() float64 {
	return r.Epsilon + math.Log1p(math.Expm1(-r.Epsilon)*(1-1/r.Rate))
}

// share divides a column's share between its sum, its squares, and its own count.
func (s *columnShares) share(share float64, count bool) {
	s.main = share
	if s.statistic != global.Mean && s.statistic != global.Moments {
		return
	}
	n := 1.
	if s.statistic == global.Moments {
		n++
	}
	if count {
		n++
		s.count = share / n
	}
	if s.statistic == global.Moments {
		s.squares = share / n
	}
	s.main = share / n
}

// statistic is what is released for a column.
func (r *ProfileRequest) statistic(i int, given bool) global.Statistic {
	c := r.Schema.Columns[i]
	if s, ok := r.Statistics[c.Name]; ok {
		return s
	}
	switch {
	case given && !r.Published:
		return global.Given
	case c.Kind == schema.Categorical || i == r.Schema.LabelColumn():
		return global.Mode
	}
	return global.Mean
}

// checkNames finds settings of columns that the schema does not have.
func (r *ProfileRequest) checkNames() error {
	names := slices.Concat(slices.Collect(maps.Keys(r.Weights)), slices.Collect(maps.Keys(r.Statistics)),
		slices.Collect(maps.Keys(r.Quantiles)), slices.Collect(maps.Keys(r.Cells)))
	slices.Sort(names)
	for _, name := range names {
		if _, ok := r.Schema.Column(name); !ok {
			var all []string
			for _, c := range r.Schema.Columns {
				all = append(all, c.Name)
			}
			return wrong("there is no column %q: the schema has %q", name, all)
		}
	}
	return nil
}

// settings are those in which the noise of a query with the share w of the budget is s/w,
// or s/√w if Gaussian: then shares are of the ρ of zCDP.
func (r *ProfileRequest) settings(o global.Settings, all shares, s float64) global.Settings {
	noise := func(share float64) float64 {
		switch {
		case share == 0 || r.Noise == global.None:
			return 0
		case r.Noise == global.Gaussian:
			return ceil(s / math.Sqrt(share))
		}
		return ceil(s / share)
	}
	choice := func(share float64) float64 {
		switch r.Noise {
		case global.None:
			return 0
		case global.Gaussian:
			return -ceil(-2 * math.Sqrt(share) / s) // c²/8 = ρ, where 1/(2σ²) = ρ
		}
		return -ceil(-share / s)
	}
	o.Count = noise(all.count)
	o.Columns = nil
	for i, share := range all.columns {
		c := global.Column{Name: r.Schema.Columns[i].Name, Statistic: share.statistic, Cells: r.Cells[r.Schema.Columns[i].Name]}
		switch share.statistic {
		case global.Quantiles:
			c.Quantiles = r.Quantiles[c.Name]
			if len(c.Quantiles) == 0 {
				c.Quantiles = []float64{0.5}
			}
			c.Range = choice(share.main / float64(len(c.Quantiles)))
		case global.Given, global.Skip:
		default:
			if share.drawn {
				c.Range = choice(share.main)
				break
			}
			c.Multiplier, c.Squares, c.Count = noise(share.main), noise(share.squares), noise(share.count)
		}
		o.Columns = append(o.Columns, c)
	}
	return o.WithDefaults()
}

// ceil rounds up to 9 significant digits, so that settings can be read.
func ceil(x float64) float64 {
	if x == 0 {
		return 0
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 8, 64), 64)
	if short >= x {
		return short
	}
	digit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-8)
	short, _ = strconv.ParseFloat(strconv.FormatFloat(short+digit, 'e', 8, 64), 64)
	return short
}
