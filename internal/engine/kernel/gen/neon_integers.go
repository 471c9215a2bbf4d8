package main

// Products in integers on arm64.
//
// An activation is 256*high + low, both in a byte, and eight of them lie in a vector: the
// high bytes of the columns 0, 2, 4, 6, 1, 3, 5, 7, then the low ones. The weights of
// eight columns and four rows are two vectors of bytes. Instructions for bytes multiply
// them, and the sums are exact whichever those are. An activation of 8 bits is its low byte
// alone, half of the work.

// byteLevel is how bytes are multiplied.
type byteLevel struct {
	name, file, base string
	// zip makes the two vectors of weights those of the first two rows and of the others;
	// else they are those of the columns 0, 2, 4, 6 and of 1, 3, 5, 7.
	zip bool
	// short makes products with activations of 8 bits those of the level; else they are those of
	// the level it adds to, or of 16 bits.
	short bool
	// dot adds the products of two vectors of weights with eight activations to two
	// vectors of sums, and join leaves the sums of four rows in the first.
	dot  func(a *arm, sums, weights []vreg, x vreg)
	join func(a *arm, sums []vreg)
	// four adds the products of four columns of a vector of weights with four of 16
	// activations to sums; nil is that of the level it adds to.
	four func(a *arm, sum, weights, x vreg, four int)
}

var byteLevels = []byteLevel{
	{name: "NEON", file: "neon", dot: dotPlain, join: joinPlanes, four: fourPlain},
	{name: "NEONDot", file: "neondot", base: "neon", short: true, dot: dotLanes, join: joinPlanes, four: fourDot},
	{name: "NEONI8MM", file: "neoni8mm", base: "neondot", zip: true, dot: dotMatrix, join: joinMatrix},
}

// dotPlain does without instructions for dot products.
func dotPlain(a *arm, sums, weights []vreg, x vreg) {
	a.scope(func() {
		four, low, high := a.vec(), a.vec(), a.vec()
		for i := range 4 {
			a.op("VDUP %v.S[%d], %v.S4", x, i, four)
			a.do(smull, low, weights[i%2], four)
			a.do(smull2, high, weights[i%2], four)
			a.to(saddlp, low, low)
			a.to(saddlp, high, high)
			a.do(addp, low, low, high)
			a.op("VADD %v.S4, %v.S4, %v.S4", low, sums[i/2], sums[i/2])
		}
	})
}

// dotLanes uses SDOT, which adds four products to each lane.
func dotLanes(a *arm, sums, weights []vreg, x vreg) {
	for i := range 4 {
		a.doLane(sdotLane, sums[i/2], weights[i%2], x, i)
	}
}

// ofShort is how bytes are multiplied by activations of 8 bits: SDOT, and the first of two
// vectors of sums.
func (l byteLevel) ofShort() byteLevel {
	l.zip = false
	l.dot = func(a *arm, sums, weights []vreg, x vreg) {
		for i := range 2 {
			a.doLane(sdotLane, sums[0], weights[i], x, i)
		}
	}
	l.join = func(*arm, []vreg) {}
	return l
}

// joinPlanes joins sums of high and of low bytes.
func joinPlanes(a *arm, sums []vreg) {
	a.shifted(shl, sums[0], sums[0], 8)
	a.op("VADD %v.S4, %v.S4, %v.S4", sums[1], sums[0], sums[0])
}

// dotMatrix uses SMMLA: two rows of eight weights by the high and the low bytes.
func dotMatrix(a *arm, sums, weights []vreg, x vreg) {
	for i := range 2 {
		a.do(smmla, sums[i], weights[i], x)
	}
}

// joinMatrix joins sums of two rows, high and low in turns.
func joinMatrix(a *arm, sums []vreg) {
	a.scope(func() {
		high := a.vec()
		a.op("VUZP1 %v.S4, %v.S4, %v.S4", sums[1], sums[0], high)
		a.op("VUZP2 %v.S4, %v.S4, %v.S4", sums[1], sums[0], sums[0])
		a.shifted(shl, high, high, 8)
		a.op("VADD %v.S4, %v.S4, %v.S4", high, sums[0], sums[0])
	})
}

// Sizes of an unpacked group of 32 columns, in bytes: the weights are [4][2][32]uint32. Behind them lie
// the scales, then minima or the scales of the last 16 columns.
const (
	eightWeights = 2 * 4 * panel
	groupWeights = 4 * eightWeights
)

