package noise

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// Any parameters: an error or a draw, never a panic, never without end.
func FuzzAdditive(f *testing.F) {
	f.Add(1.0, 1.0, 0, uint8(0), int64(0), 0.5, uint64(0))
	f.Add(0.51, math.Sqrt2, 20, uint8(1), int64(1<<40), -3.25, uint64(1<<61))
	f.Add(5e-324, 5e-324, 62, uint8(2), int64(math.MinInt64), math.MaxFloat64, uint64(1))
	f.Add(1e-9, 1e9, -62, uint8(3), int64(-1), 1e-300, uint64(1<<40))
	f.Add(math.Inf(1), math.NaN(), 100, uint8(9), int64(1), math.NaN(), uint64(2))
	f.Fuzz(func(t *testing.T, multiplier, sensitivity float64, k int, kind uint8, value int64, x float64, widen uint64) {
		grid, err := NewGrid(k)
		if err != nil {
			return
		}
		make := NewGaussian
		if kind&1 == 1 {
			make = NewLaplace
		}
		a, err := make(Options{Multiplier: multiplier, Sensitivity: sensitivity, Grid: grid})
		if err != nil {
			return
		}
		s := KeyFromSeed(uint64(value)).Stream("fuzz", uint64(kind))
		s.widen = widen >> 3
		steps := []int64{value, 0}
		if err := a.AddTo(s, steps); err == nil && a.Scale() > 0 {
			noise := float64(steps[1]) * a.Granularity()
			if math.Abs(noise) > 60*a.Scale()+64*a.Granularity() {
				t.Fatalf("noise %v at scale %v on %v", noise, a.Scale(), grid)
			}
		}
		if y, err := a.Release(s, x); err == nil && math.IsNaN(y) {
			t.Fatal("released NaN")
		}
	})
}

func FuzzSelector(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, 1.0, 20, uint64(0))
	f.Add(make([]byte, 80), 5e-324, -62, uint64(1<<61))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\x7f\x00\x00\x00\x00\x00\x00\x00\x80"), math.MaxFloat64, 62, uint64(1))
	f.Add([]byte{}, -1.0, 0, uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, rate float64, k int, widen uint64) {
		grid, err := NewGrid(k)
		if err != nil {
			return
		}
		sel, err := NewSelector(SelectorOptions{Grid: grid, Rate: rate})
		if err != nil {
			return
		}
		var scores []int64
		for ; len(data) >= 8 && len(scores) < 64; data = data[8:] {
			scores = append(scores, int64(binary.LittleEndian.Uint64(data)))
		}
		s := KeyFromSeed(uint64(len(data))).Stream("fuzz")
		s.widen = widen >> 3
		for _, choose := range []choice{(*Selector).Softmax, (*Selector).PermuteAndFlip} {
			i, err := choose(sel, s, scores)
			if (err == nil) != (len(scores) > 0) {
				t.Fatalf("%d scores: error %v", len(scores), err)
			}
			if err == nil && (i < 0 || i >= len(scores)) {
				t.Fatalf("index %d of %d", i, len(scores))
			}
		}
	})
}

func FuzzInclusion(f *testing.F) {
	f.Add(0.5, 100, uint64(0))
	f.Add(1e-9, 1<<20, uint64(1<<61))
	f.Add(5e-324, 64, uint64(1))
	f.Add(1.0, 1, uint64(0))
	f.Add(math.NaN(), -1, uint64(0))
	f.Fuzz(func(t *testing.T, q float64, n int, widen uint64) {
		p, err := ProbabilityFloat(q)
		if err != nil {
			return
		}
		s := KeyFromSeed(uint64(n)).Stream("fuzz")
		s.widen = widen >> 3
		out, err := NewInclusion(p).Draw(s, n%(1<<14), nil)
		if (err == nil) != (n%(1<<14) >= 0) {
			t.Fatalf("n = %d: error %v", n, err)
		}
		for i, x := range out {
			at := expect.At(t, "indices %v of %d", out, n)
			expect.Min(at, "x", x, 0)
			expect.True(at, "x < n%(1<<14)", x < n%(1<<14), x)
			if i > 0 {
				expect.True(at, "out[i-1] < x", out[i-1] < x, out[i-1])
			}
		}
	})
}
