package llama

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/gguf/gguftest"
	"github.com/sotto-dp/sotto/internal/engine/kernel"
)

// tiny describes a model small enough to compute again, naively, in float64.
type tiny struct {
	arch                   string
	layers, width, heads   int
	kvHeads, head, hidden  int
	vocab, context         int
	matrices               gguf.Type // of all matrices but the embedding
	embedding              gguf.Type
	untied, biases, qkNorm bool
	factors                bool    // rope_freqs
	base, linear           float64 // base 0: 10000
	yarn                   float64 // factor
	long                   bool    // factors for short and long contexts
	original               int     // context before stretching
	magnitude, temper      float64
	window                 int
	pattern                int  // of layers with the window; 0: what the architecture has
	fused                  bool // queries, keys and values in one tensor, gate and up in another
	postNorms              bool
	rotated                int // 0: the whole head
	seed                   uint64
}

var tinyLlama = tiny{
	arch: "llama", layers: 2, width: 64, heads: 4, kvHeads: 2, head: 16, hidden: 96, vocab: 300, context: 256,
	matrices: gguf.F32, embedding: gguf.F32, seed: 1,
}

// tinies cover the architectures, the odd shapes and every tensor type.
func tinies() map[string]tiny {
	with := func(f func(*tiny)) tiny {
		t := tinyLlama
		f(&t)
		return t
	}
	all := map[string]tiny{
		"llama":          tinyLlama,
		"untied":         with(func(t *tiny) { t.untied = true }),
		"one kv head":    with(func(t *tiny) { t.kvHeads = 1 }),
		"no sharing":     with(func(t *tiny) { t.kvHeads = 4 }),
		"wide group":     with(func(t *tiny) { t.heads, t.kvHeads, t.head = 26, 2, 8 }),
		"head of 40":     with(func(t *tiny) { t.head = 40 }),
		"head of 80":     with(func(t *tiny) { t.head, t.width = 80, 96 }),
		"rope factors":   with(func(t *tiny) { t.factors = true }),
		"linear scaling": with(func(t *tiny) { t.linear = 2 }),
		"part rotated":   with(func(t *tiny) { t.rotated = 8 }),
		"llama biases":   with(func(t *tiny) { t.biases = true }),
		"qwen2":          with(func(t *tiny) { t.arch, t.biases, t.untied = "qwen2", true, true }),
		"qwen3":          with(func(t *tiny) { t.arch, t.qkNorm, t.head = "qwen3", true, 32 }),
		"llama yarn":     with(func(t *tiny) { t.yarn, t.original, t.context = 4, 64, 256 }),
		"mistral":        with(func(t *tiny) { t.window, t.untied, t.head = 20, true, 24 }),
		"mistral3": with(func(t *tiny) {
			t.arch, t.yarn, t.original, t.temper, t.untied = "mistral3", 8, 32, 0.1, true
		}),
		"phi3": with(func(t *tiny) {
			t.arch, t.fused, t.untied, t.rotated, t.window = "phi3", true, true, 12, 40
		}),
		"phi3 short": with(func(t *tiny) {
			t.arch, t.fused, t.rotated, t.long, t.original, t.magnitude = "phi3", true, 12, true, 256, 1.19
		}),
		"phi3 long": with(func(t *tiny) {
			t.arch, t.fused, t.rotated, t.long, t.original, t.magnitude = "phi3", true, 12, true, 64, 1.19
		}),
		"gemma3": with(func(t *tiny) {
			t.arch, t.qkNorm, t.postNorms, t.layers, t.window, t.head = "gemma3", true, true, 7, 24, 32
			t.base = 1e6
		}),
		"gemma3 pattern": with(func(t *tiny) {
			t.arch, t.qkNorm, t.postNorms, t.layers, t.window, t.pattern = "gemma3", true, true, 4, 24, 2
		}),
		"gemma3 stretched": with(func(t *tiny) {
			t.arch, t.qkNorm, t.postNorms, t.layers, t.window, t.linear, t.kvHeads = "gemma3", true, true, 6, 33, 8, 1
		}),
		"mixed": with(func(t *tiny) { t.matrices, t.embedding = gguf.Q4_1, gguf.Q8_0 }),
	}
	for _, typ := range []gguf.Type{gguf.F16, gguf.BF16, gguf.Q8_0, gguf.Q4_0, gguf.Q4_1, gguf.Q5_0, gguf.Q5_1} {
		all[typ.String()] = with(func(t *tiny) { t.matrices, t.embedding = typ, typ })
	}
	for _, typ := range []gguf.Type{gguf.Q4_K, gguf.Q5_K, gguf.Q6_K} {
		all[typ.String()] = with(func(t *tiny) {
			t.matrices, t.embedding, t.width, t.hidden, t.heads, t.kvHeads, t.head = typ, typ, 256, 256, 4, 2, 64
		})
	}
	return all
}

