package kernel

import (
	"fmt"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
)

// BenchmarkMul prints GFLOPS, and how many times faster than the portable
// kernels that is, measured in the same run.
func BenchmarkMul(b *testing.B) {
	const cols = 576
	for _, kind := range []gguf.Type{gguf.F16, gguf.F32} {
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

// BenchmarkGemm is a page of attention: queries by keys.
func BenchmarkGemm(b *testing.B) {
	for _, m := range []int{3, 12, 36} {
		a, keys, c := normals(random(1), m*64), normals(random(2), 64*Panel), make([]float32, m*Panel)
		for _, l := range Levels() {
			b.Run(fmt.Sprintf("%v/m=%d", l, m), func(b *testing.B) {
				for b.Loop() {
					For(l).Gemm(m, 64, a, 64, keys, c, Panel, false)
				}
				b.ReportMetric(2*float64(m*64*Panel*b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
			})
		}
	}
}

// BenchmarkRows prints nanoseconds a value, and how many times faster than the
// portable kernels that is, measured in the same run.
func BenchmarkRows(b *testing.B) {
	const n = 1536
	s := [4][]float32{}
	for i := range s {
		s[i] = normals(random(uint64(i)), n)
	}
	for _, c := range rowCases {
		for _, l := range Levels()[1:] {
			b.Run(fmt.Sprintf("%s/%v", c.name, l), func(b *testing.B) {
				const rounds = 20
				base := time.Now()
				for range rounds {
					c.call(For(Portable), s[0], s[1], s[2], s[3])
				}
				slow := time.Since(base).Seconds() / rounds
				k := For(l)
				for b.Loop() {
					copy(s[0], s[1])
					c.call(k, s[0], s[1], s[2], s[3])
				}
				fast := b.Elapsed().Seconds() / float64(b.N)
				b.ReportMetric(fast/n*1e9, "ns/value")
				b.ReportMetric(slow/fast, "x-portable")
			})
		}
	}
}

// BenchmarkMulQuantized is BenchmarkMul in integers; it compares with integers of 16 bits,
// measured in the same run.
func BenchmarkMulQuantized(b *testing.B) {
	for _, kind := range []gguf.Type{gguf.Q4_1, gguf.Q4_K, gguf.Q8_0, gguf.Q6_K} {
		cols := 576
		if kind == gguf.Q4_K || kind == gguf.Q6_K {
			cols = 1536
		}
		m := packed32(b, random(1), kind, 1536, cols)
		for _, n := range []int{1, 4, 17, 256} {
			x := normals(random(2), n*cols)
			dst := make([]float32, n*m.Rows)
			for _, l := range Levels()[1:] {
				for _, p := range bothPrecisions {
					b.Run(fmt.Sprintf("%v/%v/n=%d/bits=%d", l, kind, n, 16>>p), func(b *testing.B) {
						var s Scratch
						k := For(l)
						rounds := 1 + 64/n
						wide, q := quantized(k, Bits16, x, n, cols), quantized(k, p, x, n, cols)
						base := time.Now()
						for range rounds {
							k.MulQuantized(m, 0, m.Panels(), wide, n, dst, m.Rows, &s)
						}
						integers := time.Since(base).Seconds() / float64(rounds)
						for b.Loop() {
							k.MulQuantized(m, 0, m.Panels(), q, n, dst, m.Rows, &s)
						}
						each := b.Elapsed().Seconds() / float64(b.N)
						b.ReportMetric(2*float64(cols*n*m.Rows)/each/1e9, "Gop/s")
						b.ReportMetric(integers/each, "x-16bits")
					})
				}
			}
		}
	}
}
