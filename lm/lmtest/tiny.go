package lmtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/gguf/gguftest"
)

// The shape of the tiny model; TinyVocab is its number of tokens.
const (
	tinyWidth   = 32
	TinyVocab   = 259
	tinyContext = 4096
)

// TinyModel writes a model of one layer with random weights, whose tokens are the
// 256 bytes, two marks and "th". It says nothing sensible, quickly, and is the same file each time.
func TinyModel(t testing.TB, path string) {
	t.Helper()
	var w gguftest.Writer
	set := func(key string, v any) {
		if err := w.Set(key, v); err != nil {
			t.Fatal(err)
		}
	}
	set("general.architecture", "llama")
	set("general.name", "tiny")
	for _, field := range []struct {
		key   string
		value uint32
	}{
		{"block_count", 1},
		{"embedding_length", tinyWidth},
		{"attention.head_count", 2},
		{"attention.head_count_kv", 1},
		{"attention.key_length", 16},
		{"attention.value_length", 16},
		{"feed_forward_length", 32},
		{"context_length", tinyContext},
	} {
		set("llama."+field.key, field.value)
	}
	set("llama.attention.layer_norm_rms_epsilon", float32(1e-5))
	set("llama.rope.freq_base", float32(10000))
	tokens, types := tinyTokens()
	set("tokenizer.ggml.model", "gpt2")
	set("tokenizer.ggml.pre", "gpt2")
	set("tokenizer.ggml.tokens", tokens)
	set("tokenizer.ggml.token_type", types)
	set("tokenizer.ggml.merges", []string{"t h"})
	set("tokenizer.ggml.eos_token_id", uint32(257))
	set("tokenizer.chat_template", "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")

	random := rand.New(rand.NewPCG(1, 2))
	add := func(name string, offset float64, dims ...uint64) {
		n := uint64(1)
		for _, d := range dims {
			n *= d
		}
		var data []byte
		for range n {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(offset+0.3*random.NormFloat64())))
		}
		w.Add(gguf.Tensor{Name: name, Dims: dims, Type: gguf.F32, Data: data})
	}
	add("token_embd.weight", 0, tinyWidth, TinyVocab)
	add("output_norm.weight", 1, tinyWidth)
	add("blk.0.attn_norm.weight", 1, tinyWidth)
	add("blk.0.ffn_norm.weight", 1, tinyWidth)
	for _, matrix := range []struct {
		name string
		rows uint64
	}{
		{"attn_q", 32},
		{"attn_k", 16},
		{"attn_v", 16},
		{"attn_output", 32},
		{"ffn_gate", 32},
		{"ffn_up", 32},
		{"ffn_down", 32},
	} {
		add(fmt.Sprintf("blk.0.%s.weight", matrix.name), 0, tinyWidth, matrix.rows)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// tinyTokens are the bytes as byte-level vocabularies spell them, two marks, and the
// one token that is merged.
func tinyTokens() (tokens []string, types []int32) {
	next := rune(256)
	for b := range rune(256) {
		spelled := b
		if b < '!' || b > '~' && b < 0xa1 || b == 0xad {
			spelled = next
			next++
		}
		tokens, types = append(tokens, string(spelled)), append(types, 1)
	}
	return append(tokens, "<|im_start|>", "<|im_end|>", "th"), append(types, 3, 3, 1)
}
