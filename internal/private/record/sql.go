package record

import (
	"encoding/binary"
	"hash"

	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
)

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
