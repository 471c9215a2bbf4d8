package stat

import "fmt"

// PairedScores has the scores of two methods, A[seed][item] and B[seed][item], for the same
// seeds and the same items of one data set.
type PairedScores struct{ A, B [][]float64 }

// Comparison of two methods.
type Comparison struct {
	// Difference of the means, A less B, with its interval over seeds and items.
	Difference float64  `json:"difference"`
	Interval   Interval `json:"interval"`
	// P is the probability of a difference at least as large in either direction if the
	// methods were equal, by changing signs of differences of whole Units: "seeds", or
	// "items" where every data set has one seed.
	P     float64 `json:"p"`
	Units string  `json:"units"`
	// N is the number of units.
	N int `json:"n"`
}

// Compare compares two methods on one data set, or on several that count equally.
//
// The interval is computed by [Crossed] for the differences, data sets being resampled
// independently. The P-value is computed by [SignFlip] for the differences of seeds' means: if
// the methods are alike, a seed's difference is as likely to have the other sign. That asks
// whether the difference would be seen with other demonstrations and the same items; with n
// seeds in all it cannot be below 2/2ⁿ. With one seed there is only the question for other
// items and the same demonstrations.
func Compare(options Options, sets ...PairedScores) (Comparison, error) {
	o, err := options.check()
	if err != nil {
		return Comparison{}, err
	}
	if len(sets) == 0 {
		return Comparison{}, errNoValues
	}
	tables := make([]table, len(sets))
	c := Comparison{Units: "items"}
	for i, set := range sets {
		differences, err := set.differences()
		if err == nil {
			tables[i], err = newTable(differences)
		}
		if err != nil {
			return Comparison{}, fmt.Errorf("data set %d: %w", i, err)
		}
		c.Difference += tables[i].mean / float64(len(sets))
		if len(set.A) > 1 {
			c.Units = "seeds"
		}
	}
	c.Interval = interval(o, tables)
	units := units(tables, c.Units)
	c.N = len(units)
	c.P, err = SignFlip(units, o)
	return c, err
}

// units returns the shares of seeds or items in the difference.
func units(tables []table, of string) []float64 {
	var list []float64
	for i := range tables {
		t := &tables[i]
		from := t.seeds
		if of == "items" {
			from = t.items
		}
		for _, v := range from {
			list = append(list, (v+t.mean)/float64(len(tables)*len(from)))
		}
	}
	return list
}

func (p PairedScores) differences() ([][]float64, error) {
	if len(p.A) != len(p.B) {
		return nil, fmt.Errorf("one method has %d seeds and the other %d: compare the same seeds", len(p.A), len(p.B))
	}
	out := make([][]float64, len(p.A))
	for i, a := range p.A {
		b := p.B[i]
		if len(a) != len(b) {
			return nil, fmt.Errorf("seed %d: one method has %d items and the other %d: compare the same items", i, len(a), len(b))
		}
		out[i] = make([]float64, len(a))
		for j := range a {
			out[i][j] = a[j] - b[j]
		}
	}
	return out, nil
}

// exactSigns is up to how many differences all changes of signs are tried.
const exactSigns = 20

// SignFlip returns the two-sided P-value of the sum of differences among all changes of
// their signs: the permutation test for pairs, which needs no more than that each
// difference is as likely to have the other sign where there is no effect. Up to 20
// differences that are not zero it is exact; beyond, signs are drawn options.Resamples
// times, and one is added to both counts, so that the test keeps its level.
func SignFlip(differences []float64, options Options) (float64, error) {
	o, err := options.check()
	if err != nil {
		return 0, err
	}
	if len(differences) == 0 {
		return 0, errNoValues
	}
	if err := finite(differences); err != nil {
		return 0, err
	}
	var d []float64
	sum, size := 0.0, 0.0
	for _, v := range differences {
		if v != 0 {
			d = append(d, v)
			sum += v
			size += max(v, -v)
		}
	}
	// Sums that are equal up to rounding count as equal.
	threshold := max(sum, -sum) - 1e-12*size
	if len(d) <= exactSigns {
		return float64(reach(d, 0, threshold)) / float64(int(1)<<len(d)), nil
	}
	random := o.stream(forSigns)
	hits := 1
	for range o.Resamples {
		var bits uint64
		total := 0.0
		for i, v := range d {
			if i%64 == 0 {
				bits = random.Uint64()
			}
			if bits&1 == 0 {
				total += v
			} else {
				total -= v
			}
			bits >>= 1
		}
		if max(total, -total) >= threshold {
			hits++
		}
	}
	return float64(hits) / float64(o.Resamples+1), nil
}

// reach counts the choices of signs for d with which a sum gets to threshold or beyond, on
// either side.
func reach(d []float64, sum, threshold float64) int {
	if len(d) == 0 {
		if max(sum, -sum) >= threshold {
			return 1
		}
		return 0
	}
	return reach(d[1:], sum+d[0], threshold) + reach(d[1:], sum-d[0], threshold)
}