// naive is a tiny model's weights as float64, for the naive evaluation.
type naive struct {
	tiny
	m map[string][][]float64 // matrices and vectors (one row) by tensor name
}

// build makes a model of random weights, as a file and for the naive evaluation.
func (c tiny) build(t testing.TB) (*gguf.File, *naive) {
	t.Helper()
	random := rand.New(rand.NewPCG(c.seed, 7))
	var w gguftest.Writer
	n := &naive{c, map[string][][]float64{}}
	set := func(key string, v any) {
		if err := w.Set(key, v); err != nil {
			t.Fatal(err)
		}
	}
	c.metadata(set)
	add := func(name string, typ gguf.Type, rows, cols int, scale, offset float64) {
		row, err := kernel.RowBytes(typ, cols)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 0, rows*row)
		for range rows {
			data = append(data, randomRow(random, typ, cols, scale, offset)...)
			values := make([]float32, cols)
			if err := kernel.DequantizeRow(typ, data[len(data)-row:], values); err != nil {
				t.Fatal(err)
			}
			wide := make([]float64, cols)
			for i, v := range values {
				wide[i] = float64(v)
			}
			n.m[name] = append(n.m[name], wide)
		}
		dims := []uint64{uint64(cols), uint64(rows)}
		if rows == 1 {
			dims = dims[:1]
		}
		w.Add(gguf.Tensor{Name: name, Dims: dims, Type: typ, Data: data})
	}
	c.tensors(add)
	var file bytes.Buffer
	if _, err := w.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f, n
}

func (c tiny) metadata(set func(string, any)) {
	set("general.architecture", c.arch)
	set("general.name", "tiny")
	for _, size := range []struct {
		key string
		n   int
	}{
		{"block_count", c.layers},
		{"embedding_length", c.width},
		{"attention.head_count", c.heads},
		{"attention.head_count_kv", c.kvHeads},
		{"attention.key_length", c.head},
		{"attention.value_length", c.head},
		{"feed_forward_length", c.hidden},
		{"context_length", c.context},
	} {
		set(c.arch+"."+size.key, uint32(size.n))
	}
	if c.rotated > 0 {
		set(c.arch+".rope.dimension_count", uint32(c.rotated))
	}
	set(c.arch+".attention.layer_norm_rms_epsilon", float32(1e-5))
	set(c.arch+".rope.freq_base", float32(cmp.Or(c.base, 10000)))
	if c.linear > 0 {
		set(c.arch+".rope.scaling.type", "linear")
		set(c.arch+".rope.scaling.factor", float32(c.linear))
	}
	if c.yarn > 0 {
		set(c.arch+".rope.scaling.type", "yarn")
		set(c.arch+".rope.scaling.factor", float32(c.yarn))
	}
	if c.original > 0 {
		set(c.arch+".rope.scaling.original_context_length", uint32(c.original))
	}
	if c.magnitude > 0 {
		set(c.arch+".rope.scaling.attn_factor", float32(c.magnitude))
	}
	if c.temper > 0 {
		set(c.arch+".attention.temperature_scale", float32(c.temper))
	}
	if c.window > 0 {
		set(c.arch+".attention.sliding_window", uint32(c.window))
	}
	if c.pattern > 0 {
		set(c.arch+".attention.sliding_window_pattern", uint32(c.pattern))
	}
	// Every byte, the tokens that end a text, and made-up pieces up to the size.
	tokens, types := byteTokens()
	for len(tokens) < c.vocab {
		tokens = append(tokens, fmt.Sprintf("piece%d", len(tokens)))
		types = append(types, 1)
	}
	set("tokenizer.ggml.model", "gpt2")
	set("tokenizer.ggml.pre", "gpt-2")
	set("tokenizer.ggml.tokens", tokens[:c.vocab])
	set("tokenizer.ggml.token_type", types[:c.vocab])
	set("tokenizer.ggml.merges", []string{"t h", "th e", "i n"})
	set("tokenizer.ggml.bos_token_id", uint32(256))
	set("tokenizer.ggml.eos_token_id", uint32(257))
	set("tokenizer.chat_template", "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
}

// byteTokens returns the 256 bytes in GPT-2's spelling, two control tokens, and the merges
// that metadata has.
func byteTokens() ([]string, []int32) {
	var tokens []string
	var types []int32
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		printable := b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae
		if !printable {
			r = next
			next++
		}
		tokens, types = append(tokens, string(r)), append(types, 1)
	}
	tokens = append(tokens, "<|im_start|>", "<|im_end|>", "th", "the", "in")
	return tokens, append(types, 3, 3, 1, 1, 1)
}

