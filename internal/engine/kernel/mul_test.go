package kernel

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
)

// chain returns the definition of Mul: one chain of fused multiply-adds.
func chain(w, x []float32) float32 {
	y := float32(0)
	for k := range w {
		y = fma32(w[k], x[k], y)
	}
	return y
}

// drawMatrix draws a matrix, and gives its weights too.
func drawMatrix(t *rapid.T, rows, cols int) (*Matrix, [][]float32) {
	kind := rapid.SampledFrom(floatTypes).Draw(t, "type")
	data := tensor(random(rapid.Uint64().Draw(t, "seed")), kind, rows, cols)
	m, err := Pack(kind, rows, cols, data)
	if err != nil {
		t.Fatal(err)
	}
	weights := make([][]float32, rows)
	for r := range weights {
		weights[r] = make([]float32, cols)
		if err := DequantizeRow(kind, data[r*len(data)/rows:(r+1)*len(data)/rows], weights[r]); err != nil {
			t.Fatal(err)
		}
	}
	return m, weights
}

// TestMul holds Mul, at every level, to its definition, for any shape,
// format, strides and split of the panels; and checks that it writes nothing
// else.
func TestMul(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols := rapid.SampledFrom([]int{1, 7, 32, 33, 96, 160, 256, 288, 512}).Draw(t, "cols")
		rows := rapid.IntRange(1, 80).Draw(t, "rows")
		n := rapid.IntRange(1, 40).Draw(t, "n")
		m, weights := drawMatrix(t, rows, cols)
		xStride := cols + rapid.IntRange(0, 5).Draw(t, "gap")
		dstStride := m.Panels()*Panel + rapid.IntRange(0, 5).Draw(t, "dst gap")
		x := floats(random(rapid.Uint64().Draw(t, "seed of x")), (n-1)*xStride+cols)
		split := rapid.IntRange(0, m.Panels()).Draw(t, "split")

		const untouched = -123.25
		blank := make([]float32, (n-1)*dstStride+m.Panels()*Panel)
		for i := range blank {
			blank[i] = untouched
		}
		want := append([]float32(nil), blank...)
		for i := range n {
			for r := range m.Panels() * Panel {
				want[i*dstStride+r] = 0
				if r < rows {
					want[i*dstStride+r] = chain(weights[r], x[i*xStride:][:cols])
				}
			}
		}
		for _, l := range Levels() {
			got := append([]float32(nil), blank...)
			var s Scratch
			For(l).Mul(m, split, m.Panels(), x, xStride, n, got, dstStride, &s)
			For(l).Mul(m, 0, split, x, xStride, n, got, dstStride, &s)
			for i := range n {
				// The sign of zero of the padding depends on the inputs.
				for r := rows; r < m.Panels()*Panel; r++ {
					if got[i*dstStride+r] == 0 {
						got[i*dstStride+r] = 0
					}
				}
			}
			same(t, l.String(), got, want)
		}
	})
}

// TestMulBlocks covers what the property test is too small for: more tokens,
// panels and columns than a block of each, at every level against the rows of
// single tokens.
func TestMulBlocks(t *testing.T) {
	cols, rows, n := 1024, (panelBlock+1)*Panel, tokenBlock+7
	r := random(8)
	for _, kind := range floatTypes {
		m := packed32(t, r, kind, rows, cols)
		x := normals(r, n*cols)
		var s Scratch
		for _, l := range Levels()[1:] {
			got := make([]float32, n*rows)
			For(l).Mul(m, 0, m.Panels(), x, cols, n, got, rows, &s)
			for _, i := range []int{0, 1, 100, tokenBlock - 1, tokenBlock, n - 1} {
				one := make([]float32, rows)
				For(l).Mul(m, 0, m.Panels(), x[i*cols:], 0, 1, one, 0, &s)
				same(t, fmt.Sprintf("%v %v token %d", l, kind, i), got[i*rows:(i+1)*rows], one)
			}
			panel := make([]float32, Panel)
			first := *m
			first.Rows = Panel
			For(Portable).Mul(&first, 0, 1, x[(n-1)*cols:], 0, 1, panel, 0, &s)
			same(t, fmt.Sprintf("%v %v beside portable", l, kind), got[(n-1)*rows:][:Panel], panel)
		}
	}
}

