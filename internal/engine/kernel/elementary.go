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

// Power returns base^exponent for a positive base to about thirty units in the last place.
// Like log64 it is written out: math.Pow differs from one architecture to another.
func Power(base, exponent float64) float64 { return exp64(float64(exponent * log64(base))) }

// exp64 returns e^x where that is a normal number, to about one unit in the last place: the
// method of FreeBSD's e_exp.c, whose polynomial approximates r*(exp(r)+1)/(exp(r)-1).
func exp64(x float64) float64 {
	const (
		ln2High = 0x1.62e42feep-1 // 32 bits, so that n*ln2High is exact
		ln2Low  = 0x1.a39ef35793c76p-33
	)
	n := math.RoundToEven(float64(x * math.Log2E))
	high, low := x-float64(n*ln2High), float64(n*ln2Low)
	r := high - low
	r2 := float64(r * r)
	p := 0.0
	for _, c := range [...]float64{4.13813679705723846039e-08, -1.65339022054652515390e-06, 6.61375632143793436117e-05, -2.77777777770155933842e-03, 1.66666666666666019037e-01} {
		p = float64((p + c) * r2)
	}
	c := r - p
	return math.Ldexp(1-((low-float64(r*c)/(2-c))-high), int(n))
}

// Sincos returns the sine and the cosine of an angle from 0 to 2^29, to about one unit of
// 2^-53, with the same bits on every architecture: the method of Cephes' sin.c.
func Sincos(x float64) (sin, cos float64) {
	const ( // π/4 in parts, so that the first products are exact
		first  = 7.85398125648498535156e-1
		second = 3.77489470793079817668e-8
		third  = 2.69515142907905952645e-15
	)
	j := uint64(float64(x * (4 / math.Pi)))
	j += j & 1
	y := float64(j)
	z := ((x - float64(y*first)) - float64(y*second)) - float64(y*third)
	z2 := float64(z * z)
	s, c := 0.0, 0.0
	for _, k := range [...]float64{1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6, -1.98412698295895385996e-4, 8.33333333332211858878e-3, -1.66666666666666307295e-1} {
		s = float64((s + k) * z2)
	}
	for _, k := range [...]float64{-1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7, 2.48015872888517045348e-5, -1.38888888888730564116e-3, 4.16666666666665929218e-2} {
		c = float64((c + k) * z2)
	}
	sin, cos = z+float64(z*s), 1-float64(0.5*z2)+float64(z2*c)
	switch j / 2 % 4 {
	case 1:
		return cos, -sin
	case 2:
		return -sin, -cos
	case 3:
		return -cos, sin
	}
	return sin, cos
}
