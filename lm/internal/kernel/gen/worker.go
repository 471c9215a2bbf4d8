package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// worker computes the weights of some rows of a panel, column by column. It
// passes each to use, with its column within eight and the index of its vector
// of rows, and calls next after every eight columns.
type worker struct {
	*target
	packedFormat
	rows   []int // first row of each vector
	lookUp reg.VecVirtual
	use    func(k, v int, w reg.VecVirtual)
	next   func()

	quants      reg.GPVirtual // the block, then its quants
	header, sub reg.GPVirtual // of a format with subscales
}

// block works off a block and moves on to the next.
func (w *worker) block() {
	if !w.packedFormat.sub {
		scale, minimum := w.affine(w.quants)
		w.ADDQ(operand.U32(w.packedFormat.quants()), w.quants)
		w.group(scale, minimum)
		return
	}
	w.enter()
	groups := w.GP64()
	w.MOVQ(operand.U32(w.groups()), groups)
	w.times("group", groups, w.subGroup)
}

// enter sets the pointers to the first group of a block with subscales.
func (w *worker) enter() {
	w.header, w.sub = w.GP64(), w.GP64()
	w.MOVQ(w.quants, w.header)
	w.LEAQ(at(w.quants, w.subscales()), w.sub)
	w.ADDQ(operand.U32(w.packedFormat.quants()), w.quants)
}

// subGroup works off a group of such a block and moves on to the next.
func (w *worker) subGroup() {
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
		}
	}
	w.group(scale, minimum)
	w.ADDQ(operand.U32(panel), w.sub)
}

// affine loads the scales and minima of a block.
func (w *worker) affine(header reg.GPVirtual) (scale, minimum []reg.VecVirtual) {
	scale, minimum = w.vecs(len(w.rows)), w.vecs(len(w.rows))
	for v, row := range w.rows {
		w.VCVTPH2PS(at(header, 2*row), scale[v])
		if w.minima {
			w.VCVTPH2PS(at(header, 2*panel+2*row), minimum[v])
		}
		if w.packedFormat.zero != 0 {
			w.VMULPS(w.float(-w.packedFormat.zero), scale[v], minimum[v])
		}
	}
	return scale, minimum
}

// group computes the weights of the columns that share a scale, and moves the
// pointer behind them.
func (w *worker) group(scale, minimum []reg.VecVirtual) {
	words := w.GP64()
	w.MOVQ(operand.U32(w.packedFormat.group/8), words)
	w.times("word", words, func() {
		for o := 0; o < panel*w.packedFormat.bits; o += 64 {
			w.PREFETCHT0(at(w.quants, ahead+o))
		}
		nibbles := w.vecs(len(w.rows))
		if w.packedFormat.bits == 4 {
			for v, row := range w.rows {
				w.VMOVUPS(at(w.quants, 4*row), nibbles[v])
			}
		}
		for k := range 8 {
			for v, row := range w.rows {
				weight := w.vec()
				if w.packedFormat.bits == 4 {
					w.nibble(k, nibbles[v], weight)
				} else {
					w.byteOf(k, row, weight)
				}
				switch {
				case w.packedFormat.sub && w.minima:
					w.VFMSUB213PS(minimum[v], scale[v], weight)
				case w.minima || w.packedFormat.zero != 0:
					w.VFMADD213PS(minimum[v], scale[v], weight)
				default:
					w.VMULPS(scale[v], weight, weight)
				}
				w.use(k, v, weight)
			}
		}
		w.ADDQ(operand.U32(panel*w.packedFormat.bits), w.quants)
		w.next()
	})
}

// nibble takes the k-th of eight nibbles, which must be taken in order, and
// gives its value.
func (w *worker) nibble(k int, nibbles, value reg.VecVirtual) {
	if k > 0 {
		w.VPSRLD(operand.U8(4), nibbles, nibbles)
	}
	if w.wide() {
		// The index is the lowest four bits of a lane.
		w.VPERMPS(w.lookUp, nibbles, value)
		return
	}
	w.VPAND(w.lookUp, nibbles, value)
	w.VCVTDQ2PS(value, value)
}

// byteOf gives the value of the k-th of eight columns of eight bits, which lie in
// two words: 0, 1, 4, 5 and 2, 3, 6, 7.
func (w *worker) byteOf(k, row int, value reg.VecVirtual) {
	place := k/4*2 + k%2
	w.VMOVUPS(at(w.quants, 4*(k%4/2*panel+row)), value)
	if place < 3 {
		w.VPSLLD(operand.U8(24-8*place), value, value)
	}
	w.VPSRAD(operand.U8(24), value, value)
	w.VCVTDQ2PS(value, value)
}

// quantTable loads the table of the values of a nibble, where a table of 16
// can be looked up at once; else the mask of a nibble.
func (t *target) quantTable(p packedFormat) reg.VecVirtual {
	if p.bits != 4 {
		return nil
	}
	v := t.vec()
	if !t.wide() {
		t.VMOVDQU(t.bits(15), v)
		return v
	}
	if _, ok := t.tables["nibble"]; !ok {
		words := make([]uint32, 16)
		for i := range words {
			words[i] = math.Float32bits(float32(i))
		}
		t.tables["nibble"] = t.table("nibble", words)
	}
	t.VMOVUPS(t.tables["nibble"], v)
	return v
}
