package llama

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/gguf/gguftest"
	"github.com/sotto-dp/sotto/lm"
)

// TestLoadRefuses: a file that is not a model of its architecture is refused with
// an error that names what is wrong, never run on wrong weights.
func TestLoadRefuses(t *testing.T) {
	gemma := func(c *tiny) { *c = tinies()["gemma3"] }
	for _, c := range []struct {
		name   string
		change func(*tiny)
		meta   map[string]any
		drop   string // tensor that is left out
		add    string // tensor of one row that is added
		says   string
	}{
		{name: "architecture", meta: map[string]any{"general.architecture": "mamba"}, says: "gemma3, llama, mistral3, phi3, qwen2, qwen3"},
		{name: "experts", meta: map[string]any{"llama.expert_count": uint32(8)}, says: "experts"},
		{name: "stretched positions", meta: map[string]any{"llama.rope.scaling.type": "llama3"}, says: `"llama3", and this engine knows linear, yarn and longrope`},
		{name: "yarn of its own", meta: map[string]any{"llama.rope.scaling.type": "yarn", "llama.rope.scaling.yarn_ext_factor": float32(0.5)}, says: "YaRN with factors"},
		{name: "no stretch", meta: map[string]any{"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": float32(0)}, says: "rotation"},
		{name: "capped logits", meta: map[string]any{"llama.final_logit_softcapping": float32(30)}, says: "caps its logits"},
		{name: "short pattern", change: gemma, meta: map[string]any{"gemma3.attention.sliding_window_pattern": []bool{true, false}}, says: "2 entries for 7 layers"},
		{name: "no post norm", change: gemma, drop: "blk.3.post_ffw_norm.weight", says: "blk.3.post_ffw_norm.weight is missing"},
		{name: "no fused tensor", change: func(c *tiny) { *c = tinies()["phi3"] }, drop: "blk.1.attn_qkv.weight", says: "blk.1.attn_qkv.weight is missing"},
		{name: "short fused tensor", change: func(c *tiny) { *c = tinies()["phi3"] }, meta: map[string]any{"phi3.feed_forward_length": uint32(64)}, says: "not 128 of 64"},
		{name: "zero layers", meta: map[string]any{"llama.block_count": uint32(0)}, says: "block_count"},
		{name: "too many layers", meta: map[string]any{"llama.block_count": uint32(3)}, says: "blk.2."},
		{name: "absurd layers", meta: map[string]any{"llama.block_count": uint32(1 << 30)}, says: "beyond this engine"},
		{name: "uneven heads", meta: map[string]any{"llama.attention.head_count_kv": uint32(3)}, says: "evenly"},
		{name: "zero norm", meta: map[string]any{"llama.attention.layer_norm_rms_epsilon": float32(0)}, says: "epsilon"},
		{name: "odd rotation", meta: map[string]any{"llama.rope.dimension_count": uint32(7)}, says: "rotating"},
		{name: "negative base", meta: map[string]any{"llama.rope.freq_base": float32(-1)}, says: "freq_base is -1"},
		{name: "flat base", meta: map[string]any{"llama.rope.freq_base": float32(1)}, says: "rotation"},
		{name: "other width", meta: map[string]any{"llama.embedding_length": uint32(32)}, says: "token_embd.weight has"},
		{name: "no embedding", drop: "token_embd.weight", says: "token_embd.weight"},
		{name: "no norm", drop: "blk.1.ffn_norm.weight", says: "blk.1.ffn_norm.weight is missing"},
		{name: "no values", drop: "blk.0.attn_v.weight", says: "blk.0.attn_v.weight is missing"},
		{name: "no bias", change: func(c *tiny) { c.arch, c.biases = "qwen2", true }, drop: "blk.0.attn_k.bias", says: "blk.0.attn_k.bias is missing"},
		{name: "unknown bias", add: "blk.0.ffn_down.bias", says: "not known to this engine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			shape := tinyLlama
			if c.change != nil {
				c.change(&shape)
			}
			whole, _ := shape.build(t)
			var w gguftest.Writer
			if err := w.SetAll(whole.Metadata()); err != nil {
				t.Fatal(err)
			}
			for key, v := range c.meta {
				if err := w.Set(key, v); err != nil {
					t.Fatal(err)
				}
			}
			for _, tensor := range whole.Tensors() {
				if tensor.Name == c.drop {
					continue
				}
				w.Add(tensor)
			}
			if c.add != "" {
				w.Add(gguf.Tensor{Name: c.add, Dims: []uint64{64}, Type: gguf.F32, Data: make([]byte, 256)})
			}
			var out bytes.Buffer
			if _, err := w.WriteTo(&out); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "model.gguf")
			if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := Open(path, Options{})
			if err == nil {
				m.Close()
				t.Fatal("it was loaded")
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error does not say %q: %v", c.says, err)
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.gguf"), Options{}); err == nil {
		t.Error("a missing file was opened")
	}
	file, _ := tinyLlama.build(t)
	if _, err := load(file, Options{Threads: -1}); err == nil {
		t.Error("a negative number of threads was accepted")
	}
}

// TestNaNWeights: weights that are not numbers, or infinite, are an error of the model
// that says so, whichever tensor has them and whatever is asked.
func TestNaNWeights(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		for _, name := range []string{"token_embd.weight", "blk.0.attn_norm.weight", "blk.0.ffn_down.weight", "output_norm.weight"} {
			file, _ := tinies()["untied"].build(t)
			for _, tensor := range file.Tensors() {
				if tensor.Name != name {
					continue
				}
				if tensor.Type != gguf.F32 {
					t.Fatalf("%s is of type %v", name, tensor.Type)
				}
				for at := 0; at < len(tensor.Data); at += 4 {
					binary.LittleEndian.PutUint32(tensor.Data[at:], math.Float32bits(bad))
				}
			}
			m, err := load(file, Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, ask := range []lm.Ask{{Candidates: []lm.Token{1, 2}}, {Top: 2}, {All: true}} {
				session, err := m.Open(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				q, _ := session.New()
				_, err = session.Step(t.Context(), []lm.Step{{Sequence: q, Tokens: []lm.Token{1, 2, 3}, Ask: ask}})
				var unsound *lm.UnsoundError
				if !errors.As(err, &unsound) || !strings.Contains(err.Error(), "error of the model") {
					t.Errorf("%v in %s, asked %+v: %v", bad, name, ask, err)
				}
			}
			m.Close()
		}
	}
}
