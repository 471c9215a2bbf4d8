package lmtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/gguf/gguftest"
	"github.com/sotto-dp/sotto/internal/engine/kernel"
	"github.com/sotto-dp/sotto/lm/models"
)

// CutModel writes the first layers of the default model, with the first tokens of
// its vocabulary, in float32, into a file: for servers whose answers are long.
func CutModel(t *testing.T, size, layers int) string {
	t.Helper()
	path, _, err := models.Find(models.Default)
	if err != nil {
		t.Fatalf("%v; run: go run ./cmd/sotto model pull", err)
	}
	file, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var w gguftest.Writer
	cutVocabulary(t, &w, file.Metadata(), size)
	if err := w.Set("llama.block_count", uint32(layers)); err != nil {
		t.Fatal(err)
	}
	for _, tensor := range file.Tensors() {
		var layer int
		if n, _ := fmt.Sscanf(tensor.Name, "blk.%d.", &layer); n == 1 && layer >= layers {
			continue
		}
		cols, rows := tensor.Cols(), tensor.Rows()
		stored := len(tensor.Data) / rows
		if tensor.Name == "token_embd.weight" {
			rows = size
			tensor.Dims = []uint64{tensor.Dims[0], uint64(size)}
		}
		values := make([]float32, rows*cols)
		for r := range rows {
			if err := kernel.DequantizeRow(tensor.Type, tensor.Data[r*stored:(r+1)*stored], values[r*cols:(r+1)*cols]); err != nil {
				t.Fatal(err)
			}
		}
		tensor.Type, tensor.Data = gguf.F32, make([]byte, 4*len(values))
		for i, v := range values {
			binary.LittleEndian.PutUint32(tensor.Data[4*i:], math.Float32bits(v))
		}
		w.Add(tensor)
	}
	out := filepath.Join(t.TempDir(), "cut.gguf")
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.WriteTo(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return out
}

// cutVocabulary copies metadata with the first tokens only. Merges come in the order
// of the tokens they make, so that these tokens still make each other.
func cutVocabulary(t *testing.T, w *gguftest.Writer, m *gguf.Metadata, size int) {
	t.Helper()
	tokens, err1 := m.Strings("tokenizer.ggml.tokens")
	types, err2 := m.Ints("tokenizer.ggml.token_type")
	merges, err3 := m.Strings("tokenizer.ggml.merges")
	if err := errors.Join(err1, err2, err3, w.SetAll(m)); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, token := range tokens[:size] {
		known[token] = true
	}
	var kept []string
	for _, merge := range merges {
		if known[strings.Replace(merge, " ", "", 1)] {
			kept = append(kept, merge)
		}
	}
	kinds := make([]int32, size)
	for i := range kinds {
		kinds[i] = int32(types[i])
	}
	for key, value := range map[string]any{
		"tokenizer.ggml.tokens": tokens[:size], "tokenizer.ggml.token_type": kinds,
		"tokenizer.ggml.merges": kept, "llama.vocab_size": uint32(size), "general.file_type": uint32(0),
	} {
		if err := w.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
}
