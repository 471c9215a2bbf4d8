package table

import (
	"math"
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/schema"
)

// TestStepsAreBounded for any number and any bounds, sane or not.
func TestStepsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewScale(schema.Column{Low: rapid.Float64().Draw(t, "low"), High: rapid.Float64().Draw(t, "high")})
		x := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.MaxFloat64, -math.MaxFloat64, 5e-324})).Draw(t, "x")
		if n := s.Steps(x); n > Steps || n < -Steps {
			t.Fatalf("%v is %d steps", x, n)
		}
	})
}

// TestStepsAreNearest: within bounds, steps are those of the exact quotient, to half a step
// and what the roundings before that can add where bounds are close and far from 0.
func TestStepsAreNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e6, 1e6).Draw(t, "low")
		width := rapid.Float64Range(1e-3, 1e6).Draw(t, "width")
		c := schema.Column{Low: low, High: low + width}
		s := NewScale(c)
		x := low + rapid.Float64Range(0, 1).Draw(t, "share")*width
		exact := new(big.Rat).Sub(rat(x), rat(s.Middle))
		exact.Mul(exact.Quo(exact, rat(s.Half)), rat(Steps))
		slack := Steps * 0x1p-50 * math.Abs(low) / width
		off, _ := exact.Sub(exact, rat(float64(s.Steps(x)))).Float64()
		if x >= c.Low && x <= c.High && math.Abs(off) > 0.5+1e-5+slack {
			t.Fatalf("%v in [%v, %v] is off by %v steps", x, c.Low, c.High, off)
		}
		if y := low + rapid.Float64Range(0, 1).Draw(t, "other")*width; x <= y != (s.Steps(x) <= s.Steps(y)) && s.Steps(x) != s.Steps(y) {
			t.Fatalf("%v and %v change their order", x, y)
		}
	})
}

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// TestParseDecimal: what it takes, it takes as the standard library does.
func TestParseDecimal(t *testing.T) {
	check := func(t rapid.TB, text string) {
		x, ok := parseDecimal([]byte(text))
		want, err := strconv.ParseFloat(text, 64)
		if ok && (err != nil || math.Float64bits(x) != math.Float64bits(want)) {
			t.Fatalf("%q is %v, want %v", text, x, want)
		}
	}
	taken := 0
	for _, text := range []string{"", "-", "+", ".", "-.", "0", "-0", "+1", "1.", ".5", "00012", "1.50", "123456789012345", "0.000000000000001", "99.999999999999", "1e5", "0x1", "1_0", "1.2.3", "--1", "12345678901234567890", "\u0661"} {
		check(t, text)
		if _, ok := parseDecimal([]byte(text)); ok {
			taken++
		}
	}
	if taken != 9 {
		t.Fatalf("%d are taken, want 9", taken)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.OneOf(
			rapid.StringMatching(`[-+]?[0-9]{0,9}(\.[0-9]{0,9})?`),
			rapid.StringMatching(`[-+.0-9e]{0,20}`),
			rapid.Custom(func(t *rapid.T) string {
				return strconv.FormatFloat(rapid.Float64().Draw(t, "x"), 'f', rapid.IntRange(-1, 15).Draw(t, "digits"), 64)
			}),
		).Draw(t, "text"))
	})
}

// TestSameValueSameSteps: a number is the same as a text, as a number, and as an integer.
func TestSameValueSameSteps(t *testing.T) {
	columns := []schema.Column{
		{Kind: schema.Numeric, Low: -1000, High: 1000, Clamp: true, Edges: []float64{-10, 0, 1.5}},
		{Kind: schema.Numeric, Low: 0.1, High: 0.3, Edges: []float64{0.2}},
		{Kind: schema.Numeric, Low: 0, High: 100, Clamp: true, Missing: "50", Aliases: map[string]string{"99": "", "7": "8"}},
		{Kind: schema.Categorical, Values: []string{"1", "2", "0.5", "other"}, Other: "other", Missing: "1"},
	}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(columns).Draw(t, "column")
		e := NewEncoding(c, rapid.Bool().Draw(t, "discrete"))
		x := rapid.OneOf(rapid.Float64Range(-2000, 2000), rapid.Map(rapid.IntRange(-5, 120), func(i int) float64 { return float64(i) }), rapid.SampledFrom([]float64{0.5, 99, 7, 0.1, 0.3})).Draw(t, "x")
		number, why := e.one(e.Number, x)
		text, whyText := e.one(func(v *Vector, row int, x float64) Reason {
			return e.Text(v, row, strconv.AppendFloat(nil, x, 'f', -1, 64))
		}, x)
		if why != whyText || why == 0 && number != text {
			t.Fatalf("%v is %d (%v) as a number and %d (%v) as a text", x, number, why, text, whyText)
		}
		if x == math.Trunc(x) {
			whole, whyWhole := e.one(func(v *Vector, row int, x float64) Reason { return e.Int(v, row, int64(x)) }, x)
			if why != whyWhole || why == 0 && whole != number {
				t.Fatalf("%v is %d (%v) as a number and %d (%v) as a whole one", x, number, why, whole, whyWhole)
			}
		}
	})
}

// TestUnitHash: a pseudorandom function of the whole name, by the key.
func TestUnitHash(t *testing.T) {
	hash := func(key byte) *unitHash {
		u, err := newUnitHash(append(make([]byte, 31), key))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	one, other := hash(1), hash(2)
	seen := map[Unit]string{}
	for n := range 40 {
		for _, name := range []string{string(make([]byte, n)), "person " + strconv.Itoa(n), string(make([]byte, n)) + "x"} {
			sum := one.of([]byte(name))
			if before, ok := seen[sum]; ok && before != name {
				t.Errorf("%q and %q have one hash", before, name)
			}
			seen[sum] = name
			if sum != one.of([]byte(name)) || sum == other.of([]byte(name)) {
				t.Errorf("%q: the hash does not depend on key and name alone", name)
			}
		}
	}
}
