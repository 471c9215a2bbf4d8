package table

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"

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
	names, list := d.distinctNames()
	if len(names) == 0 {
		return nil
	}
	columns := rows.Columns(names)
	end, err := d.e.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	var room []byte
	err = d.e.query(ctx, "SELECT "+strings.Join(list, ", ")+" FROM "+d.from, func(cells []cell) error {
		if rows.Count() == sketchRows {
			rows.Stop()
			return errEnough
		}
		for i, c := range columns {
			room = cells[i].appendTo(room[:0])
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

// distinctNames are the columns that can be named, and how they are read: as text, except
// where values have types of their own.
func (d *database) distinctNames() (names, list []string) {
	times := map[string]int{}
	for _, n := range d.names {
		times[n]++
	}
	for i, n := range d.names {
		if times[n] > 1 {
			continue
		}
		names = append(names, n)
		q := "sotto_rows." + quote(n)
		if d.classes[i] == anything {
			list = append(list, "+"+q)
		} else {
			list = append(list, "CAST("+q+" AS "+d.e.dialect().text+")")
		}
	}
	return names, list
}

// appendTo writes the value as text.
func (c cell) appendTo(room []byte) []byte {
	switch c.kind {
	case textCell:
		return append(room, c.text...)
	case numberCell:
		return strconv.AppendFloat(room, c.number, 'g', -1, 64)
	case wholeCell:
		return strconv.AppendInt(room, c.whole, 10)
	}
	return room
}
