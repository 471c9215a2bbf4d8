package table

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// database is a table or a query of a database.
type database struct {
	db databases.DB
	o  *Options
	// table is the name of a table in parts, or nil for a query.
	table   []string
	from    string
	columns []databases.Column
}

func openDatabase(ctx context.Context, location string, o *Options) (_ *database, err error) {
	d := &database{o: o}
	if d.db, err = databases.Open(ctx, location); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = d.db.Close() // the error that matters is err
		}
	}()
	if d.from, d.table, err = from(o); err != nil {
		return nil, err
	}
	if d.columns, err = d.db.Describe(ctx, "SELECT * FROM "+d.from); err != nil {
		return nil, err
	}
	for _, c := range o.Schema.Columns {
		for _, of := range d.columns {
			switch {
			case of.Name == c.Name && c.Format != "" && of.Class.Number():
				return nil, origin.Refuse("column %q is a number to the database: leave its format out of the schema", c.Name)
			case of.Name == c.Name && of.Class == databases.Opaque:
				return nil, &Error{Code: origin.Columns, Msg: fmt.Sprintf("column %q is neither of numbers nor of text: select it as one of them", c.Name)}
			}
		}
	}
	return d, nil
}

// from is what rows are selected from, and the name of the table, unless it is a query.
func from(o *Options) (clause string, table []string, err error) {
	if o.Table == "" {
		return "(\n" + databases.Statement(o.Query) + "\n) AS sotto_rows", nil, nil
	}
	table, err = splitName(o.Table)
	return databases.QuoteAll(table) + " AS sotto_rows", table, err
}

func (d *database) header() []string { return databases.Names(d.columns) }
func (d *database) close() error     { return d.db.Close() }

func (d *database) fingerprint(ctx context.Context, key keys.Key) ([32]byte, error) {
	place, err := d.db.Place(ctx)
	if err != nil {
		return [32]byte{}, err
	}
	what := []string{"query", databases.Statement(d.o.Query)}
	if d.table != nil {
		name, err := d.db.Identity(ctx, d.table)
		if err != nil {
			return [32]byte{}, err
		}
		what = append([]string{"table"}, name...)
	}
	return keys.NewMAC(key.For("table place")).Of(append(place, what...)...), nil
}

// selecting is the statement that reads some columns.
func (d *database) selecting(names []string) string {
	list := []string{"1"}
	for _, name := range names {
		q := "sotto_rows." + databases.Quote(name)
		if at := slices.Index(d.header(), name); at >= 0 && d.columns[at].Class == databases.Any {
			q = "+" + q // without a declared type, by which drivers convert
		}
		list = append(list, q)
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + d.from
}

func (d *database) scan(ctx context.Context, p *pass) error {
	free := make(chan *sheet, p.workers+1)
	for range cap(free) {
		free <- p.newSheet()
	}
	return feed(ctx, p.workers, func(ctx context.Context, put func(*sheet) error) error {
		f := &filler{free: free, put: put, progress: p.progress}
		err := d.db.Scan(ctx, d.selecting(p.names()), func(cells []databases.Cell) error { return f.row(ctx, cells[1:]) })
		if err != nil {
			return err
		}
		return f.flush()
	}, func(worker int, s *sheet) error {
		err := s.finish(worker)
		free <- s
		return err
	})
}

// filler puts rows into sheets, one after the other.
type filler struct {
	free     chan *sheet
	put      func(*sheet) error
	progress func(read, total int64)
	s        *sheet
	rows     int
	index    int64
	first    int64
	read     int64
}

func (f *filler) row(ctx context.Context, cells []databases.Cell) error {
	if f.s == nil {
		select {
		case f.s = <-f.free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		f.s.begin(f.index, f.first+1, BatchRows)
		f.rows = 0
	}
	for column := range cells {
		f.s.cell(f.rows, column, &cells[column])
		f.read += int64(len(cells[column].Text())) + 8
	}
	f.first++
	if f.rows++; f.rows == BatchRows {
		return f.flush()
	}
	return nil
}

func (f *filler) flush() error {
	if f.s == nil {
		return nil
	}
	f.s.batch.Cut(f.rows)
	f.index++
	s := f.s
	f.s = nil
	if f.progress != nil {
		f.progress(f.read, 0)
	}
	return f.put(s)
}

// cell puts a value into a sheet.
func (s *sheet) cell(row, column int, c *databases.Cell) {
	if column == s.p.unitColumn() {
		var room [32]byte
		s.text(row, column, nameOf(room[:0], c))
		return
	}
	if why := encode(c, s.p.columns[column].e, &s.batch.Columns[column], row); why != 0 {
		s.refuse(row, column, why)
	}
}

// encode writes a value at a row of a vector.
func encode(c *databases.Cell, e *Encoding, to *Vector, row int) Reason {
	switch {
	case c.Null:
		return e.Null(to, row)
	case c.Class == databases.Whole:
		return e.Int(to, row, c.Whole())
	case c.Class == databases.Float:
		return e.Number(to, row, c.Float())
	case c.Text() != nil:
		return e.Text(to, row, c.Text())
	}
	return origin.ValueWrongKind
}

// nameOf is the text of a value that names a unit; none for a missing one.
func nameOf(room []byte, c *databases.Cell) []byte {
	if !c.Null && c.Class == databases.Float {
		return strconv.AppendFloat(room, c.Float()+0, 'f', -1, 64)
	}
	return c.Append(room)
}

// splitName takes the name of a table apart at its points. A part in double quotes may
// have points in it.
func splitName(name string) ([]string, error) {
	bad := origin.Refuse("table %q: write table or schema.table, with double quotes around a name that has a point in it", name)
	var parts []string
	for rest := name; ; {
		var part string
		if strings.HasPrefix(rest, `"`) {
			end, ok := rows.ClosingQuote([]byte(rest), 1)
			if !ok {
				return nil, bad
			}
			part, rest = strings.ReplaceAll(rest[1:end], `""`, `"`), rest[end+1:]
			if rest != "" && rest[0] != '.' {
				return nil, bad
			}
		} else {
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			part, rest = rest[:end], rest[end:]
		}
		if part == "" || strings.ContainsRune(part, 0) {
			return nil, bad
		}
		parts = append(parts, part)
		if rest == "" {
			break
		}
		rest = rest[1:]
	}
	if len(parts) > 3 {
		return nil, bad
	}
	return parts, nil
}
