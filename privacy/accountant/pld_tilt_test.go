package accountant

import (
	"math"
	"math/big"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// TestLogMGFIsAbove: the bound on ln Σ m·e^(θℓ) is not below the sum in 200 bits, at tilts
// where all weights but one underflow, and with points without mass at both ends.
func TestLogMGFIsAbove(t *testing.T) {
	masses := map[string][]float64{
		"all":       {0.25, 0.5, 0.25},
		"top empty": {0.25, 0.5, 0.25, 0, 0, 0, 0},
		"ends":      {0, 0, 0, 0.25, 0.75, 0, 0, 0, 0, 0},
		"tiny top":  {0.5, 0.5, 0, 0, 1e-300},
		"subnormal": {1, 0, 0, 5e-324, 0},
		"nothing":   {0, 0, 0},
	}
	for name, m := range masses {
		for _, h := range []float64{1e-3, 0.3, 5} {
			d := pld{grid: grid{h: h, off: 0.1 * h}, lo: -2, m: m}
			for _, theta := range []float64{-1e4, -300, -1, 0, 0.5, 17, 300, 1e4, 1e6} {
				sum := bigFloat(0)
				for i, mass := range m {
					x := bigFloat(theta)
					x.Mul(x, bigFloat(d.loss(i)))
					sum.Add(sum, bigMul(bigFloat(mass), powerOfE(x)))
				}
				got := d.logMGF(theta)
				if sum.Sign() == 0 {
					if !math.IsInf(got, -1) {
						t.Errorf("%s: %v for no mass at all", name, got)
					}
					continue
				}
				loose := 1e-9
				if name == "subnormal" { // underflow takes all digits, and is paid for
					loose = 40
				}
				if want := bigLog(sum); got < want || got > want+1e-9*math.Abs(want)+loose {
					t.Errorf("%s, h = %v, θ = %v: ln of the sum is %v, the bound %v", name, h, theta, want, got)
				}
			}
		}
	}
}

// powerOfE is e^x for any x, by a power of two and a small rest.
func powerOfE(x *big.Float) *big.Float {
	v, _ := x.Float64()
	k := math.Round(v / math.Ln2)
	// ln 2 in 200 bits, as −ln(1 − 1/2) = Σ 1/(n·2^n).
	ln2 := bigFloat(0)
	for n := 220; n > 0; n-- {
		term := new(big.Float).SetPrec(exactBits).SetMantExp(bigFloat(1), -n)
		ln2.Add(ln2, term.Quo(term, bigFloat(float64(n))))
	}
	rest := bigSub(x, bigMul(bigFloat(k), ln2))
	out := bigExp(rest)
	return out.SetMantExp(out, int(k))
}

func bigLog(x *big.Float) float64 {
	mant := new(big.Float)
	e := x.MantExp(mant)
	m, _ := mant.Float64()
	return math.Log(m) + float64(e)*math.Ln2
}

// TestPLDWindowsOfHeavyLowerTails: the pair that bounds from below may reach far beyond the
// one that bounds from above, which has its tail at infinity. What of it folds into a short
// window has to be paid for: here the lower end was 2.88 where the upper one was 0.855.
func TestPLDWindowsOfHeavyLowerTails(t *testing.T) {
	e := mustParse(t, "compose(poisson(0.0011796051556154413, parallel(zcdp(0.536483936084761), gaussian(3.0834340210398867))), repeat(2, compose(gaussian(7.937091532651709), rr(0.08240454306348118, 5))))")
	for _, delta := range []float64{1e-5, 1e-7, 1e-9} {
		fine, err := PLD{}.Epsilon(e, privacy.AddRemove, delta)
		if err != nil || fine.Width() > 0.02*fine.Upper {
			t.Fatalf("δ = %v: [%v, %v], %v", delta, fine.Lower, fine.Upper, err)
		}
		for _, tolerance := range []float64{0.5, 0.1, 0.05} {
			got, err := PLD{Tolerance: tolerance}.Epsilon(e, privacy.AddRemove, delta)
			at := expect.At(t, "δ = %v at a tolerance of %v", delta, tolerance)
			expect.NoError(at, err)
			expect.Max(at, "got.Lower", got.Lower, fine.Upper)
			expect.Min(at, "got.Upper", got.Upper, fine.Lower)
		}
	}
}
