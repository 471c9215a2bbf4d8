package kernel

import (
	"encoding/binary"
	"math"
)

// unpackColumns writes the weights of columns of a panel, whole groups of
// them, as [column][32]float32.
func (k *Kernels) unpackColumns(f format, panel []byte, first, end int, dst []float32) {
	l := &layouts[f]
	for c := first; c < end; {
		n := end - c
		if l.sub {
			n = min(n, l.values-c%l.values)
		}
		k.unpack[f](dst[(c-first)*Panel:][:n*Panel], panel[c/l.values*l.bytes():], c%l.values/l.group, n/l.group)
		c += n
	}
}

// unpackPortable returns the unpackFunc of a format in plain Go.
func unpackPortable(f format) unpackFunc {
	l := &layouts[f]
	switch f {
	case packF32:
		return func(dst []float32, src []byte, _, groups int) {
			for i := range dst[:groups*Panel] {
				dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
			}
		}
	case packF16:
		return func(dst []float32, src []byte, _, groups int) {
			for i := range dst[:groups*Panel] {
				dst[i] = half(binary.LittleEndian.Uint16(src[2*i:]))
			}
		}
	case packBF16:
		return func(dst []float32, src []byte, _, groups int) {
			for i := range dst[:groups*Panel] {
				dst[i] = bfloat(binary.LittleEndian.Uint16(src[2*i:]))
			}
		}
	}
	return func(dst []float32, src []byte, skip, groups int) {
		for g := range groups {
			if l.sub {
				l.unpackGroup(dst[g*l.group*Panel:], src, skip+g)
			} else {
				l.unpackGroup(dst[g*l.group*Panel:], src[g*l.bytes():], 0)
			}
		}
	}
}

// unpackGroup writes the weights of one group of a quantised block.
func (l *layout) unpackGroup(dst []float32, src []byte, g int) {
	quants := src[l.quants():]
	for lane := range Panel {
		scale, minimum := l.affineOf(src, g, lane)
		for k := range l.group {
			w := float32(l.quant(quants, g*l.group+k, lane)) * scale
			if l.affineQuants() {
				w += minimum
			}
			dst[k*Panel+lane] = w
		}
	}
}

// affineOf returns the scale and the minimum of a group of a packed block.
func (l *layout) affineOf(src []byte, g, lane int) (scale, minimum float32) {
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
	return l.affine(binary.LittleEndian.Uint16(src[2*lane:]), m, sub, subMin)
}

// quant returns one quant of a packed block.
func (l *layout) quant(quants []byte, k, lane int) int8 {
	if l.bits == 8 {
		word := k/8*2 + k%4/2
		return int8(quants[(word*Panel+lane)*4+k%8/4*2+k%2])
	}
	return int8(quants[(k/8*Panel+lane)*4+k%8/2] >> (k % 2 * 4) & 15)
}
