package schema

import (
	"math"
	"math/rand/v2"

	"github.com/sotto-dp/sotto/prompt"
)

// Example returns a made-up row: the middle of every column. No data has a part in it.
func (s Schema) Example() Row {
	r := make(Row, len(s.Columns))
	for i, c := range s.Columns {
		middle := c.Low + (c.High-c.Low)/2
		switch {
		case c.Kind == Numeric && len(c.Edges) > 0:
			r[i] = Value{Code: int(place(middle, c.Edges)), Number: middle, Discrete: true}
		case c.Kind == Numeric:
			r[i] = Value{Number: middle}
		default:
			r[i] = Value{Code: len(c.Domain()) / 2, Discrete: true}
		}
	}
	return r
}

// RandomExamples returns random rows in words with answers: values and bins of a column are
// equally likely, and numbers are uniform within their bounds or bin. The answers take
// turns, whatever the row. They depend on no data, so they cost nothing: they are a pool
// that records may choose from. The same seed makes the same rows.
func (s Schema) RandomExamples(n int, seed uint64) []prompt.Example {
	r := rand.New(rand.NewPCG(seed, 0))
	words, label := s.Wording(), s.LabelColumn()
	if label < 0 {
		return nil
	}
	answers := len(s.Columns[label].Domain())
	out := make([]prompt.Example, 0, n)
	for i := range n {
		row := make(Row, len(s.Columns))
		for j, c := range s.Columns {
			row[j] = c.random(r)
		}
		row[label] = Value{Code: i % max(1, answers), Discrete: true}
		out = append(out, prompt.Example{Input: words.Text(row), Output: words.Answer(row)})
	}
	return out
}

// random returns a value that the column allows.
func (c Column) random(r *rand.Rand) Value {
	if c.Kind == Categorical {
		return Value{Code: r.IntN(max(1, len(c.Values))), Discrete: true}
	}
	ends := append(append([]float64{c.Low}, c.Edges...), c.High)
	bin := r.IntN(len(ends) - 1)
	x := ends[bin] + r.Float64()*(ends[bin+1]-ends[bin])
	if c.countable() {
		x = math.Floor(x)
	}
	return Value{Number: x}
}

// countable reports whether numbers of the column are likely whole: bounds are, far apart.
// Digits do not say, they are for averages.
func (c Column) countable() bool {
	const far = 20
	return c.Low == math.Floor(c.Low) && c.High == math.Floor(c.High) && c.High-c.Low >= far
}
