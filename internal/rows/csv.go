package rows

import (
	"bytes"
	"io"
	"slices"

	"github.com/sotto-dp/sotto/internal/rows/origin"
)

const (
	// MaxRow is how long a row may be, in bytes.
	MaxRow = 16 << 20
	// maxBlock ends a block early when rows are long.
	maxBlock = 4 << 20
	// BlockSize is how much of a file is read at a time.
	BlockSize = 256 << 10

	byteOrderMark = "\ufeff"
)

// Block is some rows of a file, as bytes.
type Block struct {
	// Index and First are for the caller to number blocks and rows.
	Index, First int64
	Data         []byte
	Lines        []Line
}

// Line is where a row is in its block, without the line end.
type Line struct {
	// Offset of the row from the beginning of what is read.
	Offset     int64
	Start, End int32
	Quoted     bool
	// Bad is why the row cannot be split into fields; 0 is none.
	Bad origin.Reason
}

// Splitter finds where rows begin and end. A row may go over several lines in quotes; blank
// lines are no rows. Where quotes do not match, the row is its first line, and the next one
// begins a new row.
type Splitter struct {
	in io.Reader
	// rest was read and belongs to the next block.
	rest  []byte
	ended bool
	// mark: a byte order mark may come first.
	mark bool
	// skip: the line of a row that is too long continues.
	skip bool
	// taken counts the bytes before the present block, and dropped those of the block
	// that are not kept.
	taken, dropped int64
	// size of the next read.
	size int
	// comma is what separates fields.
	comma byte
}

// NewSplitter returns a reader of rows whose first byte is at an offset, with fields that a
// comma or another byte separates. It reads size bytes at first, and up to BlockSize then.
func NewSplitter(in io.Reader, offset int64, size int, comma byte) *Splitter {
	return &Splitter{in: in, taken: offset, size: size, comma: comma}
}

// Fill replaces the content of a block by the next rows: at most so many, and no further
// one once there are maxBlock bytes. At the end it returns io.EOF.
func (r *Splitter) Fill(b *Block, limit int) error {
	b.Data, b.Lines = append(b.Data[:0], r.rest...), b.Lines[:0]
	at := 0
	for len(b.Lines) < limit && at < maxBlock {
		switch ready, err := r.ready(b, &at); {
		case err != nil:
			return err
		case !ready:
			continue
		}
		row, next, whole := findRow(b.Data, at, r.ended, r.comma)
		row.Offset = r.taken + r.dropped + int64(row.Start)
		switch {
		case row.Bad == origin.TooLong:
			b.Lines = append(b.Lines, row)
			r.skip = true
		case whole && next == at:
			r.keep(b, at)
			return io.EOF
		case whole:
			if row.Bad != 0 || row.Quoted || row.End > row.Start {
				b.Lines = append(b.Lines, row)
			}
			at = next
		default:
			if err := r.more(b); err != nil {
				return err
			}
		}
	}
	r.keep(b, at)
	return nil
}

// keep keeps what was read beyond a block.
func (r *Splitter) keep(b *Block, at int) {
	r.rest = append(r.rest[:0], b.Data[at:]...)
	r.taken, r.dropped = r.taken+r.dropped+int64(at), 0
}

// ready gets over what comes before a row: a mark of the byte order, and the rest of a
// line that is too long, of which nothing is kept.
func (r *Splitter) ready(b *Block, at *int) (bool, error) {
	switch {
	case r.skip:
		end := bytes.IndexByte(b.Data[*at:], '\n')
		if end < 0 {
			r.dropped += int64(len(b.Data) - *at)
			b.Data = b.Data[:*at]
			r.skip = !r.ended
			return false, r.more(b)
		}
		r.dropped += int64(end + 1)
		b.Data = append(b.Data[:*at], b.Data[*at+end+1:]...)
		r.skip = false
	case r.mark && len(b.Data) < len(byteOrderMark) && !r.ended:
		return false, r.more(b)
	case r.mark:
		if bytes.HasPrefix(b.Data, []byte(byteOrderMark)) {
			*at = len(byteOrderMark)
		}
		r.mark = false
	}
	return true, nil
}

