package reconstruct

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
)

// Cells are the probabilities of an estimate. In files they are base64 of float64, least
// byte first: exact, and half the length of decimals.
type Cells []float64

// MarshalText implements [encoding.TextMarshaler].
func (c Cells) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, 8*len(c))
	for _, v := range c {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *Cells) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(raw)%8 != 0 || len(raw)/8 > maxCells {
		return fmt.Errorf("cells of an estimate are not base64 of at most %d numbers: reconstruct it again", maxCells)
	}
	out := make(Cells, len(raw)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	*c = out
	return nil
}

// Check reports what is wrong with an estimate that was read from a file.
func (e *Estimate) Check() error {
	cells := int64(1)
	for _, d := range e.Domains {
		if d < 1 || d > 1<<16 {
			return fmt.Errorf("an estimate has a column of %d values: it must be from 1 to %d; reconstruct it again", d, 1<<16)
		}
		if cells *= int64(d); cells > maxCells {
			return fmt.Errorf("an estimate has more than %d cells: reconstruct it again", maxCells)
		}
	}
	if len(e.Columns) == 0 || len(e.Columns) != len(e.Domains) || cells != int64(len(e.Cells)) {
		return fmt.Errorf("an estimate of %d columns has %d numbers of values and %d cells, which do not fit: reconstruct it again", len(e.Columns), len(e.Domains), len(e.Cells))
	}
	sum := 0.
	for _, v := range e.Cells {
		if !(v >= 0) {
			return fmt.Errorf("an estimate has a cell that is not a probability: reconstruct it again")
		}
		sum += v
	}
	if !(math.Abs(sum-1) < 1e-6) {
		return fmt.Errorf("an estimate does not add up to 1: reconstruct it again")
	}
	return nil
}
