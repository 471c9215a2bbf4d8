package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packing is a packed format, as layout.go of package kernel describes it.
type packing struct {
	name   string
	values int
	group  int
	bits   int
	zero   float32
	minima bool
	sub    bool
}

var packings = []packing{
	{name: "4", values: 32, group: 32, bits: 4, zero: 8},
	{name: "4m", values: 32, group: 32, bits: 4, minima: true},
	{name: "4k", values: 256, group: 32, bits: 4, minima: true, sub: true},
	{name: "8", values: 32, group: 32, bits: 8},
	{name: "8m", values: 32, group: 32, bits: 8, minima: true},
	{name: "8k", values: 256, group: 32, bits: 8, minima: true, sub: true},
	{name: "6k", values: 256, group: 16, bits: 8, sub: true},
}

// ahead is how many bytes before their use weights are fetched. The CPU does
// not do so beyond the end of a page by itself. Fetching beyond the end of the
// matrix does nothing.
const ahead = 4096

func (p packing) affine() bool { return p.minima || p.zero != 0 }
func (p packing) groups() int  { return p.values / p.group }

func (p packing) subscales() int {
	if p.minima {
		return 4 * panel
	}
	return 2 * panel
}

func (p packing) quants() int {
	n := 2 * panel
	if p.sub {
		n += p.groups() * panel
	}
	if p.minima {
		n *= 2
	}
	return n
}

// weights writes the functions that unpack panels and those that multiply a
// panel by one column.
func (t *target) weights() {
	for _, p := range packings {
		t.unpack(p)
		t.vector(p)
	}
	t.unpackHalf("F16", func(m operand.Mem, v reg.VecVirtual) { t.VCVTPH2PS(m, v) })
	t.unpackHalf("BF16", func(m operand.Mem, v reg.VecVirtual) {
		t.VPMOVZXWD(m, v)
		t.VPSLLD(operand.U8(16), v, v)
	})
}

// passes lists the first rows of the vectors that are worked on together: the
// whole panel, or half of it where registers are few.
func (t *target) passes() [][]int {
	if t.wide() {
		return [][]int{{0, 16}}
	}
	return [][]int{{0, 8}, {16, 24}}
}

// unpack writes the weights of blocks of a panel to memory.
func (t *target) unpack(p packing) {
	t.begin("unpack"+p.name, "(dst []float32, src []byte, blocks int)",
		"writes the weights of blocks of a panel as [column][32]float32.")
	for _, rows := range t.passes() {
		dst := t.base("dst")
		t.blocks(p, rows, func(k, v int, w reg.VecVirtual) {
			t.VMOVUPS(w, at(dst, 4*(k*panel+rows[v])))
		}, func() {
			t.ADDQ(operand.U32(4*8*panel), dst)
		})
	}
	t.end()
}

// vector multiplies a panel by one column.
func (t *target) vector(p packing) {
	t.begin("vector"+p.name, "(dst []float32, src []byte, x []float32, blocks int)",
		"is the product of a panel and x.")
	for _, rows := range t.passes() {
		x := t.base("x")
		sums := t.vecs(len(rows))
		for _, v := range sums {
			t.zero(v)
		}
		var factor reg.VecVirtual
		t.blocks(p, rows, func(k, v int, w reg.VecVirtual) {
			if v == 0 {
				factor = t.vec()
				t.VBROADCASTSS(at(x, 4*k), factor)
			}
			t.VFMADD231PS(w, factor, sums[v])
		}, func() {
			t.ADDQ(operand.U32(4*8), x)
		})
		dst := t.base("dst")
		for v, row := range rows {
			t.VMOVUPS(sums[v], at(dst, 4*row))
		}
	}
	t.end()
}