func (c tiny) tensors(add func(name string, typ gguf.Type, rows, cols int, scale, offset float64)) {
	queries, keys := c.heads*c.head, c.kvHeads*c.head
	add("token_embd.weight", c.embedding, c.vocab, c.width, 1, 0)
	if c.untied {
		add("output.weight", c.embedding, c.vocab, c.width, 0.2, 0)
	}
	add("output_norm.weight", gguf.F32, 1, c.width, 0.3, 1)
	if c.factors {
		add("rope_freqs.weight", gguf.F32, 1, c.head/2, 0.1, 2)
	}
	if c.long {
		add("rope_factors_short.weight", gguf.F32, 1, c.rotated/2, 0.05, 1)
		add("rope_factors_long.weight", gguf.F32, 1, c.rotated/2, 0.3, 4)
	}
	for i := range c.layers {
		p := fmt.Sprintf("blk.%d.", i)
		norm := func(name string, n int) { add(p+name, gguf.F32, 1, n, 0.3, 1) }
		mat := func(name string, rows, cols int) {
			add(p+name+".weight", c.matrices, rows, cols, 1/math.Sqrt(float64(cols)), 0)
		}
		norm("attn_norm.weight", c.width)
		norm("ffn_norm.weight", c.width)
		if c.fused {
			mat("attn_qkv", queries+2*keys, c.width)
			mat("ffn_up", 2*c.hidden, c.width)
		} else {
			mat("attn_q", queries, c.width)
			mat("attn_k", keys, c.width)
			mat("attn_v", keys, c.width)
			mat("ffn_gate", c.hidden, c.width)
			mat("ffn_up", c.hidden, c.width)
		}
		mat("attn_output", c.width, queries)
		mat("ffn_down", c.width, c.hidden)
		if c.biases {
			add(p+"attn_q.bias", gguf.F32, 1, queries, 0.5, 0)
			add(p+"attn_k.bias", gguf.F32, 1, keys, 0.5, 0)
			add(p+"attn_v.bias", gguf.F32, 1, keys, 0.5, 0)
		}
		if c.qkNorm {
			norm("attn_q_norm.weight", c.head)
			norm("attn_k_norm.weight", c.head)
		}
		if c.postNorms {
			norm("post_attention_norm.weight", c.width)
			norm("post_ffw_norm.weight", c.width)
		}
	}
}

// randomRow makes a row whose values are of about the scale: random bytes for the
// integers, small random scales.
func randomRow(random *rand.Rand, typ gguf.Type, cols int, scale, offset float64) []byte {
	var out []byte
	float := func() float64 { return offset + scale*random.NormFloat64() }
	half := func(x float64) { out = binary.LittleEndian.AppendUint16(out, halfBits(x)) }
	random8 := func(n int) {
		for range n {
			out = append(out, byte(random.Uint32()))
		}
	}
	switch typ {
	case gguf.F32:
		for range cols {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(float())))
		}
		return out
	case gguf.F16:
		for range cols {
			half(float())
		}
		return out
	case gguf.BF16:
		for range cols {
			out = binary.LittleEndian.AppendUint16(out, uint16(math.Float32bits(float32(float()))>>16))
		}
		return out
	}
	size := typ.BlockSize()
	for range cols / size {
		d := scale * (0.5 + random.Float64())
		switch typ {
		case gguf.Q8_0:
			half(d / 70)
			random8(32)
		case gguf.Q4_0:
			half(d / 5)
			random8(16)
		case gguf.Q4_1:
			half(d / 5)
			half(-1.5 * d)
			random8(16)
		case gguf.Q5_0:
			half(d / 10)
			random8(20)
		case gguf.Q5_1:
			half(d / 10)
			half(-1.5 * d)
			random8(20)
		case gguf.Q4_K, gguf.Q5_K:
			levels := 8.0
			n := 128
			if typ == gguf.Q5_K {
				levels, n = 16, 160
			}
			half(d / levels / 32)
			half(d / 32)
			random8(12 + n)
		case gguf.Q6_K:
			random8(192 + 16)
			half(d / 1500)
		}
	}
	return out
}

// halfBits rounds a number of ordinary size to half precision, toward zero.
func halfBits(x float64) uint16 {
	bits := math.Float32bits(float32(x))
	exponent := int(bits>>23&0xff) - 127 + 15
	if exponent <= 0 {
		return uint16(bits >> 16 & 0x8000)
	}
	return uint16(bits>>16&0x8000) | uint16(exponent)<<10 | uint16(bits>>13&0x3ff)
}
