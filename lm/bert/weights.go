package bert

import (
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sotto-dp/sotto/lm/gguf"
	"github.com/sotto-dp/sotto/lm/internal/kernel"
	"github.com/sotto-dp/sotto/lm/safetensors"
	"github.com/sotto-dp/sotto/sys/fault"
)

// The shape of all-MiniLM-L6-v2. The number of heads is not in a file of weights,
// so models of other shapes are refused instead of guessed at.
const (
	layers       = 6
	width        = 384
	headWidth    = 32
	heads        = width / headWidth
	hidden       = 1536
	positions    = 512
	vocabulary   = 30522
	layerNormEps = 1e-12
)

// dense is a linear map with a bias, in float32 and in bytes. In float32 the bias is the
// last column: inputs end with a one. That way the product adds it, in the same chain and
// with the same rounding as an addition afterwards.
type dense struct {
	exact *kernel.Matrix
	bytes *kernel.ByteMatrix
}

// normal holds the weight and bias of a layer norm.
type normal struct {
	weight, bias []float32
}

type layer struct {
	qkv, out  dense // attention; the first gives queries, keys and values
	afterOut  normal
	up, down  dense // feed-forward
	afterDown normal
}

// weights refer to the file for the word embeddings, of which a run needs few,
// and hold all else in memory, repacked.
type weights struct {
	words     []byte // vocabulary rows of width float32
	positions []float32
	kind      []float32 // of the first segment, which all texts are
	norm      normal
	layers    [layers]layer
}

func loadWeights(f *safetensors.File) (*weights, error) {
	l := &loader{file: f}
	w := &weights{
		words:     l.bytes("embeddings.word_embeddings.weight", vocabulary, width),
		positions: l.floats("embeddings.position_embeddings.weight", positions, width),
		norm:      l.norm("embeddings.LayerNorm"),
	}
	if kinds := l.floats("embeddings.token_type_embeddings.weight", 2, width); kinds != nil {
		w.kind = kinds[:width]
	}
	for i := range w.layers {
		prefix := fmt.Sprintf("encoder.layer.%d.", i)
		attention := prefix + "attention.self."
		w.layers[i] = layer{
			qkv:       l.dense(width, width, attention+"query", attention+"key", attention+"value"),
			out:       l.dense(width, width, prefix+"attention.output.dense"),
			afterOut:  l.norm(prefix + "attention.output.LayerNorm"),
			up:        l.dense(hidden, width, prefix+"intermediate.dense"),
			down:      l.dense(width, hidden, prefix+"output.dense"),
			afterDown: l.norm(prefix + "output.LayerNorm"),
		}
	}
	l.finish()
	return w, l.err
}

// loader keeps the first error, so that a list of tensors reads as one.
type loader struct {
	file  *safetensors.File
	err   error
	later []func() error
}

func (l *loader) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format+": give the weights of all-MiniLM-L6-v2 in float32", args...)
	}
}

func (l *loader) bytes(name string, shape ...uint64) []byte {
	t, ok := l.file.Tensor(name)
	switch {
	case l.err != nil:
	case !ok:
		l.fail("tensor %q is missing", name)
	case t.Type != safetensors.F32 || !slices.Equal(t.Shape, shape):
		l.fail("tensor %q is of type %s and shape %v, and should be of F32 and %v", name, t.Type, t.Shape, shape)
	default:
		return t.Data
	}
	return nil
}

func (l *loader) floats(name string, shape ...uint64) []float32 {
	data := l.bytes(name, shape...)
	if data == nil {
		return nil
	}
	out := make([]float32, len(data)/4)
	if err := kernel.DequantizeRow(gguf.F32, data, out); err != nil {
		l.fail("tensor %q: %v", name, err)
	}
	return out
}

func (l *loader) norm(name string) normal {
	return normal{l.floats(name+".weight", width), l.floats(name+".bias", width)}
}

// rows returns the rows of a linear map, each with its bias at the end.
func (l *loader) rows(rows, cols int, name string) [][]byte {
	data := l.bytes(name+".weight", uint64(rows), uint64(cols))
	bias := l.bytes(name+".bias", uint64(rows))
	if l.err != nil {
		return nil
	}
	out := make([][]byte, rows)
	for i := range out {
		out[i] = slices.Concat(data[i*cols*4:(i+1)*cols*4], bias[i*4:(i+1)*4])
	}
	return out
}

// dense packs maps of the same size above each other, so that one product does for
// all.
func (l *loader) dense(rows, cols int, names ...string) dense {
	var all [][]byte
	for _, name := range names {
		all = append(all, l.rows(rows, cols, name)...)
	}
	if l.err != nil {
		return dense{}
	}
	exact, err := kernel.PackRows(gguf.F32, cols+1, all)
	if err != nil {
		l.fail("tensors %q: %v", names, err)
		return dense{}
	}
	d := dense{exact, &kernel.ByteMatrix{}}
	l.later = append(l.later, func() error { return packBytes(d.bytes, cols, all) })
	return d
}

// packBytes packs rows with their biases at the end.
func packBytes(to *kernel.ByteMatrix, cols int, all [][]byte) error {
	rows, bias := make([][]float32, len(all)), make([]float32, len(all))
	for i, row := range all {
		values := make([]float32, cols+1)
		if err := kernel.DequantizeRow(gguf.F32, row, values); err != nil {
			return err
		}
		rows[i], bias[i] = values[:cols], values[cols]
	}
	m, err := kernel.PackBytes(cols, rows, bias)
	if err == nil {
		*to = *m
	}
	return err
}

// finish does what was left for later, on all processors.
func (l *loader) finish() {
	if l.err != nil {
		return
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, task := range l.later {
		group.Go(func() error {
			defer fault.Watch()
			return task()
		})
	}
	if err := group.Wait(); err != nil {
		l.fail("%v", err)
	}
}
