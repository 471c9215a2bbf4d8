package decode

import (
	"math"
	"slices"
)

// Scores continue a grid before they meet those of other records: from there on all is
// integers, exact and independent of order.
const (
	// nats is the exponent of the grid of log-probabilities: steps of 2^-20.
	nats = 20
	// mass is the exponent of the grid of probabilities: steps of 2^-30.
	mass = 30
)

// farthest bounds a difference of log-probabilities before anything else is done with
// it: infinities and garbage of one record must not spoil its own other scores.
const farthest = 1e4

// difference of two scores, a finite number whatever they are.
func difference(a, b float64) float64 {
	d := a - b
	switch {
	case math.IsNaN(d):
		return 0
	case d > farthest:
		return farthest
	case d < -farthest:
		return -farthest
	}
	return d
}

// steps rounds a finite number below 2^40 to the grid of 2^-exponent.
func steps(x float64, exponent int) int64 {
	return int64(math.Floor(math.Ldexp(x, exponent) + 0.5))
}

// probabilities turns log-probabilities into whole steps of 2^-mass: none negative, and
// at most one whole together. Rounding is toward zero, and what floating point may
// still have too much is taken from the largest.
//
// So any two results a, b have ‖a−b‖² ≤ ‖a‖²+‖b‖² ≤ 2 (the cross term is not positive
// and each norm is at most the sum of its entries): the ℓ2-sensitivity of exchanging one
// for another is √2, exactly, on the grid.
func probabilities(logProbs []float64, dst []int64) []int64 {
	const whole = 1 << mass
	dst = slices.Grow(dst[:0], len(logProbs))[:len(logProbs)]
	var sum int64
	for i, lp := range logProbs {
		p := math.Exp(lp)
		switch {
		case !(p > 0): // also NaN
			dst[i] = 0
		case p >= 1:
			dst[i] = whole
		default:
			dst[i] = int64(math.Ldexp(p, mass))
		}
		sum += dst[i]
	}
	for sum > whole {
		largest := 0
		for i, v := range dst {
			if v > dst[largest] {
				largest = i
			}
		}
		cut := min(dst[largest], sum-whole)
		dst[largest] -= cut
		sum -= cut
	}
	return dst
}
