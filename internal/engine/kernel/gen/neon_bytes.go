package main

import "math"

// Products in bytes on arm64. Four rows by four columns of weights are a vector, and 16
// activations another.

const (
	// tileBytesVectors is the number of vectors of rows that a tile works on at a time.
	tileBytesVectors = 4
	// inputColumns is the number of columns of a vector of inputs.
	inputColumns = 16
)

// fourPlain adds the products of four columns without an instruction for dot products.
func fourPlain(a *arm, sum, weights, x vreg, four int) {
	a.scope(func() {
		same, low, high := a.vec(), a.vec(), a.vec()
		a.op("VDUP %v.S[%d], %v.S4", x, four, same)
		a.do(smull, low, weights, same)
		a.do(smull2, high, weights, same)
		a.to(saddlp, low, low)
		a.to(saddlp, high, high)
		a.do(addp, low, low, high)
		a.op("VADD %v.S4, %v.S4, %v.S4", low, sum, sum)
	})
}

// fourDot uses SDOT.
func fourDot(a *arm, sum, weights, x vreg, four int) { a.doLane(sdotLane, sum, weights, x, four) }

// bytes writes the product of a level, and what turns activations into bytes for all.
func (a *arm) bytes(l byteLevel) {
	a.function("tileBytes", "(tokens, blocks int, x []uint32, xStride int, w []byte, bias, dst []float32, dstStride int, add bool)", func() {
		a.choose("tokens", neonTileSizes, func(tokens int) { a.tileBytes(l, tokens) })
	})
	if l.base == "" {
		a.rotate()
		a.roundBytes()
	}
}

// tileBytes multiplies blocks by the inputs of tokens. The chains stay in dst.
func (a *arm) tileBytes(l byteLevel, tokens int) {
	const vectors = tileBytesVectors
	w, bias, dst, add := a.base("w"), a.base("bias"), a.base("dst"), a.gp()
	a.op("MOVBU %s, %v", a.param("add"), add)
	a.repeat("rows", panel/4/vectors, func() {
		start := a.label("start")
		a.op("CBNZ %v, %s", add, start)
		a.scope(func() {
			begin := a.vecs(vectors)
			for v, to := range begin {
				a.load(bias, 16*v, to)
			}
			a.eachResult("dstStride", tokens, vectors, dst, func(i int, p greg, offset int) { a.store(begin[i%vectors], p, offset) })
		})
		a.mark(start)
		x, block := a.strided("x", "xStride", tokens), a.gp()
		a.op("MOVD %v, %v", w, block)
		sums, scales := a.vecs(tokens*vectors), a.vecs(vectors)
		a.times("block", a.integer("blocks"), func() {
			for i, s := range sums {
				a.load(block, 16*(i%vectors), s)
			}
			for v, s := range scales {
				a.load(block, byteHead/2+16*v, s)
			}
			a.repeat("columns", byteColumns/inputColumns, func() {
				inputs, weights := a.vecs(tokens), a.vec()
				for i, p := range x {
					a.load(p, 4, inputs[i])
				}
				for four := range inputColumns / 4 {
					for v := range vectors {
						a.load(block, byteHead+4*panel*four+16*v, weights)
						for i, input := range inputs {
							l.four(a, sums[i*vectors+v], weights, input, four)
						}
					}
				}
				a.advance(inputColumns, x...)
				a.advance(inputColumns*panel, block)
			})
			input, chain := a.vec(), a.vec()
			a.eachResult("dstStride", tokens, vectors, dst, func(i int, p greg, offset int) {
				if i%vectors == 0 {
					a.loadOne(x[i/vectors], -byteColumns, input)
				}
				a.to(scvtf, sums[i], sums[i])
				a.doLane(fmulLane, sums[i], sums[i], input, 0)
				a.load(p, offset, chain)
				a.fma(chain, sums[i], scales[i%vectors])
				a.store(chain, p, offset)
			})
			a.advance(byteInput-byteColumns, x...)
			a.advance(byteHead, block)
		})
		a.advance(16*vectors, w, bias, dst)
	})
}

