package accountant

import "math"

// Reading ε and δ off a composed distribution: the sums run from the largest
// losses down, over non-negative terms, and every error bound is paid here.

// noise returns the 2-norm of the weights e^(−θ(ℓ−ε))·(1−e^(ε−ℓ)) over the losses above ε,
// times the error of the masses.
func (c *composition) noise() float64 {
	sum := 1 / -math.Expm1(-2*c.theta*c.h)
	return c.err * math.Sqrt(math.Min(sum, float64(len(c.up))))
}

// ulps returns a bound on the rounding of the losses of the grid.
func (c *composition) ulps(epsilon float64) float64 {
	return 8 * roundoff * (math.Abs(c.off) + math.Abs(float64(c.lo)*c.h) + math.Abs(epsilon))
}

// upperEpsilon returns an ε at which the composition has at most the given δ. The sum runs
// from the largest losses down, in units of δ.
func (c *composition) upperEpsilon(delta float64) float64 {
	base := (c.infUp + c.right) / delta
	if !(base < 1) {
		return math.Inf(1)
	}
	logScale := c.logScaleUp - math.Log(delta)
	noise := c.noise() + c.lost/(1+c.theta)
	weight := func(l float64) float64 { return math.Exp(logScale - c.theta*l) }
	share, shrink := -math.Expm1(-c.h), math.Exp(-c.h)
	sum, b := base, 0.0
	for i := len(c.up) - 1; i > 0; i-- {
		l, next := c.at(c.lo+i), c.at(c.lo+i-1)
		if l <= 0 {
			return 0
		}
		b += c.up[i] * weight(l)
		e := noise * weight(next)
		if sum+share*b+e > 1 {
			room := math.Max(0, (1-e-sum)/b)
			if !(room < 1) {
				return math.Max(0, next)
			}
			eps := l + math.Log1p(-room)
			return math.Max(0, eps+c.ulps(eps))
		}
		sum += share * b
		b *= shrink
	}
	return math.Max(0, c.at(c.lo))
}

// lowerEpsilon returns an ε at which the composition has at least the given δ.
func (c *composition) lowerEpsilon(delta float64) float64 {
	if c.infLow >= delta {
		return math.Inf(1)
	}
	logScale := c.logScaleLo - math.Log(delta)
	noise := c.noise() + c.gained/(1+c.theta)
	fold := c.fold / delta
	weight := func(l float64) float64 { return math.Exp(logScale - c.theta*l) }
	share, shrink := -math.Expm1(-c.h), math.Exp(-c.h)
	sum, b := c.infLow/delta, 0.0
	for i := len(c.low) - 1; i > 0; i-- {
		l, next := c.at(c.lo+i), c.at(c.lo+i-1)
		if l <= 0 {
			return 0
		}
		b += c.low[i] * weight(l)
		e := noise * weight(next)
		if sum+share*b-e-fold >= 1 {
			room := math.Max(0, (1+e+fold-sum)/b)
			if !(room < 1) {
				return math.Max(0, next-c.shift)
			}
			eps := l + math.Log1p(-room)
			return math.Max(0, eps-c.ulps(eps)-c.shift)
		}
		sum += share * b
		b *= shrink
	}
	return 0
}

// delta encloses the δ of the composition at an ε ≥ 0 that lies in [epsilon, last].
func (c *composition) delta(epsilon, last float64) (lower, upper float64) {
	slack := c.ulps(last)
	logWeight := func(scale, l float64) float64 { return math.Exp(scale - c.theta*l) }
	for i := len(c.up) - 1; i >= 0; i-- {
		l := c.at(c.lo + i)
		if l <= epsilon-slack {
			break
		}
		if c.up[i] > 0 { // a weight may overflow where there is nothing to weigh
			upper += c.up[i] * logWeight(c.logScaleUp, l) * -math.Expm1(epsilon-slack-l)
		}
		if c.low[i] > 0 {
			lower += c.low[i] * logWeight(c.logScaleLo, l) * -math.Expm1(math.Min(0, last+slack+c.shift-l))
		}
	}
	upper += (c.noise()+c.lost/(1+c.theta))*logWeight(c.logScaleUp, epsilon-slack) + c.infUp + c.right
	lower += c.infLow - c.fold - (c.noise()+c.gained/(1+c.theta))*logWeight(c.logScaleLo, epsilon)
	// Infinite losses count whatever became of the others.
	if !(lower >= c.infLow) {
		lower = c.infLow
	}
	if !(upper <= 1) {
		upper = 1
	}
	return lower, upper
}
