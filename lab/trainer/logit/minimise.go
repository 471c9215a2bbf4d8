package logit

import (
	"context"
	"math"
	"sync"

	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// together runs a function for 0..n-1, each on its own thread.
func together(n int, each func(i int)) {
	if n == 1 {
		each(0)
		return
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			defer fault.Watch()
			each(i)
		})
	}
	all.Wait()
}

// Result is where a minimisation stopped.
type Result struct {
	Theta []float64
	// Gradient is the ℓ2 norm of the gradient there, as it was computed.
	Gradient float64
	// Steps is the number of steps taken.
	Steps int
}

// Newton takes at most so many steps from θ = 0, and fewer if the gradient's norm comes to
// the tolerance or can be seen to get no smaller. The error is the context's.
//
// A step that does not lower the value is halved (Armijo's rule), so that J falls from one
// step to the next, up to rounding.
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

// Descend takes steps of length 1/smooth against the careful gradient until its norm is at
// most the tolerance.
//
// It ends if smooth bounds the second derivatives and the computed gradient, with what
// rounding of θ amounts to, is never further than a fourth of the tolerance from the true
// one: with g̃ the step times M = smooth and e its error, J(θ−g̃/M) ≤
// J(θ) − (‖g̃‖/M)(‖g̃‖/2−‖e‖), which is lower while ‖g̃‖ > 2‖e‖, and J is bounded below. As
// the penalty makes J strongly convex, the excess falls by a constant factor each time.
func (p *Problem) Descend(ctx context.Context, from Result, smooth, tolerance float64) (Result, error) {
	theta := append([]float64(nil), from.Theta...)
	gradient := make([]float64, p.Size())
	for at := (Result{Theta: theta, Steps: from.Steps}); ; at.Steps++ {
		if err := ctx.Err(); err != nil {
			return at, err
		}
		p.Careful(theta, gradient)
		if at.Gradient = norm(gradient); at.Gradient <= tolerance {
			return at, nil
		}
		for i := range theta {
			theta[i] -= gradient[i] / smooth
		}
	}
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
