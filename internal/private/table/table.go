package table

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

// source is where the rows of a table are.
//
// Every scan sees the rows in one order and cuts them into the same batches, however many
// workers there are.
type source interface {
	// header has the names of the columns.
	header() []string
	// scan reads all rows. Sheets are filled and finished by at most p.workers goroutines,
	// each with a number of its own.
	scan(ctx context.Context, p *pass) error
	// fingerprint is how the ledger knows the source.
	fingerprint(ctx context.Context, key keys.Key) ([32]byte, error)
	// sketch gives all rows to some Rows, each in one goroutine.
	sketch(ctx context.Context, parts []*rowsketch.Rows) error
	close() error
}

// Data is a private table that is open. Its methods may be called concurrently, except
// Close.
type Data struct {
	seal.Redaction
	s         source
	o         Options
	encodings []*Encoding
	unit      *unitHash
	key       keys.Key

	mu   sync.Mutex
	last Problems
	mark *[32]byte

	sketching sync.Mutex
	sketch    *sketch.Sketch
}

// Open opens a table. It looks at the names of columns and reads no row.
func Open(ctx context.Context, location string, o Options) (*Data, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s, err := openSource(ctx, location, &o)
	if err != nil {
		return nil, err
	}
	return newData(s, o)
}

func openSource(ctx context.Context, location string, o *Options) (source, error) {
	format, err := o.detect(location)
	switch {
	case err != nil:
		return nil, err
	case format == origin.CSV, format == origin.JSONL, format.Converted():
		return newCSVFile(location, format, o)
	case format == origin.ParquetFile:
		return newParquetFile(location, o)
	}
	return openDatabase(ctx, location, o)
}

// newData takes a source over: with an error it is closed.
func newData(s source, o Options) (_ *Data, err error) {
	d := &Data{s: s, o: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if o.Private != "" {
		if d.key, err = keys.FolderKey(o.Private); err != nil {
			return nil, err
		}
	}
	for _, c := range o.Schema.Columns {
		d.encodings = append(d.encodings, NewEncoding(c, o.Discrete))
	}
	if o.Unit != "" {
		if d.unit, err = newUnitHash(d.key.For("table unit")); err != nil {
			return nil, err
		}
	}
	if _, err := rows.Find(s.header(), o.wanted()); err != nil {
		return nil, err
	}
	return d, nil
}

// Close releases the source.
func (d *Data) Close() error { return d.s.close() }

// Unit is the unit of privacy: "record", or "user:" and the column.
func (d *Data) Unit() privacy.Unit {
	if d.o.Unit == "" {
		return privacy.Record
	}
	return privacy.Unit("user:" + d.o.Unit)
}

// KeyPath is where the key that [Data.KeyID] names is, for messages.
func (d *Data) KeyPath() string { return filepath.Join(d.o.Private, keys.KeyFile) }

// Placed reports whether the ledger knows the table by where it is and not by its content,
// so that its rows may be others next time.
func (d *Data) Placed() bool {
	_, ok := d.s.(*database)
	return ok || d.Elsewhere()
}

// Elsewhere reports whether [OpenElsewhere] opened the table.
func (d *Data) Elsewhere() bool {
	_, ok := d.s.(*elsewhere)
	return ok
}

// Unchanged fails if a file of the table is no longer what it was when the table was
// opened. It is for engines that read files by themselves.
func (d *Data) Unchanged() error {
	if s, ok := d.s.(interface{ unchanged() error }); ok {
		return s.unchanged()
	}
	return nil
}

// Options are those that the table was opened with.
func (d *Data) Options() Options { return d.o }

// Problems returns which rows were refused by the latest scan.
func (d *Data) Problems() Problems {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last.Clone()
}

// Fingerprint is how the ledger knows the table.
//
// Of a file it is the HMAC-SHA-256 of the content under the private folder's key, and the
// same as for texts from that file: of the uncompressed bytes of a CSV file, of the bytes
// of a Parquet file. A table in a database is known by its place and not by its content:
// the server, the database, and the table or the text of the query. So a table that rows
// are added to keeps its budget, which is the safe side; the same rows reached by another
// query are another data set to the ledger, so keep to one.
func (d *Data) Fingerprint(ctx context.Context) ([32]byte, error) {
	if d.o.Private == "" {
		return [32]byte{}, origin.Refuse("a fingerprint needs the key of a private folder: name the folder")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mark == nil {
		mark, err := d.s.fingerprint(ctx, d.key)
		if err != nil {
			return mark, err
		}
		d.mark = &mark
	}
	return *d.mark, nil
}

// KeyID names the key of the private folder: 16 hexadecimal digits; empty without a
// folder. Fingerprints and sketches of different keys cannot be compared.
func (d *Data) KeyID() string {
	if d.o.Private == "" {
		return ""
	}
	return d.key.ID()
}

// Scan reads all rows, and hands them to each in batches, from up to so many workers at
// once (0: one for every processor). Columns are places in the schema; nil means all.
// A batch is valid until each returns. Batches come in any order, but the same ones with
// any number of workers: their number is their place.
//
// A row is refused for values of the columns that are asked for. If there is any and
// OnError is Fail, then Scan returns a *[RefusedError] at the end, and nothing that each
// has computed may be used.
func (d *Data) Scan(ctx context.Context, columns []int, workers int, each func(worker int, b *Batch) error) error {
	if columns == nil {
		for i := range d.encodings {
			columns = append(columns, i)
		}
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	p := &pass{unit: d.unit, unitName: d.o.Unit, workers: workers, each: each, progress: d.o.Progress, onError: d.o.OnError}
	for _, i := range columns {
		if i < 0 || i >= len(d.encodings) {
			return origin.Refuse("there is no column %d: the schema has %d", i, len(d.encodings))
		}
		p.columns = append(p.columns, target{d.o.Schema.Columns[i].Name, i, d.encodings[i]})
	}
	err := d.s.scan(ctx, p)
	d.settle(p.tally.problems())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	}
	return d.judge()
}

func (d *Data) settle(p Problems) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = p
}

// judge refuses the source for the rows that were refused, unless they are left out.
func (d *Data) judge() error {
	if p := d.Problems(); p.Count > 0 && d.o.OnError == Fail {
		return &RefusedError{p}
	}
	return nil
}
