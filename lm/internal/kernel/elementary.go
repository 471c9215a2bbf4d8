package kernel

import "math"

// The constants of exp32. The polynomial is the minimax approximation of
// (exp(r)-1-r)/r^2 for |r| <= ln(2)/2, relative to exp(r), error 3.3e-9 before
// rounding of the coefficients.
const (
	expLow   = -87.33654 // below it, exp is not a normal float32
	expHigh  = 88.72     // above it, exp is not finite
	log2e    = 1.44269504088896341
	ln2High  = 0.693359375 // nine bits, so that n*ln2High is exact
	ln2Low   = -0.000212194440055
	roundBig = 3 << 22 // adding it rounds to an integer
)

var expPowers = [...]float32{0.00138131432489, 0.00836941886528, 0.0416684568104, 0.166665147912, 0.499999930507, 1, 1}

// horner evaluates a polynomial whose coefficients are those of the highest power first.
func horner(coefficients *[7]float32, x float32) float32 {
	p := coefficients[0]
	for _, c := range coefficients[1:] {
		p = fma32(p, x, c)
	}
	return p
}

// exp32 returns e^x to about one unit in the last place: 0 where the result is no
// normal number, and at most e^88.72.
func exp32(x float32) float32 {
	if x < expLow {
		return 0
	}
	if x > expHigh {
		x = expHigh
	}
	shifted := fma32(x, log2e, roundBig)
	n := shifted - roundBig
	r := fma32(n, -ln2High, x)
	r = fma32(n, -ln2Low, r)
	p := horner(&expPowers, r)
	return math.Float32frombits(math.Float32bits(p) + math.Float32bits(shifted)<<23)
}

// The constants of erf32: minimax approximations of erf(t)/t in t^2 for t <= 1,
// error 1.2e-9, and of -ln(erfc(t)) for t in [1, 4], error 1.3e-9 of erf, both
// before rounding of the coefficients. From 4 on, erf is 1 in float32.
var (
	erfSmall = [...]float32{7.88911757926e-5, -0.000802084071355, 0.00518953527781, -0.0268544445625, 0.112836001758, -0.37612627136, 1.12837916591}
	erfLarge = [...]float32{-0.00019150361237, 0.00299953591652, -0.0220519796877, 0.103566857684, 0.637600075425, 1.12742606569, 0.000256450356608}
)

const (
	erfSplit = 1
	erfEnd   = 4
	sqrtHalf = 0.70710678118654752

	geluLine = -1.5957691216057308   // -2√(2/π)
	geluCube = -0.071354816272600248 // 0.044715 times that
)

// erf32 returns the error function to 1.3e-7.
func erf32(x float32) float32 {
	t := float32(math.Abs(float64(x)))
	if t > erfEnd {
		t = erfEnd
	}
	var value float32
	if t < erfSplit {
		value = t * horner(&erfSmall, t*t)
	} else {
		value = 1 - exp32(-horner(&erfLarge, t))
	}
	return float32(math.Copysign(float64(value), float64(x)))
}

// log64 returns the natural logarithm of a positive finite number to about two units in the
// last place. It is written out because math.Log may differ in the last bit from one
// architecture to another; the conversions keep the compiler from fusing operations where
// the architecture could.
func log64(x float64) float64 {
	const (
		ln2High = 0x1.62e42feep-1 // 32 bits, so that e*ln2High is exact
		ln2Low  = 0x1.a39ef35793c76p-33
	)
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	// ln(m) = 2 artanh(s) = 2(s + s^3/3 + s^5/5 + …), s = (m-1)/(m+1), where
	// |s| < 0.172, so the terms after s^21 are below 2^-56 of the first.
	s := (m - 1) / (m + 1)
	s2 := float64(s * s)
	series := 0.0
	for odd := 21; odd >= 3; odd -= 2 {
		series = float64((series + 1/float64(odd)) * s2)
	}
	low := float64(float64(2*s)*series) + float64(float64(e)*ln2Low)
	return float64(float64(e)*ln2High) + (2*s + low)
}
