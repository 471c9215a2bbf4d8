package stat

import "math"

// normal returns the distribution function of the standard normal distribution.
func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

func normalQuantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }

// studentTail returns the probability of a value below t < 0 under Student's distribution.
func studentTail(t, degrees float64) float64 {
	return incompleteBeta(degrees/2, 0.5, degrees/(degrees+t*t)) / 2
}

// studentQuantile for a probability p < 1/2, by bisection: the tail is monotone.
func studentQuantile(p, degrees float64) float64 {
	low, high := -1.0, 0.0
	for studentTail(low, degrees) > p && low > -1e300 {
		low, high = 2*low, low
	}
	low, high = Bisect(low, high, 200, func(t float64) bool { return !(studentTail(t, degrees) > p) })
	return (low + high) / 2
}

// incompleteBeta returns the regularised incomplete beta function I_x(a, b), by its
// continued fraction in Lentz's way (Press et al., "Numerical Recipes", section 6.4;
// Abramowitz and Stegun 26.5.8), which converges fast below (a+1)/(a+b+2); above, by
// symmetry.
func incompleteBeta(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return max(0, min(1, x))
	}
	if x > (a+1)/(a+b+2) {
		return 1 - incompleteBeta(b, a, 1-x)
	}
	front := math.Exp(logGamma(a+b) - logGamma(a) - logGamma(b) + a*math.Log(x) + b*math.Log1p(-x))
	const tiny = 1e-300
	c, d := 1.0, 1-(a+b)*x/(a+1)
	if math.Abs(d) < tiny {
		d = tiny
	}
	d = 1 / d
	f := d
	for m := 1.0; m <= 10000; m++ {
		change := 1.0
		for _, numerator := range [2]float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			if d = 1 + numerator*d; math.Abs(d) < tiny {
				d = tiny
			}
			if c = 1 + numerator/c; math.Abs(c) < tiny {
				c = tiny
			}
			d = 1 / d
			change = c * d
			f *= change
		}
		if math.Abs(change-1) < 1e-15 {
			break
		}
	}
	return front * f / a
}

func logGamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
