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

// shape is how integers lie, as integers.go of package kernel describes it.
type shape struct {
	name string // in the names of functions
	head int    // words of a block of activations before its integers
	size int    // words of integers of 32 columns
}

var (
	asPairs = shape{"Int", 2, 16}  // of int16
	asFours = shape{"Short", 5, 8} // of bytes
)

// Sizes in bytes.
func (f shape) block() int  { return 4 * (f.head + f.size) }    // of a block of activations
func (f shape) group() int  { return 4 * panel * (f.size + 2) } // of an unpacked group of weights
func (f shape) panel() int  { return 8 * f.group() }            // from a panel's groups to the next one's
func (f shape) fours() bool { return f == asFours }

// integers writes the products in integers.
func (t *target) integers(f shape) {
	for _, p := range packings {
		if !p.integers() {
			continue
		}
		if !t.vnni || f.fours() {
			t.unpackInt(f, p)
		}
		t.begin("vector"+f.name+p.name, "(tokens int, dst []float32, dstStride int, src []byte, x []uint32, xStride, blocks int)")
		t.choose("tokens", t.vectorIntTokens(), func(tokens int) { t.vectorInt(f, p, tokens) })
	}
	t.begin("tile"+f.name, "(tokens, groups int, x []uint32, xStride int, w []uint32, dst []float32, dstStride int, share uint8, add bool)")
	t.choose("tokens", t.tileIntTokens(), func(tokens int) { t.tileInt(f, tokens) })
	if t.pairTokens() > 0 {
		t.begin("tile"+f.name+"Pair", "(tokens, groups int, x []uint32, xStride int, w []uint32, dst []float32, dstStride int, share uint8, add bool)")
		t.choose("tokens", t.pairTokens(), func(tokens int) { t.tileIntRows(f, tokens, 4, t.base("w"), t.base("dst")) })
	}
}

// integers reports whether products with the format are computed in integers.
func (p packedFormat) integers() bool { return !p.minima || p.group == 32 }

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

// The words of a block of activations in bytes that the sums start at, where 128 was added to
// the weights to rid them of their signs: -128 times the sum of all columns, of the first half
// and of the second.
const (
	startNone   = -1 << 20 // at zero
	startAll    = 2
	startFirst  = 3
	startSecond = 4
)

// start returns where the sums of the columns from first on start.
func (p packedFormat) start(first int) int {
	switch {
	case p.minima:
		return startNone
	case p.group == 32:
		return startAll
	case first == 0:
		return startFirst
	}
	return startSecond
}

// startSums sets the sums of a token; nibbles are 8 too large instead of 128.
func (t *target) startSums(start int, nibbles bool, place func(word int) operand.Mem, sums []reg.VecVirtual) {
	if start == startNone {
		for _, v := range sums {
			t.zero(v)
		}
		return
	}
	t.VPBROADCASTD(place(start), sums[0])
	if nibbles {
		t.VPSRAD(operand.U8(4), sums[0], sums[0])
	}
	for _, v := range sums[1:] {
		t.VMOVAPS(sums[0], v)
	}
}

