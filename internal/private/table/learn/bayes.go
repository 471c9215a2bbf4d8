package learn

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/schema"
)

// Bayes makes naive Bayes of a released profile: post-processing, so that what it costs is
// what the profile did. The profile must be grouped by the label, and may be by others
// too; columns that were skipped say nothing.
func Bayes(f *learn.Form, p global.Profile, o learn.NaiveBayesOptions) (*learn.NaiveBayes, error) {
	m, err := momentsOf(f, p)
	if err != nil {
		return nil, err
	}
	return learn.NewNaiveBayes(f, m, o)
}

// momentsOf returns the moments of a released profile. Groups of the same class are
// added up, those with a negative count left out.
func momentsOf(f *learn.Form, p global.Profile) (learn.Moments, error) {
	m := learn.NewMoments(f)
	for range m.Counts {
		m.Errors = append(m.Errors, make([]float64, len(f.Schema().Columns)))
	}
	label := f.Schema().LabelColumn()
	for _, g := range p.Groups {
		if len(g.Row) != len(f.Schema().Columns) || len(g.Columns) != len(g.Row) {
			return m, fmt.Errorf("the profile is of another schema: it has %d columns, and there are %d", len(g.Columns), len(f.Schema().Columns))
		}
		if s := g.Columns[label].Statistic; s != global.Given && s != global.Skip {
			return m, fmt.Errorf("the profile is not grouped by the label %q: make one that is", f.Schema().Label)
		}
		class, err := f.Class(g.Row)
		if err != nil {
			return m, err
		}
		count := max(g.Count, 0)
		m.Counts[class] += count
		for _, in := range f.Inputs() {
			if err := take(&m, class, count, f.Schema().Columns[in.Place], in, g); err != nil {
				return m, err
			}
		}
	}
	for k, count := range m.Counts {
		for c := range m.Errors[k] {
			m.Errors[k][c] = math.Sqrt(m.Errors[k][c]) / max(count, 1)
		}
	}
	return m, nil
}

// take adds a group's statistic of a column. Errors are kept as sums of squares.
func take(m *learn.Moments, class int, count float64, c schema.Column, in learn.Input, g global.Group) error {
	e := g.Columns[in.Place]
	switch {
	case e.Statistic == global.Skip:
	case in.Discrete && e.Statistic == global.Histogram && len(e.Counts) == in.Values:
		for v, n := range e.Counts {
			m.Histograms[class][in.Place][v] += float64(n)
		}
	case in.Discrete && e.Statistic == global.Given && g.Row[in.Place].Discrete:
		m.Histograms[class][in.Place][g.Row[in.Place].Code] += count
	case !in.Discrete && e.Statistic == global.Moments:
		half := c.High/2 - c.Low/2
		if half == 0 {
			return nil
		}
		mean, deviation, off := (e.Mean-(c.Low/2+c.High/2))/half, e.Deviation/half, count*e.Error/half
		m.Sums[class][in.Place] += count * mean
		m.Squares[class][in.Place] += count * (mean*mean + deviation*deviation)
		m.Errors[class][in.Place] += off * off
	default:
		return fmt.Errorf("the profile has the %s of column %q: naive Bayes needs moments of numbers and histograms of other columns", e.Statistic, c.Name)
	}
	return nil
}
