package rowsketch

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

const (
	// maxColumns is how many columns have lists of their own. Long values of the others
	// are in one list, and rows without one of the others are in none.
	maxColumns = 64
	// looseSize is the size of lists of rows in some of their columns.
	looseSize = sketch.Size / 2
	// maxTwins is the share of repeated rows above which rows without a column, or in the
	// columns of a schema, do not distinguish data sets.
	maxTwins = 0.1
	// selective is the least share of distinct long values in a column that is used to know
	// a data set again.
	selective = 0.5
)

// Rows takes rows and makes their sketch. It is not for concurrent use: give each goroutine
// one, and merge them.
type Rows struct {
	mac     *mac
	id      string
	wanted  map[string]bool // columns of a schema
	columns map[string]*Column
	more    *Column // all columns after the first ones

	rows, read *sketch.Builder
	sum        uint64
	// differs: some row has more columns than those of the schema.
	differs bool
	count   int64
	limit   int64

	cells       []cell // of the present row
	total, part uint64
	anyWanted   bool
	room        []byte
}

// Column is a column of the rows.
type Column struct {
	factor, offset uint64
	wanted         bool
	own            bool // it has lists of its own
	less, values   *sketch.Builder
	longs          int64 // how many values are in the latter
}

type cell struct {
	column *Column
	hash   uint64
}

// New returns Rows for the key of a private folder. Columns are from a schema, if
// there is one.
func New(key keys.Key, columns ...string) *Rows {
	r := &Rows{
		mac: newMAC(key), id: key.ID(),
		wanted: map[string]bool{}, columns: map[string]*Column{},
		rows: sketch.NewBuilder(sketch.Size), read: sketch.NewBuilder(looseSize),
	}
	r.more = &Column{values: sketch.NewBuilder(sketch.Size)}
	for _, c := range columns {
		r.wanted[columnName(c)] = true
	}
	return r
}

func columnName(name string) string {
	return strings.ToLower(string(text(nil, bytes.TrimSpace([]byte(name)))))
}

// Column returns a column by its name.
func (r *Rows) Column(name string) *Column {
	c, ok := r.columns[name]
	if ok {
		return c
	}
	plain := columnName(name)
	x := r.mac.of([]byte(plain))
	c = &Column{
		factor: r.mac.spread(x, tagFactor) | 1, offset: r.mac.spread(x, tagOffset),
		wanted: r.wanted[plain],
	}
	if len(r.columns) >= maxColumns {
		return c
	}
	// Two spellings of a name are one column.
	if same, ok := r.columns[plain]; ok {
		c = same
	} else {
		c.own = true
		c.less, c.values = sketch.NewBuilder(looseSize), sketch.NewBuilder(sketch.Size)
		r.columns[plain] = c
	}
	r.columns[name] = c
	return c
}

// Columns returns columns by their names.
func (r *Rows) Columns(names []string) []*Column {
	var out []*Column
	for _, n := range names {
		out = append(out, r.Column(n))
	}
	return out
}

// Add takes a value of the present row. It keeps nothing of it.
func (r *Rows) Add(c *Column, value []byte) {
	v := canonical(r.room[:0], value)
	if len(v) == 0 {
		return
	}
	r.room = v
	x := r.mac.of(v)
	hash := x*c.factor + c.offset
	r.total += hash
	r.cells = append(r.cells, cell{c, hash})
	if c.wanted {
		r.part += hash
		r.anyWanted = true
	}
	if !isLong(v) {
		return
	}
	if !c.own {
		c = r.more
	}
	c.longs++
	c.values.Add(r.mac.spread(x, tagValue))
}

// Next ends the present row. A row without any value is none.
func (r *Rows) Next() {
	if len(r.cells) > 0 {
		r.count++
		hash := r.mac.spread(r.total, tagRow)
		r.sum += hash
		r.rows.Add(hash)
		if r.anyWanted {
			r.differs = r.differs || r.part != r.total
			r.read.Add(r.mac.spread(r.part, tagRow))
		}
		r.others()
	}
	r.Drop()
}

// others notes the row without each of its cells.
func (r *Rows) others() {
	if len(r.cells) < 2 {
		return
	}
	for _, c := range r.cells {
		if c.column.own {
			c.column.less.Add(r.mac.spread(r.total-c.hash, tagRow))
		}
	}
}

// Drop forgets the present row.
func (r *Rows) Drop() { r.cells, r.total, r.part, r.anyWanted = r.cells[:0], 0, 0, false }

// Count is how many rows there were.
func (r *Rows) Count() int64 { return r.count }

// Stop notes that only so many rows were read.
func (r *Rows) Stop() { r.limit = r.count }

// Merge takes what other Rows of the same key have taken.
func (r *Rows) Merge(o *Rows) {
	r.rows.Merge(o.rows)
	r.read.Merge(o.read)
	r.sum += o.sum
	r.count += o.count
	r.limit += o.limit
	r.differs = r.differs || o.differs
	r.more.take(o.more)
	for name, theirs := range o.columns {
		if name != columnName(name) {
			continue // another spelling of one that is there
		}
		if ours := r.Column(name); ours.own {
			ours.take(theirs)
		} else {
			r.more.take(theirs)
		}
	}
}

func (c *Column) take(o *Column) {
	c.longs += o.longs
	c.values.Merge(o.values)
	if c.less != nil && o.less != nil {
		c.less.Merge(o.less)
	}
}

// Sketch returns the sketch of all rows.
func (r *Rows) Sketch() sketch.Sketch {
	s := sketch.New(r.id)
	s.Limit, s.Rows = r.limit, r.rows.List()
	s.Whole = fmt.Sprintf("%016x", r.mac.spread(r.sum, tagWhole))
	if r.differs && r.read.Duplicates() <= maxTwins {
		s.ReadColumns = r.read.List()
	}
	less, values := sketch.NewBuilder(looseSize), sketch.NewBuilder(sketch.Size)
	all := map[*Column]bool{r.more: true}
	for _, c := range r.columns {
		all[c] = true
	}
	for c := range all {
		if c.less != nil && c.less.Duplicates() <= maxTwins {
			less.Merge(c.less)
		}
		if c.values.Distinct() >= selective*float64(c.longs) {
			values.Merge(c.values)
		}
	}
	if l := less.List(); len(l.Hashes) > 0 {
		s.LeaveOneOut = l
	}
	if l := values.List(); len(l.Hashes) > 0 {
		s.Values = l
	}
	return s
}