// dot adds the products of pairs of int16, or of fours of bytes, to the sums of a lane. Of
// bytes, weights have no sign.
func (t *target) dot(f shape, weights, x, sums reg.VecVirtual) {
	if f.fours() {
		t.dotBytes(x, weights, sums)
		return
	}
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

// intWorker takes the columns of a panel apart into integers. It passes each pair or four
// of columns to use, with its place among those of 32 columns and the index of its
// vector of rows.
type intWorker struct {
	*worker
	shape shape
	mask  reg.VecVirtual
	first int // column of the 32 that the group begins at
	// start, if there is one, is called before the columns of a group.
	start func()
	use   func(place, v int, w reg.VecVirtual)
	// end takes the scales and minima of the group.
	end func(scale, minimum []reg.VecVirtual)
}

func (t *target) intWorker(f shape, p packedFormat, rows []int) *intWorker {
	w := &intWorker{worker: &worker{target: t, packedFormat: p, rows: rows, quants: t.base("src")}, shape: f}
	if p.bits == 4 || f.fours() {
		w.mask = t.vec()
		t.VMOVUPS(t.bits(w.maskBits()), w.mask)
	}
	return w
}

// maskBits are the bits that take the first column of some out of a word.
func (w *intWorker) maskBits() uint32 {
	switch {
	case !w.shape.fours():
		return 0x000f000f
	case w.packedFormat.bits == 4:
		return 0x0f0f0f0f
	}
	return 0x00ff00ff
}

// block works off a block and moves on to the next.
func (w *intWorker) block() {
	if !w.packedFormat.sub {
		header := w.GP64()
		w.MOVQ(w.quants, header)
		w.ADDQ(operand.U32(w.packedFormat.quants()), w.quants)
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
	for w.first = 0; w.first < 32; w.first += w.packedFormat.group {
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
	if w.start != nil {
		w.start()
	}
	step := panel * w.packedFormat.bits // bytes of eight columns
	for c := 0; c < w.packedFormat.group; c += 8 {
		for o := 0; o < step; o += 64 {
			w.PREFETCHT0(at(w.quants, ahead+c/8*step+o))
		}
		for v, row := range w.rows {
			take := w.eightColumns
			if w.shape.fours() {
				take = w.eightBytes
			}
			take(c/8*step+4*row, func(i int, weight reg.VecVirtual) { w.use((w.first+c)*w.shape.size/32+i, v, weight) })
		}
	}
	w.ADDQ(operand.U32(w.packedFormat.group/8*step), w.quants)
}

// eightColumns gives the four pairs of eight columns of a vector of rows.
func (w *intWorker) eightColumns(offset int, give func(i int, weight reg.VecVirtual)) {
	if w.packedFormat.bits == 8 {
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
		if w.packedFormat.zero != 0 {
			w.VPSUBW(w.target.bits(uint32(w.packedFormat.zero)*0x10001), weight, weight)
		}
		give(i, weight)
	}
}

// eightBytes gives the two fours of eight columns of a vector of rows: the even ones, and the
// odd ones. To weights with a sign it adds 128.
func (w *intWorker) eightBytes(offset int, give func(i int, weight reg.VecVirtual)) {
	even, odd := w.vec(), w.vec()
	if w.packedFormat.bits == 4 {
		w.VMOVUPS(at(w.quants, offset), odd)
		w.and(w.mask, odd, even)
		give(0, even)
		w.VPSRLW(operand.U8(4), odd, odd)
		w.and(w.mask, odd, odd)
		give(1, odd)
		return
	}
	// Columns 0, 1, 4, 5 and 2, 3, 6, 7.
	first, second := w.vec(), w.vec()
	w.VMOVUPS(at(w.quants, offset), first)
	w.VMOVUPS(at(w.quants, offset+4*panel), second)
	w.VPSLLW(operand.U8(8), second, even)
	w.VPSRLW(operand.U8(8), first, odd)
	if w.wide() {
		w.VPTERNLOGD(operand.U8(0xf8), w.mask, first, even)
		w.VPTERNLOGD(operand.U8(0xf4), w.mask, second, odd)
	} else {
		w.VPAND(w.mask, first, first)
		w.VPOR(first, even, even)
		w.VPANDN(second, w.mask, second)
		w.VPOR(second, odd, odd)
	}
	for i, weight := range []reg.VecVirtual{even, odd} {
		if !w.minima {
			sign := w.target.bits(0x80808080)
			if w.wide() {
				w.VPXORD(sign, weight, weight)
			} else {
				w.VPXOR(sign, weight, weight)
			}
		}
		give(i, weight)
	}
}

// unpackInt writes groups of 32 columns to memory as integers, with their
// scales and minima.
func (t *target) unpackInt(f shape, p packedFormat) {
	t.begin("unpack"+f.name+p.name, "(dst []uint32, src []byte, skip, groups int)")
	for _, rows := range t.passes() {
		dst := t.base("dst")
		w := t.intWorker(f, p, rows)
		w.use = func(place, v int, weight reg.VecVirtual) {
			if f.fours() && p.zero != 0 {
				t.VPADDB(t.bits(uint32(128-p.zero)*0x01010101), weight, weight)
			}
			t.VMOVUPS(weight, at(dst, 4*(place*panel+rows[v])))
		}
		w.end = func(scale, minimum []reg.VecVirtual) {
			for v, row := range rows {
				t.VMOVUPS(scale[v], at(dst, 4*((f.size+w.first/16)*panel+row)))
				if p.minima {
					t.VMOVUPS(minimum[v], at(dst, 4*((f.size+1)*panel+row)))
				}
			}
			if w.first+p.group == 32 {
				t.ADDQ(operand.U32(f.group()), dst)
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
func (t *target) vectorInt(f shape, p packedFormat, tokens int) {
	for _, rows := range t.passes() {
		x := t.strided("x", tokens)
		n := tokens * len(rows)
		chains, sums := t.vecs(n), t.vecs(n)
		w := t.intWorker(f, p, rows)
		factor := t.vec()
		for i := range n {
			t.zero(chains[i])
			if !f.fours() {
				t.zero(sums[i])
			}
		}
		w.use = func(place, v int, weight reg.VecVirtual) {
			for i := range tokens {
				t.VPBROADCASTD(at(x[i], 4*(f.head+place)), factor)
				t.dot(f, weight, factor, sums[i*len(rows)+v])
			}
		}
		if f.fours() {
			w.start = func() {
				for i := range tokens {
					t.startSums(p.start(w.first), p.zero != 0, func(word int) operand.Mem { return at(x[i], 4*word) }, sums[i*len(rows):(i+1)*len(rows)])
				}
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
					if !f.fours() {
						t.zero(sum)
					}
				}
				if w.first+p.group == 32 {
					t.ADDQ(operand.U32(f.block()), x[i])
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
func (t *target) tileInt(f shape, tokens int) {
	wBase, dstBase := t.base("w"), t.base("dst")
	rows := 2 * t.lanes
	if rows == panel {
		t.tileIntRows(f, tokens, 2, wBase, dstBase)
		return
	}
	left := t.GP64()
	t.MOVQ(operand.U32(panel/rows), left)
	t.times("rows", left, func() {
		t.tileIntRows(f, tokens, 2, wBase, dstBase)
		t.ADDQ(operand.U32(4*rows), wBase)
		t.ADDQ(operand.U32(4*rows), dstBase)
	})
}

// tileIntRows does that for so many vectors of rows: two of a panel, or four of two.
func (t *target) tileIntRows(f shape, tokens, vectors int, wBase, dstBase reg.GPVirtual) {
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
	of := func(word, v int) operand.Mem { return at(w, 4*word*panel+v%2*t.size()+v/2*f.panel()) }
	share := t.GP8()
	t.Load(t.Param("share"), share)

	factor, sums := t.vec(), t.vecs(vectors*tokens)
	// dots adds up the products of so many words. Of bytes, the sums start at the word of the
	// tokens' blocks, or at zero.
	dots := func(n, start int) {
		for i := range tokens {
			t.startSums(start, false, func(word int) operand.Mem { return place(i, word) }, sums[vectors*i:vectors*(i+1)])
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
					t.VPBROADCASTD(place(i, f.head+word), factor)
					for v, weight := range weights {
						t.dot(f, weight, factor, sums[vectors*i+v])
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
		if !f.fours() {
			dots(f.size, startNone)
		}
		t.CMPB(share, operand.U8(oneScale))
		t.JEQ(operand.LabelRef(one))
		if f.fours() {
			dots(f.size, startNone)
		}
		finish(0, 1, f.size)
		t.JMP(operand.LabelRef(next))
		t.Label(one)
		if f.fours() {
			dots(f.size, startAll)
		}
		finish(0, 0, f.size)
		t.JMP(operand.LabelRef(next))
		t.Label(two)
		first, second := startNone, startNone
		if f.fours() {
			first, second = startFirst, startSecond-f.size/2
		}
		dots(f.size/2, first)
		finish(f.size/2, 0, f.size/2)
		dots(f.size/2, second)
		finish(1, 0, f.size)
		t.Label(next)
		for _, r := range x {
			t.ADDQ(operand.U32(f.block()-4*f.size), r)
		}
		t.ADDQ(operand.U32(f.group()-4*f.size*panel), w)
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
