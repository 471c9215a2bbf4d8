package bert

import (
	"context"
	"math"

	"github.com/sotto-dp/sotto/internal/engine/kernel"
)

// margin is what rows that a map is applied to have at their end: a one, for its bias, and room so
// that they begin at a cache line.
const margin = 16

// worker holds the memory of one thread. Its buffers grow and are reused.
type worker struct {
	k       *kernel.Kernels
	scratch kernel.Scratch
	m       *weights
	wideRow int // the distance of rows of x

	x, qkv, mixed, inner, back []float32
	keys, values, scores       []float32

	exact     bool // in float32
	rows      kernel.ByteRows
	sentences [][]int32
}

// forward puts sentences through the layers: x gets a row of width for every
// token, sentence after sentence, in float32 where that is wanted exactly. It is false where
// the context ended before.
func (w *worker) forward(ctx context.Context, m *weights, sentences [][]int32, exact bool) bool {
	width, hidden := m.width, m.hidden
	wideRow, deepRow := width+margin, hidden+margin
	w.m, w.exact, w.wideRow = m, exact, wideRow
	n := 0
	for _, ids := range sentences {
		n += len(ids)
	}
	w.x = withOnes(w.x, n, width, wideRow)
	w.qkv = grow(w.qkv, n*3*width)
	w.mixed = withOnes(w.mixed, n, width, wideRow)
	w.inner = withOnes(w.inner, n, hidden, deepRow)
	w.back = grow(w.back, n*width)
	w.embed(sentences)
	for i := range m.layers {
		if ctx.Err() != nil {
			return false
		}
		l := &m.layers[i]
		w.apply(l.qkv, n, w.x, wideRow, w.qkv, 3*width)
		at := 0
		for _, ids := range sentences {
			w.attend(w.qkv[at*3*width:], w.mixed[at*wideRow:], len(ids))
			at += len(ids)
		}
		w.apply(l.out, n, w.mixed, wideRow, w.back, width)
		w.join(&l.afterOut, n)
		w.apply(l.up, n, w.x, wideRow, w.inner, deepRow)
		for i := range n {
			row := w.inner[i*deepRow:][:hidden]
			w.k.GELU(row, row)
		}
		w.apply(l.down, n, w.inner, deepRow, w.back, width)
		w.join(&l.afterDown, n)
	}
	return true
}

func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// withOnes makes room for n rows and sets the number after the first width of
// each to one.
func withOnes(s []float32, n, width, row int) []float32 {
	s = grow(s, n*row)
	for i := range n {
		s[i*row+width] = 1
	}
	return s
}

// embed sets x to the sum of the embeddings of each token's word piece,
// place and kind.
func (w *worker) embed(sentences [][]int32) {
	x, m, width := w.x, w.m, w.m.width
	for _, ids := range sentences {
		for place, id := range ids {
			row := x[:width]
			x = x[w.wideRow:]
			// The sizes were checked when the weights were loaded.
			if err := m.words.row(int(id), row); err != nil {
				panic(err)
			}
			w.k.Add(row, m.kind)
			w.k.Add(row, m.positions[place*width:(place+1)*width])
			w.k.LayerNorm(row, row, m.norm.weight, m.norm.bias, m.eps)
		}
	}
}

// apply sets rows of dst to the map of n rows of x.
func (w *worker) apply(d dense, n int, x []float32, xRow int, dst []float32, dstRow int) {
	if w.exact {
		w.k.Mul(d.exact, 0, d.exact.Panels(), x, xRow, n, dst, dstRow, &w.scratch)
		return
	}
	w.rows.Reset(n, d.bytes.Cols)
	for i := range n {
		w.k.RoundBytes(&w.rows, i, x[i*xRow:][:d.bytes.Cols])
	}
	w.k.MulBytes(d.bytes, 0, d.bytes.Panels(), &w.rows, n, dst, dstRow)
}

// join adds back to x and norms.
func (w *worker) join(norm *normal, n int) {
	width := w.m.width
	for i := range n {
		row := w.x[i*w.wideRow:][:width]
		w.k.Add(row, w.back[i*width:(i+1)*width])
		w.k.LayerNorm(row, row, norm.weight, norm.bias, w.m.eps)
	}
}

