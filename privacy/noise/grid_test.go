package noise

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func anyGrid(t *rapid.T) Grid {
	return Grid{rapid.IntRange(-maxGridBits, maxGridBits).Draw(t, "k")}
}

// Rounding against rational arithmetic.
func TestGridRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGrid(t)
		x := rapid.Float64().Draw(t, "x")
		if rapid.Bool().Draw(t, "near the grid") {
			x = math.Ldexp(float64(rapid.Int64Range(-1<<20, 1<<20).Draw(t, "halves")), -g.k-1)
		}
		exact := new(big.Rat).Quo(new(big.Rat).SetFloat64(x), g.step())
		floor := func(r *big.Rat) *big.Int {
			return new(big.Int).Div(r.Num(), r.Denom())
		}
		want := map[string]*big.Int{
			"round": floor(new(big.Rat).Add(exact, big.NewRat(1, 2))),
			"up":    new(big.Int).Neg(floor(new(big.Rat).Neg(exact))),
		}
		for name, f := range map[string]func(float64) (int64, error){"round": g.Round, "up": g.up} {
			got, err := f(x)
			if fits := want[name].BitLen() <= maxGridBits; fits != (err == nil) {
				t.Fatalf("%s(%v) on %v: error %v, exact %v", name, x, g, err, want[name])
			}
			if err == nil && want[name].Cmp(big.NewInt(got)) != 0 {
				t.Fatalf("%s(%v) on %v = %d, want %v", name, x, g, got, want[name])
			}
		}
	})
}

// Values at most m steps apart stay at most m steps apart: what the sensitivity
// of a rounded value rests on. Rounding ties to even fails this (0.5 and 1.5).
func TestRoundKeepsSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGrid(t)
		x := math.Ldexp(rapid.Float64Range(-1e9, 1e9).Draw(t, "x"), -g.k)
		m := rapid.IntRange(0, 1000).Draw(t, "m")
		y := x + math.Ldexp(float64(m), -g.k)
		apart := new(big.Rat).Sub(new(big.Rat).SetFloat64(y), new(big.Rat).SetFloat64(x))
		if apart.Cmp(g.rat(int64(m))) > 0 {
			return
		}
		a, err := g.Round(x)
		if err != nil {
			t.Fatal(err)
		}
		b, err := g.Round(y)
		if err != nil {
			t.Fatal(err)
		}
		if b-a > int64(m) || b < a {
			t.Fatalf("%v and %v, %d steps apart, round to %d and %d", x, y, m, a, b)
		}
	})
}

// RoundedL2 and RoundedL1 bound what happens to random neighbouring vectors.
func TestRoundedSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Grid{rapid.IntRange(-3, 12).Draw(t, "k")}
		d := rapid.IntRange(1, 6).Draw(t, "d")
		coordinate := rapid.Float64Range(-50, 50)
		var l1, l2, r1, r2 float64
		for range d {
			x := coordinate.Draw(t, "x")
			y := x + rapid.Float64Range(-3, 3).Draw(t, "change")
			a, err := g.Round(x)
			if err != nil {
				t.Fatal(err)
			}
			b, err := g.Round(y)
			if err != nil {
				t.Fatal(err)
			}
			l1, l2 = l1+math.Abs(x-y), l2+(x-y)*(x-y)
			r := g.Float(a - b)
			r1, r2 = r1+math.Abs(r), r2+r*r
		}
		l2, r2 = math.Sqrt(l2), math.Sqrt(r2)
		if l1 == 0 || l2 == 0 {
			return
		}
		b1, err := g.RoundedL1(l1*(1+1e-12), d)
		if err != nil {
			t.Fatal(err)
		}
		b2, err := g.RoundedL2(l2*(1+1e-12), d)
		if err != nil {
			t.Fatal(err)
		}
		if r1 > b1 || r2 > b2*(1+1e-12) {
			t.Fatalf("rounded distances %v, %v exceed the bounds %v, %v", r1, r2, b1, b2)
		}
	})
	if b, err := (Grid{}).RoundedL2(0.3, 1); err != nil || b != 1 {
		t.Errorf("a scalar of sensitivity 0.3 on the integers: %v, %v, want 1", b, err)
	}
}

// The arithmetic that turns parameters into 64-bit constants.
func TestCoefficientEncloses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := new(big.Rat).SetFloat64(math.Ldexp(rapid.Float64Range(1, 2).Draw(t, "mantissa"), rapid.IntRange(-150, 80).Draw(t, "exponent")))
		c.Mul(c, big.NewRat(1, rapid.Int64Range(1, 1000).Draw(t, "divisor")))
		n := rapid.Uint64().Draw(t, "n") >> rapid.IntRange(0, 63).Draw(t, "shift")
		exact := new(big.Rat).Mul(c, new(big.Rat).SetInt(new(big.Int).SetUint64(n)))
		check := func(got fixedPoint, exact *big.Rat) {
			low := new(big.Rat).Add(ratio(got.hi, 1), new(big.Rat).Quo(ratio(got.lo, 1), new(big.Rat).SetInt(new(big.Int).Lsh(one, 64))))
			if low.Cmp(exact) > 0 {
				t.Fatalf("lower end %v exceeds %v", low, exact)
			}
			high := low.Add(low, new(big.Rat).Quo(ratio(got.err, 1), new(big.Rat).SetInt(new(big.Int).Lsh(one, 64))))
			if got.hi < expCutoff && high.Cmp(exact) < 0 {
				t.Fatalf("upper end %v is below %v", high, exact)
			}
		}
		check(newCoefficient(c).times(n), exact)
		check(fixedRat(exact), exact)
	})
}

// Rounding a scaled lazy real: the fast path must agree with more digits.
func TestMultiplierFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := new(big.Rat).SetFloat64(math.Ldexp(rapid.Float64Range(1, 2).Draw(t, "mantissa"), rapid.IntRange(-80, 44).Draw(t, "exponent")))
		b.Mul(b, big.NewRat(rapid.Int64Range(1, 3).Draw(t, "num"), 3))
		m := newMultiplier(b)
		v := rapid.Uint64Range(0, maxWhole).Draw(t, "whole")
		x := digits{head: rapid.Uint64().Draw(t, "head")}
		half := rapid.SampledFrom([]uint64{0, 1 << 63}).Draw(t, "half")
		s := KeyFromSeed(rapid.Uint64().Draw(t, "seed")).Stream("floor")
		got := m.floor(s, v, &x, half)
		x.reveal(s)
		if want := m.settleFloor(s, v, &x, half); got != want {
			t.Fatalf("%v·(%d+x): %d, want %d", b, v, got, want)
		}
	})
}
