package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// quantizers writes the functions that turn activations into integers, as
// quantize.go of package kernel describes. Vectors of eight serve all levels.
func (t *target) quantizers() {
	if t.isa.name != avx2.name {
		return
	}
	t.quantize("quantize", 127*256, asPairs)
	t.quantize("quantizeShortPairs", 127, asPairs)
	t.quantize("quantizeShort", 127, asFours)
}

func (t *target) quantize(name string, largestInteger float32, f shape) {
	const (
		columns  = 32
		quietNaN = 0x7fc00000
		infinity = 0xff << 23
	)
	smallest := math.Float32bits(0x1p-100)
	t.begin(name, "(dst []uint32, x []float32)")
	dst, x, blocks := t.base("dst"), t.base("x"), t.length("x")
	t.SHRQ(operand.U8(5), blocks)
	t.times("block", blocks, func() {
		values, largest := t.vecs(columns/8), t.vec()
		for i, v := range values {
			t.VMOVUPS(at(x, 32*i), v)
		}
		t.VPAND(t.bits(signBit-1), values[0], largest)
		for _, v := range values[1:] {
			magnitude := t.vec()
			t.VPAND(t.bits(signBit-1), v, magnitude)
			t.VPMAXSD(magnitude, largest, largest)
		}
		low := t.fold(largest, func(a, b reg.VecVirtual) { t.VPMAXSD(a, b, b) })
		bits := t.GP32()
		t.VMOVD(low, bits)

		blank, special, done := t.label("blank"), t.label("special"), t.label("done")
		mark := t.GP32()
		t.XORL(mark, mark)
		t.CMPL(bits, operand.U32(smallest))
		t.JLT(operand.LabelRef(blank))
		t.CMPL(bits, operand.U32(infinity))
		t.JGE(operand.LabelRef(special))

		factor, scale := t.XMM(), t.XMM()
		limit := t.XMM()
		t.VMOVSS(t.float(largestInteger), limit)
		t.VDIVSS(low, limit, factor)
		t.VDIVSS(limit, low, scale)
		inverse, sum := t.vec(), t.vec()
		var halves [2]reg.VecVirtual
		t.VBROADCASTSS(factor, inverse)
		for i, v := range values {
			t.VMULPS(inverse, v, v)
			t.VCVTPS2DQ(v, v)
			if f.fours() {
				if i%2 == 1 {
					halves[i/2] = t.vec()
					t.VPADDD(v, values[i-1], halves[i/2])
				}
				continue
			}
			if i == 0 {
				t.VMOVDQU(v, sum)
			} else {
				t.VPADDD(v, sum, sum)
			}
			// The first four of eight columns are the low halves of four words.
			upper := t.XMM()
			t.VEXTRACTI128(operand.U8(1), v, upper)
			t.VPSLLD(operand.U8(16), upper, upper)
			t.VPBLENDW(operand.U8(0xaa), upper, v.AsX(), upper)
			t.VMOVDQU(upper, at(dst, 4*f.head+16*i))
		}
		var total reg.VecVirtual
		if f.fours() {
			total = t.storeFours(dst, values, halves)
		} else {
			total = t.fold(sum, func(a, b reg.VecVirtual) { t.VPADDD(a, b, b) })
		}
		t.VCVTDQ2PS(total, total)
		t.VMULSS(scale, total, total)
		t.VMOVSS(scale, at(dst, 0))
		t.VMOVSS(total, at(dst, 4))
		t.JMP(operand.LabelRef(done))

		t.Label(special)
		t.MOVL(operand.U32(quietNaN), mark)
		t.Label(blank)
		zero := t.vec()
		t.zero(zero)
		if f.fours() {
			t.VMOVUPS(zero.AsX(), at(dst, 8))
		}
		t.VMOVUPS(zero, at(dst, 4*f.head))
		if !f.fours() {
			t.VMOVUPS(zero, at(dst, 4*f.head+32))
		}
		t.MOVL(mark, at(dst, 0))
		t.MOVL(mark, at(dst, 4))
		t.Label(done)
		t.ADDQ(operand.U8(f.block()), dst)
		t.ADDQ(operand.U32(4*columns), x)
	})
	t.end()
}

// storeFours writes eight columns of each of the values as bytes, even ones before odd ones, and
// -128 times the sums of all of them and of either half. It returns the sum of all.
func (t *target) storeFours(dst reg.GPVirtual, values []reg.VecVirtual, halves [2]reg.VecVirtual) reg.VecVirtual {
	const none = 0x80808080 // picks zeros
	low := t.table("fours_low", []uint32{none&^0xffff | 0x0800, none&^0xffff | 0x0c04, none, none})
	high := t.table("fours_high", []uint32{0x0800<<16 | none&0xffff, 0x0c04<<16 | none&0xffff, none, none})
	for i, v := range values {
		upper := t.XMM()
		t.VEXTRACTI128(operand.U8(1), v, upper)
		t.VPSHUFB(low, v.AsX(), v.AsX())
		t.VPSHUFB(high, upper, upper)
		t.VPOR(upper, v.AsX(), upper)
		t.VMOVQ(upper, at(dst, 4*asFours.head+8*i))
	}
	add := func(a, b reg.VecVirtual) { t.VPADDD(a, b, b) }
	first, second := t.fold(halves[0], add), t.fold(halves[1], add)
	total := t.XMM()
	t.VPADDD(first, second, total)
	for i, sum := range []reg.VecVirtual{total, first, second} {
		starts := t.XMM()
		t.VPXOR(starts, starts, starts)
		t.VPSUBD(sum, starts, starts)
		t.VPSLLD(operand.U8(7), starts, starts)
		t.VMOVD(starts, at(dst, 4*(startAll+i)))
	}
	return total
}

// fold joins the eight lanes of a vector into the first of the result. join(a, b)
// sets b to both.
func (t *target) fold(v reg.VecVirtual, join func(a, b reg.VecVirtual)) reg.VecVirtual {
	low, other := t.XMM(), t.XMM()
	t.VEXTRACTI128(operand.U8(1), v, other)
	t.VMOVDQU(v.AsX(), low)
	join(other, low)
	t.VPSHUFD(operand.U8(0x4e), low, other)
	join(other, low)
	t.VPSHUFD(operand.U8(0xb1), low, other)
	join(other, low)
	return low
}
