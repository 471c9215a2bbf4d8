package kernel_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/kernel"
)

// Two rows of three weights times one vector.
func ExampleKernels_Mul() {
	var data []byte
	for _, w := range []float32{1, 2, 3, 10, 20, 30} {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(w))
	}
	m, err := kernel.Pack(gguf.F32, 2, 3, data)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float32{1, 0.5, 2}
	y := make([]float32, kernel.Panel*m.Panels())
	var scratch kernel.Scratch
	kernel.For(kernel.Best()).Mul(m, 0, m.Panels(), x, 3, 1, y, len(y), &scratch)
	fmt.Println(y[:m.Rows])
	// Output: [8 80]
}
