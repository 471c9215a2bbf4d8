package kernel

import "math"

// first returns the first n values of a slice, and panics if it has fewer: its capacity
// does not count.
func first(n int, x []float32) []float32 { return x[:len(x):len(x)][:n] }

// Add adds x to dst.
func (k *Kernels) Add(dst, x []float32) { k.add(dst, first(len(dst), x)) }

// Scale sets dst to a*x.
func (k *Kernels) Scale(dst, x []float32, a float32) { k.scale(dst, first(len(dst), x), a) }

// SiLUMul sets dst to gate*sigmoid(gate)*up.
func (k *Kernels) SiLUMul(dst, gate, up []float32) {
	n := len(dst)
	k.siluMul(dst, first(n, gate), first(n, up))
}

// GELU sets dst to x*Φ(x), Φ being the normal distribution function: the exact
// form, with the error function.
func (k *Kernels) GELU(dst, x []float32) { k.gelu(dst, first(len(dst), x)) }

// GELUMul sets dst to gate*Φ(gate)*up, Φ being approximated as
// (1+tanh(√(2/π)(x+0.044715x³)))/2, with which gated models are trained. (The same is
// 1/(1+exp(-2√(2/π)(x+0.044715x³))).)
func (k *Kernels) GELUMul(dst, gate, up []float32) {
	n := len(dst)
	k.geluMul(dst, first(n, gate), first(n, up))
}

// RMSNorm sets dst to x/√(mean(x²)+eps)*weight.
func (k *Kernels) RMSNorm(dst, x, weight []float32, eps float32) {
	n := len(dst)
	if n == 0 {
		return
	}
	x = first(n, x)
	k.scaleMul(dst, x, first(n, weight), inverseRoot(k.sumSquares(x, 0), n, eps))
}

// LayerNorm sets dst to (x-mean(x))/√(var(x)+eps)*weight + bias.
func (k *Kernels) LayerNorm(dst, x, weight, bias []float32, eps float32) {
	n := len(dst)
	if n == 0 {
		return
	}
	x = first(n, x)
	mean := k.sum(x) / float32(n)
	k.normalize(dst, x, first(n, weight), first(n, bias), mean, inverseRoot(k.sumSquares(x, mean), n, eps))
}

// inverseRoot returns 1/√(sum/n+eps). A square root in float64 rounded to float32
// is the correctly rounded one of the float32.
func inverseRoot(sum float32, n int, eps float32) float32 {
	return 1 / float32(math.Sqrt(float64(sum/float32(n)+eps)))
}

// Softmax sets x to the softmax of scale*x, scale being positive.
func (k *Kernels) Softmax(x []float32, scale float32) {
	if len(x) == 0 {
		return
	}
	sum := k.expSum(x, scale, -float32(k.largest(x)*scale))
	k.scale(x, x, 1/sum)
}

// LogSumExp returns ln(Σ exp(x)).
func (k *Kernels) LogSumExp(x []float32) float64 {
	if len(x) == 0 {
		return math.Inf(-1)
	}
	m := k.largest(x)
	if math.IsInf(float64(m), 0) || m != m {
		return float64(m)
	}
	return float64(m) + log64(k.sumExp(x, -m))
}

// RopeInterleaved turns the pairs (x[2i], x[2i+1]) of a head by the angles
// whose cosines and sines are given, len(x)/2 of each.
func (k *Kernels) RopeInterleaved(x, cos, sin []float32) {
	n := len(x) / 2
	k.ropePairs(x[:2*n], first(n, cos), first(n, sin))
}

// RopeHalves turns the pairs (x[i], x[i+len(x)/2]) likewise.
func (k *Kernels) RopeHalves(x, cos, sin []float32) {
	n := len(x) / 2
	k.ropeHalf(x[:n], x[n:2*n], first(n, cos), first(n, sin))
}
