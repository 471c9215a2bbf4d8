package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

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
	buffered := bufio.NewReaderSize(in, bufferSize)
	bom := int64(0)
	if head, _ := buffered.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		bom = int64(len(head))
		if _, err := buffered.Discard(len(head)); err != nil {
			return origin.Fail(err)
		}
	}
	head := &csvRows{in: buffered, offset: bom, all: true}
	r, err := head.next()
	switch {
	case errors.Is(err, io.EOF):
		return origin.Refuse("the file has no header row: the first row names the columns")
	case err != nil:
		return origin.Fail(err)
	case r.bad != 0:
		return origin.Refuse("the header row cannot be read: %v", r.bad)
	}
	names := slices.Clone(head.names)
	if !isHeader(names, o) {
		return &Error{Code: Columns, Msg: fmt.Sprintf("the first row has %d fields, and none of them names a column that is asked for, such as %q: is there a header row?", len(names), o.example())}
	}
	roles, err := findColumns(names, o)
	if err != nil {
		return err
	}
	t.header = head.offset
	t.known = func() []string { return names }
	t.reader = func(in *bufio.Reader, offset int64) rows {
		return &csvRows{in: in, offset: offset, roles: roles, width: len(names), header: names, cells: o.cells()}
	}
	return nil
}

// csvRows reads rows of comma-separated values. A row may go over several lines; blank
// lines are no rows. After quotes that do not match, the next line begins a new row.
type csvRows struct {
	in     *bufio.Reader
	offset int64 // of the next byte
	roles  [][]int
	width  int
	cells  int
	all    bool // keep the values of all columns as names
	header []string

	sketch  *rowsketch.Rows
	columns []*rowsketch.Column

	names  []string
	field  []byte
	column int
	size   int
	state  csvState
	row    row
}

type csvState uint8

const (
	fieldStart csvState = iota
	inPlain
	inQuotes
	afterQuote  // a quote within quotes: the end of the field, or half of a pair
	afterReturn // a carriage return after the quotes
	toNextLine  // skipping the rest of a line that is malformed
)

func (c *csvRows) next() (*row, error) {
	for {
		c.row = row{place: c.offset, cells: make([]value, c.cells)}
		c.names, c.field, c.column, c.size, c.state = c.names[:0], c.field[:0], 0, 0, fieldStart
		blank, err := c.readRow()
		if err != nil {
			return nil, err
		}
		if blank {
			continue
		}
		if c.row.bad == 0 && !c.all && c.column != c.width {
			c.row.bad = FieldCount
		}
		if c.sketch != nil {
			c.endSketch()
		}
		r := c.row
		return &r, nil
	}
}

func (c *csvRows) tell(s *rowsketch.Rows) { c.sketch, c.columns = s, s.Columns(c.header) }

// endSketch ends a row of the sketch. Quotes that do not match leave nothing to know it by.
func (c *csvRows) endSketch() {
	if c.row.bad == 0 || c.row.bad == FieldCount {
		c.sketch.Next()
		return
	}
	c.sketch.Drop()
}

// readRow reads up to the end of a row.
func (c *csvRows) readRow() (blank bool, err error) {
	for {
		chunk, err := c.in.ReadSlice('\n')
		c.offset += int64(len(chunk))
		if c.size += len(chunk); c.size > maxRow {
			c.fail(TooLong)
		}
		ended := c.feed(chunk)
		switch {
		case ended:
		case err == nil || err == bufio.ErrBufferFull:
			continue
		case err != io.EOF:
			return false, err
		case c.size == 0:
			return false, io.EOF
		case c.state == inQuotes:
			c.fail(BadQuotes)
		}
		if c.state != toNextLine {
			if c.state == inPlain || c.state == fieldStart {
				c.field = bytes.TrimSuffix(c.field, []byte("\r"))
			}
			blank = c.column == 0 && len(c.field) == 0 && (c.state == fieldStart || c.state == inPlain) && c.row.bad == 0
			c.endField()
		}
		return blank, nil
	}
}

// fail notes the first thing that is wrong with a row.
func (c *csvRows) fail(why Reason) {
	if c.row.bad == 0 {
		c.row.bad = why
	}
	c.field = c.field[:0]
}

// feed takes more bytes of a row, which hold at most one line end, as the last byte.
func (c *csvRows) feed(chunk []byte) (ended bool) {
	keep := c.wanted()
	for i := 0; i < len(chunk); i++ {
		b := chunk[i]
		switch c.state {
		case fieldStart, inPlain:
			switch {
			case b == ',':
				c.endField()
				keep = c.wanted()
				continue
			case b == '\n':
				return true
			case b == '"' && c.state == fieldStart:
				c.state = inQuotes
				continue
			case b == '"':
				c.fail(BadQuotes)
				c.state = toNextLine
				continue
			}
			c.state = inPlain
		case inQuotes:
			if b == '"' {
				c.state = afterQuote
				continue
			}
		case afterQuote:
			switch b {
			case '"':
				c.state = inQuotes
			case ',':
				c.endField()
				keep = c.wanted()
				continue
			case '\n':
				return true
			case '\r':
				c.state = afterReturn
				continue
			default:
				c.fail(BadQuotes)
				c.state = toNextLine
				continue
			}
		case afterReturn:
			if b == '\n' {
				return true
			}
			c.fail(BadQuotes)
			c.state = toNextLine
			continue
		case toNextLine:
			if b == '\n' {
				return true
			}
			continue
		}
		if keep && c.row.bad == 0 {
			c.field = append(c.field, b)
		}
	}
	return false
}

// wanted reports whether the value of the present column is used. A first column is
// kept in any case, since it tells a blank line.
func (c *csvRows) wanted() bool {
	return c.all || c.sketch != nil || c.column == 0 || c.column < len(c.roles) && c.roles[c.column] != nil
}

func (c *csvRows) endField() {
	if c.row.bad == 0 {
		if c.sketch != nil && c.column < len(c.columns) {
			c.sketch.Add(c.columns[c.column], c.field)
		}
		switch {
		case c.all:
			c.names = append(c.names, string(c.field))
		case c.column < len(c.roles):
			for _, role := range c.roles[c.column] {
				c.row.set(role, value{text, string(c.field)})
			}
		}
	}
	c.field = c.field[:0]
	c.column++
	c.state = fieldStart
}
