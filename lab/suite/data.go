package suite

import (
	"context"
	"fmt"
	"sync"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/lab/tabular"
	"github.com/sotto-dp/sotto/prompt"
)

// dataset is one that is in use: its test items, and where its records are.
type dataset struct {
	task   prompt.Task
	train  string
	items  []eval.Item
	inputs []string
	// several: items have more than one reference.
	several bool
	// test is a hash of the items.
	test string
	// fingerprint is the hash of the records' file.
	fingerprint func() (string, error)
	// table is set for tables: the rows to learn from, and those of the items.
	table *tabular.Table

	mu       sync.Mutex
	enrolled bool
}

// open begins a session, one after the other: the first makes the index of the records.
func (d *dataset) open(ctx context.Context, c *sotto.Client, o sotto.AnswerOptions) (*sotto.AnswerSession, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return c.Answers(ctx, o)
}

// dataset reads the test items of a cell's data set, once.
func (r *runner) dataset(c Cell) (*dataset, error) {
	return r.datasets.get(fmt.Sprintf("%s\n%d\n%s", c.Dataset.Name, c.Items, c.View), func() (*dataset, error) {
		d, err := r.suite.read(c)
		if err != nil {
			return nil, err
		}
		for _, item := range d.items {
			d.inputs = append(d.inputs, item.Input)
			d.several = d.several || len(item.References) > 1
		}
		if d.test, err = keyOf("items", d.items); err != nil {
			return nil, err
		}
		d.fingerprint = sync.OnceValues(func() (string, error) {
			sum, err := hashFile(d.train)
			if err != nil {
				return "", fmt.Errorf("read the records of %s: %w", c.Dataset.Name, err)
			}
			return sum, nil
		})
		return d, nil
	})
}

// Questions are the items that a cell is measured on. Paths that begin with "{data}/" have to be in
// their place ([Suite.In]).
func (s Suite) Questions(c Cell) ([]eval.Item, error) {
	d, err := s.read(c)
	if err != nil {
		return nil, err
	}
	return d.items, nil
}

// read gets the items of a cell's data set.
func (s Suite) read(c Cell) (*dataset, error) {
	if c.Table() {
		return s.readTable(c)
	}
	items, err := eval.ReadItems(s.path(c.Dataset.Test), c.Task)
	if err != nil {
		return nil, err
	}
	if c.Dataset.Group {
		items = GroupByInput(items)
	}
	items, err = eval.Subset(items, c.Items)
	return &dataset{task: c.Task, train: s.path(c.Dataset.Train), items: items}, err
}

// enrol makes the index of the records before runs that are concurrent need it.
func (d *dataset) enrol(ctx context.Context, c *sotto.Client, s sotto.Source) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.enrolled {
		return nil
	}
	if err := c.BuildIndex(ctx, s, d.task); err != nil {
		return err
	}
	d.enrolled = true
	return nil
}