// rotate writes the function that rotates blocks of activations.
func (a *arm) rotate() {
	const rows = turnColumns / 16
	a.function("rotate", "(dst, x []float32)", func() {
		a.useConstants()
		dst, x, blocks := a.base("dst"), a.base("x"), a.length("x")
		a.op("LSR $7, %v", blocks)
		plus, minus, signs1, signs2 := a.vec(), a.vec(), a.vec(), a.vec()
		a.float(1, plus)
		a.float(-1, minus)
		a.op("VZIP1 %v.S4, %v.S4, %v.S4", minus, plus, signs1)
		a.op("VZIP1 %v.D2, %v.D2, %v.D2", minus, plus, signs2)
		flips := a.vecs(2) // of the last of four lanes, and of the others
		a.bits(signBit, plus)
		a.zero(minus)
		a.op("VEXT $4, %v.B16, %v.B16, %v.B16", plus, minus, flips[0])
		a.op("VEXT $4, %v.B16, %v.B16, %v.B16", minus, plus, flips[1])
		a.times("block", blocks, func() {
			for part := range 4 {
				a.scope(func() {
					v := a.vecs(rows)
					for i, to := range v {
						a.load(x, 64*i+16*part, to)
						a.op("VEOR %v.B16, %v.B16, %v.B16", flips[(part&(part>>1)^i&(i>>1))&1], to, to)
					}
					a.butterflies(v)
					for i, from := range v {
						a.store(from, dst, 64*i+16*part)
					}
				})
			}
			for i := range rows {
				a.scope(func() {
					v, other := a.vecs(4), a.vec()
					for part, to := range v {
						a.load(dst, 64*i+16*part, to)
					}
					a.butterflies(v)
					for part, from := range v {
						a.op("VEXT $8, %v.B16, %v.B16, %v.B16", from, from, other)
						a.fma(other, from, signs2)
						a.op("VREV64 %v.S4, %v.S4", other, from)
						a.fma(from, other, signs1)
						a.store(from, dst, 64*i+16*part)
					}
				})
			}
			a.advance(4*turnColumns, x, dst)
		})
	})
}

// butterflies makes sums and differences of vectors, from those half of them apart down to
// neighbours.
func (a *arm) butterflies(v []vreg) {
	a.scope(func() {
		sum := a.vec()
		for half := len(v) / 2; half > 0; half /= 2 {
			for i := range v {
				if i&half == 0 {
					a.do(fadd, sum, v[i], v[i+half])
					a.do(fsub, v[i+half], v[i], v[i+half])
					a.move(sum, v[i])
				}
			}
		}
	})
}

// roundBytes writes the function that turns rotated activations into bytes.
func (a *arm) roundBytes() {
	const (
		maxByte  = 63
		zeroByte = 64
		quietNaN = 0x7fc00000
		infinity = 0xff << 23
	)
	smallest := math.Float32bits(0x1p-100)
	a.function("roundBytes", "(dst []uint32, x []float32)", func() {
		a.useConstants()
		dst, x, blocks, bits := a.base("dst"), a.base("x"), a.length("x"), a.gp()
		a.op("LSR $6, %v", blocks)
		limit, zero := a.vec(), a.vec()
		a.float(maxByte, limit)
		a.bits(zeroByte*0x01010101, zero)
		a.times("block", blocks, func() {
			largest, other := a.vec(), a.vec()
			for i := range byteColumns / 4 {
				a.load(x, 16*i, other)
				if i == 0 {
					a.to(fabs, largest, other)
					continue
				}
				a.to(fabs, other, other)
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
			a.op("FDIVS F%d, F%d, F%d", int(largest), int(limit), int(inverse))
			a.op("FDIVS F%d, F%d, F%d", int(limit), int(largest), int(scale))
			a.storeOne(scale, dst, 0)
			for i := 0; i < byteColumns; i += 16 {
				a.scope(func() {
					v, halves := a.vecs(4), a.vecs(2)
					for j, to := range v {
						a.load(x, 4*i+16*j, to)
						a.doLane(fmulLane, to, to, inverse, 0)
						a.to(fcvtns, to, to)
					}
					for j, h := range halves {
						a.to(xtn16, h, v[2*j])
						a.to(xtn216, h, v[2*j+1])
					}
					a.to(xtn8, v[0], halves[0])
					a.to(xtn28, v[0], halves[1])
					a.op("VADD %v.B16, %v.B16, %v.B16", zero, v[0], v[0])
					a.store(v[0], dst, 4+i)
				})
			}
			a.op("B %s", done)

			a.mark(special)
			a.op("MOVD $0x%08x, %v", quietNaN, bits)
			a.mark(blank)
			for i := 0; i < byteColumns; i += 16 {
				a.store(zero, dst, 4+i)
			}
			a.op("MOVW %v, (%v)", bits, dst)
			a.mark(done)
			a.advance(byteInput, dst)
			a.advance(4*byteColumns, x)
		})
	})
}
