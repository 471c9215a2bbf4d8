package reconstruct

import "slices"

// Inverse estimates the distribution by inverting the channel, axis by axis, and takes the
// nearest distribution to that. See [unbiased] for the errors.
func Inverse(c *Counts) (*Estimate, error) {
	cells, err := unbiased(c)
	if err != nil {
		return nil, err
	}
	project(cells)
	return &Estimate{Columns: c.columns, Domains: c.channel.Domains, Cells: cells, Rows: c.rows, Method: MethodInverse}, nil
}

// unbiased returns the solution of P·π = λ: its expectation is the distribution of the
// rows, its cells add up to 1, and some may be negative. [Errors] returns its standard
// errors.
func unbiased(c *Counts) ([]float64, error) {
	inverses, err := c.channel.inverses()
	if err != nil {
		return nil, err
	}
	if c.rows == 0 {
		return nil, errNoRows
	}
	cells := c.shares()
	apply(cells, inverses)
	return cells, nil
}

// project replaces x by the distribution nearest to it in Euclidean distance.
//
// That is max(0, x−t) for the one t at which it adds up to 1 (Held, Wolfe, Crowder 1974).
// For any set of entries that has all those above t, the level (sum−1)/size is at most t:
// the entries below t lower it. So whatever is not above the level is 0 in the result and
// leaves the set, and once nothing leaves, the level is t (Michelot 1986). A handful of
// passes do; each removes at least one entry, so that it ends.
func project(x []float64) {
	if len(x) == 0 {
		return
	}
	active := slices.Clone(x)
	for {
		level := level(active)
		left := active[:0]
		for _, v := range active {
			if v > level {
				left = append(left, v)
			}
		}
		if len(left) == len(active) || len(left) == 0 {
			break
		}
		active = left
	}
	t, total := level(active), 0.
	for i, v := range x {
		x[i] = max(0, v-t)
		total += x[i]
	}
	if !(total > 0) { // entries so large that 1 is lost in rounding
		largest := slices.Index(x, slices.Max(x))
		clear(x)
		x[largest], total = 1, 1
	}
	for i := range x {
		x[i] /= total
	}
}

func level(x []float64) float64 {
	sum := -1.
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
