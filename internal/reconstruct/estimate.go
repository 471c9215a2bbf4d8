package reconstruct

import (
	"errors"
	"fmt"
	"slices"
)

// Methods of estimating, as they appear in files and on the command line.
const (
	MethodIBU     = "ibu"
	MethodInverse = "inverse"
)

// Estimate is a distribution of rows over some columns.
type Estimate struct {
	// Columns are the estimated columns of the channel, and Domains their numbers of
	// values.
	Columns []int `json:"columns"`
	Domains []int `json:"domains"`
	// Cells are the probabilities of the combinations of values, the last column next to
	// each other: none is negative, and they add up to 1.
	Cells Cells `json:"cells"`
	// Rows is the number of perturbed rows that it was made from.
	Rows int64 `json:"rows"`
	// Method names the estimator; Iterations counts its improvements.
	Method     string `json:"method"`
	Iterations int    `json:"iterations,omitempty"`
	// Likelihood is the mean over rows of the logarithm of the probability of the
	// perturbed row. Gap bounds how much larger it could be under any distribution.
	Likelihood float64 `json:"likelihood,omitempty"`
	Gap        float64 `json:"gap,omitempty"`
}

// errNoRows: an estimate from nothing would look like knowledge.
var errNoRows = errors.New("there is no perturbed row to learn from: give at least one")

// Codes appends the values of a cell to dst.
func (e *Estimate) Codes(cell int, dst []uint16) []uint16 {
	at := len(dst)
	dst = slices.Grow(dst, len(e.Domains))[:at+len(e.Domains)]
	for i := len(e.Domains) - 1; i >= 0; i-- {
		dst[at+i] = uint16(cell % e.Domains[i])
		cell /= e.Domains[i]
	}
	return dst
}

// Cell returns the number of the cell with these values, one for each of Columns.
func (e *Estimate) Cell(codes []uint16) int {
	cell := 0
	for i, d := range e.Domains {
		cell = cell*d + int(codes[i])
	}
	return cell
}

// Marginal returns the distribution of some of the estimate's columns, named as in Columns.
func (e *Estimate) Marginal(columns ...int) (*Estimate, error) {
	out := &Estimate{Columns: columns, Rows: e.Rows, Method: e.Method, Iterations: e.Iterations, Likelihood: e.Likelihood, Gap: e.Gap}
	places, err := placesOf(columns, e.Columns, "the estimate has")
	if err != nil {
		return nil, err
	}
	for _, place := range places {
		out.Domains = append(out.Domains, e.Domains[place])
	}
	out.Cells = collapse(e.Cells, e.Domains, places)
	return out, nil
}

// placesOf returns the places of columns among those that there are.
func placesOf(columns, among []int, has string) ([]int, error) {
	places := make([]int, len(columns))
	for i, column := range columns {
		places[i] = slices.Index(among, column)
		if places[i] < 0 || slices.Contains(columns[:i], column) {
			return nil, fmt.Errorf("column number %d: %s columns %v, and each can be named once", column, has, among)
		}
	}
	return places, nil
}

// collapse adds up cells over all columns except those at the given places, in their order.
func collapse[T int64 | float64](cells []T, domains []int, places []int) []T {
	size := 1
	step := make([]int, len(domains))
	for i := len(places) - 1; i >= 0; i-- {
		step[places[i]] = size
		size *= domains[places[i]]
	}
	out := make([]T, size)
	digits := make([]int, len(domains))
	to := 0
	for _, v := range cells {
		out[to] += v
		for i := len(domains) - 1; i >= 0; i-- {
			if digits[i]++; digits[i] < domains[i] {
				to += step[i]
				break
			}
			to -= step[i] * (domains[i] - 1)
			digits[i] = 0
		}
	}
	return out
}

// Marginal returns the counts of some of the columns, named as in [Counts.Columns].
func (c *Counts) Marginal(columns ...int) (*Counts, error) {
	places, err := placesOf(columns, c.columns, "the counts have")
	if err != nil {
		return nil, err
	}
	only := c.channel.subset(places)
	return &Counts{channel: only, columns: columns, stride: strides(only.Domains), cells: collapse(c.cells, c.channel.Domains, places), rows: c.rows}, nil
}
