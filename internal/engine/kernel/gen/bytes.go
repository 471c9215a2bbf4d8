package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Sizes that bytes.go of package kernel describes.
const (
	turnColumns = 128                    // that are rotated together
	byteColumns = 64                     // of a block
	byteInput   = 4 + byteColumns        // bytes of a block of activations
	byteHead    = 8 * panel              // offsets and scales of a block of weights
	byteStep    = 8                      // columns of a round of a tile
	byteSteps   = byteColumns / byteStep // of a block
	stepBytes   = byteStep * panel       // of weights
)

// bytes writes the products in bytes.
func (t *target) bytes() {
	t.begin("tileBytes", "(tokens, blocks int, x []uint32, xStride int, w []byte, bias, dst []float32, dstStride int, add bool)")
	t.choose("tokens", t.tileBytesSizes(), func(tokens int) {
		t.passes(func(first reg.Register) {
			w, bias, dst := t.base("w"), t.base("bias"), t.base("dst")
			for _, p := range []reg.GPVirtual{w, bias, dst} {
				t.from(p, first, 4)
			}
			t.tileBytes(tokens, w, bias, dst)
		})
	})
	if t.floats() {
		t.rotate()
	}
	if t.isa.name == avx2.name {
		t.roundBytes()
	}
}

// tileBytesSizes are the numbers of tokens that a tile is written for: without dot products, more
// registers are in use beside the sums.
func (i isa) tileBytesSizes() []int {
	if i.vnni {
		return i.tileSizes()
	}
	return []int{1, 2, 3, 4}
}

// tileBytes multiplies blocks by the inputs of tokens, two vectors of rows at a time. The
// chains stay in dst, where every block takes them up.
func (t *target) tileBytes(tokens int, w, bias, dst reg.GPVirtual) {
	t.startChains(tokens, 2, dst, func(v int, to reg.VecVirtual) { t.VMOVUPS(at(bias, v*t.size()), to) })

	stride, stride3 := t.integer("xStride"), t.GP64()
	t.SHLQ(operand.U8(2), stride)
	t.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	x := t.fours(t.base("x"), stride, tokens)
	place := func(token, offset int) operand.Mem {
		return rowOf(x[token/4], stride, stride3, token%4).Offset(offset)
	}
	advance := func(n int) {
		for _, r := range x {
			t.ADDQ(operand.U32(n), r)
		}
	}
	var ones reg.VecVirtual
	if !t.vnni {
		ones = t.vec()
		t.VMOVUPS(t.bits(0x00010001), ones)
	}
	sums, factor := t.vecs(2*tokens), t.vec()
	t.times("block", t.integer("blocks"), func() {
		for i, s := range sums {
			t.VMOVUPS(at(w, i%2*t.size()), s)
		}
		t.repeat("columns", byteSteps, func() {
			weight := func(four, v int) operand.Mem { return at(w, byteHead+4*panel*four+v*t.size()) }
			offset := func(four int) int { return 4 + 4*four }
			switch {
			case t.vnni:
				t.dotSteps(tokens, weight, func(token, four int) operand.Mem { return place(token, offset(four)) }, sums)
			default:
				t.pairSteps(tokens, weight, func(token, four int) operand.Mem { return place(token, offset(four)) }, ones, sums)
			}
			advance(byteStep)
			t.ADDQ(operand.U32(stepBytes), w)
		})
		scale := t.vecs(2)
		for v, to := range scale {
			t.VMOVUPS(at(w, byteHead/2-byteSteps*stepBytes+v*t.size()), to)
		}
		t.eachResult("dstStride", tokens, 2, dst, func(i int, chain operand.Mem) {
			if i%2 == 0 {
				t.VBROADCASTSS(place(i/2, -byteColumns), factor)
			}
			t.VCVTDQ2PS(sums[i], sums[i])
			t.VMULPS(factor, sums[i], sums[i])
			t.VFMADD213PS(chain, scale[i%2], sums[i])
			t.VMOVUPS(sums[i], chain)
		})
		advance(byteInput - byteColumns)
		t.ADDQ(operand.U32(byteHead), w)
	})
}

