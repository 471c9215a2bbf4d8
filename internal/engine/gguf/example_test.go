package gguf_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/gguf/gguftest"
)

func Example() {
	var w gguftest.Writer
	if err := w.Set("general.architecture", "llama"); err != nil {
		log.Fatal(err)
	}
	w.Add(gguf.Tensor{
		Name: "output.weight",
		Dims: []uint64{32, 2}, // two rows of 32
		Type: gguf.Q8_0,
		Data: make([]byte, 2*gguf.Q8_0.BlockBytes()),
	})
	var file bytes.Buffer
	if _, err := w.WriteTo(&file); err != nil {
		log.Fatal(err)
	}

	f, err := gguf.Parse(file.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	architecture, err := f.Metadata().String("general.architecture")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(architecture)
	for _, t := range f.Tensors() {
		fmt.Println(t.Name, t.Rows(), t.Cols(), t.Type, len(t.Data))
	}
	_, err = f.Metadata().Uint("llama.block_count")
	fmt.Println(err)
	// Output:
	// llama
	// output.weight 2 32 Q8_0 68
	// gguf: metadata key "llama.block_count" is missing
}
