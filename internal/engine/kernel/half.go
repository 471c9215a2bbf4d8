package kernel

import "math"

// half returns the float32 with the value of an IEEE 754 binary16.
func half(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent := uint32(h>>10) & 0x1f
	mantissa := uint32(h & 0x3ff)
	switch exponent {
	case 0:
		// Subnormal: mantissa * 2^-24, exact.
		v := float32(mantissa) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 0x1f:
		bits := sign | 0x7f800000 | mantissa<<13
		if mantissa != 0 {
			bits |= 0x00400000 // quiet, as the hardware does
		}
		return math.Float32frombits(bits)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | mantissa<<13)
}

// bfloat returns the float32 with the value of a bfloat16.
func bfloat(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
