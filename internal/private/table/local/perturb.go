package local

import (
	"fmt"
	"math/bits"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Perturber perturbs rows. It holds no state and may be shared.
type Perturber struct {
	columns []response
}

// response is randomised response in one column.
type response struct {
	others uint16 // how many other values there are
	keep   uint64 // in units of 2^-64
}

// New prepares perturbing by the settings.
func New(s Settings) (*Perturber, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	p := &Perturber{columns: make([]response, len(s.Domains))}
	for i, t := range s.Thresholds() {
		p.columns[i] = response{others: uint16(s.Domains[i] - 1), keep: t}
	}
	return p, nil
}

// Error says that a row is not one of the table: there is no content in it.
type Error struct {
	// Column is the number of the column, from 0; -1 if the row has another number of
	// columns. Row is the number of the row in its batch, from 0.
	Column, Row int
}

// Error names the place.
func (e *Error) Error() string {
	if e.Column < 0 {
		return "rows have another number of columns than the settings: perturb all columns of the schema, read as discrete ones"
	}
	return fmt.Sprintf("row %d of its batch has a code outside the domain of column %d: read the table with the schema of the settings", e.Row+1, e.Column+1)
}

// Row perturbs one row in place: afterwards it may be seen. Randomness is the stream's,
// which must not serve another row in the same state.
func (p *Perturber) Row(codes []uint16, s *noise.Stream) error {
	if len(codes) != len(p.columns) {
		return &Error{Column: -1}
	}
	for i, c := range codes {
		if c > p.columns[i].others {
			return &Error{Column: i}
		}
	}
	for i := range codes {
		codes[i] = p.columns[i].perturb(codes[i], s)
	}
	return nil
}

// purpose names the streams of batches.
const purpose = "table/local"

// Batch perturbs the rows of a batch, all columns of the schema in its order, into out,
// whose memory is used again. The randomness belongs to the key and the number of the
// batch: the same batch comes out the same, on any thread. A key must not serve two
// tables, nor two versions of one.
func (p *Perturber) Batch(b *table.Batch, key noise.Key, out *reconstruct.Rows) error {
	if len(b.Columns) != len(p.columns) {
		return &Error{Column: -1}
	}
	for i := range b.Columns {
		if len(b.Columns[i].Codes) != b.Rows {
			return &Error{Column: -1}
		}
		for row, c := range b.Columns[i].Codes {
			if c > p.columns[i].others {
				return &Error{Column: i, Row: row}
			}
		}
	}
	out.Reset(len(p.columns), b.Rows)
	s := key.Stream(purpose, uint64(b.Index))
	for i := range b.Columns {
		r := p.columns[i]
		to := out.Columns[i]
		for row, c := range b.Columns[i].Codes {
			to[row] = r.perturb(c, s)
		}
	}
	return nil
}

// perturb keeps a code with chance keep/2^64, and otherwise takes each of the others with
// the same chance: [noise.Stream.Uint64n] is exactly uniform. The other value is drawn
// whether it is needed or not and there is no branch on the outcome, which is quicker than
// to guess it, and the time does not reveal it.
func (r response) perturb(code uint16, s *noise.Stream) uint16 {
	if r.others == 0 {
		return code
	}
	_, kept := bits.Sub64(s.Uint64(), r.keep, 0)
	if r.others == 1 {
		return code ^ uint16(1-kept)
	}
	other := s.Uint64n(uint64(r.others))
	_, below := bits.Sub64(other, uint64(code), 0)
	other += 1 - below
	return code ^ (code^uint16(other))&uint16(kept-1)
}