// integers writes the products in integers.
func (a *arm) integers(l byteLevel, f shape) {
	for _, p := range packings {
		if l.zip || l.base == "" || f.fours() {
			a.unpackInt(l, f, p)
		}
		if l.base == "" {
			continue // unpacking is not what costs there
		}
		a.function("vector"+f.name+p.name, "(tokens int, dst []float32, dstStride int, src []byte, x []uint32, xStride, blocks int)", func() {
			a.useConstants()
			a.choose("tokens", neonVectorBodies, func(tokens int) { a.vectorInt(l, f, p, tokens) })
		})
	}
	a.function("tile"+f.name, "(tokens, groups int, x []uint32, xStride int, w []uint32, dst []float32, dstStride int, share uint8, add bool)", func() {
		a.choose("tokens", neonTileSizes, func(tokens int) { a.tileInt(l, f, tokens) })
	})
}

// neonTileSizes are the numbers of tokens that a tile is written for, and neonVectorBodies those of the
// products without unpacking.
var (
	neonTileSizes    = []int{1, 2, 3, 4}
	neonVectorBodies = []int{1, 2}
)

// bytesOf gives the weights of eight columns and four rows as two vectors of bytes.
func (w *armWorker) bytesOf(l byteLevel, offset int, eight vreg, give func(weights []vreg)) {
	w.scope(func() {
		even, odd, word := w.vec(), w.vec(), w.vec()
		w.load(w.quants, offset, word)
		if w.packedFormat.bits == 4 {
			w.op("VAND %v.B16, %v.B16, %v.B16", w.mask, word, even)
			w.op("VUSHR $4, %v.B16, %v.B16", word, odd)
			if w.packedFormat.zero != 0 {
				w.do(sub8, even, even, eight)
				w.do(sub8, odd, odd, eight)
			}
		} else {
			// They lie in two words: 0, 1, 4, 5 and 2, 3, 6, 7.
			w.load(w.quants, offset+4*panel, odd)
			w.op("VTRN1 %v.B16, %v.B16, %v.B16", odd, word, even)
			w.op("VTRN2 %v.B16, %v.B16, %v.B16", odd, word, odd)
		}
		if l.zip {
			w.op("VZIP1 %v.S4, %v.S4, %v.S4", odd, even, word)
			w.op("VZIP2 %v.S4, %v.S4, %v.S4", odd, even, odd)
			even = word
		}
		give([]vreg{even, odd})
	})
}

// armIntWorker is a worker that takes the columns of a panel apart into bytes.
type armIntWorker struct {
	*armWorker
	level byteLevel
	eight vreg // bytes of the zero
	// use takes the weights of eight columns of the v-th four rows, and next is called after eight
	// columns.
	use  func(v int, weights []vreg)
	next func()
	// end takes the scales and minima of the group, and done is called after 32 columns.
	end  func(scale, minimum []vreg)
	done func()
}

func (a *arm) intWorker(l byteLevel, p packedFormat, vectors int, first greg) *armIntWorker {
	w := &armIntWorker{armWorker: a.worker(p, vectors, first), level: l}
	if p.zero != 0 {
		w.eight = a.vec()
		a.bits(uint32(p.zero)*0x01010101, w.eight)
	}
	return w
}

// block works off a block and moves on to the next.
func (w *armIntWorker) block() {
	if w.packedFormat.sub {
		w.repeat("group", w.values/32, w.wholeGroup)
		w.advance(w.blockSize()-w.groups()*panel, w.sub)
	} else {
		w.wholeGroup()
	}
	w.advance(w.packedFormat.quants(), w.quants)
	w.advance(w.blockSize(), w.header)
}

// affine loads the scales and minima of a block; zero is part of the bytes.
func (w *armIntWorker) affine() (scale, minimum []vreg) {
	scale = w.vecs(w.vectors)
	w.halves(w.header, 0, scale)
	if w.minima {
		minimum = w.vecs(w.vectors)
		w.halves(w.header, 2*panel, minimum)
	}
	return scale, minimum
}

// wholeGroup works off 32 columns, in parts that share a scale.
func (w *armIntWorker) wholeGroup() {
	w.repeat("part", 32/w.packedFormat.group, func() {
		w.columns()
		w.scope(func() {
			scale, minimum := w.affine()
			if w.packedFormat.sub {
				w.subscale(scale, minimum)
				w.advance(panel, w.sub)
			}
			w.end(scale, minimum)
		})
	})
	w.done()
}

