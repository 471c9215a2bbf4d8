package record

import (
	"encoding/binary"
	"hash"
)

// rowHash puts rows into a fingerprint, encoded injectively: the names of the columns,
// then every value with its length, or that there is none.
type rowHash struct {
	h   hash.Hash
	buf []byte
}

func newRowHash(h hash.Hash, names []string) *rowHash {
	r := &rowHash{h: h}
	if h == nil {
		return r
	}
	r.buf = binary.AppendUvarint(r.buf, uint64(len(names)))
	for _, n := range names {
		r.add(n, true)
	}
	r.flush()
	return r
}

func (r *rowHash) add(v string, present bool) {
	if r.h == nil {
		return
	}
	if !present {
		r.buf = append(r.buf, 0)
		return
	}
	r.buf = binary.AppendUvarint(append(r.buf, 1), uint64(len(v)))
	r.buf = append(r.buf, v...)
}

func (r *rowHash) flush() {
	if r.h != nil {
		r.h.Write(r.buf)
		r.buf = r.buf[:0]
	}
}
