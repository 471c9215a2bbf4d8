package llama

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/lm/gguf"
)

// config is the shape of a model.
type config struct {
	architecture string
	name         string

	layers  int
	width   int // of the residual stream
	heads   int
	kvHeads int
	head    int // numbers of a head
	hidden  int // of the feed-forward part
	vocab   int
	context int

	epsilon float32
	halves  bool // rotary pairs are (i, i+head/2), not (2i, 2i+1)
	rotated int  // numbers of a head that are rotated
	base    float64
	stretch float64 // positions are divided by it
}

// group returns the number of query heads that share a key head.
func (c *config) group() int { return c.heads / c.kvHeads }

// maxLayers and maxWidth bound what is taken for a model; beyond them a header is damaged.
const (
	maxLayers = 1024
	maxWidth  = 1 << 17
)

func readConfig(f *gguf.File) (*config, error) {
	meta := f.Metadata()
	arch, err := meta.String("general.architecture")
	if err != nil {
		return nil, err
	}
	c := &config{architecture: arch, stretch: 1}
	switch arch {
	case "llama":
	case "qwen2", "qwen3":
		c.halves = true
	default:
		return nil, fmt.Errorf("the model's architecture is %q, and this engine runs llama, qwen2 and qwen3: use another model, or run this one on a server and give its --url", arch)
	}
	if n, err := meta.Uint(arch + ".expert_count"); err == nil && n > 0 {
		return nil, fmt.Errorf("the model is a mixture of %d experts, which this engine does not run: use a dense model, or a server", n)
	}
	c.name, _ = meta.String("general.name")

	read := func(key string, into *int) {
		if err != nil {
			return
		}
		var n uint64
		if n, err = meta.Uint(arch + "." + key); err == nil {
			if n == 0 || n > math.MaxInt32 {
				err = fmt.Errorf("%s.%s is %d: the file is damaged", arch, key, n)
			}
			*into = int(n)
		}
	}
	read("block_count", &c.layers)
	read("embedding_length", &c.width)
	read("attention.head_count", &c.heads)
	read("feed_forward_length", &c.hidden)
	read("context_length", &c.context)
	c.kvHeads = c.heads
	if meta.Has(arch + ".attention.head_count_kv") {
		read("attention.head_count_kv", &c.kvHeads)
	}
	if err != nil {
		return nil, err
	}
	eps, err := meta.Float(arch + ".attention.layer_norm_rms_epsilon")
	if err != nil {
		return nil, err
	}
	c.epsilon = float32(eps)
	if c.head = c.width / c.heads; meta.Has(arch + ".attention.key_length") {
		read("attention.key_length", &c.head)
	}
	c.rotated = c.head
	if meta.Has(arch + ".rope.dimension_count") {
		read("rope.dimension_count", &c.rotated)
	}
	if err != nil {
		return nil, err
	}
	if err := c.readRotation(meta); err != nil {
		return nil, err
	}
	embedding, ok := f.Tensor("token_embd.weight")
	if !ok {
		return nil, fmt.Errorf("the file has no tensor token_embd.weight: it is not a whole model")
	}
	c.vocab = embedding.Rows()
	return c, c.check()
}

// readRotation reads how positions turn queries and keys.
func (c *config) readRotation(meta *gguf.Metadata) error {
	key := c.architecture + ".rope."
	c.base = 10000
	if meta.Has(key + "freq_base") {
		var err error
		if c.base, err = meta.Float(key + "freq_base"); err != nil {
			return err
		}
	}
	kind, _ := meta.String(key + "scaling.type")
	switch kind {
	case "", "none":
	case "linear":
		factor, err := meta.Float(key + "scaling.factor")
		if err != nil {
			return err
		}
		c.stretch = factor
	default:
		return fmt.Errorf("the model stretches positions by %q, which this engine does not know: use a server for it", kind)
	}
	if !(c.base > 0) || !(c.stretch > 0) || math.IsInf(c.base, 0) || math.IsInf(c.stretch, 0) {
		return fmt.Errorf("the rotation of positions has base %v and factor %v: the file is damaged", c.base, c.stretch)
	}
	return nil
}

// check finds shapes that do not fit together.
func (c *config) check() error {
	switch {
	case c.layers > maxLayers || c.width > maxWidth || c.hidden > 8*maxWidth || c.head > 1024:
		return fmt.Errorf("a model of %d layers, width %d, feed-forward %d and heads of %d is beyond this engine", c.layers, c.width, c.hidden, c.head)
	case c.heads%c.kvHeads != 0:
		return fmt.Errorf("%d heads cannot share %d key heads evenly: the file is damaged", c.heads, c.kvHeads)
	case c.rotated > c.head || c.rotated%2 != 0 || (c.halves && c.rotated != c.head):
		return fmt.Errorf("rotating %d of %d numbers of a head is not known to this engine", c.rotated, c.head)
	case !(c.epsilon > 0):
		return fmt.Errorf("the norm's epsilon is %v: the file is damaged", c.epsilon)
	}
	return nil
}

// rotation holds the cosines and sines of every position.
type rotation struct {
	half     int
	cos, sin []float32 // [position][half]
}

// newRotation computes angles in double precision. factors, if any, divide the
// frequencies one by one (rope_freqs of Llama 3).
func newRotation(c *config, factors []float32, positions int) *rotation {
	half := c.rotated / 2
	r := &rotation{half: half, cos: make([]float32, positions*half), sin: make([]float32, positions*half)}
	for i := range half {
		frequency := math.Pow(c.base, -2*float64(i)/float64(c.rotated)) / c.stretch
		if factors != nil {
			frequency /= float64(factors[i])
		}
		for p := range positions {
			sin, cos := math.Sincos(float64(p) * frequency)
			r.cos[p*half+i], r.sin[p*half+i] = float32(cos), float32(sin)
		}
	}
	return r
}

func (r *rotation) at(position int) (cos, sin []float32) {
	return r.cos[position*r.half : (position+1)*r.half], r.sin[position*r.half : (position+1)*r.half]
}