// TestMulAccuracy compares with float64: a chain of K operations is off by at
// most K units of rounding of the sum of magnitudes (Higham, Accuracy and
// Stability of Numerical Algorithms, section 3.1).
func TestMulAccuracy(t *testing.T) {
	r := random(5)
	for _, kind := range floatTypes {
		cols := 1024
		data := tensor(r, kind, Panel, cols)
		m, err := Pack(kind, Panel, cols, data)
		if err != nil {
			t.Fatal(err)
		}
		x := normals(r, cols)
		got := make([]float32, Panel)
		var s Scratch
		For(Best()).Mul(m, 0, 1, x, cols, 1, got, Panel, &s)
		row := make([]float32, cols)
		for j := range got {
			if err := DequantizeRow(kind, data[j*len(data)/Panel:(j+1)*len(data)/Panel], row); err != nil {
				t.Fatal(err)
			}
			sum, size := 0.0, 0.0
			for k := range row {
				p := float64(row[k]) * float64(x[k])
				sum, size = sum+p, size+math.Abs(p)
			}
			if off := math.Abs(float64(got[j]) - sum); off > 0x1p-24*float64(cols)*size {
				t.Errorf("%v row %d: %v, want %v", kind, j, got[j], sum)
			}
		}
	}
}

// TestGemm holds every level to the definition, also when a product is split
// along its depth and the chain taken up again.
func TestGemm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, depth := rapid.IntRange(1, 40).Draw(t, "m"), rapid.IntRange(0, 70).Draw(t, "depth")
		aStride := depth + rapid.IntRange(0, 4).Draw(t, "a gap")
		cStride := Panel + rapid.IntRange(0, 4).Draw(t, "c gap")
		add := rapid.Bool().Draw(t, "add")
		r := random(rapid.Uint64().Draw(t, "seed"))
		a, b, c := floats(r, (m-1)*aStride+depth), floats(r, depth*Panel), floats(r, (m-1)*cStride+Panel)
		cut := rapid.IntRange(0, depth).Draw(t, "cut")

		want := append([]float32(nil), c...)
		for i := range m {
			for j := range Panel {
				y := float32(0)
				if add {
					y = c[i*cStride+j]
				}
				for k := range depth {
					y = fma32(a[i*aStride+k], b[k*Panel+j], y)
				}
				want[i*cStride+j] = y
			}
		}
		for _, l := range Levels() {
			got := append([]float32(nil), c...)
			For(l).Gemm(m, depth, a, aStride, b, got, cStride, add)
			same(t, l.String(), got, want)
			got = append([]float32(nil), c...)
			For(l).Gemm(m, cut, a, aStride, b, got, cStride, add)
			For(l).Gemm(m, depth-cut, a[min(cut, len(a)):], aStride, b[cut*Panel:], got, cStride, true)
			same(t, l.String()+" in two", got, want)
		}
	})
}

