package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packedFormat is a packed format, as layout.go of package kernel describes it.
type packedFormat struct {
	name   string
	values int
	group  int
	bits   int
	zero   float32
	minima bool
	sub    bool
}

var packings = []packedFormat{
	{name: "4", values: 32, group: 32, bits: 4, zero: 8},
	{name: "4m", values: 32, group: 32, bits: 4, minima: true},
	{name: "4k", values: 256, group: 32, bits: 4, minima: true, sub: true},
	{name: "8", values: 32, group: 32, bits: 8},
	{name: "8m", values: 32, group: 32, bits: 8, minima: true},
	{name: "8k", values: 256, group: 32, bits: 8, minima: true, sub: true},
	{name: "6k", values: 256, group: 16, bits: 8, sub: true},
	{name: "2k", values: 256, group: 16, bits: 4, minima: true, sub: true},
}

// ahead is the distance in bytes by which weights are fetched before their use. The CPU
// does not do so beyond the end of a page by itself. Fetching beyond the end of the matrix
// does nothing.
const ahead = 4096

func (p packedFormat) groups() int { return p.values / p.group }

func (p packedFormat) subscales() int {
	if p.minima {
		return 4 * panel
	}
	return 2 * panel
}

func (p packedFormat) quants() int {
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
		t.begin("vector"+p.name, "(tokens int, dst []float32, dstStride int, src []byte, x []float32, xStride, blocks int)")
		t.choose("tokens", t.vectorTokens(), func(tokens int) { t.vector(p, tokens) })
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

// unpack writes the weights of groups of columns to memory. Of a format with
// subscales, they are groups of one block.
func (t *target) unpack(p packedFormat) {
	t.begin("unpack"+p.name, "(dst []float32, src []byte, skip, groups int)")
	for _, rows := range t.passes() {
		dst := t.base("dst")
		w := worker{
			target: t, packedFormat: p, rows: rows, quants: t.base("src"), lookUp: t.quantTable(p),
			use: func(k, v int, w reg.VecVirtual) {
				t.VMOVUPS(w, at(dst, 4*(k*panel+rows[v])))
			},
			next: func() {
				t.ADDQ(operand.U32(4*8*panel), dst)
			},
		}
		if !p.sub {
			t.times("block", t.integer("groups"), w.block)
			continue
		}
		w.enter()
		skip := t.integer("skip")
		t.IMUL3Q(operand.U32(panel), skip, skip)
		t.ADDQ(skip, w.sub)
		t.IMUL3Q(operand.U32(p.group*p.bits/8), skip, skip)
		t.ADDQ(skip, w.quants)
		t.times("group", t.integer("groups"), w.subGroup)
	}
	t.end()
}

// vectorTokens returns the largest number of tokens that vector is written for.
func (i isa) vectorTokens() int {
	if i.vectors == 32 {
		return 4
	}
	return 2
}

// vector multiplies a panel by the inputs of a few tokens: so few that writing
// the weights to memory would cost more than computing with them.
func (t *target) vector(p packedFormat, tokens int) {
	for _, rows := range t.passes() {
		x := t.strided("x", tokens)
		sums := t.vecs(tokens * len(rows))
		for _, v := range sums {
			t.zero(v)
		}
		factor := t.vec()
		weights := make([]reg.VecVirtual, len(rows))
		worker := worker{
			target: t, packedFormat: p, rows: rows, quants: t.base("src"), lookUp: t.quantTable(p),
			use: func(k, v int, w reg.VecVirtual) {
				weights[v] = w
				if v < len(rows)-1 {
					return
				}
				for i := range tokens {
					t.VBROADCASTSS(at(x[i], 4*k), factor)
					for j, w := range weights {
						t.VFMADD231PS(w, factor, sums[i*len(rows)+j])
					}
				}
			},
			next: func() {
				for _, r := range x {
					t.ADDQ(operand.U32(4*8), r)
				}
			},
		}
		t.times("block", t.integer("blocks"), worker.block)
		dst := t.strided("dst", tokens)
		for i := range tokens {
			for v, row := range rows {
				t.VMOVUPS(sums[i*len(rows)+v], at(dst[i], 4*row))
			}
		}
	}
}

// strided loads the pointers to the rows of a parameter.
func (t *target) strided(name string, rows int) []reg.GPVirtual {
	pointers := []reg.GPVirtual{t.base(name)}
	if rows == 1 {
		return pointers
	}
	stride := t.integer(name + "Stride")
	for i := 1; i < rows; i++ {
		next := t.GP64()
		t.LEAQ(operand.Mem{Base: pointers[i-1], Index: stride, Scale: 4}, next)
		pointers = append(pointers, next)
	}
	return pointers
}

// unpackHalf writes columns of a format of 16 bits.
func (t *target) unpackHalf(name string, convert func(operand.Mem, reg.VecVirtual)) {
	t.begin("unpack"+name, "(dst []float32, src []byte, skip, groups int)")
	dst, src := t.base("dst"), t.base("src")
	t.times("column", t.integer("groups"), func() {
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
