package record

import (
	"bufio"
	"fmt"
	"io"

	"github.com/sotto-dp/sotto/internal/private/internal/csvrows"
	"github.com/sotto-dp/sotto/internal/private/internal/origin"
	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
)

// asCSV reads a file as comma-separated values with a header row (RFC 4180).
func (t *textFile) asCSV(o *Options) error {
	in, done, err := t.stream()
	if err != nil {
		return err
	}
	defer done()
	head, err := csvrows.Header(in, t.comma, o.columns())
	if err != nil {
		return err
	}
	names := head.Names
	if !o.anyColumns && !isHeader(names, o) {
		return &Error{Code: origin.Columns, Msg: fmt.Sprintf("the first row has %d fields, and none of them names a column that is asked for, such as %q: is there a header row?", len(names), o.example())}
	}
	roles, err := findColumns(names, o)
	if err != nil {
		return err
	}
	t.header = head.Start
	t.known = func() []string { return names }
	t.reader = func(in *bufio.Reader, offset int64) rows {
		return newCSV(in, offset, head, roles, o.cells())
	}
	return nil
}

// csvRows reads rows of comma-separated values.
type csvRows struct {
	in     *csvrows.Reader
	head   csvrows.Head
	roles  [][]int
	cells  int
	fields *csvrows.Sketcher

	block csvrows.Block
	at    int // the next row of the block
	batch int // how many rows it has at most: one at first, since one may be all that is wanted
	ended error
}

func newCSV(in *bufio.Reader, offset int64, head csvrows.Head, roles [][]int, cells int) *csvRows {
	return &csvRows{
		in: csvrows.NewReader(in, offset, in.Size(), head.Comma), head: head, roles: roles, cells: cells,
		fields: csvrows.NewSketcher(nil, head),
	}
}

func (c *csvRows) feed(s *rowsketch.Rows) { c.fields = csvrows.NewSketcher(s, c.head) }

func (c *csvRows) next() (*row, error) {
	for c.at == len(c.block.Rows) {
		if c.ended != nil {
			return nil, c.ended
		}
		c.at = 0
		c.batch = min(2*c.batch+1, 1024)
		if c.ended = c.in.Fill(&c.block, c.batch); c.ended != nil && c.ended != io.EOF {
			return nil, c.ended
		}
	}
	line := c.block.Rows[c.at]
	c.at++
	r, fields := &row{place: line.Offset, cells: make([]value, c.cells)}, 0
	r.bad = c.fields.Each(c.block.Data, line, func(n int, field []byte) {
		fields++
		if n < len(c.roles) {
			for _, role := range c.roles[n] {
				r.set(role, value{text, string(field)})
			}
		}
	})
	if r.bad == 0 && fields != len(c.head.Names) {
		r.bad = origin.FieldCount
	}
	return r, nil
}
