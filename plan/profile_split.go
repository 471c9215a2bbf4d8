package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"sotto/privacy"
	"sotto/privacy/accountant"
	"sotto/private/table/global"
	"sotto/schema"
)

// shares are parts of a budget that add up to 1.
type shares struct {
	count   float64
	columns []columnShares
}

// columnShares are what the queries about one column have.
type columnShares struct {
	statistic            global.Statistic
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
	var out shares
	total, means := 0., false
	for i, c := range r.Schema.Columns {
		s := columnShares{statistic: r.statistic(i, given[i])}
		weight, told := r.Weights[c.Name]
		if !told {
			weight = 1
		}
		if !(weight >= 0) || math.IsInf(weight, 1) {
			return shares{}, wrong("column %s has the weight %v: it must be a number above 0", c.Name, weight)
		}
		switch s.statistic {
		case global.Given, global.Skip:
			weight = 0
		case global.Mean, global.Moments:
			means = true
			s.halve(weight, r.Published)
		default:
			s.main = weight
		}
		if weight == 0 && s.statistic != global.Given && s.statistic != global.Skip {
			return shares{}, wrong("column %s has no weight: give it one, or skip it", c.Name)
		}
		total += weight
		out.columns = append(out.columns, s)
	}
	if means && !r.Published {
		out.count = r.CountWeight
		setDefault(&out.count, 1)
		total += out.count
	}
	if !(r.CountWeight >= 0) || math.IsInf(total, 1) {
		return shares{}, wrong("the count has the weight %v: it must be a number above 0", r.CountWeight)
	}
	if total == 0 {
		return shares{}, wrong("nothing is asked of the rows: all columns are skipped, or given by the groups")
	}
	out.count /= total
	for i := range out.columns {
		s := &out.columns[i]
		s.main, s.squares, s.count = s.main/total, s.squares/total, s.count/total
	}
	return out, nil
}

// halve shares a weight between a column's sum, its squares, and its own count.
func (s *columnShares) halve(weight float64, count bool) {
	n := 1.
	if s.statistic == global.Moments {
		n++
	}
	if count {
		n++
		s.count = weight / n
	}
	if s.statistic == global.Moments {
		s.squares = weight / n
	}
	s.main = weight / n
}

// statistic is what is told of a column.
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

// calibrate finds the least noise with which the whole event keeps to ε and δ.
func (r *ProfileRequest) calibrate(o global.Settings, all shares) (global.Settings, error) {
	fits := func(s float64) (bool, error) {
		e := r.settings(o, all, s).Event()
		if err := privacy.Validate(e); err != nil {
			return false, wrong("ε = %v cannot be kept to: %v", r.Epsilon, err)
		}
		got, err := accountant.Auto{}.Epsilon(e, r.Adjacency, r.Delta)
		if err != nil {
			return false, fmt.Errorf("planning a profile: %w", err)
		}
		return got.Upper <= r.Epsilon, nil
	}
	// Without δ, 1/s is ε before sampling, twice that under replace-one.
	high := 1 / (r.Epsilon + math.Log1p(math.Expm1(-r.Epsilon)*(1-1/r.Rate)))
	if r.Adjacency == privacy.ReplaceOne {
		high *= 2
	}
	high *= 1 + 1e-9
	for n := 0; ; n++ {
		ok, err := fits(high)
		if err != nil {
			return o, err
		}
		if ok {
			break
		}
		if n == 40 {
			return o, wrong("no noise keeps to ε = %v and δ = %v: ask for a larger ε", r.Epsilon, r.Delta)
		}
		high *= 2
	}
	if r.Delta == 0 {
		return r.settings(o, all, high), nil
	}
	low := high / 2
	for range 12 {
		ok, err := fits(low)
		if err != nil {
			return o, err
		}
		if !ok {
			break
		}
		low, high = low/2, low
	}
	for high/low > 1+1e-4 {
		middle := math.Sqrt(low * high)
		ok, err := fits(middle)
		if err != nil {
			return o, err
		}
		if ok {
			high = middle
		} else {
			low = middle
		}
	}
	return r.settings(o, all, high), nil
}
