package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panel is the number of columns of b and c.
const panel = 32

// tileRows are the numbers of rows that a tile is written for. The chains of the most fit into the
// registers beside two vectors of b and one value of a.
func (i isa) tileRows() []int {
	if i.wide() {
		return i.tileSizes()
	}
	return []int{1, 2, 3, 4, 5, 6}
}

// tile writes the function that multiplies rows of a by b, two vectors of columns at a time.
func (t *target) tile() {
	t.begin("tile", "(rows, depth int, a []float32, aStride int, b, c []float32, cStride int, add bool)")
	t.choose("rows", t.tileRows(), func(rows int) {
		t.passes(func(first reg.Register) {
			b, c := t.base("b"), t.base("c")
			t.from(b, first, 4)
			t.from(c, first, 4)
			t.tileColumns(rows, b, c)
		})
	})
}

// tileColumns computes the columns of two vectors.
func (t *target) tileColumns(rows int, b, cBase reg.GPVirtual) {
	sums := t.vecs(2 * rows)
	start := t.label("start")
	for _, v := range sums {
		t.zero(v)
	}
	add := t.GP8()
	t.Load(t.Param("add"), add)
	t.TESTB(add, add)
	t.JZ(operand.LabelRef(start))
	t.eachResult("cStride", rows, 2, cBase, func(i int, m operand.Mem) { t.VMOVUPS(m, sums[i]) })
	t.Label(start)

	stride, stride3 := t.GP64(), t.GP64()
	t.Load(t.Param("aStride"), stride)
	t.SHLQ(operand.U8(2), stride)
	t.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	a := t.fours(t.base("a"), stride, rows)

	step := func(k int) {
		left, right, x := t.vec(), t.vec(), t.vec()
		t.VMOVUPS(at(b, k*4*panel), left)
		t.VMOVUPS(at(b, k*4*panel+t.size()), right)
		for i := range rows {
			t.VBROADCASTSS(rowOf(a[i/4], stride, stride3, i%4).Offset(4*k), x)
			t.VFMADD231PS(left, x, sums[2*i])
			t.VFMADD231PS(right, x, sums[2*i+1])
		}
	}
	advance := func(n int) {
		for _, r := range a {
			t.ADDQ(operand.U32(4*n), r)
		}
		t.ADDQ(operand.U32(4*panel*n), b)
	}
	const unroll = 2
	depth, rest := t.integer("depth"), t.GP64()
	t.MOVQ(depth, rest)
	t.ANDQ(operand.U8(unroll-1), rest)
	t.SHRQ(operand.U8(1), depth)
	t.times("unrolled", depth, func() {
		for k := range unroll {
			step(k)
		}
		advance(unroll)
	})
	t.times("rest", rest, func() {
		step(0)
		advance(1)
	})
	t.eachResult("cStride", rows, 2, cBase, func(i int, m operand.Mem) { t.VMOVUPS(sums[i], m) })
}

// eachResult visits the vectors of every row of a result.
func (t *target) eachResult(strideName string, rows, vectors int, cBase reg.GPVirtual, visit func(i int, m operand.Mem)) {
	stride, row := t.GP64(), t.GP64()
	t.Load(t.Param(strideName), stride)
	t.MOVQ(cBase, row)
	for i := range rows {
		for v := range vectors {
			visit(vectors*i+v, at(row, v*t.size()))
		}
		if i < rows-1 {
			t.LEAQ(operand.Mem{Base: row, Index: stride, Scale: 4}, row)
		}
	}
}

// fours gives pointers to every fourth row.
func (t *target) fours(base, stride reg.GPVirtual, rows int) []reg.GPVirtual {
	pointers := []reg.GPVirtual{base}
	for i := 4; i < rows; i += 4 {
		next := t.GP64()
		t.LEAQ(operand.Mem{Base: pointers[len(pointers)-1], Index: stride, Scale: 4}, next)
		pointers = append(pointers, next)
	}
	return pointers
}

// rowOf returns the address of the row i < 4 after a pointer.
func rowOf(base, stride, stride3 reg.GPVirtual, i int) operand.Mem {
	switch i {
	case 1:
		return operand.Mem{Base: base, Index: stride, Scale: 1}
	case 2:
		return operand.Mem{Base: base, Index: stride, Scale: 2}
	case 3:
		return operand.Mem{Base: base, Index: stride3, Scale: 1}
	}
	return operand.Mem{Base: base}
}
