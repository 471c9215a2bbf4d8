package learn

import (
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/schema"
)

// Form says how rows of a schema become features and classes. It is public.
type Form struct {
	columns []column
	label   int
	width   int
	classes []string
	schema  schema.Schema
	encode  *schema.Encoder // of the label
}

// column is one that classes are predicted from.
type column struct {
	place    int // in the schema
	name     string
	discrete bool
	offset   int // of its first feature; 0 is the constant
	domain   []string
	mid      float64
	half     float64
	encode   *schema.Encoder
}

// NewForm prepares a schema. Discrete says that numeric columns with bins are read as
// their bins (as rows perturbed locally are); otherwise they are read as numbers.
func NewForm(s schema.Schema, discrete bool) (*Form, error) {
	label, ok := s.Column(s.Label)
	if !ok {
		return nil, errors.New("the schema has no label: name the column to predict as its label")
	}
	f := &Form{label: label, width: 1, schema: s, encode: s.Columns[label].Encoder()}
	f.classes = s.Columns[label].Domain()
	if len(f.classes) < 2 {
		return nil, fmt.Errorf("the label %q needs two classes or more: list its values, or give edges", s.Label)
	}
	for i, c := range s.Columns {
		if i == label {
			continue
		}
		col := column{place: i, name: c.Name, offset: f.width, encode: c.Encoder()}
		if c.Kind == schema.Categorical || discrete && c.Discrete() {
			col.discrete, col.domain = true, c.Domain()
			f.width += len(col.domain)
		} else {
			col.mid, col.half = c.Low+(c.High-c.Low)/2, (c.High-c.Low)/2
			f.width++
		}
		f.columns = append(f.columns, col)
	}
	return f, nil
}

// Schema is what the form was made from.
func (f *Form) Schema() schema.Schema { return f.schema }

// Width is the number of features, the constant among them.
func (f *Form) Width() int { return f.width }

// Classes are the values of the label.
func (f *Form) Classes() []string { return f.classes }

// Input is a column that classes are predicted from.
type Input struct {
	// Place of the column in the schema.
	Place int
	// Discrete columns have Values features, numeric ones have one.
	Discrete bool
	Values   int
	// Offset is the place of the first of its features.
	Offset int
}

// Inputs are all columns but the label, in the order of the schema.
func (f *Form) Inputs() []Input {
	out := make([]Input, len(f.columns))
	for i, c := range f.columns {
		out[i] = Input{Place: c.place, Discrete: c.discrete, Values: len(c.domain), Offset: c.offset}
	}
	return out
}

// Class is the class of a row: the code of its label.
func (f *Form) Class(r schema.Row) (int, error) {
	if len(r) != len(f.schema.Columns) {
		return 0, f.length(r)
	}
	return code(f.schema.Label, f.encode, len(f.classes), r[f.label])
}

func (f *Form) length(r schema.Row) error {
	return fmt.Errorf("a row has %d values, the schema %d columns: give one for each", len(r), len(f.schema.Columns))
}

// code of a discrete column's value; a number is in its bin.
func code(name string, e *schema.Encoder, size int, v schema.Value) (int, error) {
	c := v.Code
	if !v.Discrete {
		u, outcome := e.CodeNumber(v.Number)
		if outcome != schema.OK {
			return 0, fmt.Errorf("a value of column %q is %v", name, outcome)
		}
		c = int(u)
	}
	if c < 0 || c >= size {
		return 0, fmt.Errorf("code %d of column %q is not one of its %d values", c, name, size)
	}
	return c, nil
}

// number is a numeric column's value in halves of its width from the middle: -1 to 1.
func (c column) number(v schema.Value) (float64, error) {
	if v.Discrete {
		return 0, fmt.Errorf("a row has a bin for column %q, which this form reads as a number: make the form discrete", c.name)
	}
	x, outcome := c.encode.Clamped(v.Number)
	if outcome != schema.OK {
		return 0, fmt.Errorf("a value of column %q is %v", c.name, outcome)
	}
	if c.half == 0 {
		return 0, nil
	}
	return max(-1, min(1, (x-c.mid)/c.half)), nil
}

// Entries calls a function for each feature of a row that is not zero, but the constant.
func (f *Form) Entries(r schema.Row, each func(feature int, value float64)) error {
	if len(r) != len(f.schema.Columns) {
		return f.length(r)
	}
	for _, c := range f.columns {
		if c.discrete {
			k, err := code(c.name, c.encode, len(c.domain), r[c.place])
			if err != nil {
				return err
			}
			each(c.offset+k, 1)
			continue
		}
		x, err := c.number(r[c.place])
		if err != nil {
			return err
		}
		each(c.offset, x)
	}
	return nil
}
