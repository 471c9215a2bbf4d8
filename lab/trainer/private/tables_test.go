package private

import (
	"context"
	"fmt"

	"pgregory.net/rapid"

	pub "github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/lab/trainer/logit"
	"github.com/sotto-dp/sotto/schema"
)

// rows is a source in memory: values are codes or steps, in the order of the schema. A
// unit for each row, or none.
type rows struct {
	s        schema.Schema
	discrete bool
	values   [][]int32
	units    []table.Unit
	// size of batches, 0 for one; backwards hands them out in the wrong order.
	size      int
	backwards bool
}

func (r rows) Scan(_ context.Context, columns []int, _ int, each func(int, *table.Batch) error) error {
	size := r.size
	if size == 0 {
		size = max(1, len(r.values))
	}
	var batches []*table.Batch
	for from := 0; from < len(r.values); from += size {
		to := min(from+size, len(r.values))
		b := &table.Batch{Index: int64(len(batches)), Rows: to - from, First: int64(from + 1)}
		if r.units != nil {
			b.Units = r.units[from:to]
		}
		for _, c := range columns {
			var v table.Vector
			for _, row := range r.values[from:to] {
				if col := r.s.Columns[c]; col.Kind == schema.Categorical || r.discrete && col.Discrete() {
					v.Codes = append(v.Codes, uint16(row[c]))
				} else {
					v.Steps = append(v.Steps, row[c])
				}
			}
			b.Columns = append(b.Columns, v)
		}
		batches = append(batches, b)
	}
	for i := range batches {
		if r.backwards {
			i = len(batches) - 1 - i
		}
		if err := each(0, batches[i]); err != nil {
			return err
		}
	}
	return nil
}

// without leaves some rows out.
func (r rows) without(from, to int) rows {
	r.values = append(append([][]int32(nil), r.values[:from]...), r.values[to:]...)
	return r
}

// numbers is a schema of so many numeric columns, and a label.
func numbers(columns, classes int) schema.Schema {
	s := schema.Schema{Name: "numbers", Label: "y"}
	for i := range columns {
		s.Columns = append(s.Columns, schema.Column{Name: fmt.Sprint("x", i), Kind: schema.Numeric, Low: -1, High: 1})
	}
	y := schema.Column{Name: "y", Kind: schema.Categorical}
	for k := range classes {
		y.Values = append(y.Values, fmt.Sprint(k))
	}
	s.Columns = append(s.Columns, y)
	return s
}

// mixed is a schema with all kinds of columns.
func mixed(classes int) schema.Schema {
	s := numbers(2, classes)
	s.Columns = append(s.Columns, schema.Column{Name: "c", Kind: schema.Categorical, Values: []string{"r", "g", "b"}})
	s.Columns = append(s.Columns, schema.Column{Name: "d", Kind: schema.Numeric, Low: 0, High: 10, Edges: []float64{3, 7}})
	return s
}

// problemOf is what is minimised for a source.
func problemOf(t rapid.TB, r rows, s Settings) (*logit.Problem, params) {
	t.Helper()
	s = s.WithDefaults()
	form, err := pub.NewForm(r.s, s.Discrete)
	if err != nil {
		t.Fatal(err)
	}
	p := s.params(form)
	problem, err := load(context.Background(), r, form, s, p)
	if err != nil {
		t.Fatal(err)
	}
	return problem, p
}

// minimum is the vector that is noised.
func minimum(t rapid.TB, r rows, s Settings) []float64 {
	t.Helper()
	problem, p := problemOf(t, r, s)
	theta, err := minimise(context.Background(), problem, p, newtonSteps)
	if err != nil {
		t.Fatal(err)
	}
	return theta
}
