package reconstruct

import "fmt"

// Rows are rows that may be seen: perturbed, or drawn from an estimate. They are codes,
// column by column.
type Rows struct {
	Count   int
	Columns [][]uint16
}

// Reset makes room for so many rows, and keeps the memory. What is in them is undefined.
func (r *Rows) Reset(columns, count int) {
	if cap(r.Columns) < columns {
		r.Columns = make([][]uint16, columns)
	}
	r.Columns, r.Count = r.Columns[:columns], count
	for i := range r.Columns {
		if cap(r.Columns[i]) < count {
			r.Columns[i] = make([]uint16, count)
		}
		r.Columns[i] = r.Columns[i][:count]
	}
}

// Counts holds the number of perturbed rows with each combination of values of some
// columns.
type Counts struct {
	channel Channel // of those columns
	columns []int
	stride  []int
	cells   []int64
	rows    int64
	index   []uint32 // of the rows of a batch
}

// NewCounts counts combinations of values of the given columns of a channel; all of them
// if there are none given.
func NewCounts(c Channel, columns ...int) (*Counts, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if len(columns) == 0 {
		for i := range c.Domains {
			columns = append(columns, i)
		}
	}
	seen := map[int]bool{}
	for _, i := range columns {
		if i < 0 || i >= len(c.Domains) || seen[i] {
			return nil, fmt.Errorf("column number %d: name each of the %d columns at most once", i+1, len(c.Domains))
		}
		seen[i] = true
	}
	only := c.subset(columns)
	if err := only.tooMany(); err != nil {
		return nil, err
	}
	return &Counts{channel: only, columns: columns, stride: strides(only.Domains), cells: make([]int64, only.Cells())}, nil
}

// strides of cells, the last column next to each other.
func strides(domains []int) []int {
	out := make([]int, len(domains))
	step := 1
	for i := len(domains) - 1; i >= 0; i-- {
		out[i] = step
		step *= domains[i]
	}
	return out
}

// Add counts rows, which have all columns of the channel that Counts were made for.
func (c *Counts) Add(r *Rows) error {
	if cap(c.index) < r.Count {
		c.index = make([]uint32, r.Count)
	}
	index := c.index[:r.Count]
	clear(index)
	for i, column := range c.columns {
		if column >= len(r.Columns) || len(r.Columns[column]) < r.Count {
			return fmt.Errorf("rows have %d columns, and column %d is counted: count the rows of the channel", len(r.Columns), column+1)
		}
		domain, stride := c.channel.Domains[i], uint32(c.stride[i])
		for row, code := range r.Columns[column][:r.Count] {
			if int(code) >= domain {
				return fmt.Errorf("%s has code %d, outside its %d values: the rows are not those of this channel", c.channel.name(i), code, domain)
			}
			index[row] += uint32(code) * stride
		}
	}
	for _, cell := range index {
		c.cells[cell]++
	}
	c.rows += int64(r.Count)
	return nil
}

// Rows returns the number of rows that were counted.
func (c *Counts) Rows() int64 { return c.rows }

// Channel returns the channel of the counted columns.
func (c *Counts) Channel() Channel { return c.channel }

// shares returns the counts over their sum.
func (c *Counts) shares() []float64 {
	out := make([]float64, len(c.cells))
	for i, n := range c.cells {
		out[i] = float64(n) / float64(c.rows)
	}
	return out
}
