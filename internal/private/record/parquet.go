package record

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sort"
	"strconv"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/internal/origin"
	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetFile is a Parquet file. The place of a row is its number, from 0.
type parquetFile struct {
	f        origin.File
	info     fs.FileInfo
	progress func(read, total int64)
	prepare  func() error // as for text files
	p        *parquet.File
	columns  []parquetColumn
	groups   []parquet.RowGroup
	starts   []int64 // the first row of each group, then their end
	cells    int     // columns of a schema
}

// parquetColumn is a column that is used.
type parquetColumn struct {
	index   int
	roles   []int
	convert func(parquet.Value) value
}

func newParquetFile(path string, o *Options) (*parquetFile, error) {
	f, info, err := origin.Open(path, o.open)
	if err != nil {
		return nil, err
	}
	s := &parquetFile{f: f, info: info, progress: o.Progress, cells: o.cells()}
	s.prepare = sync.OnceValue(func() error { return s.readFooter(o) })
	return s, nil
}

// readFooter reads where things are. Footers hold extreme values of columns too, so
// that this is done no sooner than reading records.
func (s *parquetFile) readFooter(o *Options) error {
	var err, found error
	if s.p, err = origin.Parquet(s.f, s.info); err != nil {
		return err
	}
	err = origin.Calm(func() error {
		end := int64(0)
		for _, g := range s.p.RowGroups() {
			s.groups, s.starts = append(s.groups, g), append(s.starts, end)
			end += g.NumRows()
		}
		s.starts = append(s.starts, end)
		found = s.find(o)
		return nil
	})
	return cmp.Or(err, found)
}

// find looks up the columns that are used.
func (s *parquetFile) find(o *Options) error {
	roles, err := findColumns(s.names(), o)
	if err != nil {
		return err
	}
	for i, c := range s.p.Root().Columns() {
		if roles[i] == nil {
			continue
		}
		convert := converter(c)
		if convert == nil && slices.Max(roles[i]) >= numRoles {
			convert = numberConverter(c)
		}
		if convert == nil {
			return &Error{Code: Columns, Msg: fmt.Sprintf("column %q is neither of strings nor of integers or booleans: write it as strings", c.Name())}
		}
		if err := origin.CheckCompression(s.p, c); err != nil {
			return err
		}
		s.columns = append(s.columns, parquetColumn{c.Index(), roles[i], convert})
	}
	return nil
}

// converter says how values of a column become text; nil if they do not.
func converter(c *parquet.Column) func(parquet.Value) value {
	if !c.Leaf() || c.Repeated() {
		return nil
	}
	var logical any
	if l := c.Type().LogicalType(); l != nil {
		logical = l.Value
	}
	integer, isInteger := logical.(*format.IntType)
	whole := isInteger || logical == nil && c.Type().ConvertedType() == nil
	switch kind := c.Type().Kind(); {
	case kind == parquet.ByteArray:
		if _, decimal := logical.(*format.DecimalType); decimal {
			return nil
		}
		return func(v parquet.Value) value { return value{text, string(v.ByteArray())} }
	case kind == parquet.FixedLenByteArray:
		if _, uuid := logical.(*format.UUIDType); uuid {
			return func(v parquet.Value) value { return value{scalar, uuidText(v.ByteArray())} }
		}
	case kind == parquet.Boolean:
		return func(v parquet.Value) value { return value{scalar, strconv.FormatBool(v.Boolean())} }
	case whole && isInteger && !integer.IsSigned && kind == parquet.Int32:
		return func(v parquet.Value) value { return value{scalar, strconv.FormatUint(uint64(v.Uint32()), 10)} }
	case whole && isInteger && !integer.IsSigned && kind == parquet.Int64:
		return func(v parquet.Value) value { return value{scalar, strconv.FormatUint(v.Uint64(), 10)} }
	case whole && kind == parquet.Int32:
		return func(v parquet.Value) value { return value{scalar, strconv.FormatInt(int64(v.Int32()), 10)} }
	case whole && kind == parquet.Int64:
		return func(v parquet.Value) value { return value{scalar, strconv.FormatInt(v.Int64(), 10)} }
	}
	return nil
}

// numberConverter says how numbers with a point become text, for columns of a schema; nil if
// a column has none.
func numberConverter(c *parquet.Column) func(parquet.Value) value {
	if !c.Leaf() || c.Repeated() {
		return nil
	}
	number := func(x float64) value { return value{scalar, strconv.FormatFloat(x, 'f', -1, 64)} }
	kind := c.Type().Kind()
	if l := c.Type().LogicalType(); l != nil {
		decimal, ok := l.Value.(*format.DecimalType)
		if !ok || decimal.Scale < 0 || decimal.Scale > 18 {
			return nil
		}
		places := "e-" + strconv.Itoa(int(decimal.Scale))
		switch kind {
		case parquet.Int32:
			return func(v parquet.Value) value { return value{scalar, strconv.FormatInt(int64(v.Int32()), 10) + places} }
		case parquet.Int64:
			return func(v parquet.Value) value { return value{scalar, strconv.FormatInt(v.Int64(), 10) + places} }
		}
		return nil
	}
	switch kind {
	case parquet.Float:
		return func(v parquet.Value) value { return number(float64(v.Float())) }
	case parquet.Double:
		return func(v parquet.Value) value { return number(v.Double()) }
	}
	return nil
}

