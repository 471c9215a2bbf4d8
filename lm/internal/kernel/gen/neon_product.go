package main

// neonTileRows is the largest number of rows of a tile: its chains fit into the registers
// beside four values of each row of a, and two pairs of vectors of b.
const neonTileRows = 8

// tile writes the function that multiplies rows of a by b: few columns at a time where
// there are many rows.
func (a *arm) tile() {
	a.function("tile", "(rows, depth int, a []float32, aStride int, b, c []float32, cStride int, add bool)", func() {
		a.choose("rows", neonTileRows, func(rows int) {
			columns := 8
			if rows <= 4 {
				columns = 16
			}
			if rows <= 2 {
				columns = panel
			}
			b, c := a.base("b"), a.base("c")
			a.repeat("columns", panel/columns, func() {
				a.tileColumns(rows, columns/4, b, c)
				a.advance(4*columns, b, c)
			})
		})
	})
}

// tileColumns computes the columns of some vectors.
func (a *arm) tileColumns(rows, vectors int, bBase, c greg) {
	sums := a.vecs(rows * vectors)
	a.zero(sums...)
	start := a.label("start")
	a.op("MOVBU %s, %v", a.param("add"), spare)
	a.op("CBZ %v, %s", spare, start)
	a.eachResult("cStride", rows, vectors, c, func(i int, p greg, offset int) { a.load(p, offset, sums[i]) })
	a.mark(start)

	x, b := a.strided("a", "aStride", rows), a.gp()
	a.op("MOVD %v, %v", bBase, b)
	values := a.vecs(rows)
	weights := [2][]vreg{a.vecs(vectors)}
	weights[1] = weights[0]
	if a.vectors+vectors <= 32 {
		weights[1] = a.vecs(vectors)
	}
	column := func(k int) {
		w := weights[k%2]
		for v := range w {
			a.load(b, 4*panel*k+16*v, w[v])
		}
		for i := range rows {
			for v := range w {
				a.doLane(fmlaLane, sums[i*vectors+v], w[v], values[i], k)
			}
		}
	}
	depth, rest := a.integer("depth"), a.gp()
	a.op("AND $3, %v, %v", depth, rest)
	a.op("LSR $2, %v", depth)
	a.times("four", depth, func() {
		for i, p := range x {
			a.op("FMOVQ.P 16(%v), F%d", p, int(values[i]))
		}
		for k := range 4 {
			column(k)
		}
		a.advance(4*4*panel, b)
	})
	a.times("rest", rest, func() {
		for i, p := range x {
			a.op("FMOVS.P 4(%v), F%d", p, int(values[i]))
		}
		column(0)
		a.advance(4*panel, b)
	})
	a.eachResult("cStride", rows, vectors, c, func(i int, p greg, offset int) { a.store(sums[i], p, offset) })
}

// eachResult visits the vectors of every row of a result.
func (a *arm) eachResult(stride string, rows, vectors int, base greg, visit func(i int, p greg, offset int)) {
	a.scope(func() {
		step, row := a.integer(stride), a.gp()
		a.op("MOVD %v, %v", base, row)
		for i := range rows {
			for v := range vectors {
				visit(i*vectors+v, row, 16*v)
			}
			if i < rows-1 {
				a.op("ADD %v<<2, %v", step, row)
			}
		}
	})
}

// weights writes the functions that unpack panels and those that multiply a panel by the
// inputs of a few tokens.
func (a *arm) weights() {
	for _, p := range packings {
		a.unpack(p)
		a.function("vector"+p.name, "(tokens int, dst []float32, dstStride int, src []byte, x []float32, xStride, blocks int)", func() {
			a.useConstants()
			a.choose("tokens", neonVectorTokens, func(tokens int) { a.vector(p, tokens) })
		})
	}
	a.unpackHalf("F16", func(v, low, high vreg) {
		a.to(fcvtl, low, v)
		a.to(fcvtl2, high, v)
	})
	a.unpackHalf("BF16", func(v, low, high vreg) {
		a.op("VUSHLL $0, %v.H4, %v.S4", v, low)
		a.op("VUSHLL2 $0, %v.H8, %v.S4", v, high)
		a.shifted(shl, low, low, 16)
		a.shifted(shl, high, high, 16)
	})
}

// unpackHalf writes columns of a format of 16 bits.
func (a *arm) unpackHalf(name string, convert func(v, low, high vreg)) {
	a.function("unpack"+name, "(dst []float32, src []byte, skip, groups int)", func() {
		dst, src := a.base("dst"), a.base("src")
		a.times("column", a.integer("groups"), func() {
			for row := 0; row < panel; row += 8 {
				a.scope(func() {
					v, low, high := a.vec(), a.vec(), a.vec()
					a.load(src, 2*row, v)
					convert(v, low, high)
					a.store(low, dst, 4*row)
					a.store(high, dst, 4*row+16)
				})
			}
			a.advance(2*panel, src)
			a.advance(4*panel, dst)
		})
	})
}

// unpack writes the weights of groups of columns to memory. Of a format with subscales,
// they are groups of one block.
func (a *arm) unpack(p packedFormat) {
	const vectors = 4
	a.function("unpack"+p.name, "(dst []float32, src []byte, skip, groups int)", func() {
		a.useConstants()
		a.passes(vectors, func(pass greg) {
			dst := a.base("dst")
			a.op("ADD %v<<2, %v", pass, dst)
			w := a.worker(p, vectors, pass)
			w.use = func(k, v int, weight vreg) { a.store(weight, dst, 4*k*panel+16*v) }
			w.next = func() { a.advance(4*8*panel, dst) }
			if !p.sub {
				a.times("block", a.integer("groups"), w.block)
				return
			}
			w.skip(panel, p.group*p.bits/8*panel)
			a.times("group", a.integer("groups"), w.subGroup)
		})
	})
}

// passes repeats the body for the rows of some vectors of a panel, with a register that
// holds the first of them.
func (a *arm) passes(vectors int, body func(first greg)) {
	first := a.gp()
	a.op("MOVD $0, %v", first)
	a.repeat("rows", panel/4/vectors, func() {
		body(first)
		a.advance(4*vectors, first)
	})
}

// neonVectorTokens is the largest number of tokens that vector is written for.
const neonVectorTokens = 4

// vector multiplies a panel by the inputs of a few tokens: so few that writing the weights
// to memory would cost more than computing with them.
func (a *arm) vector(p packedFormat, tokens int) {
	vectors := 4
	if tokens > 2 {
		vectors = 2
	}
	a.passes(vectors, func(first greg) {
		x := a.strided("x", "xStride", tokens)
		sums, values := a.vecs(tokens*vectors), a.vecs(2*tokens)
		a.zero(sums...)
		w := a.worker(p, vectors, first)
		w.start = func() {
			for i := range tokens {
				a.load(x[i], 0, values[2*i])
				a.load(x[i], 16, values[2*i+1])
			}
			a.advance(4*8, x...)
		}
		w.use = func(k, v int, weight vreg) {
			for i := range tokens {
				a.doLane(fmlaLane, sums[i*vectors+v], weight, values[2*i+k/4], k%4)
			}
		}
		a.times("block", a.integer("blocks"), w.block)
		for i, dst := range a.strided("dst", "dstStride", tokens) {
			a.op("ADD %v<<2, %v", first, dst)
			for v := range vectors {
				a.store(sums[i*vectors+v], dst, 16*v)
			}
		}
	})
}
