package noise

import (
	"fmt"
	"math/big"
	"testing"
)

func benchKey(b *testing.B) Key {
	b.Helper()
	k, err := NewKey()
	if err != nil {
		b.Fatal(err)
	}
	return k
}

func BenchmarkUint64(b *testing.B) {
	s := benchKey(b).Stream("bench")
	b.SetBytes(8)
	for b.Loop() {
		s.Uint64()
	}
}

func BenchmarkOpenStream(b *testing.B) {
	k := benchKey(b)
	for i := uint64(0); b.Loop(); i++ {
		k.Stream("bench", i).Uint64()
	}
}

func BenchmarkLaplace(b *testing.B) {
	s := benchKey(b).Stream("bench")
	d, err := NewDiscreteLaplace(big.NewRat(1<<20, 1))
	if err != nil {
		b.Fatal(err)
	}
	r, err := NewRoundedLaplace(big.NewRat(1<<20, 1))
	if err != nil {
		b.Fatal(err)
	}
	for name, l := range map[string]drawer{"discrete": d, "rounded": r} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				l.Draw(s)
			}
		})
	}
}

func BenchmarkSelector(b *testing.B) {
	s := benchKey(b).Stream("bench")
	sel, err := NewSelector(SelectorOptions{Grid: Grid{20}})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{10, 100, 49152} {
		scores := make([]int64, n)
		for i := range scores {
			scores[i] = int64(s.Uint64n(20 << 20))
		}
		for name, choose := range map[string]choice{"softmax": (*Selector).Softmax, "permute-and-flip": (*Selector).PermuteAndFlip} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := choose(sel, s, scores); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkInclusion draws from ten million indices.
func BenchmarkInclusion(b *testing.B) {
	s := benchKey(b).Stream("bench")
	const n = 10_000_000
	var buf []int
	for _, q := range []float64{1e-6, 1e-3, 1.0 / 100, 1.0 / 60, 0.1, 0.5} {
		b.Run(fmt.Sprintf("q=%.3g", q), func(b *testing.B) {
			p, err := ProbabilityFloat(q)
			if err != nil {
				b.Fatal(err)
			}
			in := NewInclusion(p)
			for b.Loop() {
				if buf, err = in.Draw(s, n, buf[:0]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "indices/s")
		})
	}
}
