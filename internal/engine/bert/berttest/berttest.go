// Package berttest makes tiny sentence encoders with random weights, in all forms that package bert reads, and
// computes their vectors plainly in float64.
package berttest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/gguf/gguftest"
)

// Tensor is an array of weights.
type Tensor struct {
	Shape  []int
	Values []float32
}

// Model is an encoder. Its numbers are such that all types of storage hold them exactly.
type Model struct {
	Layers, Width, Heads, Hidden, Positions int
	// First says that the vector of a text is that of its first token, else it is the mean.
	First   bool
	Pieces  []string
	Tensors map[string]Tensor
}

// New draws a model of two layers with heads of a width.
func New(seed uint64, headWidth int, first bool) *Model {
	m := &Model{Layers: 2, Width: 128, Heads: 128 / headWidth, Hidden: 256, Positions: 48, First: first}
	m.Pieces = strings.Fields("[PAD] [unused0] [UNK] [CLS] [SEP] [MASK] . , : ! the a cat dog sat on mat ##ly quick query passage ℝ stone bank of river")
	for letter := 'a'; letter <= 'z'; letter++ {
		m.Pieces = append(m.Pieces, "##"+string(letter))
	}
	r := rand.New(rand.NewPCG(seed, 7))
	m.Tensors = map[string]Tensor{}
	add := func(name string, middle float32, unit float32, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = middle + float32(r.IntN(255)-127)*unit
		}
		m.Tensors[name] = Tensor{shape, values}
	}
	dense := func(name string, rows, cols int) {
		add(name+".weight", 0, 1./512, rows, cols)
		add(name+".bias", 0, 1./512, rows)
	}
	norm := func(name string) {
		add(name+".weight", 2, 1./64, m.Width)
		add(name+".bias", 0, 1./512, m.Width)
	}
	add("embeddings.word_embeddings.weight", 0, 1./512, len(m.Pieces), m.Width)
	add("embeddings.position_embeddings.weight", 0, 1./512, m.Positions, m.Width)
	add("embeddings.token_type_embeddings.weight", 0, 1./512, 2, m.Width)
	norm("embeddings.LayerNorm")
	for i := range m.Layers {
		prefix := fmt.Sprintf("encoder.layer.%d.", i)
		for _, name := range []string{"query", "key", "value"} {
			dense(prefix+"attention.self."+name, m.Width, m.Width)
		}
		dense(prefix+"attention.output.dense", m.Width, m.Width)
		norm(prefix + "attention.output.LayerNorm")
		dense(prefix+"intermediate.dense", m.Hidden, m.Width)
		dense(prefix+"output.dense", m.Width, m.Hidden)
		norm(prefix + "output.LayerNorm")
	}
	return m
}

// Config is what config.json holds.
func (m *Model) Config() map[string]any {
	return map[string]any{
		"model_type": "bert", "num_hidden_layers": m.Layers, "hidden_size": m.Width, "num_attention_heads": m.Heads,
		"intermediate_size": m.Hidden, "max_position_embeddings": m.Positions, "vocab_size": len(m.Pieces),
		"type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu", "position_embedding_type": "absolute",
	}
}

// Files are those of a folder as sentence-transformers writes it, by name, with weights in float32 (F32), F16 or BF16.
func (m *Model) Files(kind string) map[string][]byte {
	files := map[string][]byte{
		"model.safetensors": m.safetensors(kind),
		"vocab.txt":         []byte(strings.Join(m.Pieces, "\n") + "\n"),
	}
	for name, v := range map[string]any{
		"config.json":               m.Config(),
		"tokenizer_config.json":     map[string]any{"do_lower_case": true, "model_max_length": 48, "tokenizer_class": "BertTokenizer"},
		"sentence_bert_config.json": map[string]any{"max_seq_length": 32, "do_lower_case": false},
		"1_Pooling/config.json":     map[string]any{"word_embedding_dimension": m.Width, "pooling_mode_cls_token": m.First, "pooling_mode_mean_tokens": !m.First, "pooling_mode_max_tokens": false},
		"modules.json": []map[string]any{
			{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
			{"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
			{"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
		},
	} {
		files[name], _ = json.Marshal(v) // these values always have a form in JSON
	}
	return files
}

// WriteFolder writes files to a folder.
func WriteFolder(dir string, files map[string][]byte) error {
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) safetensors(kind string) []byte {
	header := map[string]any{}
	var data []byte
	for _, name := range slices.Sorted(maps.Keys(m.Tensors)) {
		t := m.Tensors[name]
		at := len(data)
		data = appendFloats(data, map[string]gguf.Type{"F32": gguf.F32, "F16": gguf.F16, "BF16": gguf.BF16}[kind], t.Values)
		header[name] = map[string]any{"dtype": kind, "shape": t.Shape, "data_offsets": []int{at, len(data)}}
	}
	text, _ := json.Marshal(header) // as above
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, data)
}

// appendFloats appends numbers in a type that holds them exactly.
func appendFloats(data []byte, kind gguf.Type, values []float32) []byte {
	switch kind {
	case gguf.F32:
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
	case gguf.BF16:
		for _, v := range values {
			data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(v)>>16))
		}
	case gguf.F16:
		for _, v := range values {
			data = binary.LittleEndian.AppendUint16(data, half(v))
		}
	case gguf.Q8_0:
		for block := range slices.Chunk(values, 32) {
			data = binary.LittleEndian.AppendUint16(data, half(1./512))
			for _, v := range block {
				data = append(data, byte(int8(v*512)))
			}
		}
	}
	return data
}

