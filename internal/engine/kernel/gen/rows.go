package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// span is 16 elements of the slices that a row function works on, or the last
// fewer ones: a vector, or two of half the width.
type span struct {
	*target
	part   int // which of the two
	tail   bool
	lanesK reg.OpmaskVirtual // lanes of a tail where vectors are wide
	lanesV reg.VecVirtual    // and where they are not
}

// sweep calls the body for 16 elements at a time of the slices at the
// pointers, then for the rest of them. n, the length, is destroyed.
func (t *target) sweep(n reg.GPVirtual, pointers []reg.GPVirtual, body func(s span)) {
	rest := t.GP64()
	t.MOVQ(n, rest)
	t.ANDQ(operand.U8(15), rest)
	t.SHRQ(operand.U8(4), n)
	t.times("sixteen", n, func() {
		for part := range t.parts() {
			body(span{target: t, part: part})
		}
		for _, p := range pointers {
			t.ADDQ(operand.U32(64), p)
		}
	})
	done := t.label("done")
	t.TESTQ(rest, rest)
	t.JZ(operand.LabelRef(done))
	if t.wide() {
		k := t.K()
		count, bits := reg.RCX, t.GP32()
		t.MOVQ(rest, count)
		t.MOVL(operand.U32(1), bits)
		t.SHLL(reg.CL, bits)
		t.DECL(bits)
		t.KMOVW(bits, k)
		body(span{target: t, tail: true, lanesK: k})
	} else {
		// Sixteen set lanes, then sixteen clear ones: from 16-rest on, the
		// masks of the two vectors.
		words := make([]uint32, 32)
		for i := range 16 {
			words[i] = 1<<32 - 1
		}
		if _, ok := t.tables["tail"]; !ok {
			t.tables["tail"] = t.table("tail", words)
		}
		mask := t.GP64()
		t.LEAQ(t.tables["tail"], mask)
		t.NEGQ(rest)
		for part := range t.parts() {
			v := t.vec()
			t.VMOVUPS(operand.Mem{Base: mask, Index: rest, Scale: 4, Disp: 64 + 32*part}, v)
			body(span{target: t, part: part, tail: true, lanesV: v})
		}
	}
	t.Label(done)
}

// load reads the elements at a pointer; lanes beyond the end are zero.
func (s span) load(p reg.GPVirtual) reg.VecVirtual {
	v, m := s.vec(), at(p, s.part*s.size())
	switch {
	case !s.tail:
		s.VMOVUPS(m, v)
	case s.wide():
		s.VMOVUPS_Z(m, s.lanesK, v)
	default:
		s.VMASKMOVPS(m, s.lanesV, v)
	}
	return v
}

// store writes the elements at a pointer, none beyond the end.
func (s span) store(v reg.VecVirtual, p reg.GPVirtual) {
	m := at(p, s.part*s.size())
	switch {
	case !s.tail:
		s.VMOVUPS(v, m)
	case s.wide():
		s.VMOVUPS(v, s.lanesK, m)
	default:
		s.VMASKMOVPS(v, s.lanesV, m)
	}
}

// clear makes the lanes beyond the end zero.
func (s span) clear(v reg.VecVirtual) {
	switch {
	case !s.tail:
	case s.wide():
		s.VMOVAPS_Z(v, s.lanesK, v)
	default:
		s.VANDPS(s.lanesV, v, v)
	}
}

// rows writes the row functions.
func (t *target) rows() {
	t.begin("add", "(dst, x []float32)")
	t.each([]string{"dst", "x"}, func(s span, v []reg.VecVirtual) reg.VecVirtual {
		t.VADDPS(v[1], v[0], v[0])
		return v[0]
	})

	t.begin("scale", "(dst, x []float32, a float32)")
	a := t.splat("a")
	t.each([]string{"dst", "x"}, func(s span, v []reg.VecVirtual) reg.VecVirtual {
		t.VMULPS(a, v[1], v[1])
		return v[1]
	})

	t.begin("scaleMul", "(dst, x, weight []float32, a float32)")
	c := t.splat("a")
	t.each([]string{"dst", "x", "weight"}, func(s span, v []reg.VecVirtual) reg.VecVirtual {
		t.VMULPS(c, v[1], v[1])
		t.VMULPS(v[2], v[1], v[1])
		return v[1]
	})

	t.begin("normalize", "(dst, x, weight, bias []float32, mean, inverse float32)")
	mean, inverse := t.splat("mean"), t.splat("inverse")
	t.each([]string{"dst", "x", "weight", "bias"}, func(s span, v []reg.VecVirtual) reg.VecVirtual {
		t.VSUBPS(mean, v[1], v[1])
		t.VMULPS(inverse, v[1], v[1])
		t.VFMADD213PS(v[3], v[2], v[1])
		return v[1]
	})

	t.begin("siluMul", "(dst, gate, up []float32)")
	t.each([]string{"dst", "gate", "up"}, func(s span, v []reg.VecVirtual) reg.VecVirtual {
		x := t.vec()
		t.VXORPS(t.bits(signBit), v[1], x)
		e := t.exp(x)
		t.VADDPS(t.float(1), e, e)
		t.VDIVPS(e, v[1], v[1])
		t.VMULPS(v[2], v[1], v[1])
		return v[1]
	})

	t.begin("gelu", "(dst, x []float32)")
	t.each([]string{"dst", "x"}, func(s span, v []reg.VecVirtual) reg.VecVirtual {
		half := t.vec()
		t.VMULPS(t.float(0.5), v[1], half)
		t.VMULPS(t.float(sqrtHalf), v[1], v[1])
		e := t.erf(v[1])
		t.VFMADD213PS(half, half, e)
		return e
	})

	t.begin("geluMul", "(dst, gate, up []float32)")
	t.each([]string{"dst", "gate", "up"}, func(s span, v []reg.VecVirtual) reg.VecVirtual {
		square, inner := t.vec(), t.vec()
		t.VMULPS(v[1], v[1], square)
		t.VMOVUPS(t.float(geluLine), inner)
		t.VFMADD231PS(t.float(geluCube), square, inner)
		t.VMULPS(v[1], inner, inner)
		e := t.exp(inner)
		t.VADDPS(t.float(1), e, e)
		t.VDIVPS(e, v[1], v[1])
		t.VMULPS(v[2], v[1], v[1])
		return v[1]
	})

	t.reductions()
}

// each applies a function to the elements of slices, named by parameter, and
// stores what it gives in the first.
func (t *target) each(names []string, function func(s span, v []reg.VecVirtual) reg.VecVirtual) {
	n := t.length(names[0])
	var pointers []reg.GPVirtual
	for _, name := range names {
		pointers = append(pointers, t.base(name))
	}
	t.sweep(n, pointers, func(s span) {
		var v []reg.VecVirtual
		for _, p := range pointers {
			v = append(v, s.load(p))
		}
		s.store(function(s, v), pointers[0])
	})
	t.end()
}
