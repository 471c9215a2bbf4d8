package accountant

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// The order that forward produces: digit-reversal in radix 4 with a radix-2 end
// must be plain bit reversal for mirror to be right.
func TestPlainFFT(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{4, 8, 16, 32, 64, 512} {
		f := newFFT(n)
		x := make([]complex128, n)
		for i := range x {
			x[i] = complex(rng.Float64(), rng.Float64())
		}
		y := append([]complex128(nil), x...)
		f.forward(y)
		freq := make([]int, n) // which frequency stands at each position
		for j := range freq {
			freq[j] = -1
			for k := range n {
				var s complex128
				for i, v := range x {
					s += v * cmplx.Rect(1, -2*math.Pi*float64(i*k%n)/float64(n))
				}
				if cmplx.Abs(s-y[j]) < 1e-9 {
					freq[j] = k
				}
			}
			if freq[j] < 0 {
				t.Fatalf("n=%d: position %d is no frequency of the input", n, j)
			}
		}
		for j, k := range freq {
			if got := freq[mirror(j)]; got != (n-k)%n {
				t.Fatalf("n=%d: mirror of position %d (frequency %d) is frequency %d", n, j, k, got)
			}
		}
		f.inverse(y)
		for i := range x {
			if cmplx.Abs(x[i]-y[i]) > 1e-13 {
				t.Fatalf("n=%d: inverse(forward(x)) differs at %d", n, i)
			}
		}
	}
}

func TestPower(t *testing.T) {
	z := complex(0.6, -0.7)
	for _, n := range []int64{1, 2, 3, 10, 77} {
		if got, want := power(z, n), cmplx.Pow(z, complex(float64(n), 0)); cmplx.Abs(got-want) > 1e-14 {
			t.Errorf("%v^%d = %v, want %v", z, n, got, want)
		}
	}
}

func BenchmarkFFT(b *testing.B) {
	f := newFFT(1 << 16)
	x := make([]complex128, f.n)
	x[3] = 1
	for b.Loop() {
		f.forward(x)
		f.inverse(x)
	}
}
