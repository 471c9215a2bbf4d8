package main

// intTile multiplies unpacked groups by the inputs of tokens, two vectors of rows at a
// time. The chains stay in dst, where every group takes them up.
type intTile struct {
	*arm
	level      byteLevel
	shape      shape
	x          []greg // of every token
	group, dst greg
	sums       []vreg // two for each token and vector
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
		t := intTile{arm: a, level: l, shape: f, x: a.strided("x", "xStride", tokens), group: a.gp(), dst: dst, sums: a.vecs(2 * tokens * tileVectors)}
		a.op("MOVD %v, %v", w, t.group)
		a.times("group", a.integer("groups"), func() {
			two, one, next := a.label("two"), a.label("one"), a.label("next")
			a.op("CMP $%d, %v", twoScales, share)
			a.op("BEQ %s", two)
			t.dots(0, 4)
			a.op("CBZ %v, %s", share, one)
			t.finish(groupScales, groupOthers)
			a.op("B %s", next)
			a.mark(one)
			t.finish(groupScales, 0)
			a.op("B %s", next)
			a.mark(two)
			t.dots(0, 2)
			t.finish(groupScales, 0)
			t.dots(2, 4)
			t.finish(groupOthers, 0)
			a.mark(next)
			a.advance(f.block(), t.x...)
			a.advance(f.group(), t.group)
		})
		a.advance(16*tileVectors, w, dst)
	})
}

// dots adds up the products of some eights of columns.
func (t *intTile) dots(first, end int) {
	t.scope(func() {
		t.zero(t.sums...)
		weights, input := t.vecs(2*tileVectors), t.vec()
		for e := first; e < end; e++ {
			for v := range tileVectors {
				t.load(t.group, 8*panel*e+16*v, weights[2*v])
				t.load(t.group, 8*panel*e+4*panel+16*v, weights[2*v+1])
			}
			for i, p := range t.x {
				t.eight(t.shape, p, e, input)
				for v := range tileVectors {
					t.level.dot(t.arm, t.pair(i*tileVectors+v), weights[2*v:2*v+2], input)
				}
			}
		}
	})
}

func (t *intTile) pair(i int) []vreg { return t.sums[2*i : 2*i+2] }

// finish adds the sums to the chains, with the scales and, if there are any, the minima at
// these places of the group.
func (t *intTile) finish(scales, minima int) {
	t.scope(func() {
		scale, input := t.vecs(tileVectors), t.vec()
		for v, s := range scale {
			t.load(t.group, scales+16*v, s)
		}
		var minimum []vreg
		if minima != 0 {
			minimum = t.vecs(tileVectors)
			for v, m := range minimum {
				t.load(t.group, minima+16*v, m)
			}
		}
		t.eachResult("dstStride", len(t.x), tileVectors, t.dst, func(i int, p greg, offset int) {
			if i%tileVectors == 0 {
				t.op("FMOVD (%v), F%d", t.x[i/tileVectors], int(input))
			}
			t.level.join(t.arm, t.pair(i))
			// The second sum of a pair is free now.
			chain := t.pair(i)[1]
			t.load(p, offset, chain)
			t.addGroup(chain, t.pair(i)[0], input, scale[i%tileVectors], minimum, i%tileVectors)
			t.store(chain, p, offset)
		})
	})
}
