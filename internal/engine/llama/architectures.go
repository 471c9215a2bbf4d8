package llama

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
)

// traits describe how an architecture differs from Llama, whose traits are zero. One
// forward pass reads them; a new architecture is a new line of the table.
type traits struct {
	halves    bool // rotary pairs are (i, i+rotated/2), not (2i, 2i+1)
	biases    bool // queries, keys and values have biases
	headNorms bool // each head of queries and keys is normed before it is turned
	postNorms bool // what a part adds to the residual stream is normed first
	fused     bool // one tensor may hold queries, keys and values, another gate and up
	gelu      bool // the gate is GELU (by tanh), not SiLU
	rootWidth bool // embeddings are multiplied by √width
	tempers   bool // far positions may have sharper attention

	// windowed: the file may limit how far back its layers read.
	windowed bool
	// period: of so many layers the last reads everything and the others have the
	// window. 0: all layers have it.
	period int
	// nearBase is the base of the rotation in layers with a window; 0: that of the others.
	nearBase float64
	// largeScale is the number of layers of the one size whose attention is scaled by
	// the width that a head would have if they shared the residual stream.
	largeScale int
}

var architectures = map[string]traits{
	"llama":    {windowed: true},
	"mistral3": {windowed: true, tempers: true},
	"qwen2":    {halves: true, biases: true},
	"qwen3":    {halves: true, headNorms: true},
	"phi3":     {halves: true, fused: true, windowed: true},
	"gemma3": {
		halves: true, headNorms: true, postNorms: true, gelu: true, rootWidth: true,
		windowed: true, period: 6, nearBase: 10000, largeScale: 62,
	},
}

// Architectures lists the architectures that the engine runs, as files name them.
func Architectures() []string { return slices.Sorted(maps.Keys(architectures)) }

func traitsOf(arch string) (traits, error) {
	t, ok := architectures[arch]
	if !ok {
		return t, fmt.Errorf("the model's architecture is %q, and this engine runs %s: use another model, or run this one on a server and give its --url", arch, strings.Join(Architectures(), ", "))
	}
	return t, nil
}

// readTraits reads what the traits of the architecture leave to the file.
func (c *config) readTraits(meta *gguf.Metadata) error {
	c.scale = 1 / math.Sqrt(float64(c.head))
	if c.largeScale > 0 && c.layers == c.largeScale {
		c.scale = 1 / math.Sqrt(float64(c.width/c.heads))
	}
	if cap, err := meta.Float(c.architecture + ".final_logit_softcapping"); err == nil && cap != 0 {
		return fmt.Errorf("the model caps its logits (at %v), which this engine does not do: use a server for it", cap)
	}
	key := c.architecture + ".attention.temperature_scale"
	if c.tempers && meta.Has(key) {
		var err error
		if c.temper, err = meta.Float(key); err != nil {
			return err
		}
	}
	return c.readWindow(meta)
}

// readWindow reads how far back which layers read.
func (c *config) readWindow(meta *gguf.Metadata) error {
	key := c.architecture + ".attention.sliding_window"
	c.near = make([]bool, c.layers)
	if !c.windowed || !meta.Has(key) {
		return nil
	}
	window, err := meta.Uint(key)
	if err != nil || window == 0 {
		return err
	}
	c.window = int(min(window, math.MaxInt32))
	period := uint64(c.period)
	key += "_pattern"
	switch {
	case !meta.Has(key):
	case meta.Len(key) > 0:
		near, err := meta.Bools(key)
		if err != nil {
			return err
		}
		if len(near) < c.layers {
			return fmt.Errorf("%s has %d entries for %d layers: the file is damaged", key, len(near), c.layers)
		}
		copy(c.near, near)
		return nil
	default:
		if period, err = meta.Uint(key); err != nil {
			return err
		}
	}
	for i := range c.near {
		c.near[i] = period == 0 || uint64(i)%period < period-1
	}
	return nil
}

// reach returns how many positions a token of a layer reads at most, its own among them.
func (c *config) reach(layer int) int {
	if c.near[layer] {
		return c.window
	}
	return math.MaxInt
}