// more reads on.
func (r *Splitter) more(b *Block) error {
	have := len(b.Data)
	b.Data = slices.Grow(b.Data, r.size)[:have+r.size]
	r.size = min(2*r.size, BlockSize)
	n, err := io.ReadAtLeast(r.in, b.Data[have:], 1)
	b.Data = b.Data[:have+n]
	if err == io.EOF {
		r.ended = true
		return nil
	}
	return err
}

// findRow finds the row that begins at a place, and where the next one does. It is not
// whole if more has to be read to know. At the end of everything the next is at the same
// place, and for a row that is too long, whose end is not looked for. What it finds does not depend on how much was read beyond the row.
func findRow(data []byte, at int, ended bool, comma byte) (row Line, next int, whole bool) {
	window := data[at:]
	over := len(window) > MaxRow
	if over {
		window, ended = window[:MaxRow], false
	}
	end := bytes.IndexByte(window, '\n')
	line := window
	if end >= 0 {
		line = window[:end]
	}
	switch {
	case bytes.IndexByte(line, '"') >= 0:
		row, next, whole = findQuoted(window, ended, comma)
	case end >= 0:
		row, next, whole = Line{End: int32(len(trimReturn(line)))}, end+1, true
	default:
		row, next, whole = Line{End: int32(len(trimReturn(line)))}, len(line), ended
	}
	if over && !whole {
		return Line{Start: int32(at), End: int32(at), Bad: origin.TooLong}, at, true
	}
	row.Start += int32(at)
	row.End += int32(at)
	return row, at + next, whole
}

func trimReturn(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// findQuoted finds the end of a row in which there are quotes. Between tabs, quotes count only
// where a field begins: programs that write tabs often quote nothing.
func findQuoted(data []byte, ended bool, comma byte) (row Line, next int, whole bool) {
	row.Quoted = true
	stops := string(comma) + "\n\""
	if comma == '\t' {
		stops = "\t\n"
	}
	for i := 0; ; i++ {
		// At the beginning of a field.
		if i < len(data) && data[i] == '"' {
			end, ok := ClosingQuote(data, i+1)
			switch {
			case !ok && !ended:
				return Line{}, 0, false
			case !ok:
				return badLine(data, ended)
			}
			i = end + 1
			if i+1 < len(data) && data[i] == '\r' && data[i+1] == '\n' || i+1 == len(data) && data[i] == '\r' {
				i++
			}
		} else if n := bytes.IndexAny(data[i:], stops); n >= 0 {
			i += n
		} else {
			i = len(data)
		}
		switch {
		case i == len(data):
			row.End = int32(i)
			return row, i, ended
		case data[i] == '\n':
			row.End = int32(i)
			return row, i + 1, true
		case data[i] != comma:
			return badLine(data, ended)
		}
	}
}

// badLine ends a row whose quotes do not match with its first line. The lines after it are
// rows of others: a refused row that took them along would be worth more than one row to
// whatever is counted.
func badLine(data []byte, ended bool) (row Line, next int, whole bool) {
	row.Bad = origin.BadQuotes
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return row, end + 1, true
	}
	return row, len(data), ended
}

// ClosingQuote finds the quote that ends a field; two are one that is meant.
func ClosingQuote(data []byte, from int) (at int, ok bool) {
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

// Fields splits rows at a comma or another byte. Its room is used again.
type Fields struct {
	Comma byte
	room  []byte
}

// Each hands out the fields of a row, valid until it returns, unless the row is flawed.
func (f *Fields) Each(data []byte, row Line, field func(n int, text []byte)) origin.Reason {
	if row.Bad != 0 {
		return row.Bad
	}
	line := data[row.Start:row.End]
	for n := 0; ; n++ {
		if len(line) == 0 || line[0] != '"' {
			end := bytes.IndexByte(line, f.Comma)
			if end < 0 {
				field(n, trimReturn(line))
				return 0
			}
			field(n, line[:end])
			line = line[end+1:]
			continue
		}
		end, ok := ClosingQuote(line, 1)
		if !ok {
			return origin.BadQuotes
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
func (f *Fields) unquote(text []byte) []byte {
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