// blocks computes the weights of the vectors of rows. It passes each to use,
// with its column within eight and the index of its vector, and calls next
// after every eight columns.
func (t *target) blocks(p packing, rows []int, use func(k, v int, w reg.VecVirtual), next func()) {
	quants, sub := t.base("src"), t.GP64()
	lookUp := t.quantTable(p)
	n := len(rows)
	d, m := t.vecs(n), t.vecs(n)
	t.times("block", t.integer("blocks"), func() {
		for v, row := range rows {
			t.VCVTPH2PS(at(quants, 2*row), d[v])
			if p.minima {
				t.VCVTPH2PS(at(quants, 2*panel+2*row), m[v])
			}
			if p.zero != 0 {
				t.VMULPS(t.float(-p.zero), d[v], m[v])
			}
		}
		if !p.sub {
			t.ADDQ(operand.U32(p.quants()), quants)
			t.groupOf(p, rows, quants, lookUp, d, m, use, next)
			return
		}
		t.LEAQ(at(quants, p.subscales()), sub)
		t.ADDQ(operand.U32(p.quants()), quants)
		groups := t.GP64()
		t.MOVQ(operand.U32(p.groups()), groups)
		t.times("group", groups, func() {
			scale, minimum := t.subAffine(p, rows, sub, d, m)
			t.groupOf(p, rows, quants, lookUp, scale, minimum, use, next)
			t.ADDQ(operand.U32(panel), sub)
		})
	})
}

// quantTable loads the table of the values of a nibble, where a table of 16
// can be looked up at once; else the mask of a nibble.
func (t *target) quantTable(p packing) reg.VecVirtual {
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

// subAffine computes the scales and minima of a group from those of its block.
func (t *target) subAffine(p packing, rows []int, sub reg.GPVirtual, d, m []reg.VecVirtual) (scale, minimum []reg.VecVirtual) {
	scale, minimum = t.vecs(len(rows)), t.vecs(len(rows))
	for v, row := range rows {
		t.VPMOVSXBD(at(sub, row), scale[v])
		t.VCVTDQ2PS(scale[v], scale[v])
		t.VMULPS(d[v], scale[v], scale[v])
		if p.minima {
			t.VPMOVSXBD(at(sub, p.groups()*panel+row), minimum[v])
			t.VCVTDQ2PS(minimum[v], minimum[v])
			t.VMULPS(m[v], minimum[v], minimum[v])
		}
	}
	return scale, minimum
}

// groupOf computes the weights of the columns that share a scale, and moves
// the pointer behind them.
func (t *target) groupOf(p packing, rows []int, quants reg.GPVirtual, lookUp reg.VecVirtual, scale, minimum []reg.VecVirtual, use func(k, v int, w reg.VecVirtual), next func()) {
	words := t.GP64()
	t.MOVQ(operand.U32(p.group/8), words)
	t.times("word", words, func() {
		for o := 0; o < panel*p.bits; o += 64 {
			t.PREFETCHT0(at(quants, ahead+o))
		}
		nibbles := t.vecs(len(rows))
		if p.bits == 4 {
			for v, row := range rows {
				t.VMOVUPS(at(quants, 4*row), nibbles[v])
			}
		}
		for k := range 8 {
			for v, row := range rows {
				w := t.vec()
				if p.bits == 4 {
					t.nibble(k, nibbles[v], lookUp, w)
				} else {
					t.VPMOVSXBD(at(quants, k*panel+row), w)
					t.VCVTDQ2PS(w, w)
				}
				switch {
				case p.sub && p.minima:
					t.VFMSUB213PS(minimum[v], scale[v], w)
				case p.affine():
					t.VFMADD213PS(minimum[v], scale[v], w)
				default:
					t.VMULPS(scale[v], w, w)
				}
				use(k, v, w)
			}
		}
		t.ADDQ(operand.U32(panel*p.bits), quants)
		next()
	})
}

// nibble takes the k-th of eight nibbles, which must be taken in order, and
// gives its value.
func (t *target) nibble(k int, nibbles, lookUp, w reg.VecVirtual) {
	if k > 0 {
		t.VPSRLD(operand.U8(4), nibbles, nibbles)
	}
	if t.wide() {
		// The index is the lowest four bits of a lane.
		t.VPERMPS(lookUp, nibbles, w)
		return
	}
	t.VPAND(lookUp, nibbles, w)
	t.VCVTDQ2PS(w, w)
}

// unpackHalf writes columns of a format of 16 bits.
func (t *target) unpackHalf(name string, convert func(operand.Mem, reg.VecVirtual)) {
	t.begin("unpack"+name, "(dst []float32, src []byte, blocks int)",
		"writes columns of a panel as [column][32]float32.")
	dst, src := t.base("dst"), t.base("src")
	t.times("column", t.integer("blocks"), func() {
		for row := 0; row < panel; row += t.lanes {
			w := t.vec()
			convert(at(src, 2*row), w)
			t.VMOVUPS(w, at(dst, 4*row))
		}
		t.ADDQ(operand.U32(2*panel), src)
		t.ADDQ(operand.U32(4*panel), dst)
	})
	t.end()
}
