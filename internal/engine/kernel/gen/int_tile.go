package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tileInt multiplies unpacked groups by the inputs of tokens: two vectors of rows of a panel at a
// time, or four of two panels. The chains stay in dst, where every group takes them up.
func (t *target) tileInt(f shape, tokens, vectors int) {
	t.passes(func(first reg.Register) {
		dst := t.base("dst")
		t.from(dst, first, 4)
		t.startChains(tokens, vectors, dst, func(_ int, to reg.VecVirtual) { t.zero(to) })
		i := &intTile{
			target: t, shape: f, tokens: tokens, vectors: vectors, dst: dst,
			w: t.base("w"), stride: t.integer("xStride"), stride3: t.GP64(), factor: t.vec(), sums: t.vecs(vectors * tokens),
		}
		t.from(i.w, first, 4)
		t.SHLQ(operand.U8(2), i.stride)
		t.LEAQ(operand.Mem{Base: i.stride, Index: i.stride, Scale: 2}, i.stride3)
		i.x = t.fours(t.base("x"), i.stride, tokens)
		t.times("group", t.integer("groups"), i.group)
	})
}

// intTile is a tile while it is written.
type intTile struct {
	*target
	shape           shape
	tokens, vectors int
	stride, stride3 reg.GPVirtual
	x               []reg.GPVirtual // of every fourth token
	w, dst          reg.GPVirtual
	factor          reg.VecVirtual
	sums            []reg.VecVirtual
}

// place is the address of a word of a token's block.
func (i *intTile) place(token, word int) operand.Mem {
	return rowOf(i.x[token/4], i.stride, i.stride3, token%4).Offset(4 * word)
}

// of is the address of a row of words of the group, for a vector of rows.
func (i *intTile) of(p reg.GPVirtual, row, v int) operand.Mem {
	return at(p, 4*row*panel+v%2*i.size()+v/2*i.shape.panel())
}

// group multiplies 32 columns: all at once, or one half after the other where each has its scale.
func (i *intTile) group() {
	f := i.shape
	share, err := i.Param("share").Resolve()
	if err != nil {
		panic(err)
	}
	unroll := 2
	if i.tokens*i.vectors <= 8 {
		unroll = 4
	}
	// rounds of the inner loop, done bytes of the inputs after it, and the place of the scales.
	rounds, done, scales := i.GP64(), i.GP64(), i.GP64()
	part, next := i.label("part"), i.label("next")
	i.MOVQ(operand.U32(f.size/unroll), rounds)
	i.MOVQ(operand.U32(4*f.size), done)
	i.LEAQ(at(i.w, 4*f.size*panel), scales)
	begin := i.GP64() // of the word that the sums start at
	if f.fours() {
		i.MOVQ(operand.I32(4*(startAll-f.head)), begin)
	}
	i.advance(operand.U8(4*f.head), i.x...)
	i.CMPB(share.Addr, operand.U8(twoScales))
	i.JNE(operand.LabelRef(part))
	i.SHRQ(operand.U8(1), rounds)
	i.SHRQ(operand.U8(1), done)
	if f.fours() {
		i.ADDQ(operand.U8(4*(startFirst-startAll)), begin)
	}

	i.Label(part)
	i.start(begin)
	i.dots(rounds, unroll)
	for _, x := range i.x {
		i.SUBQ(done, x)
	}
	i.finish(scales, share.Addr)
	i.advance(done, i.x...)
	i.CMPB(share.Addr, operand.U8(twoScales))
	i.JNE(operand.LabelRef(next))
	i.CMPQ(done, operand.U8(4*f.size))
	i.JEQ(operand.LabelRef(next))
	i.MOVQ(operand.U32(f.size/2/unroll), rounds)
	i.MOVQ(operand.U32(4*f.size), done)
	i.ADDQ(operand.U32(4*panel), scales)
	if f.fours() {
		i.MOVQ(operand.I32(4*(startSecond-f.head-f.size/2)), begin)
	}
	i.JMP(operand.LabelRef(part))
	i.Label(next)
	i.ADDQ(operand.U32(2*4*panel), i.w)
}

