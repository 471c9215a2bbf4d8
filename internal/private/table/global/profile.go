package global

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/schema"
)

// Profile is what was released of a table: a typical row for each group. All of it may be
// shown.
type Profile struct {
	Groups []Group `json:"groups"`
}

// Group is what was released of one group of rows.
type Group struct {
	// Classes of the columns that rows are grouped by, in the order of the settings, and
	// the same in words.
	Classes []int  `json:"classes,omitempty"`
	Where   string `json:"where,omitempty"`
	// Count is about how many rows the group has: the noisy count and the totals of noisy
	// histograms, weighted by how sure they are. It can be negative. CountError is the
	// standard deviation of its noise; both are 0 where nothing counts rows.
	Count      float64 `json:"count"`
	CountError float64 `json:"count_error"`
	// Columns, as in the schema.
	Columns []Estimate `json:"columns"`
	// Row is a typical row of the group.
	Row schema.Row `json:"row"`
}

// Estimate is what was released of one column in one group.
type Estimate struct {
	Column    string    `json:"column"`
	Statistic Statistic `json:"statistic"`
	// Mean, and Deviation (the standard deviation) of moments.
	Mean      float64 `json:"mean,omitempty"`
	Deviation float64 `json:"deviation,omitempty"`
	// Error is how far noise may have moved the mean: about one standard deviation. It
	// is a guess where the count is not much larger than its own error.
	Error float64 `json:"error,omitempty"`
	// Mode is the place of the most frequent value in the domain.
	Mode int `json:"mode,omitempty"`
	// Counts of a histogram, with noise; they can be negative.
	Counts []int64 `json:"counts,omitempty"`
	// Quantiles, in the order of the settings.
	Quantiles []float64 `json:"quantiles,omitempty"`
}

// classesOf are the classes of a group, by its number.
func (m *Mechanism) classesOf(g int) []int {
	out := make([]int, len(m.groups))
	for i := len(m.groups) - 1; i >= 0; i-- {
		out[i] = g % m.groups[i].Classes
		g /= m.groups[i].Classes
	}
	return out
}

// feasible are the values of each column that a group allows.
func (m *Mechanism) feasible(g int) []class {
	out := make([]class, len(m.schema.Columns))
	for i, c := range m.schema.Columns {
		out[i] = whole(c)
	}
	for k, at := range m.classesOf(g) {
		out[m.groups[k].Column] = m.groups[k].classes[at]
	}
	return out
}

// describe computes what noisy numbers say of a group. It sees nothing else of the rows:
// post-processing.
func (m *Mechanism) describe(g int, n noisy) Group {
	out := Group{Classes: m.classesOf(g)}
	feasible := m.feasible(g)
	var words []string
	for k, gr := range m.groups {
		words = append(words, gr.classes[out.Classes[k]].words)
	}
	out.Where = strings.Join(words, ", ")
	out.Count, out.CountError = m.count(n)
	for i := range m.schema.Columns {
		e, v := m.estimate(i, n.columns[i], feasible[i], out)
		out.Columns = append(out.Columns, e)
		out.Row = append(out.Row, v)
	}
	return out
}

// count weighs all noisy counts of rows by the variance of its noise.
func (m *Mechanism) count(n noisy) (count, deviation float64) {
	if m.settings.Noise == None {
		return float64(n.count), 0
	}
	total, weights := 0., 0.
	take := func(x, variance float64) {
		total += x / variance
		weights += 1 / variance
	}
	if m.settings.Count > 0 {
		take(float64(n.count), m.variance(m.settings.Count))
	}
	for i, c := range m.settings.Columns {
		switch {
		case c.Count > 0:
			take(float64(n.columns[i].count), m.variance(c.Count))
		case c.counted():
			x := 0.
			for _, k := range n.columns[i].counts {
				x += float64(k)
			}
			take(x, m.variance(c.Multiplier)*float64(len(n.columns[i].counts)))
		}
	}
	if weights == 0 {
		return 0, 0
	}
	return total / weights, math.Sqrt(1 / weights)
}

// variance of the noise on a count.
func (m *Mechanism) variance(multiplier float64) float64 {
	return Variance(m.settings.Noise, multiplier, m.settings.rows())
}

// Variance of noise on a number, relative to what one row can do to it.
func Variance(n Noise, multiplier float64, rowsPerUnit int) float64 {
	scale := multiplier * float64(max(1, rowsPerUnit))
	switch n {
	case None:
		return 0
	case Gaussian:
		return scale * scale
	}
	return 2 * scale * scale
}

