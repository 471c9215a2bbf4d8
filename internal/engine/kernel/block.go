package kernel

import (
	"encoding/binary"
	"sync"
)

// block is a block of one row as GGUF files hold it, with its bit fields taken
// apart. A weight of it is described at layout.
type block struct {
	quant        [256]byte // int8
	scale        uint16    // binary16
	minimum      uint16    // binary16
	sub, subMins [16]int8
}

// blocks lends blocks, because what a decoder gets lies on the heap.
var blocks = sync.Pool{New: func() any { return new(block) }}

// borrowBlock returns a block of zeros, which goes back to blocks.
func borrowBlock() *block {
	b := blocks.Get().(*block)
	*b = block{}
	return b
}

// decode fills the block from the file's bytes.
type decode func(b *block, src []byte)

func decodeQ4_0(b *block, src []byte) {
	b.scale = binary.LittleEndian.Uint16(src)
	nibbles(b.quant[:32], src[2:18])
}

func decodeQ4_1(b *block, src []byte) {
	b.scale = binary.LittleEndian.Uint16(src)
	b.minimum = binary.LittleEndian.Uint16(src[2:])
	nibbles(b.quant[:32], src[4:20])
}

func decodeQ5_0(b *block, src []byte) {
	b.scale = binary.LittleEndian.Uint16(src)
	nibbles(b.quant[:32], src[6:22])
	fifth := binary.LittleEndian.Uint32(src[2:])
	for i := range b.quant[:32] {
		b.quant[i] += byte(fifth>>i&1)<<4 - 16
	}
}

func decodeQ5_1(b *block, src []byte) {
	b.scale = binary.LittleEndian.Uint16(src)
	b.minimum = binary.LittleEndian.Uint16(src[2:])
	nibbles(b.quant[:32], src[8:24])
	fifth := binary.LittleEndian.Uint32(src[4:])
	for i := range b.quant[:32] {
		b.quant[i] += byte(fifth>>i&1) << 4
	}
}

func decodeQ8_0(b *block, src []byte) {
	b.scale = binary.LittleEndian.Uint16(src)
	copy(b.quant[:32], src[2:34])
}

func decodeQ4_K(b *block, src []byte) {
	b.scale = binary.LittleEndian.Uint16(src)
	b.minimum = binary.LittleEndian.Uint16(src[2:])
	sixBits(b, src[4:16])
	for g := range 4 {
		nibbles(b.quant[64*g:64*g+64], src[16+32*g:48+32*g])
	}
}

func decodeQ5_K(b *block, src []byte) {
	b.scale = binary.LittleEndian.Uint16(src)
	b.minimum = binary.LittleEndian.Uint16(src[2:])
	sixBits(b, src[4:16])
	fifth := src[16:48]
	for g := range 4 {
		nibbles(b.quant[64*g:64*g+64], src[48+32*g:80+32*g])
	}
	for i := 0; i < len(b.quant); i += 8 {
		bits := binary.LittleEndian.Uint64(fifth[i%32:]) >> (i / 32) & 0x0101010101010101
		q := b.quant[i:]
		binary.LittleEndian.PutUint64(q, binary.LittleEndian.Uint64(q)|bits<<4)
	}
}

func decodeQ6_K(b *block, src []byte) {
	low, high, scales := src[:128], src[128:192], src[192:208]
	b.scale = binary.LittleEndian.Uint16(src[208:])
	for i, s := range scales {
		b.sub[i] = int8(s)
	}
	for h := range 2 {
		nibbles(b.quant[128*h:128*h+128], low[64*h:64*h+64])
		for i := 0; i < 128; i += 8 {
			bits := binary.LittleEndian.Uint64(high[32*h+i%32:]) >> (i / 32 * 2) & 0x0303030303030303
			q := b.quant[128*h+i:]
			v := binary.LittleEndian.Uint64(q) | bits<<4
			// Each byte less 32, without a borrow from its neighbour.
			binary.LittleEndian.PutUint64(q, ((v|0x8080808080808080)-0x2020202020202020)^0x8080808080808080)
		}
	}
}

// nibbles takes bytes apart, a multiple of eight of them: the low halves are
// the first values, the high halves those after them.
func nibbles(dst, src []byte) {
	const low = 0x0f0f0f0f0f0f0f0f
	for i := 0; i < len(src); i += 8 {
		v := binary.LittleEndian.Uint64(src[i:])
		binary.LittleEndian.PutUint64(dst[i:], v&low)
		binary.LittleEndian.PutUint64(dst[len(src)+i:], v>>4&low)
	}
}

// word puts eight values of four bits together, the first one lowest: the inverse of
// nibbles.
func word(src []byte) uint32 {
	v := binary.LittleEndian.Uint64(src)
	v = (v | v>>4) & 0x00ff00ff00ff00ff
	v = (v | v>>8) & 0x0000ffff0000ffff
	return uint32(v | v>>16)
}

// sixBits takes the eight scales and eight minima of 6 bits apart that the
// K formats put into 12 bytes.
func sixBits(b *block, src []byte) {
	for i := range 4 {
		b.sub[i] = int8(src[i] & 63)
		b.subMins[i] = int8(src[i+4] & 63)
		b.sub[i+4] = int8(src[i+8]&15 | src[i]>>6<<4)
		b.subMins[i+4] = int8(src[i+8]>>4 | src[i+4]>>6<<4)
	}
}

// words8 puts eight values of eight bits into two words: 0, 1, 4, 5 and 2, 3, 6, 7.
func words8(src []byte) (first, second uint32) {
	low, high := binary.LittleEndian.Uint32(src), binary.LittleEndian.Uint32(src[4:])
	return low&0xffff | high<<16, low>>16 | high&^0xffff
}
