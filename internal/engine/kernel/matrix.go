package kernel

import (
	"encoding/binary"
	"fmt"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
)

// Panel is the number of rows that are packed together, and the width of the
// right-hand side of Gemm.
const Panel = 32

// Matrix is a matrix of weights, packed for multiplication. It is safe for concurrent use,
// and does not change except by PackRows.
type Matrix struct {
	// Rows is the number of outputs, Cols the number of inputs.
	Rows, Cols int

	format format
	stride int // bytes of a panel
	data   []byte
}

// Pack packs a GGUF tensor, given as the bytes of the file: row after row,
// each one the weights of an output. The bytes are copied.
func Pack(t gguf.Type, rows, cols int, data []byte) (*Matrix, error) {
	size, err := RowBytes(t, cols)
	if err != nil {
		return nil, err
	}
	if rows <= 0 || len(data)/size != rows || len(data)%size != 0 {
		return nil, fmt.Errorf("a matrix of %d rows of %d values of %v needs %d bytes a row, and there are %d bytes in all", rows, cols, t, size, len(data))
	}
	m := &Matrix{}
	m.pack(t, rows, cols, func(r int) []byte { return data[r*size : (r+1)*size] })
	return m, nil
}

// PackRows packs rows picked from one or more GGUF tensors of the same type,
// such as the rows of the head that belong to a list of candidates.
func PackRows(t gguf.Type, cols int, rows [][]byte) (*Matrix, error) {
	m := &Matrix{}
	return m, m.PackRows(t, cols, rows)
}

// PackRows packs rows in place of those that the matrix has, in the same memory if it is
// large enough.
func (m *Matrix) PackRows(t gguf.Type, cols int, rows [][]byte) error {
	size, err := RowBytes(t, cols)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("a matrix needs a row")
	}
	for i, row := range rows {
		if len(row) != size {
			return fmt.Errorf("row %d of %d values of %v needs %d bytes and has %d", i, cols, t, size, len(row))
		}
	}
	m.pack(t, len(rows), cols, func(r int) []byte { return rows[r] })
	return nil
}

// Panels returns the number of panels; the last one may be padded with rows of zero.
func (m *Matrix) Panels() int { return (m.Rows + Panel - 1) / Panel }

// Bytes returns the memory that the weights take.
func (m *Matrix) Bytes() int { return len(m.data) }

// pack packs rows whose sizes were checked.
func (m *Matrix) pack(t gguf.Type, rows, cols int, row func(int) []byte) {
	f := packed[t]
	l := &layouts[f]
	stride := cols / l.values * l.bytes()
	*m = Matrix{Rows: rows, Cols: cols, format: f, stride: stride, data: m.data}
	if need := m.Panels() * stride; cap(m.data) < need {
		m.data = aligned(need)
	} else {
		m.data = m.data[:need]
		clear(m.data)
	}
	data, take, size := m.data, decoders[t], t.BlockBytes()
	b := borrowBlock()
	defer blocks.Put(b)
	for r := range rows {
		dst, src, lane := data[r/Panel*stride:][:stride], row(r), r%Panel
		if l.float {
			l.putFloats(dst, src, lane)
			continue
		}
		for ; len(src) > 0; dst, src = dst[l.bytes():], src[size:] {
			take(b, src[:size])
			b.put(l, dst[:l.bytes()], lane)
		}
	}
}

// putFloats writes a row of a float format into its lane of a panel.
func (l *layout) putFloats(dst, src []byte, lane int) {
	if l.bits == 16 {
		for dst = dst[2*lane:]; len(src) >= 2; src = src[2:] {
			binary.LittleEndian.PutUint16(dst, binary.LittleEndian.Uint16(src))
			dst = dst[min(2*Panel, len(dst)):]
		}
		return
	}
	for dst = dst[4*lane:]; len(src) >= 4; src = src[4:] {
		binary.LittleEndian.PutUint32(dst, binary.LittleEndian.Uint32(src))
		dst = dst[min(4*Panel, len(dst)):]
	}
}

// put writes a block of a row into its lane of a block of a panel.
func (b *block) put(l *layout, dst []byte, lane int) {
	binary.LittleEndian.PutUint16(dst[2*lane:], b.scale)
	if l.minima {
		binary.LittleEndian.PutUint16(dst[2*Panel+2*lane:], b.minimum)
	}
	if l.sub {
		for g := range l.values / l.group {
			dst[l.subscales()+g*Panel+lane] = byte(b.sub[g])
			if l.minima {
				dst[l.subminima()+g*Panel+lane] = byte(b.subMins[g])
			}
		}
	}
	quants := dst[l.quants():]
	if l.bits == 8 {
		for k := 0; k < l.values; k += 8 {
			first, second := words8(b.quant[k:])
			binary.LittleEndian.PutUint32(quants[(k/4*Panel+lane)*4:], first)
			binary.LittleEndian.PutUint32(quants[((k/4+1)*Panel+lane)*4:], second)
		}
		return
	}
	for k := 0; k < l.values; k += 8 {
		binary.LittleEndian.PutUint32(quants[(k/8*Panel+lane)*4:], word(b.quant[k:]))
	}
}
