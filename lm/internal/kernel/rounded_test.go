package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// float32Rows writes weights as a file holds them.
func float32Rows(weights []float32, cols int) (rows [][]byte) {
	for len(weights) > 0 {
		var row []byte
		for _, w := range weights[:cols] {
			row = binary.LittleEndian.AppendUint32(row, math.Float32bits(w))
		}
		rows, weights = append(rows, row), weights[cols:]
	}
	return rows
}

// TestMulRounded holds every level to the definition: integers of at most 2047 for
// weights and 32512 for activations, one chain over the blocks.
func TestMulRounded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cols := 32 * rapid.IntRange(1, 20).Draw(r, "blocks")
		rows, n := rapid.IntRange(1, 70).Draw(r, "rows"), rapid.IntRange(1, 30).Draw(r, "n")
		weights := floats(random(rapid.Uint64().Draw(r, "seed")), rows*cols)
		x := floats(random(rapid.Uint64().Draw(r, "seed of x")), n*cols)
		m, err := PackRounded(cols, float32Rows(weights, cols))
		if err != nil {
			r.Fatal(err)
		}
		stride := m.Panels() * Panel
		want := make([]float32, n*stride)
		for i := range n {
			for j := range rows {
				y := float32(0)
				for c := 0; c < cols; c += Block {
					q, s := rounded(x[i*cols+c:][:Block])
					w, scale := roundedWeights(weights[j*cols+c:][:Block])
					sum := int64(0)
					for k := range q {
						sum += q[k] * w[k]
					}
					if sum != int64(int32(sum)) {
						r.Fatalf("a sum of %d does not fit into 32 bits", sum)
					}
					y = fma32(float32(int32(sum))*s, scale, y)
				}
				want[i*stride+j] = y
			}
		}
		for _, l := range Levels() {
			got := make([]float32, n*stride)
			var s Scratch
			For(l).MulQuantized(m, 0, m.Panels(), quantized(For(l), x, n, cols), n, got, stride, &s)
			for i := range n {
				same(r, fmt.Sprintf("%v row %d", l, i), got[i*stride:][:rows], want[i*stride:][:rows])
			}
		}
	})
}

func roundedWeights(w []float32) (q [Block]int64, scale float32) {
	amax := float32(0)
	for _, v := range w {
		amax = max(amax, float32(math.Abs(float64(v))))
	}
	if amax < 0x1p-100 {
		return q, amax / 2047
	}
	inverse := 2047 / amax
	for i, v := range w {
		q[i] = int64(math.RoundToEven(float64(v * inverse)))
	}
	return q, amax / 2047
}

// TestRoundedNaN checks that weights that are no numbers do not become some.
func TestRoundedNaN(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
		weights := normals(random(1), 2*64)
		weights[70] = bad
		m, err := PackRounded(64, float32Rows(weights, 64))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range Levels() {
			got := make([]float32, Panel)
			var s Scratch
			For(l).MulQuantized(m, 0, 1, quantized(For(l), normals(random(2), 64), 1, 64), 1, got, Panel, &s)
			if got[0] != got[0] || got[1] == got[1] {
				t.Errorf("%v: %v: the products are %v and %v", l, bad, got[0], got[1])
			}
		}
	}
}

func TestPackRoundedErrors(t *testing.T) {
	row := make([]byte, 4*64)
	for name, call := range map[string]func() (*Matrix, error){
		"no rows": func() (*Matrix, error) { return PackRounded(64, nil) },
		"columns": func() (*Matrix, error) { return PackRounded(40, [][]byte{row[:160]}) },
		"a short": func() (*Matrix, error) { return PackRounded(64, [][]byte{row, row[1:]}) },
	} {
		if _, err := call(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
