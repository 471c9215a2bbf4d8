package plan

import (
	"math"

	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/schema"
)

// ProfileError is what noise is expected to do to one column, computed before a row is
// read.
type ProfileError struct {
	Column    string           `json:"column"`
	Statistic global.Statistic `json:"statistic"`
	// Noise is its standard deviation on each count of the column, if they are released.
	Noise float64 `json:"noise,omitempty"`
	// Mean is how far noise moves the mean of a group, about one standard deviation, for a
	// mean at the edge of the bounds, which is the worst; in the units of the column. At
	// most it is their width.
	Mean float64 `json:"mean,omitempty"`
	// Margin is how many rows more than any other value the most frequent one needs to be
	// found with 95 %.
	Margin float64 `json:"margin,omitempty"`
	// Rank is how many rows a quantile is off with 5 % at most.
	Rank float64 `json:"rank,omitempty"`
}

// Rows is how many rows a group has if all have equally many: the declared size, sampled,
// by the number of groups. It is 0 without a declared size.
func (p Profile) Rows() float64 {
	s := p.Settings.WithDefaults()
	return s.Rate * float64(p.Size) / float64(max(1, p.Schema.GroupCount(s.Groups)))
}

// Errors predicts the errors of the columns for a group of so many rows (see
// [Profile.Rows]). Nothing in it is learnt from the data.
func (p Profile) Errors(rows float64) []ProfileError {
	s := p.Settings.WithDefaults()
	shared := countVariance(p.Schema, s)
	var out []ProfileError
	for i, c := range s.Columns {
		of := p.Schema.Columns[i]
		e := ProfileError{Column: c.Name, Statistic: c.Statistic}
		switch c.Statistic {
		case global.Mean, global.Moments:
			count := shared
			if c.Count > 0 {
				count = variance(s, c.Count)
			}
			scale := of.High/2 - of.Low/2
			if s.Uncentred {
				scale = math.Max(math.Abs(of.Low), math.Abs(of.High))
			}
			e.Mean = math.Min(of.High-of.Low, scale*math.Sqrt(variance(s, c.Multiplier)+count)/math.Max(rows, 1))
		case global.Mode, global.Histogram:
			if c.Range > 0 {
				e.Margin = drawnMargin(s.Noise, len(of.Domain())) * float64(max(1, s.RowsPerUnit)) / c.Range
				break
			}
			e.Noise = math.Sqrt(variance(s, c.Multiplier))
			if of.Discrete() {
				e.Margin = margin(s.Noise, c.Multiplier*float64(max(1, s.RowsPerUnit)), len(of.Domain()))
			}
		case global.Quantiles:
			for _, q := range c.Quantiles {
				e.Rank = math.Max(e.Rank, rank(s, c, q))
			}
		}
		out = append(out, e)
	}
	return out
}

func variance(s global.Settings, multiplier float64) float64 {
	return global.Variance(s.Noise, multiplier, s.RowsPerUnit)
}

// countVariance is the variance of the count which the profile computes of all that counts rows.
func countVariance(of schema.Schema, s global.Settings) float64 {
	weights := 0.
	if s.Count > 0 {
		weights += 1 / variance(s, s.Count)
	}
	for i, c := range s.Columns {
		switch {
		case c.Count > 0:
			weights += 1 / variance(s, c.Count)
		case c.Statistic == global.Mode && c.Range == 0 || c.Statistic == global.Histogram:
			cells := len(of.Columns[i].Domain())
			if cells == 0 {
				cells = max(c.Cells, 1)
			}
			weights += 1 / (variance(s, c.Multiplier) * float64(cells))
		}
	}
	if weights == 0 || s.Noise == global.None {
		return 0
	}
	return 1 / weights
}

// margin is the least t for which the noise on d−1 counts, each against that on the
// largest, exceeds it with 5 % at most, together by the union bound. The difference of two
// Laplace variables of scale b exceeds t with probability (1 + t/2b)·exp(−t/b)/2.
func margin(n global.Noise, scale float64, d int) float64 {
	if n == global.None || d < 2 || !(scale > 0) {
		return 0
	}
	beyond := func(t float64) float64 {
		if n == global.Gaussian {
			return math.Erfc(t/2) / 2
		}
		return (1 + t/2) * math.Exp(-t) / 2
	}
	return scale * halve(0, 100, func(t float64) bool { return beyond(t)*float64(d-1) > 0.05 })
}

// drawnMargin is the margin of a mode that is drawn at rate 1 from counts of d values, for
// 95 % at least. At a margin of t each other value shows heads with probability exp(−t),
// and k heads among d−1 win with k/(k+1) ≤ k/2; by the exponential mechanism each has
// exp(−t) times the chance of the largest.
func drawnMargin(n global.Noise, d int) float64 {
	others := float64(max(d, 2) - 1)
	if n == global.Gaussian {
		return math.Log(others / 0.05)
	}
	return math.Log(others / 0.1)
}

// rank is by how many rows the exponential mechanism is off with 5 % at most (McSherry,
// Talwar 2007): some cell of the grid has the rank that is wanted.
func rank(s global.Settings, c global.Column, q float64) float64 {
	if s.Noise == global.None || !(c.Range > 0) {
		return 0
	}
	width := 2 * math.Max(q, 1-q) * float64(max(1, s.RowsPerUnit))
	return width / c.Range * math.Log(float64(c.Cells)/0.05)
}

// Warnings are about what the settings alone show, in words; the data has no part in them.
func (p Profile) Warnings() []string {
	var out []string
	rows := p.Rows()
	if rows == 0 || !p.Private() {
		return nil
	}
	for _, e := range p.Errors(rows) {
		i, _ := p.Schema.Column(e.Column)
		c := p.Schema.Columns[i]
		switch {
		case e.Mean > (c.High-c.Low)/4:
			out = append(out, "the mean of "+e.Column+" is mostly noise: ask for a larger ε, fewer groups or narrower bounds")
		case e.Margin > rows:
			out = append(out, "the most frequent value of "+e.Column+" is mostly chosen by noise: ask for a larger ε or fewer groups")
		}
	}
	return out
}
