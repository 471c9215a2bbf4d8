package joint

import (
	"errors"
	"fmt"
	"sort"

	"sotto/privacy/noise"
	"sotto/schema"
)

// Sampler draws rows from an estimate. It holds no state and may be shared.
type Sampler struct {
	estimate *Estimate
	cells    []uint32
	sums     []float64 // of the cells up to each
}

// Sampler prepares drawing.
func (e *Estimate) Sampler() (*Sampler, error) {
	s := &Sampler{estimate: e}
	sum := 0.
	for i, v := range e.Cells {
		if v > 0 {
			sum += v
			s.cells, s.sums = append(s.cells, uint32(i)), append(s.sums, sum)
		}
	}
	if len(s.cells) == 0 {
		return nil, errors.New("the estimate has no cell above 0: reconstruct it again")
	}
	return s, nil
}

// Cell draws a cell.
func (s *Sampler) Cell(stream *noise.Stream) int {
	u := float64(stream.Uint64()>>11) * 0x1p-53 * s.sums[len(s.sums)-1]
	i := sort.Search(len(s.sums)-1, func(i int) bool { return s.sums[i] > u })
	return int(s.cells[i])
}

// Rows draws rows for a table of so many columns, of which the estimate must have all.
func (s *Sampler) Rows(count, columns int, stream *noise.Stream) ([]schema.Row, error) {
	if err := s.estimate.covers(columns); err != nil {
		return nil, err
	}
	out := make([]schema.Row, count)
	var codes []uint16
	for i := range out {
		codes = s.estimate.Codes(s.Cell(stream), codes[:0])
		out[i] = make(schema.Row, columns)
		for place, column := range s.estimate.Columns {
			out[i][column] = schema.Value{Code: int(codes[place]), Discrete: true}
		}
	}
	return out, nil
}

func (e *Estimate) covers(columns int) error {
	has := make([]bool, columns)
	for _, c := range e.Columns {
		if c < 0 || c >= columns {
			return fmt.Errorf("the estimate has column number %d, and the table %d columns: use the schema of the estimate", c+1, columns)
		}
		has[c] = true
	}
	for c, ok := range has {
		if !ok {
			return fmt.Errorf("the estimate does not have column number %d: rows need all of them; estimate groups that cover the table", c+1)
		}
	}
	return nil
}
