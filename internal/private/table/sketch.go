package table

import (
	"context"
	"errors"
	"runtime"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

// sketchRows is how many rows of a table in a database a sketch is made of at most.
const sketchRows = 50_000_000

// Sketch is how the ledger knows the rows again in other files, formats, tables and queries:
// keyed hashes of all rows, in all columns. Rows that the schema refuses count too; of the
// schema only the names of its columns matter, by which a table with other columns is known
// again.
//
// It takes a pass over all rows, of a database over the first 50 million. That of a file is
// kept in the private folder under the fingerprint, and made once.
func (d *Data) Sketch(ctx context.Context) (sketch.Sketch, error) {
	d.sketching.Lock()
	defer d.sketching.Unlock()
	if d.sketch != nil {
		return *d.sketch, nil
	}
	if d.o.Private == "" {
		return sketch.Sketch{}, origin.Refuse("a sketch needs the key of a private folder: name the folder")
	}
	keep := rowsketch.Cache{Folder: d.o.Private, Key: d.key}
	if !d.Placed() {
		mark, err := d.Fingerprint(ctx)
		if err != nil {
			return sketch.Sketch{}, err
		}
		keep.Of = append([]string{string(mark[:])}, d.columnNames()...)
	}
	found, ok := keep.Get()
	if !ok {
		rows, err := d.sketchRows(ctx)
		if err != nil {
			return sketch.Sketch{}, err
		}
		found = rows.Sketch()
		if err := keep.Put(found); err != nil {
			return sketch.Sketch{}, err
		}
	}
	d.sketch = &found
	return found, nil
}

func (d *Data) columnNames() []string {
	var out []string
	for _, c := range d.o.Schema.Columns {
		out = append(out, c.Name)
	}
	return out
}

// sketchRows gives all rows to the hashes.
func (d *Data) sketchRows(ctx context.Context) (*rowsketch.Rows, error) {
	parts := make([]*rowsketch.Rows, runtime.GOMAXPROCS(0))
	for i := range parts {
		parts[i] = rowsketch.New(d.key, d.columnNames()...)
	}
	if err := d.s.sketch(ctx, parts); err != nil {
		return nil, err
	}
	for _, p := range parts[1:] {
		parts[0].Merge(p)
	}
	return parts[0], nil
}

func (c *csvFile) sketch(ctx context.Context, parts []*rowsketch.Rows) error {
	sinks := make([]rows.Sink, len(parts))
	fields := make([]rows.Fields, len(parts))
	for i, p := range parts {
		sinks[i], fields[i].Comma = p.Sink(c.Head.Names), c.Head.Comma
	}
	return c.blocks(ctx, len(parts), nil, func(worker int, b *rows.Block) error {
		for _, line := range b.Lines {
			fields[worker].Feed(b.Data, line, c.Head.Names, sinks[worker], nil)
		}
		return nil
	})
}

func (s *parquetFile) sketch(ctx context.Context, parts []*rowsketch.Rows) error {
	if err := rowsketch.Parquet(ctx, s.p, parts); err != nil {
		return err
	}
	return origin.StillSame(s.f, s.info)
}

// errEnough ends a pass over a database.
var errEnough = errors.New("enough")

func (d *database) sketch(ctx context.Context, parts []*rowsketch.Rows) error {
	rows := parts[0]
	names := d.distinctNames()
	if len(names) == 0 {
		return nil
	}
	columns := rows.Columns(names)
	var room []byte
	err := d.db.Scan(ctx, d.selecting(names), func(cells []databases.Cell) error {
		if rows.Count() == sketchRows {
			rows.Stop()
			return errEnough
		}
		for i, c := range columns {
			room = cells[1+i].Append(room[:0])
			rows.Add(c, room)
		}
		rows.Next()
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// distinctNames are the columns that can be named.
func (d *database) distinctNames() (names []string) {
	times := map[string]int{}
	for _, c := range d.columns {
		times[c.Name]++
	}
	for _, c := range d.columns {
		if times[c.Name] == 1 {
			names = append(names, c.Name)
		}
	}
	return names
}