func uuidText(b []byte) string {
	h := hex.EncodeToString(b)
	if len(h) != 32 {
		return h
	}
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func (s *parquetFile) scan(ctx context.Context, w *witness, yield func(*row) error) error {
	if err := s.prepare(); err != nil {
		return err
	}
	if w != nil {
		in := origin.Content(s.f, s.info, s.progress)
		if _, err := io.CopyBuffer(w.content, in, make([]byte, bufferSize)); err != nil {
			return origin.Fail(err)
		}
		if w.rows != nil {
			if err := rowsketch.Parquet(ctx, s.p, []*rowsketch.Rows{w.rows}); err != nil {
				return err
			}
		}
	}
	group := &rowGroup{s: s}
	defer group.close()
	for place := range s.starts[len(s.groups)] {
		if place%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r, err := group.row(place)
		if err != nil {
			return err
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	return origin.StillSame(s.f, s.info)
}

func (s *parquetFile) fetch(ctx context.Context, at []spot, yield func(int, *row) error) error {
	if err := s.prepare(); err != nil {
		return err
	}
	group := &rowGroup{s: s}
	defer group.close()
	for i, spot := range at {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if spot.place >= s.starts[len(s.groups)] {
			return origin.Differs(spot.ordinal)
		}
		r, err := group.row(spot.place)
		if err != nil {
			return err
		}
		if err := yield(i, r); err != nil {
			return err
		}
	}
	return nil
}

// rowGroup reads rows, forwards, from one group after the other.
type rowGroup struct {
	s          *parquetFile
	start, end int64
	readers    []columnReader
}

// enter opens the group that holds a row.
func (g *rowGroup) enter(place int64) {
	g.close()
	n := sort.Search(len(g.s.groups), func(i int) bool { return g.s.starts[i+1] > place })
	g.start, g.end = g.s.starts[n], g.s.starts[n+1]
	chunks := g.s.groups[n].ColumnChunks()
	for _, c := range g.s.columns {
		g.readers = append(g.readers, columnReader{pages: chunks[c.index].Pages()})
	}
}

func (g *rowGroup) row(place int64) (*row, error) {
	r := &row{place: place, cells: make([]value, g.s.cells)}
	err := origin.Calm(func() error {
		if place >= g.end {
			g.enter(place)
		}
		for i, c := range g.s.columns {
			v, err := g.readers[i].at(place - g.start)
			if err != nil {
				return err
			}
			if v.IsNull() {
				continue
			}
			converted := c.convert(v)
			for _, role := range c.roles {
				r.set(role, converted)
			}
		}
		return nil
	})
	return r, err
}

func (g *rowGroup) close() {
	_ = origin.Calm(func() error { // nothing was written
		for i := range g.readers {
			_ = g.readers[i].close()
		}
		return nil
	})
	g.readers = nil
}

// columnReader reads values of a column of a row group, forwards.
type columnReader struct {
	pages     parquet.Pages
	page      parquet.Page
	values    parquet.ValueReader
	next, end int64 // rows: what comes next, and where the page ends
	buf       [64]parquet.Value
	have      []parquet.Value
}

// at returns the value of a row, which must not be before an earlier one's. It is
// valid until the next call.
func (c *columnReader) at(n int64) (parquet.Value, error) {
	if n > c.end || c.page == nil {
		if err := c.pages.SeekToRow(n); err != nil {
			return parquet.Value{}, err
		}
		c.end, c.next, c.have = n, n, nil
	}
	for {
		skip := min(n-c.next, int64(len(c.have)))
		if c.have, c.next = c.have[skip:], c.next+skip; len(c.have) > 0 {
			c.next++
			v := c.have[0]
			c.have = c.have[1:]
			return v, nil
		}
		if err := c.fill(); err != nil {
			return parquet.Value{}, err
		}
	}
}

// fill reads more values.
func (c *columnReader) fill() error {
	for c.next == c.end {
		if c.page != nil {
			parquet.Release(c.page)
		}
		var err error
		if c.page, err = c.pages.ReadPage(); err != nil {
			return err
		}
		c.values, c.end = c.page.Values(), c.end+c.page.NumRows()
	}
	n, err := c.values.ReadValues(c.buf[:])
	if n == 0 {
		return errors.Join(io.ErrUnexpectedEOF, err)
	}
	c.have = c.buf[:n]
	return nil
}

func (c *columnReader) close() error {
	if c.page != nil {
		parquet.Release(c.page)
	}
	return c.pages.Close()
}

func (s *parquetFile) names() []string {
	var out []string
	for _, c := range s.p.Root().Columns() {
		out = append(out, c.Name())
	}
	return out
}

func (s *parquetFile) seeks() (bool, error) { return true, nil }

func (s *parquetFile) stamp() string { return origin.Stamp(s.info) }
func (s *parquetFile) close() error  { return s.f.Close() }
