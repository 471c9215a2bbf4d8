package global

import (
	"github.com/sotto-dp/sotto/internal/private/table"
)

// unitRows keeps at most so many rows of each unit, those with the lowest priorities. It
// holds what it keeps, about 60 bytes a row and 4 more for each column, so that one scan
// is enough: the rows of a database may come in another order the second time.
type unitRows struct {
	m      *Mechanism
	max    int
	heads  map[table.Unit]int32
	rows   []unitRow
	values []int32 // of the columns that are read, row by row
}

type unitRow struct {
	priority uint64
	ordinal  int64
	next     int32 // of the same unit, or -1
}

func newUnitRows(m *Mechanism) *unitRows {
	return &unitRows{m: m, max: m.settings.rows(), heads: map[table.Unit]int32{}}
}

// add offers the rows of a batch.
func (k *unitRows) add(p *Picker, b *table.Batch) error {
	if !k.m.fits(b) || len(b.Units) != b.Rows {
		return errBatch
	}
	row := make([]int32, len(b.Columns))
	for i, unit := range b.Units {
		if !p.Unit(unit) {
			continue
		}
		for c, v := range b.Columns {
			row[c] = v.At(i)
		}
		ordinal := b.First + int64(i)
		if err := k.offer(unit, unitRow{priority: p.Priority(unit, ordinal), ordinal: ordinal}, row); err != nil {
			return err
		}
	}
	return nil
}

// before orders the rows of a unit.
func (r unitRow) before(o unitRow) bool {
	return r.priority < o.priority || r.priority == o.priority && r.ordinal < o.ordinal
}

// offer keeps a row if it is among the first of its unit, in the place of the last.
func (k *unitRows) offer(unit table.Unit, r unitRow, values []int32) error {
	head, known := k.heads[unit]
	if !known {
		head = -1
	}
	n, last := 0, int32(-1)
	for at := head; at >= 0; at = k.rows[at].next {
		n++
		if last < 0 || k.rows[last].before(k.rows[at]) {
			last = at
		}
	}
	if n < k.max {
		if len(k.rows) >= table.MaxRows-1 {
			return errRows
		}
		r.next = head
		k.heads[unit] = int32(len(k.rows))
		k.rows = append(k.rows, r)
		k.values = append(k.values, values...)
		return nil
	}
	if r.before(k.rows[last]) {
		r.next = k.rows[last].next
		k.rows[last] = r
		copy(k.values[int(last)*len(values):], values)
	}
	return nil
}

// merge offers all that another one keeps.
func (k *unitRows) merge(o *unitRows) error {
	width := len(k.m.columns)
	for unit, head := range o.heads {
		for at := head; at >= 0; at = o.rows[at].next {
			if err := k.offer(unit, o.rows[at], o.values[int(at)*width:int(at+1)*width]); err != nil {
				return err
			}
		}
	}
	return nil
}

// sums adds up what is kept.
func (k *unitRows) sums(s *Sums) error {
	const batchRows = 8192
	width := len(k.m.columns)
	b := table.Batch{Columns: make([]table.Vector, width)}
	for from := 0; from < len(k.rows); from += batchRows {
		b.Rows = min(batchRows, len(k.rows)-from)
		for c, i := range k.m.columns {
			b.Columns[c] = table.NewVector(!k.m.numeric(i), b.Rows)
			for r := range b.Rows {
				b.Columns[c].Set(r, k.values[(from+r)*width+c])
			}
		}
		if err := s.Add(&b); err != nil {
			return err
		}
	}
	return nil
}
