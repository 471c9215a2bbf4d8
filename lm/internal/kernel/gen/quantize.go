package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// quantize writes the function that turns activations into integers, as
// quantize.go of package kernel describes. Vectors of eight serve all levels.
func (t *target) quantize() {
	if t.isa.name != avx2.name {
		return
	}
	const (
		columns  = 32
		most     = 127 * 256
		quietNaN = 0x7fc00000
		infinity = 0xff << 23
	)
	least := math.Float32bits(0x1p-100)
	t.begin("quantize", "(dst []uint32, x []float32)")
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
		t.CMPL(bits, operand.U32(least))
		t.JLT(operand.LabelRef(blank))
		t.CMPL(bits, operand.U32(infinity))
		t.JGE(operand.LabelRef(special))

		factor, scale := t.XMM(), t.XMM()
		limit := t.XMM()
		t.VMOVSS(t.float(most), limit)
		t.VDIVSS(low, limit, factor)
		t.VDIVSS(limit, low, scale)
		inverse, sum := t.vec(), t.vec()
		t.VBROADCASTSS(factor, inverse)
		for i, v := range values {
			t.VMULPS(inverse, v, v)
			t.VCVTPS2DQ(v, v)
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
			t.VMOVDQU(upper, at(dst, 8+16*i))
		}
		total := t.fold(sum, func(a, b reg.VecVirtual) { t.VPADDD(a, b, b) })
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
		t.VMOVUPS(zero, at(dst, 8))
		t.VMOVUPS(zero, at(dst, 40))
		t.MOVL(mark, at(dst, 0))
		t.MOVL(mark, at(dst, 4))
		t.Label(done)
		t.ADDQ(operand.U8(blockBytes), dst)
		t.ADDQ(operand.U32(4*columns), x)
	})
	t.end()
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
