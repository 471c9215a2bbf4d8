package accountant

import (
	"math"
	"math/big"
	"testing"
)

// TestFFTWeights: the weights of the transform are correct to 7 units of roundoff, which
// fftError rests on. Angles up to 3π/2 are rounded before the sine is taken, so that 2 units
// would not be true: the test finds weights that are off by more than 3.
func TestFFTWeights(t *testing.T) {
	pi, _, err := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534", 10, 260, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for _, n := range []int{64, 1 << 12, 1 << 20} {
		f := newFFT(n)
		for k := 0; k < len(f.w); k += max(1, len(f.w)/1500) {
			angle := new(big.Float).SetPrec(260).SetInt64(int64(2 * k))
			angle.Quo(angle.Mul(angle, pi), new(big.Float).SetInt64(int64(n)))
			cos, sin := series(angle)
			worst = math.Max(worst, math.Hypot(away(real(f.w[k]), cos), away(imag(f.w[k]), sin.Neg(sin)))/roundoff)
		}
	}
	t.Logf("weights are off by at most %.2f units", worst)
	if worst > 7 || worst < 3 {
		t.Errorf("weights are off by up to %v units of roundoff", worst)
	}
}

// series returns the cosine and the sine.
func series(x *big.Float) (cos, sin *big.Float) {
	cos, sin = big.NewFloat(1).SetPrec(260), new(big.Float).SetPrec(260)
	term := big.NewFloat(1).SetPrec(260)
	for k := 1; k < 60; k++ {
		term.Quo(term.Mul(term, x), big.NewFloat(float64(k)))
		sum := cos
		if k%2 == 1 {
			sum = sin
		}
		if k%4 >= 2 {
			sum.Sub(sum, term)
		} else {
			sum.Add(sum, term)
		}
	}
	return cos, sin
}

func away(got float64, want *big.Float) float64 {
	d, _ := new(big.Float).SetPrec(260).Sub(want, big.NewFloat(got)).Float64()
	return d
}
