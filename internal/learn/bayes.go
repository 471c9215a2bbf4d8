package learn

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/schema"
)

// Moments are what naive Bayes needs to know of a table: sums over the rows of each class.
// They may be exact or noisy.
type Moments struct {
	// Counts is the number of rows of each class.
	Counts []float64
	// Sums and Squares are sums of numbers and of their squares, by class and by the
	// column's place in the schema. A number is in halves of the width of its bounds from
	// their middle, so from -1 to 1.
	Sums, Squares [][]float64
	// Histograms is the number of rows with each value, by class and the column's place.
	Histograms [][][]float64
	// Errors is how far noise moved means, by class and the column's place: about one
	// standard deviation. A variance below that cannot be distinguished from none, and counts as
	// that. nil if there is no noise.
	Errors [][]float64
}

// NewMoments are those of no row at all.
func NewMoments(f *Form) Moments {
	classes, columns := len(f.classes), len(f.schema.Columns)
	m := Moments{Counts: make([]float64, classes)}
	for k := range classes {
		m.Sums = append(m.Sums, make([]float64, columns))
		m.Squares = append(m.Squares, make([]float64, columns))
		m.Histograms = append(m.Histograms, make([][]float64, columns))
		for _, c := range f.columns {
			if c.discrete {
				m.Histograms[k][c.place] = make([]float64, len(c.domain))
			}
		}
	}
	return m
}

// NaiveBayesOptions say what is made of moments.
type NaiveBayesOptions struct {
	// Gaussian takes every value of a discrete column for a number of its own, 0 or 1,
	// with a normal law, as is done where features are all called numbers. Otherwise
	// discrete columns have their frequencies.
	Gaussian bool
	// Floor is the least variance; 0 means 1e-9 of the largest one of any feature over
	// all classes.
	Floor float64
}

// smoothing is added to every count of a discrete column's value before it becomes a
// frequency.
const smoothing = 1

// NaiveBayes is a naive Bayes model: given the class, columns are independent.
type NaiveBayes struct {
	form *Form
	// base is the logarithm of the class's share, and of all zeros of discrete columns.
	base []float64
	// mean and spread (variance) by class and feature, of numbers.
	mean, spread [][]float64
	// gain is what a value of a discrete column adds to the logarithm.
	gain [][]float64
}

// NewNaiveBayes makes a model of moments. What noise made impossible is mended: counts are
// 0 or more, means within the bounds, variances at least the floor and at most what the
// bounds allow.
func NewNaiveBayes(f *Form, m Moments, o NaiveBayesOptions) (*NaiveBayes, error) {
	if err := m.check(f); err != nil {
		return nil, err
	}
	if !(o.Floor >= 0) || math.IsInf(o.Floor, 1) {
		return nil, errors.New("the floor of naive Bayes is a number of 0 or more")
	}
	n := &NaiveBayes{form: f, base: make([]float64, len(f.classes))}
	var total float64
	for _, c := range m.Counts {
		total += max(c, 0)
	}
	for k, c := range m.Counts {
		// No rows at all: classes are equally probable.
		n.base[k] = -math.Log(float64(len(m.Counts)))
		if total > 0 {
			n.base[k] = math.Log(max(c, 0) / total)
		}
		n.mean = append(n.mean, make([]float64, f.width))
		n.spread = append(n.spread, make([]float64, f.width))
		n.gain = append(n.gain, make([]float64, f.width))
	}
	for _, col := range f.columns {
		n.estimate(m, col)
	}
	floor := cmp.Or(o.Floor, 1e-9*n.widest(m))
	for k := range n.base {
		n.settle(m, k, max(floor, 1e-300), o)
	}
	return n, nil
}

func (m Moments) check(f *Form) error {
	k := len(f.classes)
	if len(m.Counts) != k || len(m.Sums) != k || len(m.Squares) != k || len(m.Histograms) != k || m.Errors != nil && len(m.Errors) != k {
		return fmt.Errorf("moments are not of %d classes: give counts, sums, squares and histograms of each", k)
	}
	for k, count := range m.Counts {
		sum := count
		n := len(f.schema.Columns)
		if len(m.Sums[k]) != n || len(m.Squares[k]) != n || len(m.Histograms[k]) != n || m.Errors != nil && len(m.Errors[k]) != n {
			return fmt.Errorf("moments of class %d are not of %d columns: give a place to every column of the schema", k, n)
		}
		for _, c := range f.columns {
			if c.discrete && len(m.Histograms[k][c.place]) != len(c.domain) {
				return fmt.Errorf("the histogram of column %q in class %d does not have its %d values", c.name, k, len(c.domain))
			}
			sum += m.Sums[k][c.place] + m.Squares[k][c.place]
			for _, h := range m.Histograms[k][c.place] {
				sum += h
			}
			if m.Errors != nil {
				sum += m.Errors[k][c.place]
			}
		}
		if math.IsNaN(sum) || math.IsInf(sum, 0) {
			return fmt.Errorf("moments of class %d are not all finite numbers", k)
		}
	}
	return nil
}

