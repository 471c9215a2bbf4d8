package logit

import (
	"context"
	"math"
	"sync"
)

// together runs a function for 0..n-1, each on its own thread.
func together(n int, each func(i int)) {
	if n == 1 {
		each(0)
		return
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { each(i) })
	}
	all.Wait()
}

// Result is where a minimisation stopped.
type Result struct {
	Theta []float64
	// Gradient is the ℓ2 norm of the gradient there, as it was computed.
	Gradient float64
	// Steps is how many were taken.
	Steps int
}

// Newton takes at most so many steps from θ = 0, and fewer if the gradient's norm comes to
// the tolerance or can be seen to get no smaller. The error is the context's.
//
// A step that does not lower the value is halved (Armijo's rule), so that J falls from one
// step to the next but for rounding.
func (p *Problem) Newton(ctx context.Context, tolerance float64, steps int) (Result, error) {
	n := p.Size()
	at := Result{Theta: make([]float64, n)}
	best := at
	best.Gradient = math.Inf(1)
	gradient, second := make([]float64, n), make([]float64, n*n)
	stale := 0
	for ; ; at.Steps++ {
		if err := ctx.Err(); err != nil {
			return best, err
		}
		value := p.evaluate(at.Theta, gradient, second)
		at.Gradient = norm(gradient)
		if at.Gradient < best.Gradient {
			best, stale = at, 0
		} else if stale++; stale > 3 {
			return best, nil
		}
		if best.Gradient <= tolerance || at.Steps == steps {
			return best, nil
		}
		direction, ok := solve(second, gradient)
		if !ok {
			return best, nil
		}
		next, ok := p.search(at.Theta, direction, gradient, value)
		if !ok {
			return best, nil
		}
		at.Theta = next
	}
}

// search goes against the direction as far as the value falls enough.
func (p *Problem) search(theta, direction, gradient []float64, value float64) ([]float64, bool) {
	slope := dot(direction, gradient)
	next, unused := make([]float64, len(theta)), make([]float64, len(theta))
	for t := 1.0; t > 1e-12; t /= 2 {
		for i := range next {
			next[i] = theta[i] - t*direction[i]
		}
		// Near the minimum the value differs by less than its own rounding.
		if p.evaluate(next, unused, nil) <= value-1e-4*t*slope+1e-13*math.Abs(value) {
			return next, true
		}
	}
	return nil, false
}

// Descend takes steps of length 1/smooth against the gradient until its norm is at most
// the tolerance.
//
// It ends if smooth bounds the second derivatives and the computed gradient is never
// further than a fourth of the tolerance from the true one: with g̃ the computed gradient,
// e its error and M the bound, J(θ−g̃/M) ≤ J(θ) − (‖g̃‖/M)(‖g̃‖/2−‖e‖), which is at least
// ‖g̃‖²/(4M) lower while ‖g̃‖ ≥ 4‖e‖, and J is bounded below. As the penalty makes J
// strongly convex, the excess falls by a constant factor each time.
func (p *Problem) Descend(ctx context.Context, from Result, smooth, tolerance float64) (Result, error) {
	theta := append([]float64(nil), from.Theta...)
	gradient := make([]float64, p.Size())
	for at := (Result{Theta: theta, Steps: from.Steps}); ; at.Steps++ {
		if err := ctx.Err(); err != nil {
			return at, err
		}
		p.evaluate(theta, gradient, nil)
		if at.Gradient = norm(gradient); at.Gradient <= tolerance {
			return at, nil
		}
		for i := range theta {
			theta[i] -= gradient[i] / smooth
		}
	}
}

// Limits are public bounds on a problem.
type Limits struct {
	// Rows, Columns and Outcomes are the most there can be, Ridge the least penalty; every
	// row's entries have an ℓ2 norm of at most 1, and every weight is 1.
	Rows              float64
	Columns, Outcomes int
	Ridge             float64
}

// Radius bounds θ wherever J(θ) ≤ J(0): ½·Ridge·‖θ‖² ≤ J(θ) ≤ J(0) = Rows·ln(classes).
func (l Limits) Radius() float64 {
	return math.Sqrt(2 * l.Rows * math.Log(float64(max(2, l.Outcomes))) / l.Ridge)
}

// Smooth bounds the second derivatives: a row has at most ½ (¼ with two classes), since
// the covariance of one draw among classes has no larger eigenvalue.
func (l Limits) Smooth() float64 { return l.Rows/2 + l.Ridge }

// Rounding bounds how far, in the ℓ2 norm, the gradient that is computed at any ‖θ‖ ≤ 2·Radius
// is from the true one of the same floating-point entries.
//
// With u = 2⁻⁵³, m entries in a row, K outcomes and R = 2·Radius: a score is a sum of m
// products, and the scores of a row are off by at most (m+2)u·R in ℓ2, as the entries have
// norm 1. Probabilities are ½-Lipschitz in the scores, and to compute them adds at most 64u
// for each outcome (exp and division are right to a few units in the last place). So the
// residual of a row, and its part of the gradient, is off by η = (m+2)uR/2 + 64Ku. Sums are
// taken over 1024 rows, 64 such, and the blocks: at most s = 1024+64+Rows/65536 additions
// one after the other, each with an error of u relative to the sum of absolute values,
// which is at most √2 times the norm of the entries for every row. The penalty's part adds
// 4u·Ridge·R, with the addition. All of it is doubled for what is of second order.
func (l Limits) Rounding() float64 {
	const u = 0x1p-53
	radius := 2 * l.Radius()
	k := float64(max(2, l.Outcomes))
	residual := float64(l.Columns+2)*radius/2 + 64*k
	summing := math.Sqrt2 * (chunk + block/chunk + l.Rows/block + 8)
	return 2 * u * (l.Rows*(residual+summing) + 4*l.Ridge*radius)
}

func norm(v []float64) float64 { return math.Sqrt(dot(v, v)) }

func dot(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// solve finds x with A·x = b for a positive definite A, given by its lower half, which it
// overwrites. It is Cholesky's method.
func solve(a, b []float64) ([]float64, bool) {
	n := len(b)
	for j := range n {
		row := a[j*n : j*n+j+1]
		for k := range j {
			other := a[k*n : k*n+k+1]
			row[k] = (row[k] - dot(row[:k], other[:k])) / other[k]
		}
		pivot := row[j] - dot(row[:j], row[:j])
		if !(pivot > 0) {
			return nil, false
		}
		row[j] = math.Sqrt(pivot)
	}
	x := append([]float64(nil), b...)
	for i := range n {
		x[i] = (x[i] - dot(a[i*n:i*n+i], x[:i])) / a[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		x[i] /= a[i*n+i]
		for k := range i {
			x[k] -= a[i*n+k] * x[i]
		}
	}
	return x, true
}
