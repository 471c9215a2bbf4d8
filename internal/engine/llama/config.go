package llama

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
)

// config is the shape of a model.
type config struct {
	traits
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
	rotated int     // numbers of a head that are turned
	scale   float64 // of attention
	temper  float64 // how much attention sharpens past the original context, 0: not
	window  int     // positions that layers in near read back, their own among them
	near    []bool  // by layer
	// How positions turn in layers that read everything, and in those with a window.
	far, nearby spin
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
	c := &config{architecture: arch}
	if c.traits, err = traitsOf(arch); err != nil {
		return nil, err
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
	if c.layers > maxLayers {
		return nil, c.beyond()
	}
	if err := c.readSpin(meta); err != nil {
		return nil, err
	}
	if err := c.readTraits(meta); err != nil {
		return nil, err
	}
	embedding, ok := f.Tensor("token_embd.weight")
	if !ok {
		return nil, fmt.Errorf("the file has no tensor token_embd.weight: it is not a whole model")
	}
	c.vocab = embedding.Rows()
	return c, c.check()
}

// check finds shapes that do not fit together.
func (c *config) check() error {
	switch {
	case c.layers > maxLayers || c.width > maxWidth || c.hidden > 8*maxWidth || c.head > 1024:
		return c.beyond()
	case c.heads%c.kvHeads != 0:
		return fmt.Errorf("%d heads cannot share %d key heads evenly: the file is damaged", c.heads, c.kvHeads)
	case c.rotated > c.head || c.rotated%2 != 0:
		return fmt.Errorf("rotating %d of %d numbers of a head is not known to this engine", c.rotated, c.head)
	case !(c.epsilon > 0):
		return fmt.Errorf("the norm's epsilon is %v: the file is damaged", c.epsilon)
	}
	return nil
}

func (c *config) beyond() error {
	return fmt.Errorf("a model of %d layers, width %d, feed-forward %d and heads of %d is beyond this engine", c.layers, c.width, c.hidden, c.head)
}
