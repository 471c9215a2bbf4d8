package models

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/safetensors"
)

// Facts are the metadata of a model's file.
type Facts struct {
	// Name that the file gives, often the publisher's.
	Name         string `json:"name,omitempty"`
	Bytes        int64  `json:"bytes"`
	Architecture string `json:"architecture"`
	// Parameters is the number of weights.
	Parameters int64 `json:"parameters"`
	// Quantisation is the storage type that most weights have; Types counts the
	// weights of each.
	Quantisation string           `json:"quantisation"`
	Types        map[string]int64 `json:"types"`
	Layers       int              `json:"layers,omitempty"`
	Context      int              `json:"context,omitempty"`
	Vocabulary   int              `json:"vocabulary,omitempty"`
	Licence      string           `json:"licence,omitempty"`
}

// Inspect reads the facts off a GGUF or safetensors file. It does not load it.
func Inspect(path string) (Facts, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return Facts{}, fmt.Errorf("%s is a directory: name the model's file in it", path)
	}
	if strings.HasSuffix(path, ".safetensors") {
		return inspectEncoder(path)
	}
	f, err := gguf.Open(path)
	if err != nil {
		if _, ok := errors.AsType[*gguf.FormatError](err); ok {
			return Facts{}, fmt.Errorf("%s is not a GGUF file, or it is damaged: %w", path, err)
		}
		return Facts{}, err
	}
	defer f.Close()
	meta := f.Metadata()
	text := func(key string) string {
		s, _ := meta.String(key) // what a file does not say stays empty
		return s
	}
	facts := Facts{
		Name: text("general.name"), Bytes: f.Size(), Architecture: text("general.architecture"),
		Licence: text("general.license"), Vocabulary: meta.Len("tokenizer.ggml.tokens"),
	}
	number := func(key string) int {
		n, _ := meta.Uint(facts.Architecture + "." + key)
		return int(n)
	}
	facts.Layers, facts.Context = number("block_count"), number("context_length")
	for _, t := range f.Tensors() {
		facts.count(t.Type.String(), t.Dims)
	}
	facts.settle()
	return facts, nil
}

func inspectEncoder(path string) (Facts, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return Facts{}, err
	}
	defer f.Close()
	facts := Facts{Bytes: f.Size(), Architecture: "unknown"}
	for _, t := range f.Tensors() {
		// Whole numbers are positions and the like, not weights.
		if kind := fmt.Sprint(t.Type); strings.Contains(kind, "F") {
			facts.count(kind, t.Shape)
		}
		switch {
		case t.Name == "embeddings.word_embeddings.weight" && len(t.Shape) == 2:
			facts.Architecture, facts.Vocabulary = "bert", int(t.Shape[0])
		case strings.HasSuffix(t.Name, ".attention.self.query.weight"):
			facts.Layers++
		}
	}
	facts.settle()
	return facts, nil
}

func (f *Facts) count(kind string, shape []uint64) {
	n := int64(1)
	for _, d := range shape {
		n *= int64(d)
	}
	if f.Types == nil {
		f.Types = map[string]int64{}
	}
	f.Types[kind] += n
	f.Parameters += n
}

// settle picks the type that most weights have.
func (f *Facts) settle() {
	for _, k := range slices.Sorted(maps.Keys(f.Types)) {
		if f.Quantisation == "" || f.Types[k] > f.Types[f.Quantisation] {
			f.Quantisation = k
		}
	}
}
