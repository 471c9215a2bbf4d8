package reconstruct

import "math"

// Errors returns the standard errors of [unbiased], cell by cell, if rows are drawn
// independently from a large population whose distribution is sought.
//
// The shares λ of n rows have the covariance (diag(λ) − λλᵀ)/n, so that the variance of π =
// P⁻¹λ in a cell is ((P⁻¹∘P⁻¹)λ − π²)/n, with ∘ the product of entries. P⁻¹∘P⁻¹ is a
// Kronecker product of axes again (axis.squares), and λ and π are put in as observed. About
// the rows themselves, rather than the population, the error is smaller: the variance has π
// in place of π².
//
// [Inverse] is nearer to the distribution than that, over all cells together: the way to
// the nearest point of a convex set does not lead away from any point in it. For [IBU]
// these are errors of the unbiased estimate, which the likeliest one equals where that has
// no negative cell.
//
// Errors of a marginal equal those of its counts, see [Counts.Marginal]: the inverse of a
// channel keeps sums over a column, and so commutes with leaving it out.
func Errors(c *Counts) ([]float64, error) {
	cells, err := unbiased(c)
	if err != nil {
		return nil, err
	}
	inverses, err := c.channel.inverses()
	if err != nil {
		return nil, err
	}
	for i, a := range inverses {
		inverses[i] = a.squares()
	}
	out := c.shares()
	apply(out, inverses)
	for i, v := range out {
		out[i] = math.Sqrt(max(0, v-cells[i]*cells[i]) / float64(c.rows))
	}
	return out, nil
}
