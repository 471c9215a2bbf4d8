package global

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

// Noise is what is added to sums and counts.
type Noise string

// The kinds of noise there are.
const (
	// Laplace noise is the default: its guarantee needs no δ.
	Laplace Noise = "laplace"
	// Gaussian noise is smaller where there are many columns and a δ.
	Gaussian Noise = "gaussian"
	// None adds nothing. The profile is NOT PRIVATE: for comparisons only.
	None Noise = "none"
)

// Statistic is what a profile releases for a column.
type Statistic string

// The statistics there are.
const (
	// Mean of a numeric column: a noisy sum over a noisy count.
	Mean Statistic = "mean"
	// Moments are the mean and the variance of a numeric column.
	Moments Statistic = "moments"
	// Mode of a discrete column, its most frequent value: the one with the largest noisy
	// count (with a multiplier), or one that is drawn by the counts (with a range), which
	// is right more often at the same cost but releases no counts.
	Mode Statistic = "mode"
	// Histogram is all noisy counts: of a discrete column's values, or of equal parts of
	// a numeric one's bounds.
	Histogram Statistic = "histogram"
	// Quantiles of a numeric column, each chosen among the parts of a public grid.
	Quantiles Statistic = "quantiles"
	// Given: the group says what the value is. Nothing is asked of the rows.
	Given Statistic = "given"
	// Skip asks nothing. In words the column reads as the middle of its bounds, or as the
	// first of its values: leave it out of the template.
	Skip Statistic = "skip"
)

// DefaultCells is into how many parts bounds are cut for quantiles and for histograms of
// numeric columns without bins.
const DefaultCells = 256

// Column says what is asked of one column, and how exactly.
//
// Multipliers are noise as a multiple of what one row can do: the b of laplace(b), the σ
// of gaussian(σ).
type Column struct {
	Name      string    `json:"name"`
	Statistic Statistic `json:"statistic"`
	// Multiplier of the sum, or of each count of the histogram.
	Multiplier float64 `json:"multiplier,omitempty"`
	// Squares is the multiplier of the sum of squares, of moments.
	Squares float64 `json:"squares,omitempty"`
	// Count is the multiplier of a count for this column alone, as published; 0 uses the
	// count of the group.
	Count float64 `json:"count,omitempty"`
	// Quantiles to release, strictly between 0 and 1: 0.5 is the median.
	Quantiles []float64 `json:"quantiles,omitempty"`
	// Range is how far one row can tilt the choice of a mode or of each quantile: the c of
	// boundedrange(c), or of pure(c).
	Range float64 `json:"range,omitempty"`
	// Cells of a numeric column's grid; 0 means [DefaultCells].
	Cells int `json:"cells,omitempty"`
}

// Settings are all that decides what a profile costs, and what it releases. They are public.
type Settings struct {
	// Groups whose product the rows are divided into; none makes one group of all.
	Groups []schema.Group `json:"groups,omitempty"`
	// Adjacency is add-remove by default.
	Adjacency privacy.Adjacency `json:"adjacency,omitempty"`
	// Noise is Laplace by default.
	Noise Noise `json:"noise,omitempty"`
	// Rate at which units are sampled first; 0 and 1 take all.
	Rate float64 `json:"rate,omitempty"`
	// RowsPerUnit: a unit of privacy has several rows, and at most this many are used,
	// with noise in proportion; 0 where each row is a unit.
	RowsPerUnit int `json:"rows_per_unit,omitempty"`
	// Count is the multiplier of the noisy count of each group; 0 asks for none.
	Count float64 `json:"count,omitempty"`
	// Uncentred sums are of the numbers themselves, as published, in place of their
	// distance from the middle of the bounds. One row then moves a sum by up to the
	// larger of the bounds, which is more than half their distance.
	Uncentred bool `json:"uncentred,omitempty"`
	// Columns, each of the schema once and in its order.
	Columns []Column `json:"columns"`
}

// Limits of multipliers. Noise below the first is none to speak of; above the second it
// is larger than any table.
const (
	minMultiplier = 1e-6
	maxMultiplier = 1 << 26
	maxRange      = 1 << 10
)

// WithDefaults fills in what was left open.
func (s Settings) WithDefaults() Settings {
	s.Adjacency, s.Noise, s.Rate = cmp.Or(s.Adjacency, privacy.AddRemove), cmp.Or(s.Noise, Laplace), cmp.Or(s.Rate, 1)
	s.Columns = slices.Clone(s.Columns)
	for i := range s.Columns {
		if c := &s.Columns[i]; c.Cells == 0 && c.Statistic == Quantiles {
			c.Cells = DefaultCells
		}
	}
	return s
}

// rows is how many rows of a unit count.
func (s Settings) rows() int { return max(1, s.RowsPerUnit) }

