package kernel

import "encoding/binary"

// block is a block of one row as GGUF files hold it, with its bit fields taken
// apart. A weight of it is described at layout.
type block struct {
	quant        [256]int8
	scale        uint16 // binary16
	minimum      uint16 // binary16
	sub, subMins [16]int8
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
		b.quant[i] += int8(fifth>>i&1)<<4 - 16
	}
}

func decodeQ5_1(b *block, src []byte) {
	b.scale = binary.LittleEndian.Uint16(src)
	b.minimum = binary.LittleEndian.Uint16(src[2:])
	nibbles(b.quant[:32], src[8:24])
	fifth := binary.LittleEndian.Uint32(src[4:])
	for i := range b.quant[:32] {
		b.quant[i] += int8(fifth>>i&1) << 4
	}
}

func decodeQ8_0(b *block, src []byte) {
	b.scale = binary.LittleEndian.Uint16(src)
	for i, q := range src[2:34] {
		b.quant[i] = int8(q)
	}
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
	for i := range b.quant {
		b.quant[i] += int8(fifth[i%32]>>(i/32)&1) << 4
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
		for i := range 128 {
			b.quant[128*h+i] += int8(high[32*h+i%32]>>(i/32*2)&3)<<4 - 32
		}
	}
}

// nibbles takes bytes apart: the low halves are the first values, the high
// halves those after them.
func nibbles(dst []int8, src []byte) {
	low, high := dst[:len(src)], dst[len(src):][:len(src)]
	for i, v := range src {
		low[i], high[i] = int8(v&15), int8(v>>4)
	}
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
