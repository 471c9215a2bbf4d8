package record

import (
	"encoding/binary"
	"hash"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
	"github.com/sotto-dp/sotto/internal/rows"
)

// result is what a query on a database gives. The place of a row is its number in it, from
// 0.
type result struct {
	query    string
	header   []string
	roles    [][]int
	progress func(read, total int64)
	width    int // values of a row
}

func newResult(o *Options) result {
	return result{query: databases.Statement(o.Query), progress: o.Progress, width: len(o.columns())}
}

// row takes the cells of the columns that are used.
func (s *result) row(place int64, cell func(column int) rows.Value) *rows.Row {
	r := &rows.Row{Place: place, Values: make([]rows.Value, s.width)}
	for i, roles := range s.roles {
		if len(roles) == 0 {
			continue
		}
		v := cell(i)
		for _, role := range roles {
			r.Values[role] = v
		}
	}
	return r
}

// report says how many bytes were read, in a pass that reads all.
func (s *result) report(w *witness, read int64) {
	if s.progress != nil && w != nil {
		s.progress(read, 0)
	}
}

func (s *result) seeks() (bool, error) { return false, nil }
func (s *result) stamp() string        { return "" }
func (s *result) names() []string      { return s.header }

// rowHash puts rows into a fingerprint, encoded injectively: the names of the columns,
// then every value with its length, or that there is none. And it gives them to the sketch.
type rowHash struct {
	h       hash.Hash
	buf     []byte
	sketch  *rowsketch.Rows
	columns []*rowsketch.Column
	// plain, if not nil, writes a value of a column as other sources do.
	plain func(column int, v string) string
}

func newRowHash(w *witness, names []string) *rowHash {
	r := &rowHash{}
	if w == nil {
		return r
	}
	r.h = w.content
	r.buf = binary.AppendUvarint(r.buf, uint64(len(names)))
	for _, n := range names {
		r.encode(n)
	}
	r.h.Write(r.buf)
	r.buf = r.buf[:0]
	if w.rows != nil {
		r.sketch, r.columns = w.rows, w.rows.Columns(names)
	}
	return r
}

// add takes the value of a column.
func (r *rowHash) add(column int, v string, present bool) {
	switch {
	case r.h == nil:
		return
	case !present:
		r.buf = append(r.buf, 0)
		return
	}
	r.encode(v)
	if r.sketch != nil {
		if r.plain != nil {
			v = r.plain(column, v)
		}
		r.sketch.Add(r.columns[column], []byte(v))
	}
}

func (r *rowHash) encode(v string) {
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