// Check finds what is wrong with settings by themselves. [New] checks that they fit a
// schema.
func (s Settings) Check() error {
	s = s.WithDefaults()
	if _, err := privacy.ParseAdjacency(string(s.Adjacency)); err != nil {
		return err
	}
	switch {
	case s.Noise != Laplace && s.Noise != Gaussian && s.Noise != None:
		return fmt.Errorf("unknown noise %q: one of laplace, gaussian, none", s.Noise)
	case !(s.Rate > 0 && s.Rate <= 1):
		return fmt.Errorf("a sampling rate of %v: it must be above 0 and at most 1, or left out to use all rows", s.Rate)
	case s.RowsPerUnit < 0 || s.RowsPerUnit > 1<<16:
		return fmt.Errorf("%d rows of a unit: between 1 and 65536 may be used, or 0 where rows are units", s.RowsPerUnit)
	case len(s.Columns) == 0:
		return fmt.Errorf("no columns: name a statistic for each column of the schema")
	}
	if err := s.checkMultiplier("the count", s.Count, true); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, c := range s.Columns {
		if c.Name == "" || names[c.Name] {
			return fmt.Errorf("column %q is there twice or has no name: list each column of the schema once", c.Name)
		}
		names[c.Name] = true
		if err := s.checkColumn(c); err != nil {
			return err
		}
	}
	if !s.counts() {
		for _, c := range s.Columns {
			if (c.Statistic == Mean || c.Statistic == Moments) && c.Count == 0 {
				return fmt.Errorf("the mean of %s needs a count of the group: set count, or ask for a histogram of some column", c.Name)
			}
		}
	}
	return nil
}

// counts reports whether anything released shows how large a group is.
func (s Settings) counts() bool {
	return s.Count > 0 || s.Noise == None || slices.ContainsFunc(s.Columns, Column.counted)
}

// counted reports whether all values of a column are counted, with noise.
func (c Column) counted() bool {
	return c.Statistic == Histogram || c.Statistic == Mode && c.Range == 0
}

// drawn reports whether the mode is drawn by the counts, which do not leave.
func (c Column) drawn() bool { return c.Statistic == Mode && c.Range != 0 }

func (s Settings) checkMultiplier(what string, m float64, optional bool) error {
	switch {
	case m == 0 && (optional || s.Noise == None):
		return nil
	case s.Noise == None && !(m >= 0):
		return fmt.Errorf("the multiplier of %s is %v: leave it out where no noise is added", what, m)
	case s.Noise == None:
		return nil
	case !(m >= minMultiplier):
		return fmt.Errorf("the multiplier of %s is %v: noise must be at least %v times what a row can do, less has no privacy guarantee; ask for a smaller ε", what, m, minMultiplier)
	case m*float64(s.rows()) > maxMultiplier:
		return fmt.Errorf("the multiplier of %s is %v, for %d rows of a unit: noise must be at most %d times what a row can do, more leaves nothing but noise; ask for a larger ε, or fewer rows of a unit", what, m, s.rows(), maxMultiplier)
	}
	return nil
}

func (s Settings) checkColumn(c Column) error {
	type part struct {
		what    string
		set     bool
		allowed bool
	}
	sums := c.Statistic == Mean || c.Statistic == Moments
	hist := c.counted()
	switch c.Statistic {
	case Mean, Moments, Mode, Histogram, Quantiles, Given, Skip:
	default:
		return fmt.Errorf("column %s: unknown statistic %q: one of mean, moments, mode, histogram, quantiles, given, skip", c.Name, c.Statistic)
	}
	for _, p := range []part{
		{"a multiplier", c.Multiplier != 0, sums || hist},
		{"a multiplier of squares", c.Squares != 0, c.Statistic == Moments},
		{"a count", c.Count != 0, sums},
		{"a list of quantiles", len(c.Quantiles) > 0, c.Statistic == Quantiles},
		{"a range", c.Range != 0, c.Statistic == Quantiles || c.drawn()},
		{"a number of cells", c.Cells != 0, c.Statistic == Quantiles || c.Statistic == Histogram},
	} {
		if p.set && !p.allowed {
			return fmt.Errorf("column %s has %s, which %s does not use: leave it out", c.Name, p.what, c.Statistic)
		}
	}
	switch {
	case c.drawn():
		return s.checkRange(c)
	case sums, hist:
		if err := s.checkMultiplier("column "+c.Name, c.Multiplier, false); err != nil {
			return err
		}
		if err := s.checkMultiplier("the count for column "+c.Name, c.Count, true); err != nil {
			return err
		}
		return s.checkMultiplier("the squares of column "+c.Name, c.Squares, c.Statistic != Moments)
	case c.Statistic == Quantiles:
		return s.checkQuantiles(c)
	}
	return nil
}

func (s Settings) checkQuantiles(c Column) error {
	if len(c.Quantiles) == 0 {
		return fmt.Errorf("column %s: no quantiles are asked for: list some, such as 0.5 for the median", c.Name)
	}
	for _, q := range c.Quantiles {
		if !(q >= 1./quantileUnits && q <= 1-1./quantileUnits) || !wholeShare(q) {
			return fmt.Errorf("column %s: quantile %v: it must lie between 0 and 1 and have at most %d digits, such as 0.25", c.Name, q, quantileDigits)
		}
	}
	if c.Cells < 2 || c.Cells > 1<<12 {
		return fmt.Errorf("column %s: a grid of %d cells: between 2 and 4096 are possible", c.Name, c.Cells)
	}
	return s.checkRange(c)
}

func (s Settings) checkRange(c Column) error {
	if s.Noise != None && !(c.Range > 0 && c.Range <= maxRange) {
		return fmt.Errorf("column %s: the range of a choice is %v: it must be above 0 and at most %d", c.Name, c.Range, maxRange)
	}
	return nil
}

// Quantiles are whole numbers of thousandths, so that ranks are compared exactly.
const (
	quantileDigits = 3
	quantileUnits  = 1000
)

func wholeShare(q float64) bool {
	return math.Abs(q*quantileUnits-math.Round(q*quantileUnits)) < 1e-9
}