// advance adds to pointers.
func (t *target) advance(by operand.Op, pointers ...reg.GPVirtual) {
	for _, p := range pointers {
		t.ADDQ(by, p)
	}
}

// start sets the sums: of bytes to the word at begin from the inputs.
func (i *intTile) start(begin reg.GPVirtual) {
	if !i.shape.fours() {
		for _, s := range i.sums {
			i.zero(s)
		}
		return
	}
	i.advance(begin, i.x...)
	for token := range i.tokens {
		// Loads cost less than moves, which wait for the ports of the dot products.
		for _, s := range i.sums[token*i.vectors:][:i.vectors] {
			i.VPBROADCASTD(i.place(token, 0), s)
		}
	}
	for _, x := range i.x {
		i.SUBQ(begin, x)
	}
}

// dots adds up the products of columns and moves on.
func (i *intTile) dots(rounds reg.GPVirtual, unroll int) {
	weights, top := i.vecs(i.vectors), i.label("dots")
	i.Label(top)
	for word := range unroll {
		for v, to := range weights {
			i.VMOVUPS(i.of(i.w, word, v), to)
		}
		for token := range i.tokens {
			i.VPBROADCASTD(i.place(token, word), i.factor)
			for v, weight := range weights {
				i.dot(i.shape, weight, i.factor, i.sums[i.vectors*token+v])
			}
		}
	}
	i.advance(operand.U8(4*unroll), i.x...)
	i.ADDQ(operand.U32(4*unroll*panel), i.w)
	i.DECQ(rounds)
	i.JNZ(operand.LabelRef(top))
}

// finish adds the sums to the chains, with the scales and, if there are any, the minima after them.
func (i *intTile) finish(scales reg.GPVirtual, share operand.Op) {
	scale := i.vecs(i.vectors)
	for v, to := range scale {
		i.VMOVUPS(i.of(scales, 0, v), to)
	}
	head := i.shape.head
	i.eachResult("dstStride", i.tokens, i.vectors, i.dst, func(n int, chain operand.Mem) {
		token, v := n/i.vectors, n%i.vectors
		of := i.sums[n-v:][:i.vectors]
		if v == 0 {
			i.VBROADCASTSS(i.place(token, -head), i.factor)
		}
		i.VCVTDQ2PS(of[v], of[v])
		i.VMULPS(i.factor, of[v], of[v])
		i.VFMADD213PS(chain, scale[v], of[v])
		if v < i.vectors-1 {
			return
		}
		next := i.label("store")
		i.CMPB(share, operand.U8(withMinimum))
		i.JNE(operand.LabelRef(next))
		i.VBROADCASTSS(i.place(token, 1-head), i.factor)
		for v, sum := range of {
			i.VFMADD231PS(i.of(scales, 1, v), i.factor, sum)
		}
		i.Label(next)
		for v, sum := range of {
			i.VMOVUPS(sum, chain.Offset((v-i.vectors+1)*i.size()))
		}
	})
}

// startChains sets the chains of a tile, for every token alike, unless they are to be taken up.
func (t *target) startChains(tokens, vectors int, dst reg.GPVirtual, set func(v int, to reg.VecVirtual)) {
	start, values := t.label("start"), t.vecs(vectors)
	add, err := t.Param("add").Resolve()
	if err != nil {
		panic(err)
	}
	t.CMPB(add.Addr, operand.U8(0))
	t.JNE(operand.LabelRef(start))
	for v, to := range values {
		set(v, to)
	}
	row, stride := t.GP64(), t.integer("dstStride")
	t.MOVQ(dst, row)
	t.repeat("clear", tokens, func() {
		for v, from := range values {
			t.VMOVUPS(from, at(row, v*t.size()))
		}
		t.LEAQ(operand.Mem{Base: row, Index: stride, Scale: 4}, row)
	})
	t.Label(start)
}
