package llama

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/kernel"
)

// spin describes how positions turn the queries and keys of a layer.
type spin struct {
	rotated int // numbers of a head that are turned
	base    float64
	stretch float64 // positions are divided by it
	// yarn: only slow pairs are stretched (Peng et al. 2023, YaRN). A pair that turns more
	// than fast times within the original context is not, one that turns less than slow
	// times is stretched whole.
	yarn       bool
	fast, slow float64
	original   int     // context before stretching
	magnitude  float64 // of the turned numbers
	factors    []float32
}

// readSpin reads how positions turn queries and keys.
func (c *config) readSpin(meta *gguf.Metadata) error {
	key := c.architecture + ".rope."
	var err error
	number := func(name string, otherwise float64) float64 {
		if err != nil || !meta.Has(key+name) {
			return otherwise
		}
		var v float64
		if v, err = meta.Float(key + name); err == nil && (math.IsNaN(v) || math.IsInf(v, 0) || v < 0) {
			err = fmt.Errorf("%s%s is %v: the file is damaged", key, name, v)
		}
		return v
	}
	s := spin{rotated: c.rotated, stretch: 1, original: c.context}
	s.base = number("freq_base", 10000)
	s.magnitude = number("scaling.attn_factor", 1)
	if meta.Has(key + "scaling.original_context_length") {
		n, err := meta.Uint(key + "scaling.original_context_length")
		if err != nil {
			return err
		}
		s.original = int(min(n, math.MaxInt32))
	}
	kind, _ := meta.String(key + "scaling.type")
	switch kind {
	case "", "none", "longrope":
	case "linear":
		s.stretch = number("scaling.factor", 1)
	case "yarn":
		s.stretch = number("scaling.factor", 1)
		s.fast = number("scaling.yarn_beta_fast", 32)
		s.slow = number("scaling.yarn_beta_slow", 1)
		s.yarn = true
		growth := func(m float64) float64 { return 1 + 0.1*m*math.Log(max(s.stretch, 1)) }
		s.magnitude *= growth(1)
		if m := number("scaling.yarn_log_multiplier", 0); m != 0 {
			s.magnitude /= growth(m)
		}
		if number("scaling.yarn_ext_factor", 1) != 1 || number("scaling.yarn_attn_factor", 1) != 1 {
			return fmt.Errorf("the model stretches positions by YaRN with factors that this engine does not know: use a server for it")
		}
	default:
		return fmt.Errorf("the model stretches positions by %q, and this engine knows linear, yarn and longrope (Llama 3 files hold theirs as the tensor rope_freqs): use a server for it, or a newer file", kind)
	}
	if err != nil {
		return err
	}
	if !(s.base > 1) || !(s.stretch > 0) || !(s.magnitude > 0) || s.original < 1 || s.yarn && !(s.fast > s.slow && s.slow > 0) {
		return fmt.Errorf("the rotation of positions has base %v, factor %v and magnitude %v: the file is damaged", s.base, s.stretch, s.magnitude)
	}
	c.far = s
	c.nearby = s
	if c.nearBase > 0 {
		c.nearby = spin{rotated: c.rotated, base: number("freq_base_swa", c.nearBase), stretch: 1, magnitude: 1}
		if err != nil || !(c.nearby.base > 1) {
			return fmt.Errorf("the rotation of positions has base %v: the file is damaged", c.nearby.base)
		}
	}
	return nil
}

// readFactors reads what divides the frequencies of pairs: one list (Llama 3), or one for
// short contexts and one for long (longrope, Phi-3). The list depends on the context that
// the engine was opened with, never on a sequence, so that sequences can share a beginning.
func (l *loader) readFactors(c *config) {
	name := "rope_freqs.weight"
	if !l.has(name) {
		name = "rope_factors_short.weight"
		if c.context > c.far.original {
			name = "rope_factors_long.weight"
		}
	}
	factors := l.optional(name, c.rotated/2)
	if l.err != nil || factors == nil {
		return
	}
	for _, f := range factors[:c.rotated/2] {
		if !(f > 0) {
			l.fail(&tensorError{name, fmt.Sprintf("has the factor %v", f)})
			return
		}
	}
	c.far.factors = factors
	if c.nearBase == 0 {
		c.nearby.factors = factors
	}
}

// frequency returns by how much a position turns the i-th pair.
func (s *spin) frequency(i int) float64 {
	f := kernel.Power(s.base, -2*float64(i)/float64(s.rotated))
	if s.factors != nil {
		f /= float64(s.factors[i])
	}
	if !s.yarn {
		return f / s.stretch
	}
	// The pair that turns a number of times within the original context.
	pair := func(turns float64) float64 {
		return float64(s.rotated) * math.Log(float64(s.original)/(turns*2*math.Pi)) / (2 * math.Log(s.base))
	}
	low := max(0, math.Floor(pair(s.fast)))
	high := min(float64(s.rotated-1), math.Ceil(pair(s.slow)))
	stretched := min(1, max(0, (float64(i)-low)/max(0.001, high-low)))
	return float64(f/s.stretch*stretched) + float64(f*(1-stretched))
}

// rotation holds the cosines and sines of positions.
type rotation struct {
	spin
	half     int
	cos, sin []float32 // [position][half]
}

func newRotation(s spin) *rotation { return &rotation{spin: s, half: s.rotated / 2} }

// grow computes the angles of positions, in double precision, at least as many as asked for.
func (r *rotation) grow(positions int) {
	done := len(r.cos) / max(1, r.half)
	if positions <= done {
		return
	}
	positions = (positions + rotationStep - 1) / rotationStep * rotationStep
	cos, sin := make([]float32, positions*r.half), make([]float32, positions*r.half)
	copy(cos, r.cos)
	copy(sin, r.sin)
	for i := range r.half {
		frequency := r.frequency(i)
		for p := done; p < positions; p++ {
			s, c := kernel.Sincos(float64(p) * frequency)
			cos[p*r.half+i], sin[p*r.half+i] = float32(c*r.magnitude), float32(s*r.magnitude)
		}
	}
	r.cos, r.sin = cos, sin
}

// rotationStep is the number of positions whose angles are computed at once.
const rotationStep = 1024

func (r *rotation) at(position int) (cos, sin []float32) {
	return r.cos[position*r.half : (position+1)*r.half], r.sin[position*r.half : (position+1)*r.half]
}

// turnTo computes the angles of positions before a step reads them.
func (w *weights) turnTo(positions int) {
	for i := range w.layers {
		w.layers[i].rotation.grow(positions)
	}
}

// temperature returns by how much the query of a position is multiplied: it grows with each
// original context that lies before it.
func (c *config) temperature(position int) float32 {
	if c.temper == 0 || position < c.far.original {
		return 1
	}
	return float32(1 + c.temper*math.Log(1+math.Floor(float64(position)/float64(c.far.original))))
}
