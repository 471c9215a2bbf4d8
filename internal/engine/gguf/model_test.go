package gguf_test

import (
	"fmt"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm/models"
)

// modelPath returns the default model in the user's cache.
func modelPath(t testing.TB) string {
	t.Helper()
	path, _, err := models.Find("")
	if err != nil {
		t.Fatalf("%v; run: go run ./cmd/sotto model pull", err)
	}
	return path
}

// The facts are those of the model's card and of its published file.
func TestDefaultModel(t *testing.T) {
	f, err := gguf.Open(modelPath(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := f.Metadata()
	if got, err := m.String("general.architecture"); err != nil || got != "llama" {
		t.Errorf("architecture %q, error %v", got, err)
	}
	if got, err := m.String("tokenizer.ggml.pre"); err != nil || got != "smollm" {
		t.Errorf("pre-tokeniser %q, error %v", got, err)
	}
	for key, want := range map[string]uint64{
		"llama.block_count":             30,
		"llama.embedding_length":        576,
		"llama.attention.head_count":    9,
		"llama.attention.head_count_kv": 3,
		"llama.feed_forward_length":     1536,
		"llama.vocab_size":              49152,
	} {
		if got, err := m.Uint(key); err != nil || got != want {
			t.Errorf("%s is %d, error %v, want %d", key, got, err, want)
		}
	}
	if got, err := m.Float("llama.rope.freq_base"); err != nil || got != 100000 {
		t.Errorf("RoPE base %v, error %v", got, err)
	}
	tokens, err := m.Strings("tokenizer.ggml.tokens")
	if err != nil || len(tokens) != 49152 {
		t.Errorf("%d tokens, error %v", len(tokens), err)
	}
	if f.Size() != 98362432 {
		t.Errorf("the file has %d bytes", f.Size())
	}
	checkModelTensors(t, f)
}

func checkModelTensors(t *testing.T, f *gguf.File) {
	t.Helper()
	count := map[gguf.Type]int{}
	for _, tensor := range f.Tensors() {
		count[tensor.Type]++
		if tensor.Name == "token_embd.weight" {
			expect.Equal(t, "the token embedding", fmt.Sprintf("%d×%d of %v", tensor.Rows(), tensor.Cols(), tensor.Type), "49152×576 of Q8_0")
		}
	}
	// 30 layers of 7 matrices and 2 norms, the final norm and the embedding, which
	// is the head too.
	expect.Len(t, "tensors", f.Tensors(), 30*9+2)
	expect.Equal(t, "by type", fmt.Sprint(count), fmt.Sprint(map[gguf.Type]int{gguf.Q4_1: 210, gguf.F32: 61, gguf.Q8_0: 1}))
	if _, ok := f.Tensor("output.weight"); ok {
		t.Error("the head is not tied to the embedding")
	}
}

func BenchmarkOpen(b *testing.B) {
	path := modelPath(b)
	for b.Loop() {
		f, err := gguf.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