// dotSteps adds the products of some columns with the instruction for dot products of bytes.
func (t *target) dotSteps(tokens int, weight func(four, v int) operand.Mem, x func(token, four int) operand.Mem, sums []reg.VecVirtual) {
	weights, factor := t.vecs(2), t.vec()
	for four := range byteStep / 4 {
		for v, to := range weights {
			t.VMOVUPS(weight(four, v), to)
		}
		for i := range tokens {
			t.VPBROADCASTD(x(i, four), factor)
			for v, w := range weights {
				t.dotBytes(w, factor, sums[2*i+v])
			}
		}
	}
}

// dotBytes adds the products of fours of bytes, with signs and without, to the sums of a lane.
func (t *target) dotBytes(signed, unsigned, sums reg.VecVirtual) {
	operands := []operand.Op{signed, unsigned, sums}
	t.Instruction(&ir.Instruction{
		Opcode: "VPDPBUSD", Operands: operands, Inputs: operands, Outputs: operands[2:], ISA: []string{"VNNI"},
	})
}

// pairSteps adds them up in 16 bits first, which hold the sums of eight columns.
func (t *target) pairSteps(tokens int, weight func(four, v int) operand.Mem, x func(token, four int) operand.Mem, ones reg.VecVirtual, sums []reg.VecVirtual) {
	const fours = byteStep / 4
	first, second, products, pairs := t.vec(), t.vec(), t.vec(), t.vec()
	for i := range tokens {
		for four := 0; four < fours; four += 2 {
			t.VPBROADCASTD(x(i, four), first)
			t.VPBROADCASTD(x(i, four+1), second)
			for v := range 2 {
				t.VPMADDUBSW(weight(four, v), first, pairs)
				t.VPMADDUBSW(weight(four+1, v), second, products)
				t.VPADDW(products, pairs, pairs)
				t.VPMADDWD(ones, pairs, pairs)
				t.VPADDD(pairs, sums[2*i+v], sums[2*i+v])
			}
		}
	}
}

// rotate writes the function that rotates blocks of activations: first the butterflies
// of values at least 16 apart, then those within 16.
func (t *target) rotate() {
	const rows = turnColumns / 16
	t.begin("rotate", "(dst, x []float32)")
	dst, x, blocks := t.base("dst"), t.base("x"), t.length("x")
	t.SHRQ(operand.U8(7), blocks)
	signs := map[int]operand.Mem{}
	for half := t.lanes / 2; half > 0; half /= 2 {
		words := make([]uint32, t.lanes)
		for i := range words {
			words[i] = math.Float32bits(1)
			if i&half != 0 {
				words[i] = math.Float32bits(-1)
			}
		}
		signs[half] = t.table(fmt.Sprintf("signs_%d", half), words)
	}
	flips := make([][2]operand.Mem, t.parts())
	for part := range flips {
		for other := range 2 {
			words := make([]uint32, t.lanes)
			for i := range words {
				at := part*t.lanes + i
				if (at&(at>>1)^at>>2&(at>>3)^other)&1 != 0 {
					words[i] = signBit
				}
			}
			flips[part][other] = t.table(fmt.Sprintf("flips_%d_%d", part, other), words)
		}
	}
	t.times("block", blocks, func() {
		for part := range t.parts() {
			v := t.vecs(rows)
			for i, to := range v {
				t.VMOVUPS(at(x, 64*i+part*t.size()), to)
				t.VXORPS(flips[part][i&(i>>1)&1], to, to)
			}
			for half := rows / 2; half > 0; half /= 2 {
				for i := range v {
					if i&half == 0 {
						t.butterfly(v[i], v[i+half])
					}
				}
			}
			for i, from := range v {
				t.VMOVUPS(from, at(dst, 64*i+part*t.size()))
			}
		}
		for i := range rows {
			v := t.vecs(t.parts())
			for part, to := range v {
				t.VMOVUPS(at(dst, 64*i+part*t.size()), to)
			}
			if len(v) == 2 {
				t.butterfly(v[0], v[1])
			}
			for half := t.lanes / 2; half > 0; half /= 2 {
				for _, a := range v {
					other := t.vec()
					t.apart(half, a, other)
					t.VFMADD132PS(signs[half], other, a)
				}
			}
			for part, from := range v {
				t.VMOVUPS(from, at(dst, 64*i+part*t.size()))
			}
		}
		t.ADDQ(operand.U32(4*turnColumns), x)
		t.ADDQ(operand.U32(4*turnColumns), dst)
	})
	t.end()
}

