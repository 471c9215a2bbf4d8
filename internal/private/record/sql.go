package record

import (
	"context"
	"encoding/binary"
	"errors"
	"hash"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// querySource is what a query on a database gives. The place of a row is its number in it, from 0. The
// checksums show if others changed what is read between two passes.
type querySource struct {
	db       databases.DB
	query    string
	header   []string
	roles    [][]int
	progress func(read, total int64)
	width    int // values of a row
}

func newQuery(ctx context.Context, location string, o *Options) (_ *querySource, err error) {
	s := &querySource{query: databases.Statement(o.Query), progress: o.Progress, width: len(o.columns())}
	if s.db, err = databases.Open(ctx, location); err != nil {
		return nil, err
	}
	columns, err := s.db.Describe(ctx, s.query)
	if err == nil {
		s.header = databases.Names(columns)
		s.roles, err = findColumns(s.header, o)
	}
	if err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

func (s *querySource) scan(ctx context.Context, w *witness, yield func(*rows.Row) error) error {
	content := newRowHash(w, s.header)
	place, read := int64(0), int64(0)
	report := func() {
		if s.progress != nil && w != nil {
			s.progress(read, 0)
		}
	}
	return s.db.Scan(ctx, s.query, func(cells []databases.Cell) error {
		for i := range cells {
			content.add(i, &cells[i])
			read += int64(len(cells[i].Text())) + 8
		}
		content.flush()
		if place%1024 == 0 {
			report()
		}
		place++
		return yield(s.row(place-1, cells))
	})
}

func (s *querySource) fetch(ctx context.Context, at []spot, yield func(int, *rows.Row) error) error {
	places := make([]int64, len(at))
	for i := range at {
		places[i] = at[i].place
	}
	n, err := s.db.Fetch(ctx, s.query, places, func(i int, cells []databases.Cell) error { return yield(i, s.row(places[i], cells)) })
	if err == nil && n < len(at) {
		return origin.Differs(at[n].ordinal)
	}
	return err
}

// row takes the cells of the columns that are used.
func (s *querySource) row(place int64, cells []databases.Cell) *rows.Row {
	r := &rows.Row{Place: place, Values: make([]rows.Value, s.width)}
	for i, roles := range s.roles {
		if len(roles) == 0 {
			continue
		}
		v := cells[i].Value()
		for _, role := range roles {
			r.Values[role] = v
		}
	}
	return r
}

func (s *querySource) seeks() (bool, error) { return false, nil }
func (s *querySource) stamp() string        { return "" }
func (s *querySource) names() []string      { return s.header }
func (s *querySource) close() error         { return s.db.Close() }

// rowHash puts rows into a fingerprint, encoded injectively: the names of the columns,
// then every value with its length, or that there is none. And it gives them to the sketch.
type rowHash struct {
	h       hash.Hash
	buf     []byte
	room    []byte
	sketch  *rowsketch.Rows
	columns []*rowsketch.Column
}

func newRowHash(w *witness, names []string) *rowHash {
	r := &rowHash{}
	if w == nil {
		return r
	}
	r.h = w.content
	r.buf = binary.AppendUvarint(r.buf, uint64(len(names)))
	for _, n := range names {
		r.encode([]byte(n))
	}
	r.h.Write(r.buf)
	r.buf = r.buf[:0]
	if w.rows != nil {
		r.sketch, r.columns = w.rows, w.rows.Columns(names)
	}
	return r
}

// add takes the value of a column.
func (r *rowHash) add(column int, c *databases.Cell) {
	switch {
	case r.h == nil:
		return
	case c.Null:
		r.buf = append(r.buf, 0)
		return
	}
	r.room = c.Append(r.room[:0])
	r.encode(r.room)
	if r.sketch != nil {
		r.sketch.Add(r.columns[column], r.room)
	}
}

func (r *rowHash) encode(v []byte) {
	r.buf = binary.AppendUvarint(append(r.buf, 1), uint64(len(v)))
	r.buf = append(r.buf, v...)
}

// flush ends a row.
func (r *rowHash) flush() {
	if r.h == nil {
		return
	}
	r.h.Write(r.buf)
	r.buf = r.buf[:0]
	if r.sketch != nil {
		r.sketch.Next()
	}
}
