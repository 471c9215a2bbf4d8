package kernel

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// ulps returns the distance of got from want in units of the last place of want.
func ulps(got float32, want float64) float64 {
	_, exponent := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(exponent, -125)-24)
}

func TestExp(t *testing.T) {
	worst := 0.0
	for x := float32(-88); x < 89; x += 0.00037 {
		want := math.Exp(float64(x))
		got := exp32(x)
		switch {
		case x < expLow:
			if got != 0 {
				t.Fatalf("exp32(%v) = %v, want 0", x, got)
			}
		case x > expHigh:
			if got != exp32(expHigh) {
				t.Fatalf("exp32(%v) = %v, want %v", x, got, exp32(expHigh))
			}
		default:
			worst = max(worst, ulps(got, want))
		}
	}
	t.Logf("worst error of exp32: %.3f units in the last place", worst)
	if worst > 1.1 {
		t.Errorf("exp32 is off by %v units in the last place", worst)
	}
	for _, x := range []float32{expLow, expHigh, math.MaxFloat32, float32(math.Inf(1))} {
		expect.Within(t, "exp32 is a normal number", exp32(x), 0x1p-126, math.MaxFloat32)
	}
	if y := exp32(float32(math.Inf(-1))); y != 0 {
		t.Errorf("exp32(-Inf) = %v", y)
	}
	if y := exp32(0); y != 1 {
		t.Errorf("exp32(0) = %v", y)
	}
}

func TestErf(t *testing.T) {
	worst := 0.0
	for x := float32(-6); x < 6; x += 0.000037 {
		worst = max(worst, math.Abs(float64(erf32(x))-math.Erf(float64(x))))
	}
	t.Logf("worst error of erf32: %.3g", worst)
	if worst > 1.5e-7 {
		t.Errorf("erf32 is off by %v", worst)
	}
	// Near zero the error is relative.
	for x := float32(1e-30); x < 0.5; x *= 1.37 {
		if u := ulps(erf32(x), math.Erf(float64(x))); u > 3 {
			t.Errorf("erf32(%v) is off by %v units in the last place", x, u)
		}
	}
}

func TestLog(t *testing.T) {
	r := random(4)
	worst := 0.0
	for range 200_000 {
		x := math.Exp(r.NormFloat64() * 20)
		if r.IntN(2) == 0 {
			x = 1 + math.Exp(-20*r.Float64())*float64(1-2*r.IntN(2))*0.9
		}
		want := math.Log(x)
		worst = max(worst, math.Abs(log64(x)-want)/math.Max(math.Abs(want), 1e-300))
	}
	t.Logf("worst relative error of log64: %.3g", worst)
	if worst > 5e-16 {
		t.Errorf("log64 is off by %v", worst)
	}
	if log64(1) != 0 {
		t.Errorf("log64(1) = %v", log64(1))
	}
}

// TestAngles compares what positions are turned by with package math, and holds the bits to
// those of other architectures.
func TestAngles(t *testing.T) {
	h := sha256.New()
	worst, off := 0.0, 0.0
	for _, base := range []float64{1e4, 5e5, 1e6} {
		for i := range 64 {
			exponent := -2 * float64(i) / 128
			f := Power(base, exponent)
			off = max(off, math.Abs(f/math.Pow(base, exponent)-1))
			for p := range 300 {
				x := float64(p*p) * f
				sin, cos := Sincos(x)
				wantSin, wantCos := math.Sincos(x)
				worst = max(worst, math.Abs(sin-wantSin), math.Abs(cos-wantCos))
				for _, v := range []float64{f, sin, cos} {
					h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
				}
			}
		}
	}
	t.Logf("worst error of Sincos %.3g, worst relative error of Power %.3g", worst, off)
	if worst > 5e-16 || off > 1e-14 {
		t.Errorf("Sincos is off by %v, Power by %v", worst, off)
	}
	const golden = "8575f9b887f7bf54f4ecd1069a869575"
	if got := fmt.Sprintf("%x", h.Sum(nil)[:16]); got != golden {
		t.Errorf("digest %s, want %s", got, golden)
	}
}
