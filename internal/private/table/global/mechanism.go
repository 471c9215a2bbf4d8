package global

import (
	"cmp"
	"fmt"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

// Mechanism makes profiles of tables of one schema, with one set of settings. It holds
// nothing of any row, and may be shared.
type Mechanism struct {
	schema   schema.Schema
	settings Settings
	groups   []grouping
	layout   table.Layout
	slots    []slot // of each column of the schema
	columns  []int  // that are read
	at       []int  // where each column of the schema is among them, or -1
	cells    int    // of a group
	strides  []int  // of the classes of each grouping, in cells
	adders   []adder
}

// slot says where the cells of a column are, in a group's list of them.
type slot struct {
	sum, square, histogram int // the first cell, or -1
	cells                  int // of the histogram
}

// New makes a mechanism of settings that fit a schema.
func New(s schema.Schema, o Settings) (*Mechanism, error) {
	o = o.WithDefaults()
	if err := o.Check(); err != nil {
		return nil, err
	}
	m := &Mechanism{schema: s, settings: o}
	if err := m.group(o.Groups); err != nil {
		return nil, err
	}
	if len(o.Columns) != len(s.Columns) {
		return nil, fmt.Errorf("the settings have %d columns and the schema %d: list each of the schema's, in its order", len(o.Columns), len(s.Columns))
	}
	for i, c := range o.Columns {
		if err := m.ask(i, c); err != nil {
			return nil, err
		}
	}
	if err := m.layout.Check(); err != nil {
		return nil, err
	}
	m.place()
	m.compile()
	return m, nil
}

// group divides the rows.
func (m *Mechanism) group(groups []schema.Group) error {
	for _, p := range m.schema.CheckGroups(groups) {
		if !p.Warning {
			return fmt.Errorf("the groups do not fit the schema: %v", p)
		}
	}
	for _, g := range groups {
		by := newGrouping(m.schema, g)
		m.groups, m.layout.By = append(m.groups, by), append(m.layout.By, by.Partition)
	}
	return nil
}

// ask adds to the layout what a column's statistic needs.
func (m *Mechanism) ask(i int, c Column) error {
	of := m.schema.Columns[i]
	if c.Name != of.Name {
		return fmt.Errorf("column %d of the settings is %s, and of the schema %s: list each of the schema's, in its order", i+1, c.Name, of.Name)
	}
	numeric := of.Kind == schema.Numeric
	switch c.Statistic {
	case Mean, Moments, Quantiles:
		if !numeric {
			return fmt.Errorf("column %s has no numbers, and so no %s: ask for its mode or histogram", c.Name, c.Statistic)
		}
	case Mode:
		if !of.Discrete() {
			return fmt.Errorf("column %s has numbers without bins, and so no mode: ask for its mean, or give it edges", c.Name)
		}
	case Given:
		if !m.given(i) {
			return fmt.Errorf("column %s is not given by the groups: group by it, with one value in each class", c.Name)
		}
	}
	switch c.Statistic {
	case Mean:
		m.layout.Sums = append(m.layout.Sums, i)
	case Moments:
		m.layout.Sums = append(m.layout.Sums, i)
		m.layout.Squares = append(m.layout.Squares, i)
	case Mode, Histogram, Quantiles:
		h, err := histogram(i, of, c)
		if err != nil {
			return err
		}
		m.layout.Histograms = append(m.layout.Histograms, h)
	}
	return nil
}

// histogram says how a column is counted: by its values, by its bins, or by a grid.
func histogram(i int, of schema.Column, c Column) (table.Histogram, error) {
	h := table.Histogram{Column: i, Cells: len(of.Domain())}
	switch {
	case c.Statistic == Quantiles, c.Statistic == Histogram && !of.Discrete():
		h.Grid, h.Cells = true, cmp.Or(c.Cells, DefaultCells)
		if h.Cells < 2 || h.Cells > 1<<12 {
			return h, fmt.Errorf("column %s: a grid of %d cells: between 2 and 4096 are possible", c.Name, h.Cells)
		}
	case c.Cells != 0:
		return h, fmt.Errorf("column %s is counted by its values or bins: leave the number of cells out", c.Name)
	case of.Kind == schema.Numeric:
		scale := table.NewScale(of)
		for _, e := range of.Edges {
			h.Edges = append(h.Edges, scale.Steps(e))
		}
	}
	return h, nil
}

// given reports whether each group has one value of a column.
func (m *Mechanism) given(i int) bool {
	for _, g := range m.groups {
		if g.Column != i {
			continue
		}
		for _, k := range g.classes {
			if len(k.codes) != 1 {
				return false
			}
		}
		return true
	}
	return false
}

// Determined reports which columns of a schema are the same for all rows of a group: a
// profile need not ask for them.
func Determined(s schema.Schema, groups []schema.Group) ([]bool, error) {
	m := &Mechanism{schema: s}
	if err := m.group(groups); err != nil {
		return nil, err
	}
	out := make([]bool, len(s.Columns))
	for i := range out {
		out[i] = m.given(i)
	}
	return out, nil
}

// place finds where each column's cells are, in the order of table.Layout.
func (m *Mechanism) place() {
	m.slots = make([]slot, len(m.schema.Columns))
	for i := range m.slots {
		m.slots[i] = slot{sum: -1, square: -1, histogram: -1}
	}
	next := 1
	for _, i := range m.layout.Sums {
		m.slots[i].sum = next
		next++
	}
	for _, i := range m.layout.Squares {
		m.slots[i].square = next
		next++
	}
	for _, h := range m.layout.Histograms {
		m.slots[h.Column].histogram, m.slots[h.Column].cells = next, h.Cells
		next += h.Cells
	}
	m.cells = next
	m.columns = m.layout.Columns()
	m.at = make([]int, len(m.schema.Columns))
	for i := range m.at {
		m.at[i] = -1
	}
	for k, i := range m.columns {
		m.at[i] = k
	}
}

// Event is what one profile costs.
func (m *Mechanism) Event() privacy.Event { return m.settings.Event() }

// Settings are those that the mechanism was made of.
func (m *Mechanism) Settings() Settings { return m.settings }

// Layout is what has to be added up.
func (m *Mechanism) Layout() table.Layout { return m.layout }

// Columns are those to read, as places in the schema, in increasing order.
func (m *Mechanism) Columns() []int { return m.columns }

// numeric columns are read as steps, others as codes.
func (m *Mechanism) numeric(i int) bool { return m.schema.Columns[i].Kind == schema.Numeric }
