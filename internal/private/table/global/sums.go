package global

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/table"
)

// Sums are exact sums over private rows, not yet released. They can be added to and
// merged, in any order and on any number of threads that each have their own; the result
// is the same. They do not print.
type Sums struct {
	seal.Redaction
	m     *Mechanism
	cells []int64
	rows  int64
	spent bool

	base    []int32 // of the rows at hand: where their group's cells begin
	gathers []table.Vector
}

// NewSums starts with no rows.
func (m *Mechanism) NewSums() *Sums {
	return &Sums{m: m, cells: make([]int64, m.layout.Groups()*m.cells)}
}

// Errors that do not depend on rows, except for the number of them.
var (
	errSpent  = errors.New("these sums were released: every release needs sums of its own")
	errRows   = fmt.Errorf("more than %d rows: profile parts of the table, or a sample of it", int64(table.MaxRows))
	errBatch  = errors.New("a batch does not fit the layout of the profile: scan the columns that it asks for, numeric ones as steps")
	errMerge  = errors.New("sums of different settings cannot be merged")
	errExport = errors.New("not exported sums of these settings")
)

// Add takes a batch of rows into account: all of them. Sampling and the bounding of units
// come before it (see [Picker] and [Mechanism.Collect]).
func (s *Sums) Add(b *table.Batch) error {
	if s.spent {
		return errSpent
	}
	if s.rows+int64(b.Rows) > table.MaxRows {
		return errRows
	}
	if !s.m.fits(b) {
		return errBatch
	}
	s.rows += int64(b.Rows)
	if cap(s.base) < b.Rows {
		s.base = make([]int32, b.Rows)
	}
	s.base = s.base[:b.Rows]
	clear(s.base)
	for i := range s.m.groups {
		if !s.m.groups[i].add(s.base, b.Columns[s.m.at[s.m.groups[i].Column]], s.m.strides[i]) {
			return errBatch
		}
	}
	for _, base := range s.base {
		s.cells[base]++
	}
	for _, a := range s.m.adders {
		if !a(s.cells, s.base, b.Columns) {
			return errBatch
		}
	}
	return nil
}

// AddRows is Add of some of the rows, by their places in the batch.
func (s *Sums) AddRows(b *table.Batch, rows []int) error {
	if len(rows) == b.Rows {
		return s.Add(b)
	}
	if !s.m.fits(b) {
		return errBatch
	}
	if s.gathers == nil {
		s.gathers = make([]table.Vector, len(b.Columns))
	}
	for i, v := range b.Columns {
		to := &s.gathers[i]
		if v.Codes != nil {
			to.Codes = gather(to.Codes[:0], v.Codes, rows)
		} else {
			to.Steps = gather(to.Steps[:0], v.Steps, rows)
		}
	}
	return s.Add(&table.Batch{Index: b.Index, Rows: len(rows), First: b.First, Columns: s.gathers})
}

func gather[T any](to, from []T, at []int) []T {
	to = slices.Grow(to, len(at)+1) // never nil: an empty column is still one of its kind
	for _, i := range at {
		to = append(to, from[i])
	}
	return to
}

// Merge adds other sums of the same mechanism, which are empty afterwards.
func (s *Sums) Merge(o *Sums) error {
	if o.m != s.m && (o.m.cells != s.m.cells || o.m.settings.Event().String() != s.m.settings.Event().String()) {
		return errMerge
	}
	if o.spent {
		return errSpent
	}
	err := s.merge(o.cells)
	o.rows = 0
	clear(o.cells)
	return err
}

func (s *Sums) merge(cells []int64) error {
	if s.spent {
		return errSpent
	}
	if len(cells) != len(s.cells) {
		return errMerge
	}
	rows := s.rows
	for g := 0; g < len(cells); g += s.m.cells {
		if cells[g] < 0 || cells[g] > table.MaxRows || rows > table.MaxRows {
			return errRows
		}
		rows += cells[g]
	}
	if rows > table.MaxRows {
		return errRows
	}
	s.rows = rows
	for i, c := range cells {
		s.cells[i] += c
	}
	return nil
}

// Export writes sums out for another process of the same run. They are private: anyone who
// reads them sees exact sums.
func (s *Sums) Export() []byte {
	out := make([]byte, 0, 8*len(s.cells))
	for _, c := range s.cells {
		out = binary.LittleEndian.AppendUint64(out, uint64(c))
	}
	return out
}

// Import reads what Export wrote, in a process with the same settings.
func (m *Mechanism) Import(data []byte) (*Sums, error) {
	s := m.NewSums()
	if len(data) != 8*len(s.cells) {
		return nil, errExport
	}
	cells := make([]int64, len(s.cells))
	for i := range cells {
		cells[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return s, s.merge(cells)
}
