package logit

import "math"

// twice is a number as an unevaluated sum of two: what rounding took from the first is in
// the second.
type twice struct{ high, low float64 }

// add is exact up to the rounding of low (Knuth's two-sum).
func (s *twice) add(x float64) {
	sum := s.high + x
	v := sum - s.high
	s.low += (s.high - (sum - v)) + (x - v)
	s.high = sum
}

// addProduct adds a·b with what its rounding takes.
func (s *twice) addProduct(a, b float64) {
	product := a * b
	s.add(product)
	s.low += math.FMA(a, b, -product)
}

func (s *twice) value() float64 { return s.high + s.low }

// Careful computes the gradient with an error of at most [Limits.Rounding], whatever the
// rows are, and returns its norm. It takes several times as long as a gradient by Newton.
// Pin does not count.
func (p *Problem) Careful(theta, gradient []float64) float64 {
	blocks := (p.Rows + block - 1) / block
	workers := max(1, min(p.Workers, blocks))
	total := make([]twice, p.Size())
	parts := make([][]twice, workers)
	work := make([]*scratch, workers)
	for i := range parts {
		parts[i], work[i] = make([]twice, p.Size()), p.scratch(false)
	}
	for first := 0; first < blocks; first += workers {
		n := min(workers, blocks-first)
		together(n, func(i int) { p.carefully(work[i], parts[i], theta, first+i) })
		for _, part := range parts[:n] {
			for j := range total {
				total[j].add(part[j].high)
				total[j].low += part[j].low
			}
		}
	}
	for j := range total {
		total[j].addProduct(p.Ridge[j%p.Width], theta[j])
		if p.Linear != nil {
			total[j].add(p.Linear[j])
		}
		gradient[j] = total[j].value()
	}
	return norm(gradient)
}

// carefully sums a block.
func (p *Problem) carefully(s *scratch, to []twice, theta []float64, number int) {
	clear(to)
	scores := make([]float64, p.Outcomes)
	end := min(p.Rows, (number+1)*block)
	for from := number * block; from < end; from += chunk {
		n := min(end, from+chunk) - from
		for c := range p.Columns {
			p.Columns[c].load(s.index[c][:n], s.entry[c][:n], from)
		}
		for i := range n {
			for k := range scores {
				var z twice
				for c := range p.Columns {
					z.addProduct(theta[k*p.Width+int(s.index[c][i])], s.entry[c][i])
				}
				scores[k] = z.value()
			}
			outcomes(scores)
			for k, pr := range scores {
				r := pr - p.truth(from+i, k)
				if p.Weights != nil {
					r *= p.Weights[from+i]
				}
				for c := range p.Columns {
					to[k*p.Width+int(s.index[c][i])].add(r * s.entry[c][i])
				}
			}
		}
	}
}

// outcomes turns the scores of a row into probabilities.
func outcomes(scores []float64) {
	if len(scores) == 1 {
		scores[0] = Sigmoid(scores[0])
		return
	}
	top, sum := math.Inf(-1), 0.0
	for _, s := range scores {
		top = max(top, s)
	}
	for k, s := range scores {
		scores[k] = math.Exp(s - top)
		sum += scores[k]
	}
	for k := range scores {
		scores[k] /= sum
	}
}

// Limits are public bounds on a problem.
type Limits struct {
	// Rows, Columns and Outcomes are the most there can be, Ridge is the penalty of all
	// features, and Linear bounds the ℓ2 norm of the linear part. Every row's entries have
	// an ℓ2 norm of at most 1, and every weight is 1.
	Rows              float64
	Columns, Outcomes int
	Ridge, Linear     float64
}

// Radius bounds θ wherever J(θ) ≤ J(0): ½·Ridge·‖θ‖² − Linear·‖θ‖ ≤ J(θ) ≤ J(0), and J(0) is
// Rows·ln(classes).
func (l Limits) Radius() float64 {
	start := l.Rows * math.Log(float64(max(2, l.Outcomes)))
	return (l.Linear + math.Sqrt(l.Linear*l.Linear+2*l.Ridge*start)) / l.Ridge
}

// Smooth bounds the second derivatives: a row has at most ¼ with two classes and ½ with
// more, since the variance of one draw between 0 and 1 is at most ¼, and the covariance of
// a draw among classes has no eigenvalue above ½.
func (l Limits) Smooth() float64 {
	if l.Outcomes == 1 {
		return l.Rows/4 + l.Ridge
	}
	return l.Rows/2 + l.Ridge
}

// u is the unit roundoff.
const u = 0x1p-53

// Rounding bounds how far, in the ℓ2 norm, what [Problem.Careful] computes at any
// ‖θ‖ ≤ 2·Radius is from the true gradient of the same floating-point entries.
//
// With m entries in a row, K classes and R = 2·Radius: scores are dot products of twice the
// precision, off by u|z| + (mu)²R (Ogita, Rump, Oishi 2005, on Dot2), as entries have norm
// 1. With two classes that moves the probability by at most u/4 + (mu)²R, because
// |z|·σ'(z) < ¼; with more, probabilities move by at most half as much as scores in ℓ2, and
// so by uR/2 + (mu)²R. To compute them from scores adds at most 32u for each class (exp and
// division are right to a few units in the last place). Every row's part of the gradient
// is off by as much, and by √2·u for the product with the entry. Sums of twice the precision
// add u times the sum, at most √2·Rows, and (su)² times that for s additions one after the
// other, those of a block and of the blocks. The penalty and the linear part are a product
// and two additions. All of it is doubled for what is of second order.
func (l Limits) Rounding() float64 {
	radius := 2 * l.Radius()
	k, m, s := float64(max(2, l.Outcomes)), float64(l.Columns), block+l.Rows/block
	row := 33*k + m*m*u*radius + math.Sqrt2*(2+s*s*u)
	if l.Outcomes > 1 {
		row += radius / 2
	}
	return 2 * u * (l.Rows*row + 4*l.Ridge*radius + 4*l.Linear)
}

// Step bounds what rounding of θ amounts to in a step of [Problem.Descend], as an error of
// the gradient.
func (l Limits) Step() float64 { return l.Smooth() * l.Radius() * 4 * u }
