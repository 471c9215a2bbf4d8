package main

import (
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// What the columns of an unpacked group share.
const (
	oneScale = iota
	withMinimum
	twoScales
)

// Sizes that integers.go of package kernel describes, in bytes.
const (
	pairs      = 16                      // words of integers of a group of 32 columns
	blockBytes = 4 * (2 + pairs)         // a block of activations
	groupBytes = 4 * panel * (pairs + 2) // an unpacked group of weights
	pairBytes  = 8 * groupBytes          // from a panel's groups to the next one's
)

// integers writes the products in integers.
func (t *target) integers() {
	for _, p := range packings {
		if !p.integers() {
			continue
		}
		if !t.vnni {
			t.unpackInt(p)
		}
		t.begin("vectorInt"+p.name, "(tokens int, dst []float32, dstStride int, src []byte, x []uint32, xStride, blocks int)")
		t.choose("tokens", t.vectorIntTokens(), func(tokens int) { t.vectorInt(p, tokens) })
	}
	t.begin("tileInt", "(tokens, groups int, x []uint32, xStride int, w []uint32, dst []float32, dstStride int, share uint8, add bool)")
	t.choose("tokens", t.tileIntTokens(), t.tileInt)
	if t.pairTokens() > 0 {
		t.begin("tileIntPair", "(tokens, groups int, x []uint32, xStride int, w []uint32, dst []float32, dstStride int, share uint8, add bool)")
		t.choose("tokens", t.pairTokens(), func(tokens int) { t.tileIntRows(tokens, 4, t.base("w"), t.base("dst")) })
	}
}

// integers reports whether products with the format are computed in integers.
func (p packing) integers() bool { return !p.minima || p.group == 32 }

// tileIntTokens returns the largest number of tokens of a tile in integers: its sums fit
// into the registers beside the scales and minima of two vectors of rows, and one more.
func (i isa) tileIntTokens() int { return (i.vectors-5)/2 - i.vectors/32 }

// pairTokens is the same for two panels at once, where the registers hold enough: an input
// is then loaded once for four vectors of rows.
func (i isa) pairTokens() int {
	if i.vectors == 32 && i.vnni {
		return 6
	}
	return 0
}

// vectorIntTokens is the same for the products without unpacking.
func (i isa) vectorIntTokens() int {
	if i.vectors == 32 {
		return 4
	}
	return 1
}

// dot adds the products of pairs of int16 to the sums of a lane.
func (t *target) dot(weights, x, sums reg.VecVirtual) {
	if !t.vnni {
		product := t.vec()
		t.VPMADDWD(weights, x, product)
		t.VPADDD(product, sums, sums)
		return
	}
	operands := []operand.Op{weights, x, sums}
	t.Instruction(&ir.Instruction{
		Opcode: "VPDPWSSD", Operands: operands, Inputs: operands, Outputs: []operand.Op{sums}, ISA: []string{"VNNI"},
	})
}

// intWorker takes the columns of a panel apart into integers. It passes each pair of
// columns to use, with its place among the sixteen of 32 columns and the index of its
// vector of rows.
type intWorker struct {
	*worker
	mask  reg.VecVirtual
	first int // column of the 32 that the group begins at
	use   func(place, v int, w reg.VecVirtual)
	// end takes the scales and minima of the group.
	end func(scale, minimum []reg.VecVirtual)
}

func (t *target) intWorker(p packing, rows []int) *intWorker {
	w := &intWorker{worker: &worker{target: t, packing: p, rows: rows, quants: t.base("src")}}
	if p.bits == 4 {
		w.mask = t.vec()
		t.VMOVUPS(t.bits(0x000f000f), w.mask)
	}
	return w
}

// block works off a block and moves on to the next.
func (w *intWorker) block() {
	if !w.packing.sub {
		header := w.GP64()
		w.MOVQ(w.quants, header)
		w.ADDQ(operand.U32(w.packing.quants()), w.quants)
		w.columns()
		w.end(w.affine(header))
		return
	}
	w.enter()
	groups := w.GP64()
	w.MOVQ(operand.U32(w.values/32), groups)
	w.times("group", groups, w.wholeGroup)
}

// affine loads the scales and minima of a block.
func (w *intWorker) affine(header reg.GPVirtual) (scale, minimum []reg.VecVirtual) {
	scale, minimum = w.vecs(len(w.rows)), w.vecs(len(w.rows))
	for v, row := range w.rows {
		w.VCVTPH2PS(at(header, 2*row), scale[v])
		if w.minima {
			w.VCVTPH2PS(at(header, 2*panel+2*row), minimum[v])
		}
	}
	return scale, minimum
}

// subGroup works off a group of a block with subscales and moves on.
func (w *intWorker) subGroup() {
	w.columns()
	scale, minimum := w.affine(w.header)
	factor := w.vec()
	for v, row := range w.rows {
		w.VPMOVSXBD(at(w.sub, row), factor)
		w.VCVTDQ2PS(factor, factor)
		w.VMULPS(factor, scale[v], scale[v])
		if w.minima {
			w.VPMOVSXBD(at(w.sub, w.groups()*panel+row), factor)
			w.VCVTDQ2PS(factor, factor)
			w.VMULPS(factor, minimum[v], minimum[v])
			w.VXORPS(w.target.bits(signBit), minimum[v], minimum[v])
		}
	}
	w.ADDQ(operand.U32(panel), w.sub)
	w.end(scale, minimum)
}

// wholeGroup works off the groups of 32 columns.
func (w *intWorker) wholeGroup() {
	for w.first = 0; w.first < 32; w.first += w.packing.group {
		w.subGroup()
	}
}

// and keeps the bits of b that are set in a.
func (t *target) and(a, b, to reg.VecVirtual) {
	if t.wide() {
		t.VPANDD(a, b, to)
	} else {
		t.VPAND(a, b, to)
	}
}

// columns takes the columns of a group apart and moves the pointer behind them.
func (w *intWorker) columns() {
	step := panel * w.packing.bits // bytes of eight columns
	for c := 0; c < w.packing.group; c += 8 {
		for o := 0; o < step; o += 64 {
			w.PREFETCHT0(at(w.quants, ahead+c/8*step+o))
		}
		for v, row := range w.rows {
			w.eightColumns(c/8*step+4*row, func(i int, weight reg.VecVirtual) { w.use((w.first+c)/2+i, v, weight) })
		}
	}
	w.ADDQ(operand.U32(w.packing.group/8*step), w.quants)
}

// eightColumns gives the four pairs of eight columns of a vector of rows.
func (w *intWorker) eightColumns(offset int, give func(i int, weight reg.VecVirtual)) {
	if w.packing.bits == 8 {
		for i := range 2 {
			word, even := w.vec(), w.vec()
			w.VMOVUPS(at(w.quants, offset+i*4*panel), word)
			w.VPSLLW(operand.U8(8), word, even)
			w.VPSRAW(operand.U8(8), even, even)
			give(2*i, even)
			w.VPSRAW(operand.U8(8), word, word)
			give(2*i+1, word)
		}
		return
	}
	word := w.vec()
	w.VMOVUPS(at(w.quants, offset), word)
	for i := range 4 {
		weight := w.vec()
		switch i {
		case 0:
			w.and(w.mask, word, weight)
		case 3:
			w.VPSRLW(operand.U8(12), word, weight)
		default:
			w.VPSRLW(operand.U8(4*i), word, weight)
			w.and(w.mask, weight, weight)
		}
		if w.packing.zero != 0 {
			w.VPSUBW(w.target.bits(uint32(w.packing.zero)*0x10001), weight, weight)
		}
		give(i, weight)
	}
}

// unpackInt writes groups of 32 columns to memory as integers, with their
// scales and minima.
func (t *target) unpackInt(p packing) {
	t.begin("unpackInt"+p.name, "(dst []uint32, src []byte, skip, groups int)")
	for _, rows := range t.passes() {
		dst := t.base("dst")
		w := t.intWorker(p, rows)
		w.use = func(place, v int, weight reg.VecVirtual) {
			t.VMOVUPS(weight, at(dst, 4*(place*panel+rows[v])))
		}
		w.end = func(scale, minimum []reg.VecVirtual) {
			for v, row := range rows {
				t.VMOVUPS(scale[v], at(dst, 4*((pairs+w.first/16)*panel+row)))
				if p.minima {
					t.VMOVUPS(minimum[v], at(dst, 4*((pairs+1)*panel+row)))
				}
			}
			if w.first+p.group == 32 {
				t.ADDQ(operand.U32(groupBytes), dst)
			}
		}
		if !p.sub {
			t.times("block", t.integer("groups"), w.block)
			continue
		}
		w.enter()
		skip, bytes := t.integer("skip"), t.GP64()
		t.IMUL3Q(operand.U32(32*panel*p.bits/8), skip, bytes)
		t.ADDQ(bytes, w.quants)
		t.IMUL3Q(operand.U32(32/p.group*panel), skip, skip)
		t.ADDQ(skip, w.sub)
		t.times("group", t.integer("groups"), w.wholeGroup)
	}
	t.end()
}

// vectorInt multiplies a panel by the inputs of a few tokens: so few that writing
// the weights to memory would cost more than computing with them.
func (t *target) vectorInt(p packing, tokens int) {
	for _, rows := range t.passes() {
		x := t.strided("x", tokens)
		n := tokens * len(rows)
		chains, sums := t.vecs(n), t.vecs(n)
		for i := range n {
			t.zero(chains[i])
			t.zero(sums[i])
		}
		w := t.intWorker(p, rows)
		factor := t.vec()
		w.use = func(place, v int, weight reg.VecVirtual) {
			for i := range tokens {
				t.VPBROADCASTD(at(x[i], 8+4*place), factor)
				t.dot(weight, factor, sums[i*len(rows)+v])
			}
		}
		w.end = func(scale, minimum []reg.VecVirtual) {
			for i := range tokens {
				for v := range rows {
					sum, chain := sums[i*len(rows)+v], chains[i*len(rows)+v]
					t.VCVTDQ2PS(sum, sum)
					t.VBROADCASTSS(at(x[i], 0), factor)
					t.VMULPS(factor, sum, sum)
					t.VFMADD231PS(scale[v], sum, chain)
					if p.minima {
						t.VBROADCASTSS(at(x[i], 4), factor)
						t.VFMADD231PS(minimum[v], factor, chain)
					}
					t.zero(sum)
				}
				if w.first+p.group == 32 {
					t.ADDQ(operand.U32(blockBytes), x[i])
				}
			}
		}
		t.times("block", t.integer("blocks"), w.block)
		dst := t.strided("dst", tokens)
		for i := range tokens {
			for v, row := range rows {
				t.VMOVUPS(chains[i*len(rows)+v], at(dst[i], 4*row))
			}
		}
	}
}

// tileInt multiplies unpacked groups by the inputs of tokens, two vectors of rows
// at a time. The chains stay in dst, where every group takes them up.
func (t *target) tileInt(tokens int) {
	wBase, dstBase := t.base("w"), t.base("dst")
	rows := 2 * t.lanes
	if rows == panel {
		t.tileIntRows(tokens, 2, wBase, dstBase)
		return
	}
	left := t.GP64()
	t.MOVQ(operand.U32(panel/rows), left)
	t.times("rows", left, func() {
		t.tileIntRows(tokens, 2, wBase, dstBase)
		t.ADDQ(operand.U32(4*rows), wBase)
		t.ADDQ(operand.U32(4*rows), dstBase)
	})
}

// tileIntRows does that for so many vectors of rows: two of a panel, or four of two.
func (t *target) tileIntRows(tokens, vectors int, wBase, dstBase reg.GPVirtual) {
	t.startChains(tokens, vectors, dstBase)

	stride, stride3 := t.integer("xStride"), t.GP64()
	t.SHLQ(operand.U8(2), stride)
	t.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	x := t.fours(t.base("x"), stride, tokens)
	place := func(token, word int) operand.Mem {
		return rowOf(x[token/4], stride, stride3, token%4).Offset(4 * word)
	}
	w := t.GP64()
	t.MOVQ(wBase, w)
	// of is the address of a row of words of the group, for a vector of rows.
	of := func(word, v int) operand.Mem { return at(w, 4*word*panel+v%2*t.size()+v/2*pairBytes) }
	share := t.GP8()
	t.Load(t.Param("share"), share)

	factor, sums := t.vec(), t.vecs(vectors*tokens)
	// dots adds up the products of so many pairs.
	dots := func(n int) {
		for _, v := range sums {
			t.zero(v)
		}
		weights := t.vecs(vectors)
		const unroll = 4
		rounds := t.GP64()
		t.MOVQ(operand.U32(n/unroll), rounds)
		t.times("pairs", rounds, func() {
			for word := range unroll {
				for v, to := range weights {
					t.VMOVUPS(of(word, v), to)
				}
				for i := range tokens {
					t.VPBROADCASTD(place(i, 2+word), factor)
					for v, weight := range weights {
						t.dot(weight, factor, sums[vectors*i+v])
					}
				}
			}
			for _, r := range x {
				t.ADDQ(operand.U32(4*unroll), r)
			}
			t.ADDQ(operand.U32(4*unroll*panel), w)
		})
	}
	// finish adds sums to the chains, with the scales and, if they have a place, the minima,
	// counted in words from w. All pairs of the tokens' blocks are behind by so many words.
	finish := func(scales, minima, behind int) {
		scale := t.vecs(vectors)
		for v, to := range scale {
			t.VMOVUPS(of(scales, v), to)
		}
		total := t.vec()
		t.eachResult("dstStride", tokens, vectors, dstBase, func(i int, chain operand.Mem) {
			token, v := i/vectors, i%vectors
			if v == 0 {
				t.VBROADCASTSS(place(token, -behind), factor)
				if minima > 0 {
					t.VBROADCASTSS(place(token, 1-behind), total)
				}
			}
			t.VCVTDQ2PS(sums[i], sums[i])
			t.VMULPS(factor, sums[i], sums[i])
			t.VFMADD213PS(chain, scale[v], sums[i])
			if minima > 0 {
				t.VFMADD231PS(of(minima, v), total, sums[i])
			}
			t.VMOVUPS(sums[i], chain)
		})
	}
	t.times("group", t.integer("groups"), func() {
		two, one, next := t.label("two"), t.label("one"), t.label("next")
		t.CMPB(share, operand.U8(twoScales))
		t.JEQ(operand.LabelRef(two))
		dots(pairs)
		t.CMPB(share, operand.U8(oneScale))
		t.JEQ(operand.LabelRef(one))
		finish(0, 1, pairs)
		t.JMP(operand.LabelRef(next))
		t.Label(one)
		finish(0, 0, pairs)
		t.JMP(operand.LabelRef(next))
		t.Label(two)
		dots(pairs / 2)
		finish(pairs/2, 0, pairs/2)
		dots(pairs / 2)
		finish(1, 0, pairs)
		t.Label(next)
		for _, r := range x {
			t.ADDQ(operand.U32(blockBytes-4*pairs), r)
		}
		t.ADDQ(operand.U32(groupBytes-4*pairs*panel), w)
	})
}

// startChains clears the chains of a tile unless they are to be taken up.
func (t *target) startChains(tokens, vectors int, dstBase reg.GPVirtual) {
	start, zero := t.label("start"), t.vec()
	add := t.GP8()
	t.Load(t.Param("add"), add)
	t.TESTB(add, add)
	t.JNZ(operand.LabelRef(start))
	t.zero(zero)
	t.eachResult("dstStride", tokens, vectors, dstBase, func(_ int, m operand.Mem) { t.VMOVUPS(zero, m) })
	t.Label(start)
}
