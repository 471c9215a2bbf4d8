package table

import (
	"bytes"
	"io"
)

const (
	// maxRow is how long a row may be, in bytes.
	maxRow = 16 << 20
	// maxBlock ends a block early when rows are long.
	maxBlock = 4 << 20
	readSize = 256 << 10
)

// csvBlock is some rows of a file, as bytes.
type csvBlock struct {
	index, first int64
	data         []byte
	rows         []csvRow
}

// csvRow is where a row is in its block, without the line end.
type csvRow struct {
	start, end int32
	quoted     bool
	bad        Reason
}

// csvRows finds where rows begin and end. A row may go over several lines in quotes; blank
// lines are no rows. Where quotes do not match, the row is its first line, and the next one
// begins a new row.
type csvRows struct {
	in io.Reader
	// rest was read and belongs to the next block.
	rest  []byte
	ended bool
	// mark: a byte order mark may come first.
	mark bool
	// skip: the line of a row that is too long goes on.
	skip bool
	// taken counts the bytes of what was filled in.
	taken int64
}

// fill replaces the content of a block by the next rows: at most so many, and no further
// one once there are maxBlock bytes. At the end it returns io.EOF.
func (c *csvRows) fill(b *csvBlock, most int) error {
	b.data, b.rows = append(b.data[:0], c.rest...), b.rows[:0]
	at := 0
	for len(b.rows) < most && at < maxBlock {
		switch ready, err := c.ready(b, &at); {
		case err != nil:
			return err
		case !ready:
			continue
		}
		row, next, whole := findRow(b.data, at, c.ended)
		switch {
		case row.bad == TooLong:
			b.rows = append(b.rows, row)
			c.skip = true
		case whole && next == at:
			c.rest, c.taken = c.rest[:0], c.taken+int64(at)
			return io.EOF
		case whole:
			if row.bad != 0 || row.quoted || row.end > row.start {
				b.rows = append(b.rows, row)
			}
			at = next
		default:
			if err := c.more(b); err != nil {
				return err
			}
		}
	}
	c.rest = append(c.rest[:0], b.data[at:]...)
	c.taken += int64(at)
	return nil
}

// ready gets over what comes before a row: a mark of the byte order, and the rest of a
// line that is too long, of which nothing is kept.
func (c *csvRows) ready(b *csvBlock, at *int) (bool, error) {
	switch {
	case c.skip:
		end := bytes.IndexByte(b.data[*at:], '\n')
		if end < 0 {
			b.data = b.data[:*at]
			c.skip = !c.ended
			return false, c.more(b)
		}
		b.data = append(b.data[:*at], b.data[*at+end+1:]...)
		c.skip = false
	case c.mark && len(b.data) < len(byteOrderMark) && !c.ended:
		return false, c.more(b)
	case c.mark:
		if bytes.HasPrefix(b.data, []byte(byteOrderMark)) {
			*at = len(byteOrderMark)
		}
		c.mark = false
	}
	return true, nil
}

// more reads on.
func (c *csvRows) more(b *csvBlock) error {
	have := len(b.data)
	b.data = append(b.data, make([]byte, readSize)...)
	n, err := io.ReadAtLeast(c.in, b.data[have:], 1)
	b.data = b.data[:have+n]
	if err == io.EOF {
		c.ended = true
		return nil
	}
	return err
}

// findRow finds the row that begins at a place, and where the next one does. It is not
// whole if more has to be read to know. At the end of everything the next is at the same
// place, and for a row that is too long, whose end is not looked for. What it finds does not depend on how much was read beyond the row.
func findRow(data []byte, at int, ended bool) (row csvRow, next int, whole bool) {
	window := data[at:]
	over := len(window) > maxRow
	if over {
		window, ended = window[:maxRow], false
	}
	end := bytes.IndexByte(window, '\n')
	line := window
	if end >= 0 {
		line = window[:end]
	}
	switch {
	case bytes.IndexByte(line, '"') >= 0:
		row, next, whole = findQuoted(window, ended)
	case end >= 0:
		row, next, whole = csvRow{end: int32(len(trimReturn(line)))}, end+1, true
	default:
		row, next, whole = csvRow{end: int32(len(trimReturn(line)))}, len(line), ended
	}
	if over && !whole {
		return csvRow{start: int32(at), end: int32(at), bad: TooLong}, at, true
	}
	row.start += int32(at)
	row.end += int32(at)
	return row, at + next, whole
}

func trimReturn(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// findQuoted finds the end of a row in which there are quotes.
func findQuoted(data []byte, ended bool) (row csvRow, next int, whole bool) {
	row.quoted = true
	for i := 0; ; i++ {
		// At the beginning of a field.
		if i < len(data) && data[i] == '"' {
			end, ok := closingQuote(data, i+1)
			switch {
			case !ok && !ended:
				return csvRow{}, 0, false
			case !ok:
				return badLine(data, ended)
			}
			i = end + 1
			if i+1 < len(data) && data[i] == '\r' && data[i+1] == '\n' || i+1 == len(data) && data[i] == '\r' {
				i++
			}
		} else if n := bytes.IndexAny(data[i:], ",\n\""); n >= 0 {
			i += n
		} else {
			i = len(data)
		}
		switch {
		case i == len(data):
			row.end = int32(i)
			return row, i, ended
		case data[i] == '\n':
			row.end = int32(i)
			return row, i + 1, true
		case data[i] != ',':
			return badLine(data, ended)
		}
	}
}

// badLine ends a row whose quotes do not match with its first line. The lines after it are
// rows of others: a refused row that took them along would be worth more than one row to
// whatever is counted.
func badLine(data []byte, ended bool) (row csvRow, next int, whole bool) {
	row.bad = BadQuotes
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return row, end + 1, true
	}
	return row, len(data), ended
}

// closingQuote finds the quote that ends a field.
func closingQuote(data []byte, from int) (at int, ok bool) {
	for {
		n := bytes.IndexByte(data[from:], '"')
		if n < 0 {
			return 0, false
		}
		at = from + n
		if at+1 < len(data) && data[at+1] == '"' {
			from = at + 2
			continue
		}
		return at, true
	}
}

func indexComma(line []byte) int {
	// Fields are short: a call to the assembly of bytes.IndexByte would cost more.
	for i, c := range line {
		if c == ',' {
			return i
		}
	}
	return -1
}

// fieldsOf splits rows with quotes. Its room is used again.
type fieldsOf struct{ room []byte }

// each hands out the fields of a row, valid until it returns.
func (f *fieldsOf) each(data []byte, row csvRow, field func(n int, text []byte)) Reason {
	line := data[row.start:row.end]
	for n := 0; ; n++ {
		if len(line) == 0 || line[0] != '"' {
			end := bytes.IndexByte(line, ',')
			if end < 0 {
				field(n, trimReturn(line))
				return 0
			}
			field(n, line[:end])
			line = line[end+1:]
			continue
		}
		end, ok := closingQuote(line, 1)
		if !ok {
			return BadQuotes
		}
		field(n, f.unquote(line[1:end]))
		line = line[end+1:]
		if len(line) == 0 || len(line) == 1 && line[0] == '\r' {
			return 0
		}
		line = line[1:]
	}
}

// unquote makes one of every two quotes.
func (f *fieldsOf) unquote(text []byte) []byte {
	if bytes.IndexByte(text, '"') < 0 {
		return text
	}
	f.room = f.room[:0]
	for {
		n := bytes.IndexByte(text, '"')
		if n < 0 {
			f.room = append(f.room, text...)
			return f.room
		}
		f.room = append(f.room, text[:n+1]...)
		text = text[n+2:]
	}
}
