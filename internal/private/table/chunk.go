package table

import (
	"encoding/hex"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// chunk reads a column of a row group, forwards.
type chunk struct {
	kind     cellKind
	optional bool
	pages    parquet.Pages
	page     parquet.Page
	// levels say which rows of the page have a value, if it is optional.
	levels []byte
	// row and rows are what comes next in the page and its end; value is the next value.
	row, rows, value int
	// indexes into a dictionary, or the values themselves.
	indexes []int32
	cells   cells
	dict    parquet.Dictionary
	// coded are the dictionary's entries as each role has them.
	coded []*dictionary
}

// dictionary has the entries of a dictionary as one role has them, encoded once.
type dictionary struct {
	vector Vector
	units  []Unit
	why    []Reason
	// refuses: some entry is refused.
	refuses bool
}

// fill puts the next n rows into a sheet, for each of some roles.
func (c *chunk) fill(s *sheet, roles []int, n int) error {
	for done := 0; done < n; {
		if c.row == c.rows {
			if err := c.turn(s, roles); err != nil {
				return err
			}
			continue
		}
		m := min(n-done, c.rows-c.row)
		used := m
		if c.levels != nil {
			used = 0
			for _, l := range c.levels[c.row : c.row+m] {
				used += int(l)
			}
		}
		for i, role := range roles {
			c.put(s, role, i, done, m, used == m)
		}
		c.row, c.value, done = c.row+m, c.value+used, done+m
	}
	return nil
}

// turn reads the next page.
func (c *chunk) turn(s *sheet, roles []int) error {
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
	page, err := c.pages.ReadPage()
	if err != nil {
		return err
	}
	c.page, c.row, c.rows, c.value = page, 0, int(page.NumRows()), 0
	c.levels, c.indexes = nil, nil
	values := c.rows
	if c.optional {
		if c.levels = page.DefinitionLevels(); len(c.levels) != c.rows {
			return io.ErrUnexpectedEOF
		}
		values -= int(page.NumNulls())
	}
	dict, data := page.Dictionary(), page.Data()
	if dict == nil {
		c.cells, err = newCells(c.kind, data)
		if err == nil && c.cells.n < values {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if c.indexes = data.Int32(); len(c.indexes) < values {
		return io.ErrUnexpectedEOF
	}
	if dict != c.dict {
		return c.learn(s, dict, roles)
	}
	return nil
}

// learn encodes the entries of a dictionary.
func (c *chunk) learn(s *sheet, dict parquet.Dictionary, roles []int) error {
	entries, err := newCells(c.kind, dict.Page().Data())
	if err != nil {
		return err
	}
	if entries.n < dict.Len() {
		return io.ErrUnexpectedEOF
	}
	c.dict, c.coded = dict, nil
	for _, role := range roles {
		k := &dictionary{why: make([]Reason, entries.n)}
		if role == s.p.unitColumn() {
			k.units = make([]Unit, entries.n)
			for i := range entries.n {
				k.units[i], k.why[i] = s.p.unitOf(entries.text(i, nil))
				k.refuses = k.refuses || k.why[i] != 0
			}
		} else {
			e := s.p.columns[role].e
			k.vector = NewVector(e.codes, entries.n)
			for i := range entries.n {
				k.why[i] = entries.encode(e, &k.vector, i, i)
				k.refuses = k.refuses || k.why[i] != 0
			}
		}
		c.coded = append(c.coded, k)
	}
	return nil
}

// put writes m rows of the page into a sheet, from a row on, for the i-th role. Full means
// that all of them have a value.
func (c *chunk) put(s *sheet, role, i, row, m int, full bool) {
	switch {
	case !full:
		c.putOptional(s, role, i, row, m)
	case c.indexes != nil:
		c.putIndexes(s, role, c.coded[i], row, c.indexes[c.value:c.value+m])
	case role == s.p.unitColumn():
		var room [36]byte
		for j := range m {
			s.text(row+j, role, c.cells.text(c.value+j, room[:0]))
		}
	default:
		c.putCells(s, role, row, m)
	}
}

func (c *chunk) putIndexes(s *sheet, role int, k *dictionary, row int, indexes []int32) {
	switch {
	case k.units != nil:
		gather(s.batch.Units[row:], k.units, indexes)
	case k.vector.Codes != nil:
		gather(s.batch.Columns[role].Codes[row:], k.vector.Codes, indexes)
	default:
		gather(s.batch.Columns[role].Steps[row:], k.vector.Steps, indexes)
	}
	if !k.refuses {
		return
	}
	for j, x := range indexes {
		if why := k.why[x]; why != 0 {
			s.refuse(row+j, role, why)
		}
	}
}

func gather[T any](into, entries []T, indexes []int32) {
	into = into[:len(indexes)]
	for i, x := range indexes {
		into[i] = entries[x]
	}
}

// putCells writes plain values. Doubles and whole numbers that become steps are most of
// what there is, and are read in a loop of their own.
func (c *chunk) putCells(s *sheet, role, row, m int) {
	e, v := s.p.columns[role].e, &s.batch.Columns[role]
	cells := &c.cells
	slow := func(j int) {
		if why := cells.encode(e, v, c.value+j, row+j); why != 0 {
			s.refuse(row+j, role, why)
		}
	}
	if e.codes || !e.quick {
		for j := range m {
			slow(j)
		}
		return
	}
	into := v.Steps[row : row+m]
	switch {
	case cells.doubles != nil:
		stepAll(e, into, cells.doubles[c.value:c.value+m], slow)
	case cells.longs != nil && cells.plain():
		stepAll(e, into, cells.longs[c.value:c.value+m], slow)
	case cells.ints != nil && cells.plain():
		stepAll(e, into, cells.ints[c.value:c.value+m], slow)
	default:
		for j := range m {
			slow(j)
		}
	}
}

// stepAll encodes numbers, those outside the bounds by the slow way.
func stepAll[T int32 | int64 | float64](e *Encoding, into []int32, from []T, slow func(int)) {
	low, high, s := e.low, e.high, e.s
	into = into[:len(from)]
	for j, v := range from {
		x := float64(v)
		if x >= low && x <= high {
			into[j] = s.Steps(x)
		} else {
			slow(j)
		}
	}
}

// putOptional writes rows of which some have no value.
func (c *chunk) putOptional(s *sheet, role, i, row, m int) {
	value := c.value
	var room [36]byte
	for j := range m {
		switch {
		case c.levels[c.row+j] == 0:
			s.null(row+j, role)
			continue
		case c.indexes != nil:
			c.putIndexes(s, role, c.coded[i], row+j, c.indexes[value:value+1])
		case role == s.p.unitColumn():
			s.text(row+j, role, c.cells.text(value, room[:0]))
		default:
			if why := c.cells.encode(s.p.columns[role].e, &s.batch.Columns[role], value, row+j); why != 0 {
				s.refuse(row+j, role, why)
			}
		}
		value++
	}
}

func (c *chunk) close() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	_ = c.pages.Close() // nothing was written
}

// cells are values of a page or of a dictionary: one of the slices holds them.
type cells struct {
	kind    cellKind
	n       int
	bits    []byte
	ints    []int32
	longs   []int64
	floats  []float32
	doubles []float64
	bytes   []byte
	offsets []uint32
}

func newCells(kind cellKind, data encoding.Values) (cells, error) {
	c := cells{kind: kind}
	switch kind.physical {
	case parquet.Boolean:
		c.bits = data.Boolean()
		c.n = 8 * len(c.bits)
	case parquet.Int32:
		c.ints = data.Int32()
		c.n = len(c.ints)
	case parquet.Int64:
		c.longs = data.Int64()
		c.n = len(c.longs)
	case parquet.Float:
		c.floats = data.Float()
		c.n = len(c.floats)
	case parquet.Double:
		c.doubles = data.Double()
		c.n = len(c.doubles)
	case parquet.ByteArray:
		c.bytes, c.offsets = data.ByteArray()
		c.n = max(len(c.offsets)-1, 0)
	case parquet.FixedLenByteArray:
		size := 0
		if c.bytes, size = data.FixedLenByteArray(); size != 16 {
			return c, errors.New("not a UUID")
		}
		c.n = len(c.bytes) / size
	default:
		return c, errors.New("unknown kind")
	}
	return c, nil
}

// plain reports that whole numbers are just that.
func (c *cells) plain() bool { return !c.kind.unsigned && c.kind.decimals < 0 }

// encode writes value i at a row of a vector.
func (c *cells) encode(e *Encoding, v *Vector, i, row int) Reason {
	switch c.kind.physical {
	case parquet.Boolean:
		return e.Bool(v, row, c.bits[i/8]>>(i%8)&1 == 1)
	case parquet.Int32, parquet.Int64:
		return c.whole(e, v, i, row)
	case parquet.Float:
		return e.Number(v, row, float64(c.floats[i]))
	case parquet.Double:
		return e.Number(v, row, c.doubles[i])
	}
	var room [36]byte
	return e.Text(v, row, c.text(i, room[:0]))
}

// whole encodes a whole number or a decimal.
func (c *cells) whole(e *Encoding, v *Vector, i, row int) Reason {
	x := c.long(i)
	switch {
	case c.kind.days:
		return e.Day(v, row, x)
	case c.kind.decimals >= 0 && x > -1<<53 && x < 1<<53:
		// Both are exact, so that the quotient is the nearest number.
		return e.Number(v, row, float64(x)/powersOfTen[c.kind.decimals])
	case c.kind.decimals >= 0:
		text := strconv.FormatInt(x, 10) + "e-" + strconv.Itoa(c.kind.decimals)
		y, err := strconv.ParseFloat(text, 64)
		if err != nil {
			y = math.NaN()
		}
		return e.Number(v, row, y)
	case c.kind.unsigned && x < 0:
		if e.numeric {
			return e.Number(v, row, float64(uint64(x)))
		}
		return e.Text(v, row, strconv.AppendUint(nil, uint64(x), 10))
	}
	return e.Int(v, row, x)
}

// long is a whole number; an unsigned one of 64 bits may come out negative.
func (c *cells) long(i int) int64 {
	switch {
	case c.longs != nil:
		return c.longs[i]
	case c.kind.unsigned:
		return int64(uint32(c.ints[i]))
	}
	return int64(c.ints[i])
}

// text is a value as text, possibly in the room that is given.
func (c *cells) text(i int, room []byte) []byte {
	switch c.kind.physical {
	case parquet.Boolean:
		return strconv.AppendBool(room, c.bits[i/8]>>(i%8)&1 == 1)
	case parquet.Int32, parquet.Int64:
		if x := c.long(i); c.kind.unsigned {
			return strconv.AppendUint(room, uint64(x), 10)
		}
		return strconv.AppendInt(room, c.long(i), 10)
	case parquet.Float:
		return strconv.AppendFloat(room, float64(c.floats[i])+0, 'f', -1, 64)
	case parquet.Double:
		return strconv.AppendFloat(room, c.doubles[i]+0, 'f', -1, 64)
	case parquet.FixedLenByteArray:
		h := hex.AppendEncode(room, c.bytes[16*i:16*i+16])
		return []byte(string(h[:8]) + "-" + string(h[8:12]) + "-" + string(h[12:16]) + "-" + string(h[16:20]) + "-" + string(h[20:]))
	}
	return c.bytes[c.offsets[i]:c.offsets[i+1]]
}

// unitOf returns the hash of the name of a unit.
func (p *pass) unitOf(name []byte) (Unit, Reason) {
	if len(name) == 0 {
		return Unit{}, UnitMissing
	}
	return p.unit.of(name), 0
}
