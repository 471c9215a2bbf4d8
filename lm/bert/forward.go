package bert

import (
	"math"

	"sotto/lm/gguf"
	"sotto/lm/internal/kernel"
)

// scale of the scores of attention.
var scale = float32(1 / math.Sqrt(headWidth))

// worker is the memory of one thread. Its buffers grow and are reused.
type worker struct {
	k       *kernel.Kernels
	scratch kernel.Scratch

	x, qkv, mixed, inner, back []float32
	keys, values, scores       []float32
}

// forward puts sentences through the layers: x gets a row of width for every
// token, sentence after sentence.
func (w *worker) forward(m *weights, sentences [][]int32) {
	n := 0
	for _, ids := range sentences {
		n += len(ids)
	}
	w.x = grow(w.x, n*width)
	w.qkv = grow(w.qkv, n*3*width)
	w.mixed = grow(w.mixed, n*width)
	w.inner = grow(w.inner, n*hidden)
	w.back = grow(w.back, n*width)
	w.embed(m, sentences)
	for i := range m.layers {
		l := &m.layers[i]
		w.apply(&l.qkv, w.x, n, w.qkv)
		at := 0
		for _, ids := range sentences {
			w.attend(w.qkv[at*3*width:], w.mixed[at*width:], len(ids))
			at += len(ids)
		}
		w.apply(&l.out, w.mixed, n, w.back)
		w.join(&l.afterOut, n)
		w.apply(&l.up, w.x, n, w.inner)
		w.k.GELU(w.inner, w.inner)
		w.apply(&l.down, w.inner, n, w.back)
		w.join(&l.afterDown, n)
	}
}

func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// embed sets x to the sum of the embeddings of each token's word piece,
// place and kind.
func (w *worker) embed(m *weights, sentences [][]int32) {
	x := w.x
	for _, ids := range sentences {
		for place, id := range ids {
			row := x[:width]
			x = x[width:]
			// The sizes were checked when the weights were loaded.
			word := m.words[int(id)*width*4 : (int(id)+1)*width*4]
			if err := kernel.DequantizeRow(gguf.F32, word, row); err != nil {
				panic(err)
			}
			w.k.Add(row, m.kind)
			w.k.Add(row, m.positions[place*width:(place+1)*width])
			w.k.LayerNorm(row, row, m.norm.weight, m.norm.bias, layerNormEps)
		}
	}
}

// apply sets dst to the map of n rows of x.
func (w *worker) apply(d *dense, x []float32, n int, dst []float32) {
	rows := d.matrix.Rows
	w.k.Mul(d.matrix, 0, d.matrix.Panels(), x, d.matrix.Cols, n, dst, rows, &w.scratch)
	for i := range n {
		w.k.Add(dst[i*rows:(i+1)*rows], d.bias)
	}
}

// join adds back to x and norms.
func (w *worker) join(norm *normal, n int) {
	for i := range n {
		row := w.x[i*width : (i+1)*width]
		w.k.Add(row, w.back[i*width:(i+1)*width])
		w.k.LayerNorm(row, row, norm.weight, norm.bias, layerNormEps)
	}
}

// attend lets the n tokens of one sentence see each other: qkv has queries, keys
// and values side by side, dst gets the mixed values. A head is as wide as a panel,
// which is why keys of 32 places and all values fit Gemm as they are.
func (w *worker) attend(qkv, dst []float32, n int) {
	const stride = 3 * width
	panels := (n + kernel.Panel - 1) / kernel.Panel
	padded := panels * kernel.Panel
	w.keys = grow(w.keys, padded*headWidth)
	w.values = grow(w.values, n*headWidth)
	w.scores = grow(w.scores, n*padded)
	for h := range heads {
		queries := qkv[h*headWidth:]
		keys := qkv[width+h*headWidth:]
		values := qkv[2*width+h*headWidth:]
		clear(w.keys)
		for i := range n {
			page := w.keys[i/kernel.Panel*kernel.Panel*headWidth+i%kernel.Panel:]
			for j, v := range keys[i*stride : i*stride+headWidth] {
				page[j*kernel.Panel] = v
			}
			copy(w.values[i*headWidth:(i+1)*headWidth], values[i*stride:])
		}
		for p := range panels {
			page := w.keys[p*kernel.Panel*headWidth : (p+1)*kernel.Panel*headWidth]
			w.k.Gemm(n, headWidth, queries, stride, page, w.scores[p*kernel.Panel:], padded, false)
		}
		for i := range n {
			w.k.Softmax(w.scores[i*padded:i*padded+n], scale)
		}
		w.k.Gemm(n, n, w.scores, padded, w.values, dst[h*headWidth:], width, false)
	}
}

// vector is the mean of the n rows of x from a token on, scaled to length one. It
// is false where that cannot be done because the weights are not numbers.
func (w *worker) vector(at, n int) ([]float32, bool) {
	out := make([]float32, width)
	for i := range n {
		w.k.Add(out, w.x[(at+i)*width:(at+i+1)*width])
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
