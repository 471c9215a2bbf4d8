package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactFMA is a*b+c in many digits, rounded once to float32.
func exactFMA(a, b, c float32) float32 {
	product := new(big.Float).SetPrec(600).SetFloat64(float64(a))
	product.Mul(product, big.NewFloat(float64(b)))
	sum := new(big.Float).SetPrec(600).Add(product, big.NewFloat(float64(c)))
	f, _ := sum.Float32()
	return f
}

// nasty draws float32 whose sums and products often lie near a rounding
// boundary: few bits set, or many, at all exponents or near each other.
func nasty(r *rand.Rand) float32 {
	for {
		var mantissa uint32
		switch r.IntN(4) {
		case 0:
			mantissa = 1 << r.IntN(24)
		case 1:
			mantissa = -(1 << r.IntN(24))
		case 2:
			mantissa = 1 << r.IntN(24)
			mantissa |= 1 << r.IntN(24)
		default:
			mantissa = r.Uint32()
		}
		exponent := uint32(r.IntN(255))
		switch r.IntN(3) {
		case 0:
			exponent = uint32(120 + r.IntN(16))
		case 1:
			exponent = uint32(r.IntN(30) + 50*r.IntN(2))
		}
		f := math.Float32frombits(r.Uint32()&(1<<31) | exponent<<23 | mantissa&(1<<23-1))
		if f == f && !math.IsInf(float64(f), 0) {
			return f
		}
	}
}

func TestFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	slow := 0
	for range 300_000 {
		a, b, c := nasty(r), nasty(r), nasty(r)
		if r.IntN(2) == 0 {
			// A sum just beside the middle of two float32.
			p := float64(a) * float64(b)
			c = math.Nextafter32(float32(p), float32(math.Inf(1-2*r.IntN(2)))) * float32(math.Ldexp(1, r.IntN(60)-30))
		}
		if math.IsInf(float64(c), 0) {
			continue
		}
		got, want := fma32(a, b, c), exactFMA(a, b, c)
		if got != want {
			t.Fatalf("fma32(%x, %x, %x) = %x, want %x", a, b, c, got, want)
		}
		if got != float32(float64(a)*float64(b)+float64(c)) {
			slow++
		}
	}
	if slow < 100 {
		t.Errorf("only %d of the triples round twice in float64: the test would not see a wrong fma32", slow)
	}
}
