package table

import (
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// chunk reads a column of a row group, forwards.
type chunk struct {
	kind     cellKind
	optional bool
	pages    parquet.Pages
	page     parquet.Page
	// row and rows are what comes next in the page and its end.
	row, rows int
	// values of a page without a dictionary (nil with one), and room for some of them.
	values parquet.ValueReader
	room   []parquet.Value
	// indexes into a dictionary, and which of them comes next. Levels tell which rows have
	// one, if the column is optional.
	indexes []int32
	index   int
	levels  []byte
	dict    parquet.Dictionary
	// coded are the dictionary's entries as each role has them.
	coded []*coded
}

// coded is a dictionary, encoded once.
type coded struct {
	vector Vector
	units  []uint64
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
		if c.values == nil {
			c.look(s, roles, done, m)
		} else if err := c.read(s, roles, done, m); err != nil {
			return err
		}
		c.row, done = c.row+m, done+m
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
	c.page, c.row, c.rows = page, 0, int(page.NumRows())
	c.levels, c.values, c.index = nil, nil, 0
	dict := page.Dictionary()
	if dict == nil {
		c.values = page.Values()
		return nil
	}
	values := c.rows
	if c.optional {
		if c.levels = page.DefinitionLevels(); len(c.levels) != c.rows {
			return io.ErrUnexpectedEOF
		}
		values -= int(page.NumNulls())
	}
	data := page.Data()
	if c.indexes = data.Int32(); len(c.indexes) < values {
		return io.ErrUnexpectedEOF
	}
	if dict != c.dict {
		c.learn(s, dict, roles)
	}
	return nil
}

// learn encodes the entries of a dictionary.
func (c *chunk) learn(s *sheet, dict parquet.Dictionary, roles []int) {
	c.dict, c.coded = dict, nil
	for _, role := range roles {
		k := &coded{why: make([]Reason, dict.Len())}
		if role == s.p.unitColumn() {
			k.units = make([]uint64, dict.Len())
		} else {
			k.vector = NewVector(s.p.columns[role].e.codes, dict.Len())
		}
		for i := range k.why {
			v := dict.Index(int32(i))
			if k.units != nil {
				k.units[i], k.why[i] = s.p.unitOf(c.kind.text(v))
			} else {
				k.why[i] = c.kind.encode(s.p.columns[role].e, &k.vector, i, v)
			}
			k.refuses = k.refuses || k.why[i] != 0
		}
		c.coded = append(c.coded, k)
	}
}

// look puts m rows of a page with a dictionary into a sheet, from a row on.
func (c *chunk) look(s *sheet, roles []int, row, m int) {
	used := m
	if c.levels != nil {
		used = 0
		for _, l := range c.levels[c.row : c.row+m] {
			used += int(l)
		}
	}
	for i, role := range roles {
		if used == m {
			c.coded[i].put(s, role, row, c.indexes[c.index:c.index+m])
			continue
		}
		at := c.index
		for j := range m {
			if c.levels[c.row+j] == 0 {
				s.null(row+j, role)
				continue
			}
			c.coded[i].put(s, role, row+j, c.indexes[at:at+1])
			at++
		}
	}
	c.index += used
}

func (k *coded) put(s *sheet, role, row int, indexes []int32) {
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

// read puts m rows of a page without a dictionary into a sheet, from a row on.
func (c *chunk) read(s *sheet, roles []int, row, m int) error {
	if c.room == nil {
		c.room = make([]parquet.Value, BatchRows)
	}
	values := c.room[:m]
	for got := 0; got < m; {
		n, err := c.values.ReadValues(values[got:])
		if got += n; n == 0 {
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	for _, role := range roles {
		for j, v := range values {
			switch {
			case v.IsNull():
				s.null(row+j, role)
			case role == s.p.unitColumn():
				s.text(row+j, role, c.kind.text(v))
			default:
				if why := c.kind.encode(s.p.columns[role].e, &s.batch.Columns[role], row+j, v); why != 0 {
					s.refuse(row+j, role, why)
				}
			}
		}
	}
	return nil
}

func (c *chunk) close() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	_ = c.pages.Close() // nothing was written
}

// encode writes a value at a row of a vector.
func (k *cellKind) encode(e *Encoding, to *Vector, row int, v parquet.Value) Reason {
	switch k.physical {
	case parquet.Boolean:
		return e.Bool(to, row, v.Boolean())
	case parquet.Int32:
		if k.unsigned {
			return k.whole(e, to, row, int64(v.Uint32()))
		}
		return k.whole(e, to, row, int64(v.Int32()))
	case parquet.Int64:
		return k.whole(e, to, row, v.Int64())
	case parquet.Float:
		return e.Number(to, row, float64(v.Float()))
	case parquet.Double:
		return e.Number(to, row, v.Double())
	}
	return e.Text(to, row, k.text(v))
}

// whole encodes a whole number or a decimal. An unsigned one of 64 bits may come negative.
func (k *cellKind) whole(e *Encoding, to *Vector, row int, x int64) Reason {
	switch {
	case k.decimals >= 0 && x > -1<<53 && x < 1<<53:
		// Both are exact, so that the quotient is the nearest number.
		return e.Number(to, row, float64(x)/powersOfTen[k.decimals])
	case k.decimals >= 0:
		text := strconv.FormatInt(x, 10) + "e-" + strconv.Itoa(k.decimals)
		y, err := strconv.ParseFloat(text, 64)
		if err != nil {
			y = math.NaN()
		}
		return e.Number(to, row, y)
	case k.unsigned && x < 0:
		if e.numeric {
			return e.Number(to, row, float64(uint64(x)))
		}
		return e.Text(to, row, strconv.AppendUint(nil, uint64(x), 10))
	}
	return e.Int(to, row, x)
}

// text is a value as text, valid as long as its page is.
func (k *cellKind) text(v parquet.Value) []byte {
	switch k.physical {
	case parquet.ByteArray:
		return v.ByteArray()
	case parquet.Float:
		return strconv.AppendFloat(nil, float64(v.Float())+0, 'f', -1, 64)
	case parquet.Double:
		return strconv.AppendFloat(nil, v.Double()+0, 'f', -1, 64)
	}
	return k.write(nil, v)
}

// unitOf is the hash of the name of a unit.
func (p *pass) unitOf(name []byte) (uint64, Reason) {
	if len(name) == 0 {
		return 0, UnitMissing
	}
	return p.unit.of(name), 0
}