// estimate fills in mean and variance of a column's features.
func (n *NaiveBayes) estimate(m Moments, c column) {
	for k, count := range m.Counts {
		if c.discrete {
			for v, share := range shares(m.Histograms[k][c.place], 0) {
				n.mean[k][c.offset+v], n.spread[k][c.offset+v] = share, share*(1-share)
			}
			continue
		}
		count = max(count, 1)
		mean := max(-1, min(1, m.Sums[k][c.place]/count))
		n.mean[k][c.offset] = mean
		// Numbers of [-1,1] with this mean vary by at most 1−mean².
		n.spread[k][c.offset] = max(0, min(m.Squares[k][c.place]/count-mean*mean, 1-mean*mean))
	}
}

// shares of values by their counts, equal if nothing was counted.
func shares(counts []float64, smoothing float64) []float64 {
	out := make([]float64, len(counts))
	var sum float64
	for v, c := range counts {
		out[v] = max(c, 0) + smoothing
		sum += out[v]
	}
	for v := range out {
		if sum == 0 {
			out[v] = 1 / float64(len(out))
			continue
		}
		out[v] /= sum
	}
	return out
}

// widest is the largest variance of a feature over all classes together.
func (n *NaiveBayes) widest(m Moments) float64 {
	var total, widest float64
	for _, c := range m.Counts {
		total += max(c, 0)
	}
	if total == 0 {
		return 1
	}
	for j := 1; j < n.form.width; j++ {
		var mean, square float64
		for k, c := range m.Counts {
			share := max(c, 0) / total
			mean += share * n.mean[k][j]
			square += share * (n.spread[k][j] + n.mean[k][j]*n.mean[k][j])
		}
		widest = max(widest, square-mean*mean)
	}
	return widest
}

// settle applies the floor, and computes what values of discrete columns add.
func (n *NaiveBayes) settle(m Moments, k int, floor float64, o NaiveBayesOptions) {
	for _, c := range n.form.columns {
		for j := c.offset; j < c.offset+max(1, len(c.domain)); j++ {
			if o.Floor == 0 {
				n.spread[k][j] += floor // as scikit-learn does
			}
			n.spread[k][j] = max(n.spread[k][j], floor)
			if m.Errors != nil {
				n.spread[k][j] = max(n.spread[k][j], m.Errors[k][c.place])
			}
		}
		if !c.discrete {
			continue
		}
		frequency := shares(m.Histograms[k][c.place], smoothing)
		for v := range c.domain {
			j := c.offset + v
			if !o.Gaussian {
				n.gain[k][j] = math.Log(frequency[v])
				continue
			}
			zero := normal(0, n.mean[k][j], n.spread[k][j])
			n.base[k] += zero
			n.gain[k][j] = normal(1, n.mean[k][j], n.spread[k][j]) - zero
		}
	}
}

// normal is the logarithm of a normal law's density.
func normal(x, mean, variance float64) float64 {
	return -(math.Log(2*math.Pi*variance) + (x-mean)*(x-mean)/variance) / 2
}

// Probabilities appends how probable each class of a row is; the row's own label is not looked at.
func (n *NaiveBayes) Probabilities(r schema.Row, to []float64) ([]float64, error) {
	start := len(to)
	to = append(to, n.base...)
	scores := to[start:]
	at := 0
	err := n.form.Entries(r, func(feature int, value float64) {
		discrete := n.form.columns[at].discrete
		at++
		for k := range scores {
			if discrete {
				scores[k] += n.gain[k][feature]
			} else {
				scores[k] += normal(value, n.mean[k][feature], n.spread[k][feature])
			}
		}
	})
	Softmax(scores)
	return to, err
}

// Softmax turns logarithms into probabilities; at least one is finite.
func Softmax(scores []float64) {
	top := math.Inf(-1)
	for _, s := range scores {
		top = max(top, s)
	}
	var sum float64
	for k, s := range scores {
		scores[k] = math.Exp(s - top)
		sum += scores[k]
	}
	for k := range scores {
		scores[k] /= sum
	}
}