// butterfly sets a and b to their sum and difference.
func (t *target) butterfly(a, b reg.VecVirtual) {
	difference := t.vec()
	t.VSUBPS(b, a, difference)
	t.VADDPS(b, a, a)
	t.VMOVAPS(difference, b)
}

// apart swaps the lanes that are so far apart.
func (t *target) apart(half int, from, to reg.VecVirtual) {
	switch {
	case half == 8:
		t.VSHUFF32X4(operand.U8(0x4e), from, from, to)
	case half == 4 && t.wide():
		t.VSHUFF32X4(operand.U8(0xb1), from, from, to)
	case half == 4:
		t.VPERM2F128(operand.U8(1), from, from, to)
	case half == 2:
		t.VPERMILPS(operand.U8(0x4e), from, to)
	default:
		t.VPERMILPS(operand.U8(0xb1), from, to)
	}
}

// roundBytes writes the function that turns rotated activations into bytes. Vectors of
// eight serve all levels.
func (t *target) roundBytes() {
	const (
		maxByte  = 63
		zeroByte = 64
		quietNaN = 0x7fc00000
		infinity = 0xff << 23
	)
	smallest := math.Float32bits(0x1p-100)
	order := t.table("packed", []uint32{0, 4, 1, 5, 2, 6, 3, 7})
	t.begin("roundBytes", "(dst []uint32, x []float32)")
	dst, x, blocks := t.base("dst"), t.base("x"), t.length("x")
	t.SHRQ(operand.U8(6), blocks)
	t.times("block", blocks, func() {
		largest, mask := t.vecs(4), t.vec()
		t.VMOVUPS(t.bits(signBit-1), mask)
		for i := range byteColumns / 8 {
			if i < len(largest) {
				t.VPAND(at(x, 32*i), mask, largest[i])
				continue
			}
			magnitude := t.vec()
			t.VPAND(at(x, 32*i), mask, magnitude)
			t.VPMAXSD(magnitude, largest[i%4], largest[i%4])
		}
		t.VPMAXSD(largest[1], largest[0], largest[0])
		t.VPMAXSD(largest[3], largest[2], largest[2])
		t.VPMAXSD(largest[2], largest[0], largest[0])
		low := t.fold(largest[0], func(a, b reg.VecVirtual) { t.VPMAXSD(a, b, b) })
		bits := t.GP32()
		t.VMOVD(low, bits)

		blank, special, done := t.label("blank"), t.label("special"), t.label("done")
		mark := t.GP32()
		t.XORL(mark, mark)
		t.CMPL(bits, operand.U32(smallest))
		t.JLT(operand.LabelRef(blank))
		t.CMPL(bits, operand.U32(infinity))
		t.JGE(operand.LabelRef(special))

		factor, scale, limit := t.XMM(), t.XMM(), t.XMM()
		t.VMOVSS(t.float(maxByte), limit)
		t.VDIVSS(low, limit, factor)
		t.VDIVSS(limit, low, scale)
		t.VMOVSS(scale, at(dst, 0))
		inverse, zero, places := t.vec(), t.vec(), t.vec()
		t.VBROADCASTSS(factor, inverse)
		t.VMOVUPS(t.bits(zeroByte*0x01010101), zero)
		t.VMOVUPS(order, places)
		for i := 0; i < byteColumns; i += 32 {
			v := t.vecs(4)
			for j, to := range v {
				t.VMULPS(at(x, 4*i+32*j), inverse, to)
				t.VCVTPS2DQ(to, to)
			}
			t.VPACKSSDW(v[1], v[0], v[0])
			t.VPACKSSDW(v[3], v[2], v[2])
			t.VPACKSSWB(v[2], v[0], v[0])
			t.VPERMD(v[0], places, v[0])
			t.VPADDB(zero, v[0], v[0])
			t.VMOVDQU(v[0], at(dst, 4+i))
		}
		t.JMP(operand.LabelRef(done))

		t.Label(special)
		t.MOVL(operand.U32(quietNaN), mark)
		t.Label(blank)
		none := t.vec()
		t.VMOVUPS(t.bits(zeroByte*0x01010101), none)
		for i := 0; i < byteColumns; i += 32 {
			t.VMOVDQU(none, at(dst, 4+i))
		}
		t.MOVL(mark, at(dst, 0))
		t.Label(done)
		t.ADDQ(operand.U32(byteInput), dst)
		t.ADDQ(operand.U32(4*byteColumns), x)
	})
	t.end()
}