// TestShort checks that a slice that is too short is caught before the SIMD
// code runs over its end.
func TestShort(t *testing.T) {
	m := packed32(t, random(1), gguf.F16, 64, 64)
	x, dst := make([]float32, 3*64), make([]float32, 3*64)
	var s Scratch
	for _, l := range Levels() {
		k := For(l)
		for name, call := range map[string]func(){
			"panels":       func() { k.Mul(m, 0, 3, x, 64, 3, dst, 64, &s) },
			"first panel":  func() { k.Mul(m, -1, 1, x, 64, 3, dst, 64, &s) },
			"x":            func() { k.Mul(m, 0, 2, x[:3*64-1], 64, 3, dst, 64, &s) },
			"dst":          func() { k.Mul(m, 0, 2, x, 64, 3, dst[:3*64-1], 64, &s) },
			"stride":       func() { k.Mul(m, 0, 2, x, -1, 3, dst, 64, &s) },
			"huge stride":  func() { k.Mul(m, 0, 2, x, math.MaxInt/2, 3, dst, 64, &s) },
			"a":            func() { k.Gemm(2, 64, x[:127], 64, x, dst, 32, false) },
			"b":            func() { k.Gemm(2, 6, x, 6, x[:191], dst, 32, false) },
			"c":            func() { k.Gemm(2, 6, x, 6, x, dst[:63], 32, false) },
			"c stride":     func() { k.Gemm(2, 6, x, 6, x, dst, -32, false) },
			"depth":        func() { k.Gemm(2, -1, x, 6, x, dst, 32, false) },
			"add":          func() { k.Add(dst, x[:10]) },
			"silu":         func() { k.SiLUMul(dst, x, x[:10]) },
			"norm":         func() { k.RMSNorm(dst, x, x[:10], 1e-5) },
			"layer norm":   func() { k.LayerNorm(dst, x, x, x[:10], 1e-5) },
			"rope":         func() { k.RopeHalves(x[:64], x[:31], x[:32]) },
			"interleaved":  func() { k.RopeInterleaved(x[:64], x[:32], x[:31]) },
			"gelu":         func() { k.GELU(dst, x[:10]) },
			"scale":        func() { k.Scale(dst, x[:10], 1) },
			"dst of norms": func() { k.LayerNorm(dst, x[:10], x, x, 1e-5) },
		} {
			t.Run(name, func(t *testing.T) {
				func() {
					defer func() {
						if recover() == nil {
							t.Errorf("%v: %s: no panic", l, name)
						}
					}()
					// The capacity must not hide the end of a slice.
					x, dst = x[:len(x):len(x)], dst[:len(dst):len(dst)]
					call()
				}()
			})
		}
	}
}

// TestConcurrent multiplies one matrix on several goroutines, for the race
// detector, which sees the portable code.
func TestConcurrent(t *testing.T) {
	m := packed32(t, random(1), gguf.F16, 128, 256)
	x := normals(random(2), 2*256)
	for _, l := range Levels() {
		want := make([]float32, 2*128)
		var s Scratch
		For(l).Mul(m, 0, 4, x, 256, 2, want, 128, &s)
		got := make([]float32, 2*128)
		var wait sync.WaitGroup
		for p := range 4 {
			wait.Go(func() {
				var s Scratch
				For(l).Mul(m, p, p+1, x, 256, 2, got, 128, &s)
			})
		}
		wait.Wait()
		same(t, l.String(), got, want)
	}
}

// TestNoAllocation: the engine calls these for every layer of every token.
func TestNoAllocation(t *testing.T) {
	m := packed32(t, random(1), gguf.F16, 64, 64)
	x, dst := normals(random(2), 5*64), make([]float32, 5*64)
	for _, l := range Levels() {
		k := For(l)
		var s Scratch
		if n := testing.AllocsPerRun(10, func() {
			k.Mul(m, 0, 2, x, 64, 1, dst, 64, &s)
			k.Mul(m, 0, 2, x, 64, 5, dst, 64, &s)
			k.Gemm(5, 6, x, 6, x, dst, Panel, true)
			k.RMSNorm(dst, x, x, 1e-5)
			k.LayerNorm(dst, x, x, x, 1e-5)
			k.SiLUMul(dst, x, x)
			k.GELU(dst, x)
			k.Softmax(dst, 1)
			k.LogSumExp(x)
			k.RopeHalves(dst[:64], x, x)
			k.RopeInterleaved(dst[:64], x, x)
		}); n != 0 {
			t.Errorf("%v: %v allocations", l, n)
		}
	}
}
