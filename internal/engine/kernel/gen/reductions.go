package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// reductions writes the functions that give one number for a slice. Lane j of
// the vectors together is chain j of 16.
func (t *target) reductions() {
	t.begin("sum", "(x []float32) float32")
	x := t.base("x")
	chains := t.zeros()
	t.sweep(t.length("x"), []reg.GPVirtual{x}, func(s span) {
		t.VADDPS(s.load(x), chains[s.part], chains[s.part])
	})
	t.giveSum(chains)

	t.begin("sumSquares", "(x []float32, center float32) float32")
	x = t.base("x")
	center, chains := t.splat("center"), t.zeros()
	t.sweep(t.length("x"), []reg.GPVirtual{x}, func(s span) {
		v := s.load(x)
		t.VSUBPS(center, v, v)
		s.clear(v)
		t.VFMADD231PS(v, v, chains[s.part])
	})
	t.giveSum(chains)

	t.begin("largest", "(x []float32) float32")
	x = t.base("x")
	chains = t.vecs(t.parts())
	for _, v := range chains {
		t.VMOVUPS(t.float(negativeInfinity), v)
	}
	t.sweep(t.length("x"), []reg.GPVirtual{x}, func(s span) { s.raise(x, chains[s.part]) })
	t.give(chains, func(a, b, dst reg.VecVirtual) { t.VMAXPS(a, b, dst) })

	t.begin("expSum", "(x []float32, scale, shift float32) float32")
	x = t.base("x")
	scale, shift, chains := t.splat("scale"), t.splat("shift"), t.zeros()
	t.sweep(t.length("x"), []reg.GPVirtual{x}, func(s span) {
		v := s.load(x)
		t.VFMADD213PS(shift, scale, v)
		e := t.exp(v)
		s.store(e, x)
		s.clear(e)
		t.VADDPS(e, chains[s.part], chains[s.part])
	})
	t.giveSum(chains)

	t.sumExp()
}

// raise sets the lanes to the larger one of their value and the element's.
func (s span) raise(x reg.GPVirtual, lanes reg.VecVirtual) {
	v := s.load(x)
	switch {
	case !s.tail:
		s.VMAXPS(v, lanes, lanes)
	case s.wide():
		s.VMAXPS(v, lanes, s.lanesK, lanes)
	default:
		s.VBLENDVPS(s.lanesV, v, lanes, v)
		s.VMAXPS(v, lanes, lanes)
	}
}

// zeros is 16 chains at zero.
func (t *target) zeros() []reg.VecVirtual {
	v := t.vecs(t.parts())
	for _, r := range v {
		t.zero(r)
	}
	return v
}

func (t *target) giveSum(chains []reg.VecVirtual) {
	t.give(chains, func(a, b, dst reg.VecVirtual) { t.VADDPS(a, b, dst) })
}

// give joins the chains in halves, 16, 8, 4, 2, and returns the last one.
func (t *target) give(chains []reg.VecVirtual, join func(a, b, dst reg.VecVirtual)) {
	eight := chains[0].AsY().(reg.VecVirtual)
	other := t.YMM()
	if t.wide() {
		t.VEXTRACTF64X4(operand.U8(1), chains[0], other)
	} else {
		other = chains[1]
	}
	join(other, eight, eight)
	four, upper := eight.AsX().(reg.VecVirtual), t.XMM()
	t.VEXTRACTF128(operand.U8(1), eight, upper)
	join(upper, four, four)
	t.VPERMILPS(operand.U8(0b1110), four, upper)
	join(upper, four, four)
	t.VPERMILPS(operand.U8(0b01), four, upper)
	join(upper, four, four)
	t.Store(four, t.ReturnIndex(0))
	t.end()
}

// sumExp writes the sum of exponentials in float64.
func (t *target) sumExp() {
	t.begin("sumExp", "(x []float32, shift float32) float64")
	x, shift := t.base("x"), t.splat("shift")
	// Two vectors of float64 for every vector of float32.
	chains := append(t.zeros(), t.zeros()...)
	t.sweep(t.length("x"), []reg.GPVirtual{x}, func(s span) {
		v := s.load(x)
		t.VADDPS(shift, v, v)
		e := t.exp(v)
		s.clear(e)
		low, high := t.vec(), t.vec()
		if t.wide() {
			upper := t.YMM()
			t.VCVTPS2PD(e.AsY(), low)
			t.VEXTRACTF32X8(operand.U8(1), e, upper)
			t.VCVTPS2PD(upper, high)
		} else {
			upper := t.XMM()
			t.VCVTPS2PD(e.AsX(), low)
			t.VEXTRACTF128(operand.U8(1), e, upper)
			t.VCVTPS2PD(upper, high)
		}
		t.VADDPD(low, chains[2*s.part], chains[2*s.part])
		t.VADDPD(high, chains[2*s.part+1], chains[2*s.part+1])
	})
	four := chains[0].AsY().(reg.VecVirtual)
	if t.wide() {
		t.VADDPD(chains[1], chains[0], chains[0])
		upper := t.YMM()
		t.VEXTRACTF64X4(operand.U8(1), chains[0], upper)
		t.VADDPD(upper, four, four)
	} else {
		t.VADDPD(chains[2], chains[0], chains[0])
		t.VADDPD(chains[3], chains[1], chains[1])
		t.VADDPD(chains[1], chains[0], chains[0])
	}
	two, upper := four.AsX().(reg.VecVirtual), t.XMM()
	t.VEXTRACTF128(operand.U8(1), four, upper)
	t.VADDPD(upper, two, two)
	t.VPERMILPD(operand.U8(1), two, upper)
	t.VADDPD(upper, two, two)
	t.Store(two, t.ReturnIndex(0))
	t.end()
}
