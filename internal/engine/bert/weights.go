package bert

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/kernel"
	"github.com/sotto-dp/sotto/internal/engine/safetensors"
	"github.com/sotto-dp/sotto/internal/sys/fault"
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
	*config
	words     tensor // vocabulary rows of width
	positions []float32
	kind      []float32 // of the first segment, which all texts are
	norm      normal
	layers    []layer
}

// tensor is an array of a file, with the dimension whose values lie side by side last.
type tensor struct {
	kind  gguf.Type
	shape []uint64
	data  []byte
}

// row sets dst to a row.
func (t *tensor) row(i int, dst []float32) error {
	size, err := kernel.RowBytes(t.kind, len(dst))
	if err != nil {
		return err
	}
	return kernel.DequantizeRow(t.kind, t.data[i*size:(i+1)*size], dst)
}

// tensors finds tensors by the names that transformers gives those of BertModel.
type tensors interface {
	tensor(name string) (tensor, bool, error)
	Release() error
	ReleaseData(data []byte) error
	Close() error
}

// floatFile is a safetensors file.
type floatFile struct {
	*safetensors.File
	prefix string // before all names
}

func (f floatFile) tensor(name string) (tensor, bool, error) {
	t, ok := f.Tensor(f.prefix + name)
	if !ok {
		return tensor{}, false, nil
	}
	kind, ok := map[safetensors.Type]gguf.Type{safetensors.F32: gguf.F32, "F16": gguf.F16, "BF16": gguf.BF16}[t.Type]
	if !ok {
		return tensor{}, true, fmt.Errorf("it is of type %s, and should be of F32, F16 or BF16", t.Type)
	}
	return tensor{kind, t.Shape, t.Data}, true, nil
}

func loadWeights(f tensors, c *config) (*weights, error) {
	l := &loader{file: f, config: c}
	width, hidden := c.width, c.hidden
	w := &weights{
		config:    c,
		words:     l.tensor("embeddings.word_embeddings.weight", c.vocabulary, width),
		positions: l.floats("embeddings.position_embeddings.weight", c.positions, width),
		norm:      l.norm("embeddings.LayerNorm"),
		layers:    make([]layer, c.layers),
	}
	if kinds := l.floats("embeddings.token_type_embeddings.weight", c.kinds, width); kinds != nil {
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
	file   tensors
	config *config
	err    error
	later  []func() error
}

func (l *loader) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format+": give the weights of "+l.config.name, args...)
	}
}

func (l *loader) tensor(name string, shape ...int) tensor {
	if l.err != nil {
		return tensor{}
	}
	t, ok, err := l.file.tensor(name)
	same := slices.EqualFunc(t.shape, shape, func(a uint64, b int) bool { return a == uint64(b) })
	switch {
	case !ok:
		l.fail("tensor %q is missing", name)
	case err != nil:
		l.fail("tensor %q: %v", name, err)
	case !same:
		l.fail("tensor %q is of shape %v, and should be of %v", name, t.shape, shape)
	default:
		if _, err := kernel.RowBytes(t.kind, shape[len(shape)-1]); err != nil {
			l.fail("tensor %q: %v", name, err)
		}
	}
	return t
}

func (l *loader) floats(name string, shape ...int) []float32 {
	t := l.tensor(name, shape...)
	if l.err != nil {
		return nil
	}
	cols := shape[len(shape)-1]
	rows := 1
	for _, n := range shape[:len(shape)-1] {
		rows *= n
	}
	out := make([]float32, rows*cols)
	for i := range rows {
		if err := t.row(i, out[i*cols:(i+1)*cols]); err != nil {
			l.fail("tensor %q: %v", name, err)
			return nil
		}
	}
	return out
}

func (l *loader) norm(name string) normal {
	return normal{l.floats(name+".weight", l.config.width), l.floats(name+".bias", l.config.width)}
}

// dense packs maps of the same size above each other, so that one product does for
// all.
func (l *loader) dense(rows, cols int, names ...string) dense {
	all := make([]tensor, len(names))
	var bias []float32
	for i, name := range names {
		all[i] = l.tensor(name+".weight", rows, cols)
		bias = append(bias, l.floats(name+".bias", rows)...)
	}
	d := dense{&kernel.Matrix{}, &kernel.ByteMatrix{}}
	l.later = append(l.later, func() error {
		err := d.pack(rows, cols, all, bias)
		for _, t := range all {
			// The packed copies are what is read from now on.
			err = errors.Join(err, l.file.ReleaseData(t.data))
		}
		return err
	})
	return d
}

// pack fills both matrices.
func (d dense) pack(rows, cols int, all []tensor, bias []float32) error {
	values, exact := make([][]float32, len(bias)), make([][]byte, len(bias))
	for i := range values {
		row := make([]float32, cols+1)
		if err := all[i/rows].row(i%rows, row[:cols]); err != nil {
			return err
		}
		row[cols] = bias[i]
		exact[i] = make([]byte, 0, 4*len(row))
		for _, v := range row {
			exact[i] = binary.LittleEndian.AppendUint32(exact[i], math.Float32bits(v))
		}
		values[i] = row[:cols]
	}
	if err := d.exact.PackRows(gguf.F32, cols+1, exact); err != nil {
		return err
	}
	m, err := kernel.PackBytes(cols, values, bias)
	if err == nil {
		*d.bytes = *m
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
