package kernel

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

// golden is the digest of all results below. Levels that agree with each other
// could still differ from one architecture to another, where the compiler may
// fuse operations; this holds them all to the same bits.
const golden = "a3ed41dcddaae19ff8d06a3e00f13611"

func TestGolden(t *testing.T) {
	for _, l := range Levels() {
		k, r, h := For(l), random(21), sha256.New()
		add := func(values ...float32) {
			for _, v := range values {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
			}
		}
		for _, kind := range floatTypes {
			m := packed32(t, r, kind, 40, 512)
			for _, n := range []int{1, 3, 9} {
				dst := make([]float32, n*64)
				var s Scratch
				k.Mul(m, 0, 2, floats(r, n*512), 512, n, dst, 64, &s)
				for i := range n {
					add(dst[i*64 : i*64+40]...)
				}
			}
		}
		for range 20 {
			for _, c := range rowCases {
				a, b, d, e := floats(r, 77), floats(r, 77), floats(r, 77), floats(r, 77)
				for _, v := range c.call(k, a, b, d, e) {
					h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
				}
				add(a...)
			}
		}
		if got := fmt.Sprintf("%x", h.Sum(nil)[:16]); got != golden {
			t.Errorf("%v: digest %s, want %s", l, got, golden)
		}
	}
}

// goldenIntegers are the same for products in integers.
var goldenIntegers = map[Precision]string{Bits16: "1f4f7d600671f9e2da28be04b69dca68", Bits8: "deb270a62d15c8923322cf8e03f8fc82"}

func TestGoldenIntegers(t *testing.T) {
	for _, p := range bothPrecisions {
		for _, l := range Levels() {
			k, r, h := For(l), random(22), sha256.New()
			for _, kind := range integerTypes {
				m := packed32(t, r, kind, 40, 512)
				for _, n := range []int{1, 2, 3, 9} {
					dst := make([]float32, n*64)
					var s Scratch
					k.MulQuantized(m, 0, 2, quantized(k, p, floats(r, n*512), n, 512), n, dst, 64, &s)
					for i := range n {
						for _, v := range dst[i*64 : i*64+40] {
							h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
						}
					}
				}
			}
			if got := fmt.Sprintf("%x", h.Sum(nil)[:16]); got != goldenIntegers[p] {
				t.Errorf("%v: digest %s of precision %d, want %s", l, got, p, goldenIntegers[p])
			}
		}
	}
}
