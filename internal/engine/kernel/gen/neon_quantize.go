package main

import "math"

// quantizers writes the functions that turn activations into integers, as quantize.go of
// package kernel describes.
func (a *arm) quantizers() {
	a.quantize("quantize", 127*256, asPairs)
	a.quantize("quantizeShortPlanes", 127, asPairs)
	a.quantize("quantizeShort", 127, asFours)
}

func (a *arm) quantize(name string, largestInteger float32, f shape) {
	const (
		columns  = 32
		quietNaN = 0x7fc00000
		infinity = 0xff << 23
	)
	smallest := math.Float32bits(0x1p-100)
	a.function(name, "(dst []uint32, x []float32)", func() {
		a.useConstants()
		dst, x, blocks, bits := a.base("dst"), a.base("x"), a.length("x"), a.gp()
		a.op("LSR $5, %v", blocks)
		limit := a.vec()
		a.float(largestInteger, limit)
		a.times("block", blocks, func() {
			values, largest, other := a.vecs(columns/4), a.vec(), a.vec()
			for i, v := range values {
				a.load(x, 16*i, v)
				if i == 0 {
					a.to(fabs, largest, v)
					continue
				}
				a.to(fabs, other, v)
				a.do(umax, largest, largest, other)
			}
			a.to(umaxv, largest, largest)
			a.op("FMOVS F%d, %v", int(largest), bits)

			blank, special, done := a.label("blank"), a.label("special"), a.label("done")
			a.op("MOVD $0x%08x, %v", infinity, spare)
			a.op("CMPW %v, %v", spare, bits)
			a.op("BHS %s", special)
			a.op("MOVD $0x%08x, %v", smallest, spare)
			a.op("CMPW %v, %v", spare, bits)
			a.op("MOVD $0, %v", bits)
			a.op("BLO %s", blank)

			inverse, scale := a.vec(), a.vec()
			halves := a.vecs(2)
			a.op("FDIVS F%d, F%d, F%d", int(largest), int(limit), int(inverse))
			a.op("FDIVS F%d, F%d, F%d", int(limit), int(largest), int(scale))
			for i, v := range values {
				a.doLane(fmulLane, v, v, inverse, 0)
				a.to(fcvtns, v, v)
				if half := halves[i/4]; i%4 == 0 {
					a.move(v, half)
				} else {
					a.op("VADD %v.S4, %v.S4, %v.S4", v, half, half)
				}
			}
			for i := 0; i < len(values); i += 2 {
				if f.fours() {
					a.lowBytes(values[i], values[i+1])
					a.op("FMOVD F%d, %d(%v)", int(values[i]), 4*f.head+4*i, dst)
				} else {
					a.planes(values[i], values[i+1])
					a.store(values[i], dst, 4*f.head+8*i)
				}
			}
			sum := values[0]
			a.op("VADD %v.S4, %v.S4, %v.S4", halves[0], halves[1], sum)
			for i, v := range []vreg{sum, halves[0], halves[1]} {
				if i > 0 && !f.fours() {
					break
				}
				a.op("VADDV %v.S4, %v", v, v)
				if f.fours() {
					a.op("FMOVS F%d, %v", int(v), bits)
					a.op("NEGW %v<<7, %v", bits, bits)
					a.op("MOVW %v, %d(%v)", bits, 4*(startAll+i), dst)
				}
			}
			a.to(scvtf, sum, sum)
			a.op("FMULS F%d, F%d, F%d", int(scale), int(sum), int(sum))
			a.storeOne(scale, dst, 0)
			a.storeOne(sum, dst, 4)
			a.op("B %s", done)

			a.mark(special)
			a.op("MOVD $0x%08x, %v", quietNaN, bits)
			a.mark(blank)
			a.zero(values[0])
			for i := range (f.block() - 8) / 16 {
				a.store(values[0], dst, 8+16*i)
			}
			a.store(values[0], dst, f.block()-16)
			a.op("MOVW %v, (%v)", bits, dst)
			a.op("MOVW %v, 4(%v)", bits, dst)
			a.mark(done)
			a.advance(f.block(), dst)
			a.advance(4*columns, x)
		})
	})
}

// lowBytes makes the low bytes of eight integers, which lie in two vectors, in the first: those of
// the columns 0, 2, 4, 6, 1, 3, 5, 7.
func (a *arm) lowBytes(first, second vreg) {
	a.scope(func() {
		odd := a.vec()
		a.op("VUZP2 %v.S4, %v.S4, %v.S4", second, first, odd)
		a.op("VUZP1 %v.S4, %v.S4, %v.S4", second, first, first)
		a.to(xtn16, first, first)
		a.to(xtn216, first, odd)
		a.to(xtn8, first, first)
	})
}

// planes makes the bytes of eight integers, which lie in two vectors, in the first: the
// high ones of the columns 0, 2, 4, 6, 1, 3, 5, 7, then the low ones.
func (a *arm) planes(first, second vreg) {
	a.scope(func() {
		halves, high, odd := a.vec(), a.vec(), a.vec()
		a.op("VUZP2 %v.S4, %v.S4, %v.S4", second, first, odd)
		a.op("VUZP1 %v.S4, %v.S4, %v.S4", second, first, first)
		a.to(xtn16, halves, first)
		a.to(xtn216, halves, odd)
		a.shifted(srshrh, high, halves, 8)
		a.to(xtn8, first, high)
		a.to(xtn28, first, halves)
	})
}
