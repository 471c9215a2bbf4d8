package gradertest

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math"

	"github.com/sotto-dp/sotto/internal/evidence"
)

// Encoder is an encoder for tests: any two texts have other vectors, of length one.
type Encoder struct {
	// Fail, if set, is asked before each call.
	Fail func(call string) error
	// Texts counts those that it has seen.
	Texts int
}

// dimension of the vectors.
const dimension = 6

// Embed returns a vector for each text.
func (e *Encoder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	if e.Fail != nil {
		if err := e.Fail("embed"); err != nil {
			return nil, err
		}
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = Vector(text)
	}
	e.Texts += len(texts)
	return out, nil
}

// Vector is the vector of a text.
func Vector(text string) []float32 {
	out, sum := make([]float64, dimension), 0.0
	for i := range out {
		h := fnv.New64a()
		_ = binary.Write(h, binary.LittleEndian, int64(i))
		h.Write([]byte(text))
		// The last letter changes low bits alone, which the product moves up.
		out[i] = float64(h.Sum64()*0x9e3779b97f4a7c15>>11)/(1<<53)*2 - 1
		sum += out[i] * out[i]
	}
	unit := make([]float32, dimension)
	for i := range out {
		unit[i] = float32(out[i] / math.Sqrt(sum))
	}
	return unit
}

// Dimension of the vectors.
func (e *Encoder) Dimension() int { return dimension }

// Name of the encoder.
func (e *Encoder) Name() string { return "toy encoder" }

// Close does nothing.
func (e *Encoder) Close() error { return nil }

// Evidence for labels, which differs from text to text.
func (e *Encoder) Evidence(labels []string) *evidence.Evidence {
	out := &evidence.Evidence{Encoder: e.Name(), Labels: labels, Sums: 1, Sigma: 1}
	for _, l := range labels {
		var v []float64
		for _, x := range Vector("label " + l) {
			v = append(v, 6*float64(x))
		}
		out.Vectors = append(out.Vectors, v)
	}
	return out
}
