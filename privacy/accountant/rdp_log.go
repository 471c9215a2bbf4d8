package accountant

import "math"

// rdpEps is one unit of rounding with room for a few operations: a value off by
// a few ulps times its size is covered by rdpEps times its size.
const rdpEps = 1e-15

// rdpLogAdd is log(e^x + e^y).
func rdpLogAdd(x, y float64) float64 {
	if x < y {
		x, y = y, x
	}
	if math.IsInf(x, 0) || math.IsInf(y, -1) {
		return x
	}
	return x + math.Log1p(math.Exp(y-x))
}

// rdpSoftplus is log(1 + e^x).
func rdpSoftplus(x float64) float64 {
	if x > 40 {
		return x + math.Exp(-x)
	}
	return math.Log1p(math.Exp(x))
}

// rdpLogExpm1 is log(e^x − 1) for x ≥ 0.
func rdpLogExpm1(x float64) float64 {
	if x > 40 {
		return x - math.Exp(-x)
	}
	return math.Log(math.Expm1(x))
}

// rdpExpm2 is e^x − 1 − x, which is never negative, without cancellation.
func rdpExpm2(x float64) float64 {
	if math.Abs(x) > 0.5 {
		return math.Expm1(x) - x
	}
	term := x * x / 2
	sum := term
	for k := 3.0; math.Abs(term) > 1e-18*sum; k++ {
		term *= x / k
		sum += term
	}
	return sum
}

// rdpLogExpm2 is log(e^x − 1 − x).
func rdpLogExpm2(x float64) float64 {
	if x > 40 {
		return x + math.Log1p(-(1+x)*math.Exp(-x))
	}
	return math.Log(rdpExpm2(x))
}

// rdpEntropy is (1+s)·log(1+s) − s for s ≥ −1, which is never negative, without
// cancellation.
func rdpEntropy(s float64) float64 {
	switch {
	case s <= -1:
		return 1
	case math.Abs(s) > 0.1:
		return (1+s)*math.Log1p(s) - s
	}
	sum, power := 0.0, s*s
	for k := 2.0; ; k++ {
		term := power / (k * (k - 1))
		sum += term
		if math.Abs(term) <= 1e-18*sum {
			return sum
		}
		power *= -s
	}
}

// rdpLogSinhRatio is log(sinh(x)/x) for x ≥ 0.
func rdpLogSinhRatio(x float64) float64 {
	switch {
	case x > 20:
		return x - math.Log(2*x)
	case x > 0.5:
		return math.Log(math.Sinh(x) / x)
	}
	// sinh(x)/x − 1 = x²/6·(1 + x²/20·(1 + x²/42·(…)))
	z := x * x
	return math.Log1p(z / 6 * (1 + z/20*(1+z/42*(1+z/72*(1+z/110*(1+z/156))))))
}

// rdpAddUp is x + y rounded toward +Inf: the error of a floating-point sum is
// itself a floating-point number (Knuth's two-sum), so its sign is known.
func rdpAddUp(x, y float64) float64 {
	s := x + y
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return s
	}
	t := s - x
	if (x-(s-t))+(y-t) > 0 {
		return math.Nextafter(s, math.Inf(1))
	}
	return s
}

// rdpMulUp is x·y rounded toward +Inf, for x, y ≥ 0; 0 times anything is 0.
func rdpMulUp(x, y float64) float64 {
	if x == 0 || y == 0 {
		return 0
	}
	p := x * y
	if math.IsInf(p, 0) {
		return p
	}
	if p < 1e-290 || math.FMA(x, y, -p) > 0 {
		return math.Nextafter(p, math.Inf(1))
	}
	return p
}

// rdpLogSum accumulates log Σ m·e^x for m ≥ 0.
type rdpLogSum struct{ top, sum float64 }

func (s *rdpLogSum) add(x float64) { s.addScaled(1, x) }

func (s *rdpLogSum) addScaled(m, x float64) {
	switch {
	case m == 0 || math.IsInf(x, -1) || math.IsInf(s.top, 1):
	case s.sum == 0:
		s.top, s.sum = x, m
	case x <= s.top+200:
		s.sum += m * math.Exp(x-s.top)
	default:
		s.sum = s.sum*math.Exp(s.top-x) + m
		s.top = x
	}
}

func (s *rdpLogSum) log() float64 {
	if s.sum == 0 {
		return math.Inf(-1)
	}
	if math.IsInf(s.top, 1) {
		return s.top
	}
	return s.top + math.Log(s.sum)
}