// half returns a number as binary16 that is one exactly, and is no subnormal number.
func half(v float32) uint16 {
	bits := math.Float32bits(v)
	if v == 0 {
		return 0
	}
	return uint16(bits>>16&0x8000) | uint16((bits>>23&0xff)-112)<<10 | uint16(bits>>13&0x3ff)
}

// names of tensors in GGUF files.
var names = []string{
	"embeddings.word_embeddings", "token_embd", "embeddings.position_embeddings", "position_embd",
	"embeddings.token_type_embeddings", "token_types", "embeddings.LayerNorm", "token_embd_norm", "encoder.layer", "blk",
	"attention.self.query", "attn_q", "attention.self.key", "attn_k", "attention.self.value", "attn_v",
	"attention.output.dense", "attn_output", "attention.output.LayerNorm", "attn_output_norm",
	"intermediate.dense", "ffn_up", "output.dense", "ffn_down", "output.LayerNorm", "layer_output_norm",
}

// GGUF returns the writer of a file, whose matrices are of a type (F32, F16, BF16 or Q8_0).
func (m *Model) GGUF(kind gguf.Type) (*gguftest.Writer, error) {
	w := &gguftest.Writer{}
	way := uint32(1)
	if m.First {
		way = 2
	}
	pieces := make([]string, len(m.Pieces))
	for i, p := range m.Pieces {
		rest, continues := strings.CutPrefix(p, "##")
		switch {
		case continues:
			pieces[i] = rest
		case strings.HasPrefix(p, "["):
			pieces[i] = p
		default:
			pieces[i] = "▁" + p
		}
	}
	for _, entry := range []struct {
		key   string
		value any
	}{
		{"general.architecture", "bert"},
		{"general.name", "tiny"},
		{"bert.block_count", uint32(m.Layers)},
		{"bert.context_length", uint32(m.Positions)},
		{"bert.embedding_length", uint32(m.Width)},
		{"bert.feed_forward_length", uint32(m.Hidden)},
		{"bert.attention.head_count", uint32(m.Heads)},
		{"bert.attention.layer_norm_epsilon", float32(1e-12)},
		{"bert.attention.causal", false},
		{"bert.pooling_type", way},
		{"tokenizer.ggml.model", "bert"},
		{"tokenizer.ggml.token_type_count", uint32(2)},
		{"tokenizer.ggml.tokens", pieces},
	} {
		if err := w.Set(entry.key, entry.value); err != nil {
			return nil, err
		}
	}
	rename := strings.NewReplacer(names...)
	for _, name := range slices.Sorted(maps.Keys(m.Tensors)) {
		t, of := m.Tensors[name], kind
		dims := make([]uint64, len(t.Shape))
		for i, d := range t.Shape {
			dims[len(dims)-1-i] = uint64(d)
		}
		if len(dims) == 1 {
			of = gguf.F32
		}
		w.Add(gguf.Tensor{Name: rename.Replace(name), Dims: dims, Type: of, Data: appendFloats(nil, of, t.Values)})
	}
	return w, nil
}

// WriteGGUF writes a GGUF file.
func (m *Model) WriteGGUF(path string, kind gguf.Type) error {
	w, err := m.GGUF(kind)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = w.WriteTo(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
