package accountant

import (
	"math"
	"math/bits"
	"sync"
)

// fft is a power-of-two complex Fourier transform. The forward transform leaves
// its output in bit-reversed order and the inverse takes it so: products of
// spectra need no order, and nothing is ever shuffled.
type fft struct {
	n int
	// w holds e^(-2πik/n) for k < 3n/4.
	w []complex128
}

var ffts sync.Map // of int to *fft

func newFFT(n int) *fft {
	if f, ok := ffts.Load(n); ok {
		return f.(*fft)
	}
	f := &fft{n: n, w: make([]complex128, 3*n/4+1)}
	for k := range f.w {
		s, c := math.Sincos(2 * math.Pi * float64(k) / float64(n))
		f.w[k] = complex(c, -s)
	}
	got, _ := ffts.LoadOrStore(n, f)
	return got.(*fft)
}

// forward transforms x in place, by decimation in frequency in radix 4.
func (f *fft) forward(x []complex128) {
	step := 1
	size := f.n
	for ; size >= 4; size /= 4 {
		q := size / 4
		for base := 0; base < f.n; base += size {
			a, b := x[base:base+q:base+q], x[base+q:base+2*q:base+2*q]
			c, d := x[base+2*q:base+3*q:base+3*q], x[base+3*q:base+4*q:base+4*q]
			for j := range a {
				s, t := a[j]+c[j], a[j]-c[j]
				u, v := b[j]+d[j], b[j]-d[j]
				v = complex(imag(v), -real(v)) // -i·v
				a[j] = s + u
				b[j] = (s - u) * f.w[2*j*step]
				c[j] = (t + v) * f.w[j*step]
				d[j] = (t - v) * f.w[3*j*step]
			}
		}
		step *= 4
	}
	if size == 2 {
		for i := 0; i < f.n; i += 2 {
			x[i], x[i+1] = x[i]+x[i+1], x[i]-x[i+1]
		}
	}
}

// inverse undoes forward, including the factor 1/n.
func (f *fft) inverse(x []complex128) {
	size, step := 1, f.n
	if bits.TrailingZeros(uint(f.n))%2 == 1 {
		for i := 0; i < f.n; i += 2 {
			x[i], x[i+1] = x[i]+x[i+1], x[i]-x[i+1]
		}
		size, step = 2, f.n/2
	}
	for size < f.n {
		q := size
		size *= 4
		step /= 4
		for base := 0; base < f.n; base += size {
			a, b := x[base:base+q:base+q], x[base+q:base+2*q:base+2*q]
			c, d := x[base+2*q:base+3*q:base+3*q], x[base+3*q:base+4*q:base+4*q]
			for j := range a {
				p := b[j] * conj(f.w[2*j*step])
				r := c[j] * conj(f.w[j*step])
				s := d[j] * conj(f.w[3*j*step])
				e, g := a[j]+p, a[j]-p
				u, v := r+s, r-s
				v = complex(-imag(v), real(v)) // i·v
				a[j], b[j], c[j], d[j] = e+u, g+v, e-u, g-v
			}
		}
	}
	scale := 1 / float64(f.n)
	for i, v := range x {
		x[i] = complex(real(v)*scale, imag(v)*scale)
	}
}

func conj(z complex128) complex128 { return complex(real(z), -imag(z)) }

// mirror returns where the bit-reversed order of forward holds the frequency
// opposite to the one at position j.
func mirror(j int) int {
	if j == 0 {
		return 0
	}
	top := 1 << (bits.Len(uint(j)) - 1)
	return 3*top - 1 - j
}

// roundoff is the unit roundoff of float64.
const roundoff = 1.0 / (1 << 53)

// fftError bounds the relative error of one transform of n points in the
// 2-norm, as Higham, Accuracy and Stability of Numerical Algorithms (2nd edition),
// Theorem 24.2, does for radix 2. Two additions and one product with a weight that
// is correct to 7 units make at most 2 + √8 + 7 units for a pass of radix 4, which
// stands for two of radix 2: less than 6 units for each.
func fftError(n int) float64 {
	return 9 * roundoff * math.Log2(float64(n))
}

// power raises z to n by squaring.
func power(z complex128, n int64) complex128 {
	r := complex(1, 0)
	for {
		if n&1 == 1 {
			r *= z
		}
		if n >>= 1; n == 0 {
			return r
		}
		z *= z
	}
}
