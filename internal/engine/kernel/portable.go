package kernel

// The portable row functions define what the others must give, bit for bit.
// Explicit conversions to float32 keep the compiler from fusing a product with
// the addition after it, as it may on some architectures.

func addPortable(dst, x []float32) {
	for i := range dst {
		dst[i] += x[i]
	}
}

func scalePortable(dst, x []float32, a float32) {
	for i := range dst {
		dst[i] = x[i] * a
	}
}

func scaleMulPortable(dst, x, weight []float32, a float32) {
	for i := range dst {
		dst[i] = float32(x[i]*a) * weight[i]
	}
}

func normalizePortable(dst, x, weight, bias []float32, mean, inverse float32) {
	for i := range dst {
		dst[i] = fma32((x[i]-mean)*inverse, weight[i], bias[i])
	}
}

func siluMulPortable(dst, gate, up []float32) {
	for i := range dst {
		dst[i] = gate[i] / (1 + exp32(-gate[i])) * up[i]
	}
}

func geluPortable(dst, x []float32) {
	for i := range dst {
		h := x[i] * 0.5
		dst[i] = fma32(h, erf32(x[i]*sqrtHalf), h)
	}
}

func geluMulPortable(dst, gate, up []float32) {
	for i := range dst {
		inner := fma32(float32(gate[i]*gate[i]), geluCube, geluLine)
		dst[i] = gate[i] / (1 + exp32(float32(gate[i]*inner))) * up[i]
	}
}

func ropePairsPortable(x, cos, sin []float32) {
	for i := range cos {
		x[2*i], x[2*i+1] = turn(x[2*i], x[2*i+1], cos[i], sin[i])
	}
}

func ropeHalfPortable(low, high, cos, sin []float32) {
	for i := range cos {
		low[i], high[i] = turn(low[i], high[i], cos[i], sin[i])
	}
}

// turn turns a pair by an angle.
func turn(a, b, cos, sin float32) (float32, float32) {
	return fma32(a, cos, -(b * sin)), fma32(a, sin, b*cos)
}

// chains is the order of every sum along a vector: element i goes to chain
// i mod 16, and the chains are added in halves at the end. SIMD lanes are the
// chains.
type chains [16]float32

func (c *chains) sum() float32 {
	for half := 8; half > 0; half /= 2 {
		for j := range half {
			c[j] += c[j+half]
		}
	}
	return c[0]
}

func sumPortable(x []float32) float32 {
	var c chains
	for i, v := range x {
		c[i%16] += v
	}
	return c.sum()
}

func sumSquaresPortable(x []float32, center float32) float32 {
	var c chains
	for i, v := range x {
		d := v - center
		c[i%16] = fma32(d, d, c[i%16])
	}
	return c.sum()
}

func largestPortable(x []float32) float32 {
	m := x[0]
	for _, v := range x[1:] {
		if v > m {
			m = v
		}
	}
	return m
}

// expSumPortable sets x to exp(scale*x+shift) and returns the sum.
func expSumPortable(x []float32, scale, shift float32) float32 {
	var c chains
	for i, v := range x {
		x[i] = exp32(fma32(v, scale, shift))
		c[i%16] += x[i]
	}
	return c.sum()
}

// sumExpPortable returns the sum of exp(x+shift) in float64, in the same order.
func sumExpPortable(x []float32, shift float32) float64 {
	var c [16]float64
	for i, v := range x {
		c[i%16] += float64(exp32(v + shift))
	}
	for half := 8; half > 0; half /= 2 {
		for j := range half {
			c[j] += c[j+half]
		}
	}
	return c[0]
}
