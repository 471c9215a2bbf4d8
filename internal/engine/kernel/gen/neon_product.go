package main

// neonTileRows are the numbers of rows that a tile is written for: the chains of the most fit into the
// registers beside four values of each row of a, and two pairs of vectors of b.
var neonTileRows = []int{1, 2, 3, 4, 6, 8}

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

// halves writes the functions that unpack float formats of 16 bits.
func (a *arm) halves() {
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
	a.function("unpack"+name, "(dst []float32, src []byte)", func() {
		dst, src, columns := a.base("dst"), a.base("src"), a.length("dst")
		a.op("LSR $5, %v", columns)
		a.times("column", columns, func() {
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
