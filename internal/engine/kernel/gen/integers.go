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
		if t.unpacks(f) {
			t.unpackInt(f, p)
		}
		t.begin("vector"+f.name+p.name, "(tokens int, dst []float32, dstStride int, src []byte, x []uint32, xStride, blocks int)")
		t.choose("tokens", t.vectorBodies(), func(tokens int) { t.vectorInt(f, p, tokens) })
	}
	const signature = "(tokens, groups int, x []uint32, xStride int, w []uint32, dst []float32, dstStride int, share uint8, add bool)"
	t.begin("tile"+f.name, signature)
	t.choose("tokens", t.tileSizes(), func(tokens int) { t.tileInt(f, tokens, 2) })
	if sizes := t.pairSizes(); sizes != nil {
		t.begin("tile"+f.name+"Pair", signature)
		t.choose("tokens", sizes, func(tokens int) { t.tileInt(f, tokens, 4) })
	}
}

// unpacks reports whether the level unpacks weights by itself, not as the one that it adds to.
func (i isa) unpacks(f shape) bool { return i.floats() || f.fours() }

// tileSizes are the numbers of tokens that a tile is written for. The sums of the largest fit into
// the registers beside two vectors of weights, an input and a product.
func (i isa) tileSizes() []int {
	if i.wide() {
		return []int{1, 2, 3, 4, 5, 6, 8, 10, 12}
	}
	return []int{1, 2, 3, 4, 5}
}

// pairSizes is the same for two panels at once, where the registers hold enough: an input
// is then loaded once for four vectors of rows.
func (i isa) pairSizes() []int {
	if i.wide() {
		return []int{1, 2, 3, 4, 5, 6}
	}
	return nil
}

// vectorBodies are the numbers of tokens that products without unpacking are written for. Fewer
// tokens take the next larger one, which computes the last token more than once.
func (i isa) vectorBodies() []int {
	if i.wide() {
		return []int{1, 2, 4}
	}
	return []int{1}
}

// The words of a block of activations in bytes that the sums start at, where 128 was added to
// the weights to rid them of their signs: -128 times the sum of all columns, of the first half
// and of the second.
const (
	startAll    = 2
	startFirst  = 3
	startSecond = 4
)

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

// intWorker takes the columns of two vectors of rows of a panel apart into integers.
type intWorker struct {
	*target
	packedFormat
	shape shape
	mask  reg.VecVirtual

	// The parts of a block that belong to the rows: its scales, its subscales and its columns.
	header, sub, quants reg.GPVirtual
	// column counts the bytes of the inputs of 32 columns that are done, and half is 4 in the second
	// half of columns with two scales.
	column, half reg.GPVirtual

	unsigned bool // adds 128 to all weights, as bytes
	// start, if there is one, is called before the columns of a group.
	start func()
	// use takes words of unroll eights of columns of a vector of rows, and next is called after them.
	unroll int
	use    func(word, v int, w reg.VecVirtual)
	next   func()
	// end takes the scales and minima of a group, and done is called after 32 columns.
	end  func(scale, minimum []reg.VecVirtual)
	done func()
}

// vectorsOfRows is the number of vectors of rows that are worked on at a time.
const vectorsOfRows = 2

// passes writes the body once, for two vectors of rows, and repeats it until a panel is done. The
// register holds the first row; it is nil where that is the first of the panel.
func (t *target) passes(body func(first reg.Register)) {
	rows := vectorsOfRows * t.lanes
	if rows == panel {
		body(nil)
		return
	}
	first, pass := t.GP64(), t.label("pass")
	t.MOVQ(operand.U32(0), first)
	t.Label(pass)
	body(first)
	t.ADDQ(operand.U32(rows), first)
	t.CMPQ(first, operand.U8(panel))
	t.JNE(operand.LabelRef(pass))
}

// from moves a pointer to the first row of a pass.
func (t *target) from(p reg.GPVirtual, first reg.Register, size uint8) {
	if first != nil {
		t.LEAQ(operand.Mem{Base: p, Index: first, Scale: size}, p)
	}
}

func (t *target) intWorker(f shape, p packedFormat, first reg.Register) *intWorker {
	w := &intWorker{target: t, packedFormat: p, shape: f, header: t.base("src"), quants: t.GP64(), unroll: 1, next: func() {}}
	t.LEAQ(at(w.header, p.quants()), w.quants)
	t.from(w.quants, first, 4)
	if p.sub {
		w.sub = t.GP64()
		t.LEAQ(at(w.header, p.subscales()), w.sub)
		t.from(w.sub, first, 1)
	}
	t.from(w.header, first, 2)
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
	if w.packedFormat.sub {
		w.repeat("group", w.values/32, w.wholeGroup)
		w.ADDQ(operand.U32(w.blockSize()-w.groups()*panel), w.sub)
	} else {
		w.wholeGroup()
	}
	w.ADDQ(operand.U32(w.packedFormat.quants()), w.quants)
	w.ADDQ(operand.U32(w.blockSize()), w.header)
}

