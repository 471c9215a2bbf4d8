package reconstruct

import "math"

// ShareError returns the standard error of the unbiased share of a value in one column,
// before any row is seen: for a value that a share of the population has, from so many
// rows. It is [Errors] with λ = q + (p−q)·share.
func (c Channel) ShareError(column int, share float64, rows int64) float64 {
	a := c.axis(column)
	inverse := a.inverse()
	square := inverse.squares()
	seen := a.other + (a.keep-a.other)*share
	variance := (square.keep-square.other)*seen + square.other - share*share
	return math.Sqrt(max(0, variance) / float64(rows))
}

// WorstError is ShareError of the share for which it is largest. The variance is a
// parabola in the share, with its top at (1−2q)/(2(p−q)).
func (c Channel) WorstError(column int, rows int64) float64 {
	a := c.axis(column)
	if a.values == 1 {
		return 0
	}
	return c.ShareError(column, min(1, (1-2*a.other)/(2*(a.keep-a.other))), rows)
}

// CellError bounds the root mean square, over all combinations of values, of the standard
// errors of their unbiased shares.
//
// The variances add up to (Πg − Σπ²)/n, where g is the sum of the squares in a column of
// an inverse axis: all columns have the same, so it does not matter where rows are. And
// Σπ² is at least one over the number of cells.
func (c Channel) CellError(rows int64) float64 {
	gain, cells := 0., 0.
	for i, d := range c.Domains {
		gain += math.Log(c.axis(i).gain())
		cells += math.Log(float64(d))
	}
	// √(e^gain·(1 − e^(−gain−cells))/(n·e^cells))
	return math.Exp((gain-cells)/2) * math.Sqrt(-math.Expm1(-gain-cells)/float64(rows))
}

// gain returns how much an axis multiplies the sum of variances.
func (a axis) gain() float64 {
	s := a.inverse().squares()
	return s.keep + float64(a.values-1)*s.other
}