// columns takes the columns of a group apart and moves the pointer behind them.
func (w *armIntWorker) columns() {
	step := panel * w.packedFormat.bits
	w.repeat("columns", w.packedFormat.group/8, func() {
		for o := 0; o < step; o += 64 {
			w.op("PRFM %d(%v), PLDL1KEEP", ahead+o, w.quants)
		}
		for v := range w.vectors {
			w.bytesOf(w.level, 16*v, w.eight, func(weights []vreg) { w.use(v, weights) })
		}
		w.advance(step, w.quants)
		w.next()
	})
}

// unpackInt writes groups of 32 columns to memory as bytes, with their scales and minima.
func (a *arm) unpackInt(l byteLevel, f shape, p packedFormat) {
	const vectors = 4
	a.function("unpack"+f.name+p.name, "(dst []uint32, src []byte, skip, groups int)", func() {
		a.useConstants()
		a.passes(vectors, func(first greg) {
			dst, scales := a.base("dst"), a.gp()
			a.op("ADD %v<<2, %v", first, dst)
			a.op("ADD $%d, %v, %v", groupWeights, dst, scales)
			put := func(p greg, offset int, v []vreg) {
				for i, r := range v {
					a.store(r, p, offset+16*i)
				}
			}
			w := a.intWorker(l, p, vectors, first)
			w.use = func(v int, weights []vreg) {
				a.store(weights[0], dst, 16*v)
				a.store(weights[1], dst, 4*panel+16*v)
			}
			w.next = func() { a.advance(eightWeights, dst) }
			w.end = func(scale, minimum []vreg) {
				put(scales, 0, scale)
				put(scales, 4*panel, minimum)
				a.advance(4*panel, scales)
			}
			w.done = func() {
				a.advance(f.group()-groupWeights, dst)
				a.advance(f.group()-32/p.group*4*panel, scales)
			}
			if !p.sub {
				a.times("block", a.integer("groups"), w.block)
				return
			}
			w.skip(32/p.group*panel, 32*panel*p.bits/8)
			a.times("group", a.integer("groups"), w.wholeGroup)
		})
	})
}

// vectorInt multiplies a panel by the inputs of a few tokens: so few that writing the
// weights to memory would cost more than computing with them.
func (a *arm) vectorInt(l byteLevel, f shape, p packedFormat, tokens int) {
	vectors := 4 / tokens
	n := tokens * vectors
	a.passes(vectors, func(first greg) {
		x := a.strided("x", "xStride", tokens) // of the block
		in := make([]greg, tokens)             // of the columns
		for i := range in {
			in[i] = a.gp()
			a.op("ADD $%d, %v, %v", 4*f.head, x[i], in[i])
		}
		chains, sums := a.vecs(n), a.vecs(2*n)
		a.zero(chains...)
		a.zero(sums...)
		w := a.intWorker(l, p, vectors, first)
		inputs := a.vecs(tokens)
		w.use = func(v int, weights []vreg) {
			for i := range tokens {
				if v == 0 {
					a.eight(f, in[i], inputs[i])
				}
				k := i*vectors + v
				l.dot(a, sums[2*k:2*k+2], weights, inputs[i])
			}
		}
		w.next = func() { a.advance(f.eight(), in...) }
		w.end = func(scale, minimum []vreg) {
			for k := range n {
				i, v, pair := k/vectors, k%vectors, sums[2*k:2*k+2]
				if v == 0 {
					a.op("FMOVD (%v), F%d", x[i], int(inputs[i]))
				}
				l.join(a, pair)
				a.addGroup(chains[k], pair[0], inputs[i], scale[v])
				if minimum != nil {
					a.doLane(fmlaLane, chains[k], minimum[v], inputs[i], 1)
				}
				a.zero(pair...)
			}
		}
		w.done = func() {
			a.advance(f.block(), x...)
			a.advance(4*f.head, in...)
		}
		a.times("block", a.integer("blocks"), w.block)
		for i, dst := range a.strided("dst", "dstStride", tokens) {
			a.op("ADD %v<<2, %v", first, dst)
			for v := range vectors {
				a.store(chains[i*vectors+v], dst, 16*v)
			}
		}
	})
}

// eight is the number of bytes that the integers of eight columns take.
func (f shape) eight() int { return f.size }

// eight loads the activations of eight columns.
func (a *arm) eight(f shape, x greg, to vreg) {
	if f.fours() {
		a.op("FMOVD (%v), F%d", x, int(to))
		return
	}
	a.load(x, 0, to)
}

// addGroup adds the sum of a group to a chain. The first lane of x is the scale of the activations.
func (a *arm) addGroup(chain, sum, x, scale vreg) {
	a.to(scvtf, sum, sum)
	a.doLane(fmulLane, sum, sum, x, 0)
	a.fma(chain, sum, scale)
}
