package kernel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
)

// types are the types that can be packed.
var types = []gguf.Type{
	gguf.F32, gguf.F16, gguf.BF16, gguf.Q4_0, gguf.Q4_1, gguf.Q5_0, gguf.Q5_1,
	gguf.Q8_0, gguf.Q4_K, gguf.Q5_K, gguf.Q6_K,
}

// halves gives the offsets of the binary16 scales in a block.
var halves = map[gguf.Type][]int{
	gguf.F16: {0}, gguf.Q4_0: {0}, gguf.Q4_1: {0, 2}, gguf.Q5_0: {0}, gguf.Q5_1: {0, 2},
	gguf.Q8_0: {0}, gguf.Q4_K: {0, 2}, gguf.Q5_K: {0, 2}, gguf.Q6_K: {208},
}

// tensor draws the bytes of rows as a file would hold them: any quants, and
// scales of a moderate size or subnormal, of both signs.
func tensor(r *rand.Rand, t gguf.Type, rows, cols int) []byte {
	data := make([]byte, rows*cols/t.BlockSize()*t.BlockBytes())
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for b := 0; b < len(data); b += t.BlockBytes() {
		switch t {
		case gguf.F32:
			binary.LittleEndian.PutUint32(data[b:], math.Float32bits(float32(r.NormFloat64())))
		case gguf.BF16:
			binary.LittleEndian.PutUint16(data[b:], uint16(math.Float32bits(float32(r.NormFloat64()))>>16))
		default:
			for _, o := range halves[t] {
				h := uint16(r.UintN(1<<10)) | uint16(r.UintN(16))<<10 | uint16(r.UintN(2))<<15
				binary.LittleEndian.PutUint16(data[b+o:], h)
			}
		}
	}
	return data
}

// normals draws n values of the size that activations have. Benchmarks use it:
// subnormal inputs, which floats has, cost the CPU a hundred times as much.
func normals(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// floats draws n normal values, a few of them tiny, large or zero.
func floats(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
		switch r.IntN(40) {
		case 0:
			x[i] *= 1e-39
		case 1:
			x[i] *= 1e6
		case 2:
			x[i] = 0
		}
	}
	return x
}

func packed32(t testing.TB, r *rand.Rand, kind gguf.Type, rows, cols int) *Matrix {
	m, err := Pack(kind, rows, cols, tensor(r, kind, rows, cols))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// same fails the test unless the bits are equal.
func same(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, got, want []float32,
) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: value %d is %x, want %x", what, i, got[i], want[i])
		}
	}
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x5077)) }
