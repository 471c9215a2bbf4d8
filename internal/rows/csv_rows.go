package rows

import (
	"bufio"
	"io"

	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// csvRows reads rows of comma-separated values.
type csvRows struct {
	in     *Splitter
	head   Head
	places [][]int
	values int
	sink   Sink
	fields Fields

	block Block
	at    int // the next row of the block
	batch int // how many rows it has at most: one at first, since one may be all that is wanted
	ended error
}

// NewCSV reads rows of comma-separated values whose first byte is at an offset: so many values each, whose
// places in the header [Find] says. The sink may be nil.
func NewCSV(in *bufio.Reader, offset int64, head Head, values int, places [][]int, sink Sink) Reader {
	return &csvRows{
		in: NewSplitter(in, offset, in.Size(), head.Comma), head: head, places: places, values: values, sink: sink,
		fields: Fields{Comma: head.Comma},
	}
}

// Next reads a row.
func (c *csvRows) Next() (*Row, error) {
	for c.at == len(c.block.Lines) {
		if c.ended != nil {
			return nil, c.ended
		}
		c.at = 0
		c.batch = min(2*c.batch+1, 1024)
		if c.ended = c.in.Fill(&c.block, c.batch); c.ended != nil && c.ended != io.EOF {
			return nil, c.ended
		}
	}
	line := c.block.Lines[c.at]
	c.at++
	r, fields := &Row{Place: line.Offset, Values: make([]Value, c.values)}, 0
	r.Bad = c.fields.Feed(c.block.Data, line, c.head.Names, c.sink, func(n int, field []byte) {
		fields++
		if n < len(c.places) && len(c.places[n]) > 0 {
			r.set(c.places[n], Value{Text, string(field)})
		}
	})
	if r.Bad == 0 && fields != len(c.head.Names) {
		r.Bad = origin.FieldCount
	}
	return r, nil
}

// Feed is [Fields.Each] of a row that a sink takes too, unless it is nil. A flawed row is not whole.
func (f *Fields) Feed(data []byte, line Line, names []string, sink Sink, field func(n int, text []byte)) origin.Reason {
	if sink == nil {
		return f.Each(data, line, field)
	}
	flaw := f.Each(data, line, func(n int, text []byte) {
		if n < len(names) {
			sink.Cell(n, names[n], text)
		}
		if field != nil {
			field(n, text)
		}
	})
	sink.End(flaw == 0)
	return flaw
}
