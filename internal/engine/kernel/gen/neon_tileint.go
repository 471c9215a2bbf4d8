package main

// intTile multiplies unpacked groups by the inputs of tokens, two vectors of rows at a
// time. The chains stay in dst, where every group takes them up.
type armIntTile struct {
	*arm
	level             byteLevel
	shape             shape
	x                 []greg // of every token
	group, dst, share greg
	sums              []vreg // two for each token and vector
}

// tileVectors is the number of vectors of rows that a tile works on at a time.
const tileVectors = 2

// tileInt writes the tile for a number of tokens.
func (a *arm) tileInt(l byteLevel, f shape, tokens int) {
	w, dst := a.base("w"), a.base("dst")
	share, add := a.gp(), a.gp()
	a.op("MOVBU %s, %v", a.param("share"), share)
	a.op("MOVBU %s, %v", a.param("add"), add)
	a.repeat("rows", panel/4/tileVectors, func() {
		start := a.label("start")
		a.op("CBNZ %v, %s", add, start)
		a.scope(func() {
			zero := a.vec()
			a.zero(zero)
			a.eachResult("dstStride", tokens, tileVectors, dst, func(_ int, p greg, offset int) { a.store(zero, p, offset) })
		})
		a.mark(start)
		t := armIntTile{arm: a, level: l, shape: f, x: a.strided("x", "xStride", tokens), group: a.gp(), dst: dst, share: share, sums: a.vecs(2 * tokens * tileVectors)}
		a.op("MOVD %v, %v", w, t.group)
		a.times("group", a.integer("groups"), t.columns)
		a.advance(16*tileVectors, w, dst)
	})
}

// columns multiplies 32 columns: all at once, or one half after the other where each has its scale.
func (t *armIntTile) columns() {
	f := t.shape
	// rounds of eight columns, done bytes of the inputs after them, and the place of the scales.
	rounds, done, scales := t.gp(), t.gp(), t.gp()
	part, next := t.label("part"), t.label("next")
	t.op("MOVD $4, %v", rounds)
	t.op("MOVD $0, %v", done)
	t.op("ADD $%d, %v, %v", groupWeights, t.group, scales)
	t.advance(4*f.head, t.x...)
	t.op("CMP $%d, %v", twoScales, t.share)
	t.op("BNE %s", part)
	t.op("MOVD $2, %v", rounds)
	t.mark(part)
	t.op("MOVD $%d, %v", f.eight(), spare)
	t.op("MADD %v, %v, %v, %v", spare, done, rounds, done)
	t.dots(rounds)
	t.finish(scales, done)
	t.advance(4*panel, scales)
	t.op("CMP $%d, %v", twoScales, t.share)
	t.op("BNE %s", next)
	t.op("SUB %v, %v, %v", t.group, scales, rounds)
	t.op("CMP $%d, %v", 2*4*panel, rounds)
	t.op("MOVD $2, %v", rounds)
	t.op("BNE %s", part)
	t.mark(next)
	t.advance(f.group()-groupWeights, t.group)
}

// dots adds up the products of some eights of columns and moves on.
func (t *armIntTile) dots(rounds greg) {
	t.zero(t.sums...)
	t.times("dots", rounds, func() {
		weights, input := t.vecs(2*tileVectors), t.vec()
		for v := range tileVectors {
			t.load(t.group, 16*v, weights[2*v])
			t.load(t.group, 4*panel+16*v, weights[2*v+1])
		}
		for i, p := range t.x {
			t.eight(t.shape, p, input)
			for v := range tileVectors {
				t.level.dot(t.arm, t.pair(i*tileVectors+v), weights[2*v:2*v+2], input)
			}
		}
		t.advance(t.shape.eight(), t.x...)
		t.advance(eightWeights, t.group)
	})
}

func (t *armIntTile) pair(i int) []vreg { return t.sums[2*i : 2*i+2] }

// finish adds the sums to the chains, with the scales and, if there are any, the minima after them.
func (t *armIntTile) finish(scales, done greg) {
	t.scope(func() {
		scale, input := t.vecs(tileVectors), t.vec()
		for v, s := range scale {
			t.load(scales, 16*v, s)
		}
		// The head of a token's block lies before its integers.
		head := func(i int) {
			t.op("SUB %v, %v, %v", done, t.x[i], spare)
			t.op("FMOVD %d(%v), F%d", -4*t.shape.head, spare, int(input))
		}
		t.eachResult("dstStride", len(t.x), tileVectors, t.dst, func(i int, p greg, offset int) {
			if i%tileVectors == 0 {
				head(i / tileVectors)
			}
			t.level.join(t.arm, t.pair(i))
			// The second sum of a pair is free now.
			chain := t.pair(i)[1]
			t.load(p, offset, chain)
			t.addGroup(chain, t.pair(i)[0], input, scale[i%tileVectors])
		})
		store := t.label("store")
		t.op("CMP $%d, %v", withMinimum, t.share)
		t.op("BNE %s", store)
		for v, s := range scale {
			t.load(scales, 4*panel+16*v, s)
		}
		for i := range len(t.x) * tileVectors {
			if i%tileVectors == 0 {
				head(i / tileVectors)
			}
			t.doLane(fmlaLane, t.pair(i)[1], scale[i%tileVectors], input, 1)
		}
		t.mark(store)
		t.eachResult("dstStride", len(t.x), tileVectors, t.dst, func(i int, p greg, offset int) { t.store(t.pair(i)[1], p, offset) })
	})
}
