package rows

import (
	"io"
	"sort"

	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// ParquetColumn is a column of a Parquet file that is read.
type ParquetColumn struct {
	// Index among the columns that hold values.
	Index int
	// Places among the columns that are asked for.
	Places  []int
	Convert func(parquet.Value) Value
}

// Parquet reads rows of a Parquet file. The place of a row is its number, from 0.
type Parquet struct {
	groups  []parquet.RowGroup
	starts  []int64 // the first row of each group, then their end
	values  int
	columns []ParquetColumn

	next, start, end int64 // the next row, and the present group
	readers          []*origin.Values
}

// NewParquet reads a file: so many values of each row, of some columns.
func NewParquet(f *parquet.File, values int, columns []ParquetColumn) (*Parquet, error) {
	p := &Parquet{values: values, columns: columns}
	err := origin.Calm(func() error {
		end := int64(0)
		for _, g := range f.RowGroups() {
			p.groups, p.starts = append(p.groups, g), append(p.starts, end)
			end += g.NumRows()
		}
		p.starts = append(p.starts, end)
		return nil
	})
	return p, err
}

// Len is how many rows there are.
func (p *Parquet) Len() int64 { return p.starts[len(p.groups)] }

// Again reads the same file from its beginning.
func (p *Parquet) Again() *Parquet {
	return &Parquet{groups: p.groups, starts: p.starts, values: p.values, columns: p.columns}
}

// enter opens the group that holds a row.
func (p *Parquet) enter(place int64) {
	p.Close()
	n := sort.Search(len(p.groups), func(i int) bool { return p.starts[i+1] > place })
	p.start, p.end = p.starts[n], p.starts[n+1]
	chunks := p.groups[n].ColumnChunks()
	for _, c := range p.columns {
		p.readers = append(p.readers, origin.NewValues(chunks[c.Index]))
	}
}

// Next reads a row.
func (p *Parquet) Next() (*Row, error) {
	if p.next >= p.Len() {
		return nil, io.EOF
	}
	return p.At(p.next)
}

// At reads a row that is there, and is not before the last one.
func (p *Parquet) At(place int64) (*Row, error) {
	p.next = place + 1
	r := &Row{Place: place, Values: make([]Value, p.values)}
	err := origin.Calm(func() error {
		if place >= p.end {
			p.enter(place)
		}
		for i, c := range p.columns {
			v, err := p.readers[i].At(place - p.start)
			if err != nil {
				return err
			}
			if !v.IsNull() {
				r.set(c.Places, c.Convert(v))
			}
		}
		return nil
	})
	return r, err
}

// Close ends the reading.
func (p *Parquet) Close() {
	_ = origin.Calm(func() error { // nothing was written
		for _, r := range p.readers {
			_ = r.Close()
		}
		return nil
	})
	p.readers = nil
}
