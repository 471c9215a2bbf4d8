package kernel

import (
	"fmt"
	"testing"
	"time"

	"sotto/lm/gguf"
)

// BenchmarkMul prints GFLOPS, and how many times faster than the portable
// kernels that is, measured in the same run.
func BenchmarkMul(b *testing.B) {
	for _, kind := range []gguf.Type{gguf.Q4_1, gguf.Q4_K, gguf.Q8_0, gguf.Q6_K, gguf.F16, gguf.F32} {
		cols := 576
		if kind == gguf.Q4_K || kind == gguf.Q6_K {
			cols = 768
		}
		m := packed32(b, random(1), kind, 1536, cols)
		for _, n := range []int{1, 2, 4, 17, 512} {
			x := normals(random(2), n*cols)
			dst := make([]float32, n*m.Rows)
			for _, l := range Levels()[1:] {
				b.Run(fmt.Sprintf("%v/%v/n=%d", l, kind, n), func(b *testing.B) {
					var s Scratch
					base := time.Now()
					For(Portable).Mul(m, 0, 1, x, cols, min(n, 17), dst, m.Rows, &s)
					slow := time.Since(base).Seconds() / float64(min(n, 17)*Panel)
					k := For(l)
					for b.Loop() {
						k.Mul(m, 0, m.Panels(), x, cols, n, dst, m.Rows, &s)
					}
					fast := b.Elapsed().Seconds() / float64(b.N*n*m.Rows)
					b.ReportMetric(2*float64(cols)/fast/1e9, "GFLOPS")
					b.ReportMetric(slow/fast, "x-portable")
					if n == 1 {
						b.ReportMetric(float64(m.Bytes())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
					}
				})
			}
		}
	}
}
