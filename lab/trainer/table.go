package trainer

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/schema"
)

// Table holds rows to learn from, column by column. Rows have weights, so that a
// distribution is a table too: its cells, with their probabilities.
type Table struct {
	form    *learn.Form
	inputs  []learn.Input
	codes   [][]uint16 // of discrete columns, in the order of inputs
	numbers [][]float64
	classes []uint16
	weights []float64
	total   float64
}

// NewTable has no rows yet.
func NewTable(f *learn.Form) *Table {
	in := f.Inputs()
	return &Table{form: f, inputs: in, codes: make([][]uint16, len(in)), numbers: make([][]float64, len(in))}
}

// Form is what the rows are read by.
func (t *Table) Form() *learn.Form { return t.form }

// Len is the number of rows.
func (t *Table) Len() int { return len(t.classes) }

// Add copies a row. A weight of 0 leaves it out.
func (t *Table) Add(r schema.Row, weight float64) error {
	if !(weight >= 0) || math.IsInf(weight, 1) {
		return fmt.Errorf("a row has weight %v: weights are 0 or more", weight)
	}
	class, err := t.form.Class(r)
	if err != nil {
		return err
	}
	// All values are looked at before the first is kept.
	if err := t.form.Entries(r, func(int, float64) {}); err != nil || weight == 0 {
		return err
	}
	at := 0
	err = t.form.Entries(r, func(feature int, value float64) {
		if c := t.inputs[at]; c.Discrete {
			t.codes[at] = append(t.codes[at], uint16(feature-c.Offset))
		} else {
			t.numbers[at] = append(t.numbers[at], value)
		}
		at++
	})
	t.classes = append(t.classes, uint16(class))
	t.weights = append(t.weights, weight)
	t.total += weight
	return err
}

// Moments of all rows, by weight.
func (t *Table) Moments() learn.Moments {
	m := learn.NewMoments(t.form)
	for i, class := range t.classes {
		m.Counts[class] += t.weights[i]
	}
	for c, in := range t.inputs {
		for i, class := range t.classes {
			if in.Discrete {
				m.Histograms[class][in.Place][t.codes[c][i]] += t.weights[i]
				continue
			}
			x := t.numbers[c][i]
			m.Sums[class][in.Place] += t.weights[i] * x
			m.Squares[class][in.Place] += t.weights[i] * x * x
		}
	}
	return m
}

// Merged has one row for all that are equal, with the sum of their weights, in the order
// in which they first came. What is learnt is the same, and sooner.
func (t *Table) Merged() *Table {
	out := NewTable(t.form)
	seen := make(map[string]int)
	var key []byte
	for i := range t.classes {
		key = binary.LittleEndian.AppendUint16(key[:0], t.classes[i])
		for c := range t.inputs {
			if t.inputs[c].Discrete {
				key = binary.LittleEndian.AppendUint16(key, t.codes[c][i])
			} else {
				key = binary.LittleEndian.AppendUint64(key, math.Float64bits(t.numbers[c][i]))
			}
		}
		if at, ok := seen[string(key)]; ok {
			out.weights[at] += t.weights[i]
			continue
		}
		seen[string(key)] = out.Len()
		out.classes = append(out.classes, t.classes[i])
		out.weights = append(out.weights, t.weights[i])
		for c := range t.inputs {
			if t.inputs[c].Discrete {
				out.codes[c] = append(out.codes[c], t.codes[c][i])
			} else {
				out.numbers[c] = append(out.numbers[c], t.numbers[c][i])
			}
		}
	}
	out.total = t.total
	return out
}
