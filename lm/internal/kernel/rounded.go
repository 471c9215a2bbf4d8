package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/sotto-dp/sotto/lm/gguf"
)

// mostRounded is the largest integer that a weight is rounded to: sums of 32 products with
// activations stay below 2^31.
const mostRounded = 2047

// PackRounded packs rows of float32 for MulQuantized. Every 32 weights of a row get a
// scale, their largest magnitude over 2047, and are rounded to the nearest multiple of it,
// halves to even. The matrix takes half the memory of one in float32.
func PackRounded(cols int, rows [][]byte) (*Matrix, error) {
	if len(rows) == 0 || cols <= 0 || cols%Block != 0 {
		return nil, fmt.Errorf("a matrix of %d rows of %d values cannot be rounded by blocks of %d", len(rows), cols, Block)
	}
	l := &layouts[packRounded]
	m := &Matrix{Rows: len(rows), Cols: cols, format: packRounded, stride: cols / Block * l.bytes()}
	m.data = aligned(m.Panels() * m.stride)
	values := make([]float32, cols)
	for r, row := range rows {
		if err := DequantizeRow(gguf.F32, row, values); err != nil {
			return nil, fmt.Errorf("row %d: %w", r, err)
		}
		panel := m.data[r/Panel*m.stride:][:m.stride]
		for c := 0; c < cols; c += Block {
			putRounded(panel[c/Block*l.bytes():], r%Panel, values[c:c+Block])
		}
	}
	return m, nil
}

// putRounded writes a block of a row into its lane of an unpacked group.
func putRounded(dst []byte, lane int, values []float32) {
	amax := float32(0)
	for _, v := range values {
		amax = max(amax, float32(math.Abs(float64(v))))
	}
	scale, inverse := amax/mostRounded, float32(0)
	switch {
	case !(amax <= math.MaxFloat32):
		scale = float32(math.NaN())
	case amax >= least:
		inverse = mostRounded / amax
	}
	put := func(word int, v uint32) { binary.LittleEndian.PutUint32(dst[(word*Panel+lane)*4:], v) }
	integer := func(i int) int32 {
		if inverse == 0 {
			return 0
		}
		return int32(math.RoundToEven(float64(values[i] * inverse)))
	}
	for i := range Block / 2 {
		low, high := pairOf(i)
		put(i, uint32(uint16(integer(low)))|uint32(integer(high))<<16)
	}
	put(Block/2, math.Float32bits(scale))
}

// mulRounded is MulQuantized for such a matrix: its groups are unpacked as they lie.
func (k *Kernels) mulRounded(m *Matrix, p0, p1 int, j *integerJob) {
	groups := m.Cols / Block
	depth := even(groups, unpackedGroups, 1)
	for p := p0; p < p1; p++ {
		panel := m.data[p*m.stride : (p+1)*m.stride]
		words := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/4)
		for g := 0; g < groups; g += depth {
			k.tilesInt(j.n, min(depth, groups-g), j.x[g*blockWords:], j.xStride, words[g*groupWords:], j.dst[p*Panel:], j.dstStride, oneScale, g > 0)
		}
	}
}
