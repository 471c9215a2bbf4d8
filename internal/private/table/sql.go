package table

import (
	"context"
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/schema"
)

// database is a table or a query of a database.
type database struct {
	e engine
	o *Options
	// table is the name of a table in parts, or nil for a query.
	table   []string
	from    string
	names   []string
	classes []class
}

// newDatabase takes an engine over: with an error it is closed.
func newDatabase(ctx context.Context, e engine, o *Options) (_ *database, err error) {
	d := &database{e: e, o: o}
	defer func() {
		if err != nil {
			_ = e.close() // the error that matters is err
		}
	}()
	if o.Table != "" {
		if d.table, err = splitName(o.Table); err != nil {
			return nil, err
		}
		d.from = quoteAll(d.table)
	} else {
		d.from = "(\n" + databases.Statement(o.Query) + "\n)"
	}
	d.from += " AS sotto_rows"
	if d.names, d.classes, err = e.describe(ctx, d.from); err != nil {
		return nil, err
	}
	for _, c := range o.Schema.Columns {
		for i, name := range d.names {
			if name == c.Name && c.Format != "" && d.classes[i].number() {
				return nil, origin.Refuse("column %q is a number to the database: leave its format out of the schema", name)
			}
			if name == c.Name && d.classes[i] == opaque {
				return nil, &Error{Code: origin.Columns, Msg: fmt.Sprintf("column %q is neither of numbers nor of text: select it as one of them", name)}
			}
		}
	}
	return d, nil
}

func (d *database) header() []string { return d.names }
func (d *database) close() error     { return d.e.close() }

func (d *database) fingerprint(ctx context.Context, key keys.Key) ([32]byte, error) {
	place, err := d.e.place(ctx)
	if err != nil {
		return [32]byte{}, err
	}
	what := []string{"query", databases.Statement(d.o.Query)}
	if d.table != nil {
		name, err := d.e.identity(ctx, d.table)
		if err != nil {
			return [32]byte{}, err
		}
		what = append([]string{"table"}, name...)
	}
	return keys.NewMAC(key.For("table place")).Of(append(place, what...)...), nil
}

// class is what a column of the source holds.
func (d *database) class(name string) class {
	for i, n := range d.names {
		if n == name {
			return d.classes[i]
		}
	}
	return opaque
}

// asRead is a column as a scan reads it: a double where the database has a number of that
// size, and otherwise its text.
func (d *database) asRead(name string, kind schema.Kind) string {
	q := "sotto_rows." + quote(name)
	switch is := d.class(name); {
	case is == anything:
		return "+" + q // without a declared type, by which drivers convert
	case is == float, is == whole && kind == schema.Numeric:
		return "CAST(" + q + " AS " + d.e.dialect().double + ")"
	}
	return "CAST(" + q + " AS " + d.e.dialect().text + ")"
}

func (d *database) scan(ctx context.Context, p *pass) error {
	var list []string
	for _, c := range p.columns {
		list = append(list, d.asRead(c.name, d.o.Schema.Columns[c.at].Kind))
	}
	if p.unit != nil {
		list = append(list, d.asRead(p.unitName, schema.Categorical))
	}
	if len(list) == 0 {
		list = []string{"1"}
	}
	statement := "SELECT " + strings.Join(list, ", ") + " FROM " + d.from
	end, err := d.e.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	free := make(chan *sheet, p.workers+1)
	for range cap(free) {
		free <- p.newSheet()
	}
	columns := len(p.columns)
	if p.unit != nil {
		columns++
	}
	return feed(ctx, p.workers, func(ctx context.Context, put func(*sheet) error) error {
		f := &filler{free: free, put: put, progress: p.progress}
		err := d.e.query(ctx, statement, func(cells []cell) error { return f.row(ctx, cells[:columns]) })
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

func (f *filler) row(ctx context.Context, cells []cell) error {
	if f.s == nil {
		select {
		case f.s = <-f.free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		f.s.begin(f.index, f.first+1, BatchRows)
		f.rows = 0
	}
	for column, c := range cells {
		f.s.cell(f.rows, column, c)
		f.read += int64(len(c.text)) + 8
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
