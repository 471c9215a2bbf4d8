package kernel

import "math"

// fma32 returns a*b+c rounded once to float32, as the hardware's fused instruction does.
//
// The product of two float32 is exact in float64, so s carries one rounding,
// to 53 bits. Rounding s to float32 a second time differs from rounding the
// exact sum only if s lies halfway between two float32, or below the normal
// range, where halfway points lie elsewhere.
func fma32(a, b, c float32) float32 {
	s := float64(a)*float64(b) + float64(c)
	bits := math.Float64bits(s)
	if bits&(1<<29-1) == 1<<28 || bits<<1 < minNormal32<<1 {
		return fmaOdd(a, b, c)
	}
	return float32(s)
}

// minNormal32 is 2^-126 as float64 bits.
const minNormal32 = (1023 - 126) << 52

// fmaOdd rounds the sum to odd before it rounds to float32: when the addition
// is inexact, the last bit of its result is set. A value of p+2 or more bits
// rounded to odd and then to p bits to nearest is the exact value rounded once
// (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008,
// theorem 1), here for p = 24 and below.
func fmaOdd(a, b, c float32) float32 {
	p, z := float64(a)*float64(b), float64(c)
	s := p + z
	virtual := s - p
	lost := (p - (s - virtual)) + (z - virtual)
	bits := math.Float64bits(s)
	if lost != 0 && bits&1 == 0 {
		if (lost > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
	}
	return float32(math.Float64frombits(bits))
}