// attend lets the n tokens of one sentence see each other: qkv has queries, keys
// and values side by side, dst gets the mixed values. The width of a head is a multiple of that
// of a panel, which is why keys of 32 places and values fit Gemm as they are.
func (w *worker) attend(qkv, dst []float32, n int) {
	width, headWidth, scale := w.m.width, w.m.headWidth(), w.m.scale()
	stride := 3 * width
	panels := (n + kernel.Panel - 1) / kernel.Panel
	padded := panels * kernel.Panel
	w.keys = grow(w.keys, padded*headWidth)
	w.values = grow(w.values, n*headWidth)
	w.scores = grow(w.scores, n*padded)
	clear(w.keys) // what is beyond the last token stays zero
	for h := range w.m.heads {
		queries := qkv[h*headWidth:]
		for part := 0; part < headWidth; part += kernel.Panel {
			w.turn(qkv[width+h*headWidth+part:], part, n)
			values, to := qkv[2*width+h*headWidth+part:], w.values[part*n:]
			for i := range n {
				*(*[kernel.Panel]float32)(to[i*kernel.Panel:]) = [kernel.Panel]float32(values[i*stride:])
			}
		}
		for p := range panels {
			page := w.keys[p*kernel.Panel*headWidth : (p+1)*kernel.Panel*headWidth]
			w.k.Gemm(n, headWidth, queries, stride, page, w.scores[p*kernel.Panel:], padded, false)
		}
		for i := range n {
			w.k.Softmax(w.scores[i*padded:i*padded+n], scale)
		}
		for part := 0; part < headWidth; part += kernel.Panel {
			values := w.values[part*n : (part+kernel.Panel)*n]
			w.k.Gemm(n, n, w.scores, padded, values, dst[h*headWidth+part:], w.wideRow, false)
		}
	}
}

// turn writes the keys of n tokens as columns, 32 numbers of each, which are those of a head from first
// on. Four at a time, since a column alone touches as many cache lines.
func (w *worker) turn(keys []float32, first, n int) {
	const wide = kernel.Panel
	stride, page := 3*w.m.width, kernel.Panel*w.m.headWidth()
	i := 0
	for ; i+4 <= n; i += 4 {
		a, b := (*[wide]float32)(keys[i*stride:]), (*[wide]float32)(keys[(i+1)*stride:])
		c, d := (*[wide]float32)(keys[(i+2)*stride:]), (*[wide]float32)(keys[(i+3)*stride:])
		columns := (*[kernel.Panel * wide]float32)(w.keys[i/kernel.Panel*page+first*kernel.Panel:])[i%kernel.Panel:]
		for j := range wide {
			*(*[4]float32)(columns[j*kernel.Panel:]) = [4]float32{a[j], b[j], c[j], d[j]}
		}
	}
	for ; i < n; i++ {
		columns := w.keys[i/kernel.Panel*page+first*kernel.Panel+i%kernel.Panel:]
		for j, v := range keys[i*stride : i*stride+wide] {
			columns[j*kernel.Panel] = v
		}
	}
}

// pooled returns the vector of the text of n tokens from a token on.
func (w *worker) pooled(at, n int) ([]float32, bool) {
	if w.m.pooling == firstPooling {
		n = 1
	}
	return w.vector(at, n)
}

// vector returns the mean of the n rows of x from a token on, scaled to length one. It is
// false where that cannot be done because the weights are not numbers.
func (w *worker) vector(at, n int) ([]float32, bool) {
	out := make([]float32, w.m.width)
	for i := range n {
		w.k.Add(out, w.x[(at+i)*w.wideRow:][:len(out)])
	}
	squares := 0.0
	for _, v := range out {
		// The conversion keeps the product from being fused on some processors.
		squares += float64(float64(v) * float64(v))
	}
	if !(squares > 0) || math.IsInf(squares, 0) {
		return nil, false
	}
	// The length does not depend on whether the sum or the mean is scaled.
	w.k.Scale(out, out, float32(1/math.Sqrt(squares)))
	return out, true
}
