package llama

import (
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/kernel"
	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// layer holds the weights of one block of the model.
type layer struct {
	attentionNorm, feedNorm []float32
	query, key, value       *kernel.Matrix
	queryBias               []float32 // nil, or of the padded rows
	keyBias, valueBias      []float32
	queryNorm, keyNorm      []float32 // nil, or of one head (qwen3)
	output                  *kernel.Matrix
	gate, up, down          *kernel.Matrix
	outputNorm, downNorm    []float32 // nil, or of what the layer adds (gemma3)

	rotation *rotation
	reach    int // positions that a token reads
}

// weights holds the weights of a model, packed for the kernels. The embedding stays in the
// file: it is read row by row.
type weights struct {
	layers    []layer
	norm      []float32
	embedding gguf.Tensor
	head      gguf.Tensor // rows of chosen candidates are read here
	headAll   *kernel.Matrix
}

// tensorError reports what is wrong with a tensor of the file.
type tensorError struct {
	name, why string
}

func (e *tensorError) Error() string {
	return fmt.Sprintf("tensor %s %s: the file is damaged, or not a model of its architecture", e.name, e.why)
}

// loader reads tensors and remembers what is left to pack. It keeps the first error, so that a list of tensors reads
// as one.
type loader struct {
	file *gguf.File
	jobs []func() error
	err  error
}

func (l *loader) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

func (l *loader) tensor(name string, rows, cols int) gguf.Tensor {
	t, ok := l.file.Tensor(name)
	switch {
	case !ok:
		l.fail(&tensorError{name, "is missing"})
	case t.Rows() != rows || t.Cols() != cols:
		l.fail(&tensorError{name, fmt.Sprintf("has %d rows of %d numbers, not %d of %d", t.Rows(), t.Cols(), rows, cols)})
	default:
		_, err := t.Bytes()
		l.fail(err)
	}
	return t
}

// part is a matrix that may lie in a tensor with others.
type part struct {
	into **kernel.Matrix
	name string
	rows int
}

// matrices packs the parts of a tensor, one below the other, later.
func (l *loader) matrices(name string, cols int, parts ...part) {
	rows := 0
	for _, p := range parts {
		rows += p.rows
	}
	t := l.tensor(name, rows, cols)
	if l.err != nil {
		return
	}
	size := len(t.Data) / rows
	first := 0
	for _, p := range parts {
		data := t.Data[first*size : (first+p.rows)*size]
		first += p.rows
		l.jobs = append(l.jobs, func() error {
			m, err := kernel.Pack(t.Type, p.rows, cols, data)
			if err != nil {
				return fmt.Errorf("tensor %s: %w", name, err)
			}
			*p.into = m
			// The packed copy is what is read from now on.
			return l.file.ReleaseData(data)
		})
	}
}

func (l *loader) has(name string) bool {
	_, ok := l.file.Tensor(name)
	return ok
}

// vector reads a tensor of one row.
func (l *loader) vector(name string, n int) []float32 {
	t := l.tensor(name, 1, n)
	if l.err != nil {
		return nil
	}
	v := make([]float32, padded(n))
	if err := kernel.DequantizeRow(t.Type, t.Data, v[:n]); err != nil {
		l.fail(fmt.Errorf("tensor %s: %w", name, err))
	}
	return v
}

// optional reads a tensor of one row if there is one.
func (l *loader) optional(name string, n int) []float32 {
	if !l.has(name) {
		return nil
	}
	return l.vector(name, n)
}

func loadWeights(f *gguf.File, c *config) (*weights, error) {
	l := &loader{file: f}
	w := &weights{layers: make([]layer, c.layers), embedding: l.tensor("token_embd.weight", c.vocab, c.width)}
	w.head = w.embedding
	headName := "token_embd.weight"
	if l.has("output.weight") {
		headName = "output.weight"
		w.head = l.tensor(headName, c.vocab, c.width)
	}
	l.matrices(headName, c.width, part{&w.headAll, "", c.vocab})
	w.norm = l.vector("output_norm.weight", c.width)
	l.readFactors(c)
	for i := 0; i < c.layers && l.err == nil; i++ {
		l.layer(&w.layers[i], fmt.Sprintf("blk.%d.", i), c)
	}
	if l.err != nil {
		return nil, l.err
	}
	var packing errgroup.Group
	packing.SetLimit(runtime.GOMAXPROCS(0))
	for _, job := range l.jobs {
		packing.Go(func() error {
			defer fault.Watch()
			return job()
		})
	}
	if err := packing.Wait(); err != nil {
		return nil, err
	}
	far, near := newRotation(c.far), newRotation(c.nearby)
	for i := range w.layers {
		w.layers[i].rotation, w.layers[i].reach = far, c.reach(i)
		if c.near[i] {
			w.layers[i].rotation = near
		}
	}
	return w, nil
}

// layer reads the tensors of one block, whose names begin with prefix.
func (l *loader) layer(to *layer, prefix string, c *config) {
	queries, keys := c.heads*c.head, c.kvHeads*c.head
	for _, m := range []struct {
		whole string // of all parts in one tensor, one below the other
		parts []part
		cols  int
	}{
		{"attn_qkv", []part{{&to.query, "attn_q", queries}, {&to.key, "attn_k", keys}, {&to.value, "attn_v", keys}}, c.width},
		{"attn_output", []part{{&to.output, "attn_output", c.width}}, queries},
		{"ffn_up", []part{{&to.gate, "ffn_gate", c.hidden}, {&to.up, "ffn_up", c.hidden}}, c.width},
		{"ffn_down", []part{{&to.down, "ffn_down", c.width}}, c.hidden},
	} {
		if c.fused && !l.has(prefix+m.parts[0].name+".weight") {
			l.matrices(prefix+m.whole+".weight", m.cols, m.parts...)
			continue
		}
		for _, p := range m.parts {
			l.matrices(prefix+p.name+".weight", m.cols, p)
		}
	}
	for _, v := range []struct {
		into *[]float32
		name string
		n    int
		must bool
	}{
		{&to.attentionNorm, "attn_norm.weight", c.width, true},
		{&to.feedNorm, "ffn_norm.weight", c.width, true},
		{&to.queryBias, "attn_q.bias", queries, c.biases},
		{&to.keyBias, "attn_k.bias", keys, c.biases},
		{&to.valueBias, "attn_v.bias", keys, c.biases},
		{&to.queryNorm, "attn_q_norm.weight", c.head, c.headNorms},
		{&to.keyNorm, "attn_k_norm.weight", c.head, c.headNorms},
		{&to.outputNorm, "post_attention_norm.weight", c.width, c.postNorms},
		{&to.downNorm, "post_ffw_norm.weight", c.width, c.postNorms},
	} {
		read := l.optional
		if v.must {
			read = l.vector
		}
		*v.into = read(prefix+v.name, v.n)
	}
	for _, unknown := range []string{"attn_qkv.bias", "attn_output.bias", "ffn_gate.bias", "ffn_up.bias", "ffn_down.bias"} {
		if l.has(prefix + unknown) {
			l.fail(fmt.Errorf("tensor %s is not known to this engine, and leaving it out would give wrong scores: use a server for this model", prefix+unknown))
		}
	}
}
