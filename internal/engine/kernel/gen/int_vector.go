package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectorInt multiplies a panel by the inputs of a few tokens: so few that writing
// the weights to memory would cost more than computing with them.
func (t *target) vectorInt(f shape, p packedFormat, tokens int) {
	t.passes(func(first reg.Register) {
		x := t.strided("x", tokens)
		n := tokens * vectorsOfRows
		chains, sums, factor := t.vecs(n), t.vecs(n), t.vec()
		w := t.intWorker(f, p, first)
		if tokens == 1 {
			w.unroll = 2
		}
		for _, c := range chains {
			t.zero(c)
		}
		w.start = func() {
			for i := range tokens {
				t.startVector(w, x[i], sums[i*vectorsOfRows:(i+1)*vectorsOfRows])
			}
		}
		w.use = func(word, v int, weight reg.VecVirtual) {
			for i := range tokens {
				t.VPBROADCASTD(operand.Mem{Base: x[i], Index: w.column, Scale: 1, Disp: 4 * (f.head + word)}, factor)
				t.dot(f, weight, factor, sums[i*vectorsOfRows+v])
			}
		}
		w.end = func(scale, minimum []reg.VecVirtual) {
			for i := range tokens {
				of := sums[i*vectorsOfRows:]
				t.VBROADCASTSS(at(x[i], 0), factor)
				for v := range vectorsOfRows {
					t.VCVTDQ2PS(of[v], of[v])
					t.VMULPS(factor, of[v], of[v])
					t.VFMADD231PS(scale[v], of[v], chains[i*vectorsOfRows+v])
				}
				if p.minima {
					t.VBROADCASTSS(at(x[i], 4), factor)
					for v := range vectorsOfRows {
						t.VFMADD231PS(minimum[v], factor, chains[i*vectorsOfRows+v])
					}
				}
			}
		}
		w.done = func() {
			for _, r := range x {
				t.ADDQ(operand.U32(f.block()), r)
			}
		}
		t.times("block", t.integer("blocks"), w.block)
		for i, dst := range t.strided("dst", tokens) {
			t.from(dst, first, 4)
			for v := range vectorsOfRows {
				t.VMOVUPS(chains[i*vectorsOfRows+v], at(dst, v*t.size()))
			}
		}
	})
}

// startVector sets the sums of a token before the columns of a group; nibbles are 8 too large
// instead of 128.
func (t *target) startVector(w *intWorker, x reg.GPVirtual, sums []reg.VecVirtual) {
	if !w.shape.fours() || w.minima {
		for _, v := range sums {
			t.zero(v)
		}
		return
	}
	place := at(x, 4*startAll)
	if w.packedFormat.group == 16 {
		place = operand.Mem{Base: x, Index: w.half, Scale: 1, Disp: 4 * startFirst}
	}
	t.VPBROADCASTD(place, sums[0])
	if w.packedFormat.zero != 0 {
		t.VPSRAD(operand.U8(4), sums[0], sums[0])
	}
	for _, v := range sums[1:] {
		t.VMOVAPS(sums[0], v)
	}
}

// strided loads the pointers to the rows of a parameter. Where there are three tokens for a body of
// four, the last pointer is that of the third.
func (t *target) strided(name string, rows int) []reg.GPVirtual {
	pointers := []reg.GPVirtual{t.base(name)}
	if rows == 1 {
		return pointers
	}
	stride := t.integer(name + "Stride")
	for i := 1; i < rows; i++ {
		next := t.GP64()
		t.LEAQ(operand.Mem{Base: pointers[i-1], Index: stride, Scale: 4}, next)
		if i == 3 {
			tokens := t.integer("tokens")
			t.CMPQ(tokens, operand.U8(i))
			t.CMOVQLE(pointers[i-1], next)
		}
		pointers = append(pointers, next)
	}
	return pointers
}
