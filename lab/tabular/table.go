package tabular

import (
	"fmt"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// Table is a benchmark table, whose rows are public: methods learn from Train and are
// tested on Test.
type Table struct {
	Schema schema.Schema
	// Discrete: numeric columns with bins are read as their bins, and otherwise as numbers.
	Discrete    bool
	Train, Test []schema.Row
}

// Split states which rows of a table are for training: the First so many, or a Share of
// all, which are the same forever. One of them is 0.
type Split struct {
	First int
	Share float64
}

// ReadTable reads the rows of a table that may be shown, in any format that [eval.ReadItems]
// reads, and splits them. A value that the schema has no place for is an error. discrete is
// as in [Table].
func ReadTable(path string, s schema.Schema, discrete bool, split Split) (*Table, error) {
	if err := split.check(); err != nil {
		return nil, &eval.ItemError{Path: path, Reason: err.Error(), Err: err}
	}
	var names []string
	var columns []reader
	for _, c := range s.Columns {
		names = append(names, c.Name)
		columns = append(columns, reader{c.Encoder(), c.Kind == schema.Categorical || discrete && c.Discrete()})
	}
	var rows []schema.Row
	err := eval.ReadRecords(path, names, func(values []string) error {
		row := make(schema.Row, len(values))
		for i, text := range values {
			v, outcome := columns[i].value(text)
			if outcome != schema.OK {
				return fmt.Errorf("its %s is %s: correct the file, or say in the schema what such a value counts as", names[i], outcome)
			}
			row[i] = v
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	t, err := split.apply(path, rows)
	if err != nil {
		return nil, err
	}
	t.Schema, t.Discrete = s, discrete
	return t, nil
}

// reader reads values of one column.
type reader struct {
	encoder  *schema.Encoder
	discrete bool
}

func (r reader) value(text string) (schema.Value, schema.Outcome) {
	if r.discrete {
		code, outcome := r.encoder.Code(text)
		return schema.Value{Code: int(code), Discrete: true}, outcome
	}
	x, outcome := r.encoder.Number(text)
	return schema.Value{Number: x}, outcome
}

// splitSeed is the fixed seed of splits by shares.
const splitSeed = 20240607

func (p Split) check() error {
	if p.First < 0 || !(p.Share >= 0 && p.Share < 1) || (p.First > 0) == (p.Share > 0) {
		return fmt.Errorf("rows cannot be split into the first %d, or a share of %v: give a number of rows, or a share between 0 and 1", p.First, p.Share)
	}
	return nil
}

// apply splits rows. Both parts keep the order of the file.
func (p Split) apply(path string, rows []schema.Row) (*Table, error) {
	n := p.First
	train := func(i int) bool { return i < n }
	if p.Share > 0 {
		n = int(p.Share * float64(len(rows)))
		key := noise.KeyFromSeed(splitSeed)
		order, err := key.Stream("rows of a table").Permutation(len(rows))
		if err != nil {
			return nil, err
		}
		chosen := make([]bool, len(rows))
		for _, i := range order[:n] {
			chosen[i] = true
		}
		train = func(i int) bool { return chosen[i] }
	}
	if n < 1 || n >= len(rows) {
		return nil, &eval.ItemError{Path: path, Reason: fmt.Sprintf("%d of its %d rows would be for training: split it so that some are, and some are left to test with", n, len(rows))}
	}
	t := &Table{}
	for i, row := range rows {
		if train(i) {
			t.Train = append(t.Train, row)
		} else {
			t.Test = append(t.Test, row)
		}
	}
	return t, nil
}

// Items returns the test rows as questions.
func (t *Table) Items() []eval.Item {
	items := make([]eval.Item, len(t.Test))
	words := t.Schema.Wording()
	for i, row := range t.Test {
		items[i] = eval.Item{Input: words.Text(row), Output: words.Answer(row)}
	}
	return items
}

// Subset leaves n test rows, or all if n is 0, as [eval.Subset] does.
func (t *Table) Subset(n int) (*Table, error) {
	test, err := eval.Subset(t.Test, n)
	out := *t
	out.Test = test
	return &out, err
}