func (m *Mechanism) estimate(i int, n noisyColumn, k class, g Group) (Estimate, schema.Value) {
	of, c := m.schema.Columns[i], m.settings.Columns[i]
	e := Estimate{Column: of.Name, Statistic: c.Statistic}
	switch c.Statistic {
	case Mean, Moments:
		m.mean(&e, i, n, k, g)
		return e, schema.Value{Number: e.Mean}
	case Mode, Histogram:
		if c.Statistic == Histogram {
			e.Counts = n.counts
		}
		if of.Discrete() {
			e.Mode = n.mode
			if c.counted() {
				e.Mode = mode(n.counts, k)
			}
			return e, schema.Value{Code: e.Mode, Discrete: true}
		}
		e.Mean = k.clamp(number(of, middle(n.counts), len(n.counts)))
		return e, schema.Value{Number: e.Mean}
	case Quantiles:
		return e, quantiles(&e, of, c, n, k)
	}
	switch {
	case len(k.codes) > 0 && (c.Statistic == Given || of.Kind == schema.Categorical):
		return e, schema.Value{Code: k.codes[0], Discrete: true}
	case of.Kind == schema.Categorical:
		return e, schema.Value{Discrete: true}
	}
	return e, schema.Value{Number: k.low/2 + k.high/2}
}

// mean is the noisy sum over the noisy count, within what the group allows.
func (m *Mechanism) mean(e *Estimate, i int, n noisyColumn, k class, g Group) {
	of, c := m.schema.Columns[i], m.settings.Columns[i]
	count, countVariance := g.Count, g.CountError*g.CountError
	if c.Count > 0 && m.settings.Noise != None {
		count, countVariance = float64(n.count), m.variance(c.Count)
	}
	count = math.Max(count, 1)
	share := float64(n.sum) / unit / count
	origin, scale := of.Low/2+of.High/2, of.High/2-of.Low/2
	if m.settings.Uncentred {
		origin, scale = 0, largest(of.Low, of.High)
	}
	e.Mean = k.clamp(origin + scale*share)
	share = math.Min(math.Max(share, -1), 1)
	e.Error = scale / count * math.Sqrt(m.variance(c.Multiplier)+share*share*countVariance)
	if c.Statistic == Moments {
		half := of.High/2 - of.Low/2
		y := 0.
		if half > 0 {
			y = (e.Mean - (of.Low/2 + of.High/2)) / half
		}
		second := (float64(n.square)/unit/count + 1) / 2
		e.Deviation = half * math.Sqrt(math.Min(math.Max(second-y*y, 0), 1))
	}
}

func (k class) clamp(x float64) float64 { return math.Min(math.Max(x, k.low), k.high) }

// mode is the feasible value with the largest count, the first of several.
func mode(counts []int64, k class) int {
	at := -1
	for code, n := range counts {
		if k.allows(code) && (at < 0 || n > counts[at]) {
			at = code
		}
	}
	return max(at, 0)
}

// middle is the cell of the median, counts below 0 being none.
func middle(counts []int64) int {
	rows := int64(0)
	for _, n := range counts {
		rows += max(0, n)
	}
	if rows == 0 {
		return len(counts) / 2
	}
	seen := int64(0)
	for i, n := range counts {
		if seen += max(0, n); 2*seen >= rows {
			return i
		}
	}
	return len(counts) - 1
}

// number is the middle of a cell of a column's grid.
func number(c schema.Column, cell, cells int) float64 {
	share := (float64(cell) + 0.5) / float64(cells)
	return c.Low*(1-share) + c.High*share
}

// quantiles are in order, as those of any rows are; the row gets the one nearest to the
// median.
func quantiles(e *Estimate, of schema.Column, c Column, n noisyColumn, k class) schema.Value {
	cells := slices.Sorted(slices.Values(n.quantiles))
	order := make([]int, len(cells))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(c.Quantiles[i], c.Quantiles[j]) })
	e.Quantiles = make([]float64, len(cells))
	nearest := 0
	for rank, i := range order {
		e.Quantiles[i] = k.clamp(number(of, cells[rank], c.Cells))
		if math.Abs(c.Quantiles[i]-0.5) < math.Abs(c.Quantiles[nearest]-0.5) {
			nearest = i
		}
	}
	return schema.Value{Number: e.Quantiles[nearest]}
}