// wholeGroup works off 32 columns.
func (w *intWorker) wholeGroup() {
	w.column = w.GP64()
	w.MOVQ(operand.U32(0), w.column)
	if w.packedFormat.group == 32 {
		w.group()
	} else {
		second := w.label("half")
		w.half = w.GP64()
		w.MOVQ(operand.U32(0), w.half)
		w.Label(second)
		w.group()
		w.ADDQ(operand.U8(4), w.half)
		w.CMPQ(w.half, operand.U8(8))
		w.JNE(operand.LabelRef(second))
	}
	w.done()
}

// group works off columns that share a scale, and moves the pointers behind them.
func (w *intWorker) group() {
	if w.start != nil {
		w.start()
	}
	step := panel * w.packedFormat.bits // bytes of eight columns
	w.repeat("columns", w.packedFormat.group/8/w.unroll, func() {
		for eight := range w.unroll {
			for o := 0; o < step; o += 64 {
				w.PREFETCHT0(at(w.quants, ahead+eight*step+o))
			}
			for v := range vectorsOfRows {
				take := w.eightColumns
				if w.shape.fours() {
					take = w.eightBytes
				}
				take(eight*step+v*w.size(), func(word int, weight reg.VecVirtual) { w.use(eight*w.shape.size/4+word, v, weight) })
			}
		}
		w.ADDQ(operand.U32(w.unroll*step), w.quants)
		w.ADDQ(operand.U8(w.unroll*w.shape.size), w.column)
		w.next()
	})
	w.end(w.affine())
}

// affine loads the scales and minima of a group and moves on to the next one's.
func (w *intWorker) affine() (scale, minimum []reg.VecVirtual) {
	scale, minimum = w.vecs(vectorsOfRows), w.vecs(vectorsOfRows)
	for v := range vectorsOfRows {
		w.VCVTPH2PS(at(w.header, 2*v*w.lanes), scale[v])
		if w.minima {
			w.VCVTPH2PS(at(w.header, 2*panel+2*v*w.lanes), minimum[v])
		}
	}
	if !w.packedFormat.sub {
		return scale, minimum
	}
	factor := w.vec()
	for v := range vectorsOfRows {
		w.VPMOVSXBD(at(w.sub, v*w.lanes), factor)
		w.VCVTDQ2PS(factor, factor)
		w.VMULPS(factor, scale[v], scale[v])
		if w.minima {
			w.VPMOVSXBD(at(w.sub, w.groups()*panel+v*w.lanes), factor)
			w.VCVTDQ2PS(factor, factor)
			w.VMULPS(factor, minimum[v], minimum[v])
			w.VXORPS(w.target.bits(signBit), minimum[v], minimum[v])
		}
	}
	w.ADDQ(operand.U32(panel), w.sub)
	return scale, minimum
}

// and keeps the bits of b that are set in a.
func (t *target) and(a, b, to reg.VecVirtual) {
	if t.wide() {
		t.VPANDD(a, b, to)
	} else {
		t.VPAND(a, b, to)
	}
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
// odd ones. It adds 128 to weights with a sign, which nibbles have none of, and to all if told so.
func (w *intWorker) eightBytes(offset int, give func(i int, weight reg.VecVirtual)) {
	even, odd := w.vec(), w.vec()
	if w.packedFormat.bits == 4 {
		w.VMOVUPS(at(w.quants, offset), odd)
		w.and(w.mask, odd, even)
		w.VPSRLW(operand.U8(4), odd, odd)
		w.and(w.mask, odd, odd)
		for i, weight := range []reg.VecVirtual{even, odd} {
			if w.unsigned {
				w.VPADDB(w.target.bits(uint32(128-w.packedFormat.zero)*0x01010101), weight, weight)
			}
			give(i, weight)
		}
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
		if w.unsigned || !w.minima {
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
	t.passes(func(first reg.Register) {
		w := t.intWorker(f, p, first)
		w.unsigned, w.unroll = true, 2
		dst, scales := t.base("dst"), t.GP64()
		t.from(dst, first, 4)
		t.LEAQ(at(dst, 4*f.size*panel), scales)
		w.use = func(word, v int, weight reg.VecVirtual) {
			t.VMOVUPS(weight, at(dst, 4*word*panel+v*t.size()))
		}
		w.next = func() { t.ADDQ(operand.U32(w.unroll*f.size*panel), dst) }
		ends := 2
		w.end = func(scale, minimum []reg.VecVirtual) {
			for v := range vectorsOfRows {
				t.VMOVUPS(scale[v], at(scales, v*t.size()))
				if p.minima {
					t.VMOVUPS(minimum[v], at(scales, 4*panel+v*t.size()))
				}
			}
			if p.group == 16 {
				t.ADDQ(operand.U32(4*panel), scales)
				ends = 0
			}
		}
		w.done = func() {
			t.ADDQ(operand.U32(2*4*panel), dst)
			t.ADDQ(operand.U32(f.group()-(2-ends)*4*panel), scales)
		}
		if !p.sub {
			t.times("block", t.integer("groups"), w.block)
			return
		}
		skip, bytes := t.integer("skip"), t.GP64()
		t.IMUL3Q(operand.U32(32*panel*p.bits/8), skip, bytes)
		t.ADDQ(bytes, w.quants)
		t.IMUL3Q(operand.U32(32/p.group*panel), skip, skip)
		t.ADDQ(skip, w.sub)
		t.times("group", t.integer("groups"), w.wholeGroup)
	})
	t.end()
}
