package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ropes writes the rotations of position embeddings.
func (t *target) ropes() {
	t.ropeHalf()
	t.ropePairs()
}

// ropeHalf turns pairs that lie in two slices.
func (t *target) ropeHalf() {
	t.begin("ropeHalf", "(low, high, cos, sin []float32)")
	n := t.length("cos")
	low, high, cos, sin := t.base("low"), t.base("high"), t.base("cos"), t.base("sin")
	t.sweep(n, []reg.GPVirtual{low, high, cos, sin}, func(s span) {
		a, b, c, d := s.load(low), s.load(high), s.load(cos), s.load(sin)
		left, right := t.vec(), t.vec()
		t.VMULPS(d, b, left)
		t.VMULPS(c, b, right)
		t.VFMSUB231PS(c, a, left)
		t.VFMADD231PS(d, a, right)
		s.store(left, low)
		s.store(right, high)
	})
	t.end()
}

// ropePairs turns pairs of neighbours: eight or sixteen of them at a time, and
// the rest one by one.
func (t *target) ropePairs() {
	t.begin("ropePairs", "(x, cos, sin []float32)")
	n := t.length("cos")
	x, cos, sin := t.base("x"), t.base("cos"), t.base("sin")
	rest := t.GP64()
	t.MOVQ(n, rest)
	t.ANDQ(operand.U8(t.lanes-1), rest)
	t.SHRQ(operand.U8(map[int]int{8: 3, 16: 4}[t.lanes]), n)
	turn := t.interleaver()
	t.times("pairs", n, func() {
		c, s := t.vec(), t.vec()
		t.VMOVUPS(at(cos, 0), c)
		t.VMOVUPS(at(sin, 0), s)
		for i, cs := range turn(c, s) {
			m := at(x, i*t.size())
			v, odd, sc := t.vec(), t.vec(), t.vec()
			t.VMOVUPS(m, v)
			t.VMOVSHDUP(v, odd)
			t.VMOVSLDUP(v, v)
			t.VPERMILPS(operand.U8(0b10110001), cs, sc)
			t.VMULPS(sc, odd, odd)
			t.VFMADDSUB213PS(odd, cs, v)
			t.VMOVUPS(v, m)
		}
		t.ADDQ(operand.U32(2*t.size()), x)
		t.ADDQ(operand.U32(t.size()), cos)
		t.ADDQ(operand.U32(t.size()), sin)
	})
	t.times("pair", rest, func() {
		a, b, c, s, left, right := t.XMM(), t.XMM(), t.XMM(), t.XMM(), t.XMM(), t.XMM()
		t.VMOVSS(at(x, 0), a)
		t.VMOVSS(at(x, 4), b)
		t.VMOVSS(at(cos, 0), c)
		t.VMOVSS(at(sin, 0), s)
		t.VMULSS(s, b, left)
		t.VMULSS(c, b, right)
		t.VFMSUB231SS(c, a, left)
		t.VFMADD231SS(s, a, right)
		t.VMOVSS(left, at(x, 0))
		t.VMOVSS(right, at(x, 4))
		t.ADDQ(operand.U32(8), x)
		t.ADDQ(operand.U32(4), cos)
		t.ADDQ(operand.U32(4), sin)
	})
	t.end()
}

// interleaver returns the function that makes c0 s0 c1 s1 … of c0 c1 … and s0 s1 …, in two
// vectors.
func (t *target) interleaver() func(c, s reg.VecVirtual) []reg.VecVirtual {
	if !t.wide() {
		return func(c, s reg.VecVirtual) []reg.VecVirtual {
			low, high, left, right := t.YMM(), t.YMM(), t.YMM(), t.YMM()
			t.VUNPCKLPS(s, c, low)
			t.VUNPCKHPS(s, c, high)
			t.VPERM2F128(operand.U8(0x20), high, low, left)
			t.VPERM2F128(operand.U8(0x31), high, low, right)
			return []reg.VecVirtual{left, right}
		}
	}
	var order [2][]uint32
	for i := range uint32(8) {
		order[0] = append(order[0], i, i+16)
		order[1] = append(order[1], i+8, i+24)
	}
	first, second := t.vec(), t.vec()
	t.VMOVDQU32(t.table("interleaveLow", order[0]), first)
	t.VMOVDQU32(t.table("interleaveHigh", order[1]), second)
	return func(c, s reg.VecVirtual) []reg.VecVirtual {
		left, right := t.vec(), t.vec()
		t.VMOVAPS(c, left)
		t.VMOVAPS(c, right)
		t.VPERMT2PS(s, first, left)
		t.VPERMT2PS(s, second, right)
		return []reg.VecVirtual{left, right}
	}
}
