package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The constants are those of elementary.go of package kernel, where they are
// explained; its tests hold the bits of all levels equal.
const (
	expLow   = -87.33654
	expHigh  = 88.72
	log2e    = 1.44269504088896341
	ln2High  = 0.693359375
	ln2Low   = -0.000212194440055
	roundBig = 3 << 22

	erfSplit = 1
	erfEnd   = 4
	sqrtHalf = 0.70710678118654752

	geluLine = -1.5957691216057308
	geluCube = -0.071354816272600248

	signBit = 1 << 31
)

// Coefficients, of the highest power first.
var (
	expPowers = []float32{0.00138131432489, 0.00836941886528, 0.0416684568104, 0.166665147912, 0.499999930507, 1, 1}
	erfSmall  = []float32{7.88911757926e-5, -0.000802084071355, 0.00518953527781, -0.0268544445625, 0.112836001758, -0.37612627136, 1.12837916591}
	erfLarge  = []float32{-0.00019150361237, 0.00299953591652, -0.0220519796877, 0.103566857684, 0.637600075425, 1.12742606569, 0.000256450356608}
)

// Predicates of VCMPPS.
const (
	lessThan    = 1
	notLessThan = 5 // true for NaN
)

// polynomial evaluates a polynomial by Horner's rule.
func (t *target) polynomial(coefficients []float32, x reg.VecVirtual) reg.VecVirtual {
	p := t.vec()
	t.VMOVUPS(t.float(coefficients[0]), p)
	for _, c := range coefficients[1:] {
		t.VFMADD213PS(t.float(c), x, p)
	}
	return p
}

// atMost limits x; NaN stays.
func (t *target) atMost(limit float32, x reg.VecVirtual) {
	bound := t.vec()
	t.VMOVUPS(t.float(limit), bound)
	t.VMINPS(x, bound, x)
}

// exp gives e^x and destroys x.
func (t *target) exp(x reg.VecVirtual) reg.VecVirtual {
	keep := t.compare(notLessThan, x, t.float(expLow))
	t.atMost(expHigh, x)
	shifted, n := t.vec(), t.vec()
	t.VMOVUPS(t.float(roundBig), shifted)
	t.VFMADD231PS(t.float(log2e), x, shifted)
	t.VSUBPS(t.float(roundBig), shifted, n)
	t.VFNMADD231PS(t.float(ln2High), n, x)
	t.VFNMADD231PS(t.float(ln2Low), n, x)
	p := t.polynomial(expPowers, x)
	t.VPSLLD(operand.U8(23), shifted, shifted)
	t.VPADDD(shifted, p, p)
	keep(p)
	return p
}

// compare compares the lanes of x with a constant, and gives a function that
// clears the lanes of a vector where that was false.
func (t *target) compare(predicate uint8, x reg.VecVirtual, with operand.Mem) func(v reg.VecVirtual) {
	if t.wide() {
		k := t.K()
		t.VCMPPS(operand.U8(predicate), with, x, k)
		return func(v reg.VecVirtual) { t.VMOVAPS_Z(v, k, v) }
	}
	mask := t.vec()
	t.VCMPPS(operand.U8(predicate), with, x, mask)
	return func(v reg.VecVirtual) { t.VANDPS(mask, v, v) }
}

// erf returns the error function and destroys x.
func (t *target) erf(x reg.VecVirtual) reg.VecVirtual {
	sign := t.vec()
	t.VANDPS(t.bits(signBit), x, sign)
	t.VANDPS(t.bits(signBit-1), x, x)
	t.atMost(erfEnd, x)

	square := t.vec()
	t.VMULPS(x, x, square)
	small := t.polynomial(erfSmall, square)
	t.VMULPS(x, small, small)

	exponent := t.polynomial(erfLarge, x)
	t.VXORPS(t.bits(signBit), exponent, exponent)
	tail := t.exp(exponent)
	large := t.vec()
	t.VMOVUPS(t.float(1), large)
	t.VSUBPS(tail, large, large)

	value := t.vec()
	if t.wide() {
		k := t.K()
		t.VCMPPS(operand.U8(lessThan), t.float(erfSplit), x, k)
		t.VBLENDMPS(small, large, k, value)
	} else {
		mask := t.vec()
		t.VCMPPS(operand.U8(lessThan), t.float(erfSplit), x, mask)
		t.VBLENDVPS(mask, small, large, value)
	}
	t.VORPS(sign, value, value)
	return value
}

var negativeInfinity = float32(math.Inf(-1))
