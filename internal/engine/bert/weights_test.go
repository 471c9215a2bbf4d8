package bert

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/kernel"
	"github.com/sotto-dp/sotto/internal/engine/safetensors"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// shapes of the tensors of an encoder, under the names that published files have.
func shapes(c config) map[string][]uint64 {
	width, hidden := uint64(c.width), uint64(c.hidden)
	out := map[string][]uint64{
		"embeddings.word_embeddings.weight":       {uint64(c.vocabulary), width},
		"embeddings.position_embeddings.weight":   {uint64(c.positions), width},
		"embeddings.token_type_embeddings.weight": {uint64(c.kinds), width},
		"embeddings.LayerNorm.weight":             {width},
		"embeddings.LayerNorm.bias":               {width},
	}
	for i := range c.layers {
		prefix := fmt.Sprintf("encoder.layer.%d.", i)
		for name, shape := range map[string][2]uint64{
			"attention.self.query":   {width, width},
			"attention.self.key":     {width, width},
			"attention.self.value":   {width, width},
			"attention.output.dense": {width, width},
			"intermediate.dense":     {hidden, width},
			"output.dense":           {width, hidden},
		} {
			out[prefix+name+".weight"] = shape[:]
			out[prefix+name+".bias"] = shape[:1]
		}
		for _, name := range []string{"attention.output.LayerNorm", "output.LayerNorm"} {
			out[prefix+name+".weight"] = []uint64{width}
			out[prefix+name+".bias"] = []uint64{width}
		}
	}
	return out
}

// zeros returns a file of zeros with the given shapes, made in a buffer, which grows and is
// used again.
func zeros(t *testing.T, buffer *[]byte, shapes map[string][]uint64, kind safetensors.Type) tensors {
	t.Helper()
	const room = 1 << 14 // for the header, which ends with spaces
	header := map[string]any{}
	end := 0
	for name, shape := range shapes {
		size := kind.Size()
		for _, d := range shape {
			size *= int(d)
		}
		header[name] = map[string]any{"dtype": kind, "shape": shape, "data_offsets": []int{end, end + size}}
		end += size
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > room {
		t.Fatalf("the header takes %d bytes", len(text))
	}
	if len(*buffer) < 8+room+end {
		*buffer = make([]byte, 8+room+end)
	}
	data := (*buffer)[:8+room+end]
	binary.LittleEndian.PutUint64(data, room)
	copy(data[8:8+room], bytes.Repeat([]byte(" "), room))
	copy(data[8:], text)
	f, err := safetensors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return floatFile{File: f}
}

func TestWeightsOfOtherModelsAreRefused(t *testing.T) {
	var buffer []byte
	const width, hidden, positions = 384, 1536, 512
	if _, err := loadWeights(zeros(t, &buffer, shapes(miniLM), safetensors.F32), &miniLM); err != nil {
		t.Fatalf("the right shapes gave error %v", err)
	}
	_, err := loadWeights(zeros(t, &buffer, shapes(miniLM), "I8"), &miniLM)
	expect.Contains(t, "error about bytes", fmt.Sprint(err), "I8")
	for name, shape := range map[string][]uint64{
		"embeddings.word_embeddings.weight":       nil,
		"embeddings.position_embeddings.weight":   {positions / 2, width},
		"embeddings.token_type_embeddings.weight": {1, width},
		"embeddings.LayerNorm.bias":               {width, 1},
		"encoder.layer.0.attention.self.key.bias": {width - 1},
		"encoder.layer.1.output.dense.weight":     {hidden, width},
		"encoder.layer.5.output.LayerNorm.weight": nil,
	} {
		t.Run(name, func(t *testing.T) {
			changed := shapes(miniLM)
			changed[name] = shape
			if shape == nil {
				delete(changed, name)
			}
			_, err := loadWeights(zeros(t, &buffer, changed, safetensors.F32), &miniLM)
			expect.Contains(t, "error", fmt.Sprint(err), name)
			expect.Contains(t, "error about "+name, fmt.Sprint(err), "all-MiniLM-L6-v2")
		})
	}
}

func TestDamagedWeightsGiveNoVector(t *testing.T) {
	for name, value := range map[string]float32{"zero": 0, "not a number": float32(math.NaN()), "infinite": float32(math.Inf(1))} {
		t.Run(name, func(t *testing.T) {
			w := &worker{k: kernel.For(kernel.Best()), m: &weights{config: &miniLM}, wideRow: 400, x: make([]float32, 800)}
			for i := range w.x {
				w.x[i] = value
			}
			if v, ok := w.vector(0, 2); ok {
				t.Errorf("%s: got the vector %v…", name, v[:3])
			}
		})
	}
}
