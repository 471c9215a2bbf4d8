package beam

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/sotto-dp/sotto/internal/private/table"
)

// lines is a CSV file that is read in stretches: block n has the lines that begin in its
// bytes. A line is a row. A row whose quotes continue in the next line is an error and never
// left out, because the lines that follow could be taken for rows: one record would count
// several times.
type lines struct {
	part    Part
	columns []field
	unit    *unitHash
	roles   []int // of each field of the file: a place in columns, unitRole or unused
	start   int64 // where the first row begins
	skip    bool

	in    io.ReadCloser
	lines *bufio.Reader
	at    int64 // what comes next
	// coming is the block that begins there.
	coming int64
	batch  table.Batch
	room   int // rows that the batch has room for
	text   []byte
}

type field struct {
	name     string
	encoding *table.Encoding
}

// Roles of fields that are not columns.
const (
	unused   = -1
	unitRole = -2
)

// maxLine is how long a row may be.
const maxLine = 16 << 20

func (r rows) openLines(ctx context.Context, p Part) (_ *lines, err error) {
	l := &lines{part: p, skip: r.Source.Files.OnError == table.Skip}
	if r.Unit != "" {
		if l.unit, err = r.unitHash(); err != nil {
			return nil, err
		}
	}
	for _, c := range r.Columns {
		column := r.Schema.Columns[c]
		l.columns = append(l.columns, field{column.Name, table.NewEncoding(column, r.Discrete)})
	}
	l.batch.Columns = make([]table.Vector, len(l.columns))
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if err := l.seek(ctx, 0); err != nil {
		return nil, err
	}
	return l, l.readHeader(r.Unit)
}

func (l *lines) readHeader(unit string) error {
	line, err := l.next()
	if err != nil && err != io.EOF {
		return err
	}
	l.start = l.at
	names, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(line, []byte("\ufeff")))).Read()
	if err != nil {
		return fmt.Errorf("%s has no header row that can be read: its first line names the columns", l.part.Path)
	}
	l.roles = make([]int, len(names))
	for i, name := range names {
		l.roles[i] = unused
		if at := slices.IndexFunc(l.columns, func(f field) bool { return f.name == name }); at >= 0 {
			l.roles[i] = at
		}
		if unit != "" && name == unit {
			if l.roles[i] != unused {
				return fmt.Errorf("column %q names units and is profiled as well: leave it out of the schema", unit)
			}
			l.roles[i] = unitRole
		}
	}
	wanted := map[int]string{}
	for i, f := range l.columns {
		wanted[i] = f.name
	}
	if unit != "" {
		wanted[unitRole] = unit
	}
	for role, name := range wanted {
		n := 0
		for _, r := range l.roles {
			if r == role {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("%s has %d columns %q: it needs one", l.part.Path, n, name)
		}
	}
	return nil
}

// seek puts the reader at a place.
func (l *lines) seek(ctx context.Context, to int64) error {
	if s, ok := l.in.(io.Seeker); ok {
		if _, err := s.Seek(to, io.SeekStart); err != nil {
			return l.unreadable(err)
		}
		l.lines.Reset(l.in)
		l.at = to
		return nil
	}
	if err := l.Close(); err != nil {
		return l.unreadable(err)
	}
	fs, err := filesystem.New(ctx, l.part.Path)
	if err != nil {
		return err
	}
	defer fs.Close()
	if l.in, err = fs.OpenRead(ctx, l.part.Path); err != nil {
		return l.unreadable(err)
	}
	l.lines, l.at = bufio.NewReaderSize(l.in, 1<<16), 0
	if to == 0 {
		return nil
	}
	if _, ok := l.in.(io.Seeker); ok {
		return l.seek(ctx, to)
	}
	n, err := io.CopyN(io.Discard, l.lines, to)
	l.at = n
	if err != nil {
		return l.unreadable(err)
	}
	return nil
}

func (l *lines) unreadable(err error) error { return fmt.Errorf("read %s: %w", l.part.Path, err) }

// next reads a line with its end. At the end of the file it returns io.EOF, and what there
// is of a line.
func (l *lines) next() ([]byte, error) {
	line, err := l.lines.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		l.text = append(l.text[:0], line...)
		for err == bufio.ErrBufferFull && len(l.text) <= maxLine {
			line, err = l.lines.ReadSlice('\n')
			l.text = append(l.text, line...)
		}
		line = l.text
		if len(line) > maxLine {
			return nil, fmt.Errorf("%s has a line of more than 16 MiB: is it CSV?", l.part.Path)
		}
	}
	l.at += int64(len(line))
	if err != nil && err != io.EOF {
		return nil, l.unreadable(err)
	}
	return line, err
}

