package kernel

import (
	"encoding/binary"
	"math"
)

// unpackFloats returns the unpackFunc of a float format in plain Go.
func unpackFloats(f format) unpackFunc {
	switch f {
	case packF32:
		return func(dst []float32, src []byte) {
			for i := range dst {
				dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
			}
		}
	case packF16:
		return func(dst []float32, src []byte) {
			for i := range dst {
				dst[i] = half(binary.LittleEndian.Uint16(src[2*i:]))
			}
		}
	}
	return func(dst []float32, src []byte) {
		for i := range dst {
			dst[i] = bfloat(binary.LittleEndian.Uint16(src[2*i:]))
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
