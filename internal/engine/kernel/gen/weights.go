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

// blockSize returns the number of bytes of a block of a panel.
func (p packedFormat) blockSize() int { return p.quants() + p.values*panel*p.bits/8 }

// halves writes the functions that unpack float formats of 16 bits.
func (t *target) halves() {
	t.unpackHalf("F16", func(m operand.Mem, v reg.VecVirtual) { t.VCVTPH2PS(m, v) })
	t.unpackHalf("BF16", func(m operand.Mem, v reg.VecVirtual) {
		t.VPMOVZXWD(m, v)
		t.VPSLLD(operand.U8(16), v, v)
	})
}

// unpackHalf writes columns of a format of 16 bits.
func (t *target) unpackHalf(name string, convert func(operand.Mem, reg.VecVirtual)) {
	t.begin("unpack"+name, "(dst []float32, src []byte)")
	dst, src := t.base("dst"), t.base("src")
	columns := t.length("dst")
	t.SHRQ(operand.U8(5), columns)
	t.times("column", columns, func() {
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