func (l *lines) block(ctx context.Context, n int64, each func(*table.Batch) error) error {
	from, to := n*l.part.Stretch, min(l.part.Size, (n+1)*l.part.Stretch)
	if err := l.find(ctx, n, from); err != nil {
		return err
	}
	b := &l.batch
	b.Cut(l.room)
	b.Index, b.First, b.Rows = l.part.index(n), l.part.ordinal(l.at+1), 0
	for l.at < to {
		line, err := l.next()
		if err != nil && err != io.EOF {
			return err
		}
		if err := l.add(line); err != nil {
			return fmt.Errorf("%s, in a row that begins between bytes %d and %d: %w", l.part.Path, from, to, err)
		}
	}
	l.coming = n + 1
	b.Cut(b.Rows)
	if b.Rows == 0 {
		return nil
	}
	return each(b)
}

// find goes to the first line that begins at or after a place: where the block before
// ended, if that was read last.
func (l *lines) find(ctx context.Context, n, from int64) error {
	switch {
	case n > 0 && n == l.coming:
		return nil
	case from <= l.start:
		return l.seek(ctx, l.start)
	}
	l.coming = 0
	if err := l.seek(ctx, from-1); err != nil {
		return err
	}
	if _, err := l.next(); err != nil && err != io.EOF {
		return err
	}
	return nil
}

var errQuotes = errors.New("quotes that do not match in one line: if rows go over several lines, read files whole (--whole)")

// refusal is why a row is refused. It holds no content.
type refusal struct {
	column string
	reason table.Reason
}

func (r *refusal) Error() string {
	where := ""
	if r.column != "" {
		where = fmt.Sprintf("column %q: ", r.column)
	}
	return fmt.Sprintf("%s%v. Correct it; or let the schema say what such values count as (clamp, other, missing, aliases); or, in a profile, leave such rows out (on error: skip)", where, r.reason)
}

// add puts a line into the batch, unless it is blank, or refused and to be left out.
func (l *lines) add(line []byte) error {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if len(line) == 0 {
		return nil
	}
	row := l.batch.Rows
	l.grow(row + 1)
	why, err := l.split(line, row)
	switch {
	case err != nil:
		return err
	case why == nil:
		l.batch.Rows++
		return nil
	case l.skip:
		return nil
	}
	return why
}

// grow makes room for so many rows.
func (l *lines) grow(n int) {
	if n <= l.room {
		return
	}
	b := &l.batch
	l.room = max(2*l.room, 1024)
	for i, f := range l.columns {
		v := table.NewVector(f.encoding.Codes(), l.room)
		copy(v.Codes, b.Columns[i].Codes)
		copy(v.Steps, b.Columns[i].Steps)
		b.Columns[i] = v
	}
	if l.unit != nil {
		units := make([]table.Unit, l.room)
		copy(units, b.Units)
		b.Units = units
	}
}

// split puts the fields of a line into a row of the batch.
func (l *lines) split(line []byte, row int) (why *refusal, err error) {
	if bytes.IndexByte(line, '"') >= 0 {
		return l.splitQuoted(line, row)
	}
	n := 0
	for ; ; n++ {
		text, rest, more := bytes.Cut(line, []byte{','})
		if n < len(l.roles) {
			if w := l.put(row, l.roles[n], text); why == nil {
				why = w
			}
		}
		if !more {
			break
		}
		line = rest
	}
	if n+1 != len(l.roles) {
		return &refusal{reason: table.FieldCount}, nil
	}
	return why, nil
}

func (l *lines) splitQuoted(line []byte, row int) (why *refusal, err error) {
	r := csv.NewReader(bytes.NewReader(line))
	r.FieldsPerRecord = -1
	fields, err := r.Read()
	if err != nil {
		return nil, errQuotes // encoding/csv's own error is not asked for what it holds
	}
	if len(fields) != len(l.roles) {
		return &refusal{reason: table.FieldCount}, nil
	}
	for n, text := range fields {
		if w := l.put(row, l.roles[n], []byte(text)); why == nil {
			why = w
		}
	}
	return why, nil
}

func (l *lines) put(row, role int, text []byte) *refusal {
	switch {
	case role == unused:
		return nil
	case role != unitRole:
		f := l.columns[role]
		if why := f.encoding.Text(&l.batch.Columns[role], row, text); why != 0 {
			return &refusal{f.name, why}
		}
	case len(text) == 0:
		return &refusal{reason: table.UnitMissing}
	default:
		l.batch.Units[row] = l.unit.of(text)
	}
	return nil
}

// Close closes the file.
func (l *lines) Close() error {
	if l.in == nil {
		return nil
	}
	err := l.in.Close()
	l.in = nil
	return err
}
