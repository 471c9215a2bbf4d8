package kernel

import (
	"encoding/binary"
	"math"
)

// unpackPortable gives the function that writes the weights of blocks of a
// panel as [column][32]float32.
func unpackPortable(f format) func(dst []float32, src []byte, blocks int) {
	l := &layouts[f]
	switch f {
	case packF32:
		return func(dst []float32, src []byte, blocks int) {
			for i := range dst[:blocks*Panel] {
				dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
			}
		}
	case packF16:
		return func(dst []float32, src []byte, blocks int) {
			for i := range dst[:blocks*Panel] {
				dst[i] = half(binary.LittleEndian.Uint16(src[2*i:]))
			}
		}
	case packBF16:
		return func(dst []float32, src []byte, blocks int) {
			for i := range dst[:blocks*Panel] {
				dst[i] = bfloat(binary.LittleEndian.Uint16(src[2*i:]))
			}
		}
	}
	return func(dst []float32, src []byte, blocks int) {
		for b := range blocks {
			l.unpack(dst[b*l.values*Panel:][:l.values*Panel], src[b*l.bytes():][:l.bytes()])
		}
	}
}

// unpack writes the weights of one quantised block.
func (l *layout) unpack(dst []float32, src []byte) {
	quants := src[l.quants():]
	for g := range l.values / l.group {
		for lane := range Panel {
			var m uint16
			var sub, subMin int8
			if l.minima {
				m = binary.LittleEndian.Uint16(src[2*Panel+2*lane:])
			}
			if l.sub {
				sub = int8(src[l.subscales()+g*Panel+lane])
			}
			if l.sub && l.minima {
				subMin = int8(src[l.subminima()+g*Panel+lane])
			}
			scale, minimum := l.affine(binary.LittleEndian.Uint16(src[2*lane:]), m, sub, subMin)
			for k := g * l.group; k < (g+1)*l.group; k++ {
				w := float32(l.quant(quants, k, lane)) * scale
				if l.affineQuants() {
					w += minimum
				}
				dst[k*Panel+lane] = w
			}
		}
	}
}

// quant is one quant of a packed block.
func (l *layout) quant(quants []byte, k, lane int) int8 {
	if l.bits == 8 {
		return int8(quants[k*Panel+lane])
	}
	return int8(quants[(k/8*Panel+lane)*4+k%8/2] >> (k % 2 * 4) & 15)
}
