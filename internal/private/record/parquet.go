package record

import (
	"cmp"
	"context"
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
	f, info, err := origin.Open(path, origin.Opener(path, o.Private, o.open))
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
		convert := converter(c, slices.Max(roles[i]) >= numRoles)
		if convert == nil {
			return &Error{Code: origin.Columns, Msg: fmt.Sprintf("column %q is neither of strings nor of integers or booleans: write it as strings", c.Name())}
		}
		if err := origin.CheckCompression(s.p, c); err != nil {
			return err
		}
		s.columns = append(s.columns, parquetColumn{c.Index(), roles[i], convert})
	}
	return nil
}

// converter returns how values of a column become text; nil if they do not. Numbers with a
// point do for a schema only.
func converter(c *parquet.Column, ofSchema bool) func(parquet.Value) value {
	if !c.Leaf() || c.Repeated() {
		return nil
	}
	is, number := kindOf(c)
	write := origin.ParquetText(c)
	switch physical := c.Type().Kind(); {
	case is != absent:
		return func(v parquet.Value) value { return value{is, string(write(nil, v))} }
	case !number || !ofSchema:
		return nil
	case physical == parquet.Float:
		return func(v parquet.Value) value { return plainNumber(float64(v.Float())) }
	case physical == parquet.Double:
		return func(v parquet.Value) value { return plainNumber(v.Double()) }
	default:
		return func(v parquet.Value) value { return value{scalar, string(write(nil, v))} }
	}
}

func plainNumber(x float64) value { return value{scalar, strconv.FormatFloat(x, 'f', -1, 64)} }

// kindOf returns what the values of a column are, and whether they are numbers with a point.
func kindOf(c *parquet.Column) (is kind, number bool) {
	physical, logical := c.Type().Kind(), origin.Logical(c)
	decimal, isDecimal := logical.(*format.DecimalType)
	_, isInteger := logical.(*format.IntType)
	_, isUUID := logical.(*format.UUIDType)
	switch physical {
	case parquet.ByteArray:
		if !isDecimal {
			is = text
		}
	case parquet.FixedLenByteArray:
		if isUUID {
			is = scalar
		}
	case parquet.Boolean:
		is = scalar
	case parquet.Int32, parquet.Int64:
		if isInteger || logical == nil && c.Type().ConvertedType() == nil {
			is = scalar
		}
		number = isDecimal && decimal.Scale >= 0 && decimal.Scale <= 18
	case parquet.Float, parquet.Double:
		number = logical == nil
	}
	return is, number
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
	readers    []*origin.Values
}

// enter opens the group that holds a row.
func (g *rowGroup) enter(place int64) {
	g.close()
	n := sort.Search(len(g.s.groups), func(i int) bool { return g.s.starts[i+1] > place })
	g.start, g.end = g.s.starts[n], g.s.starts[n+1]
	chunks := g.s.groups[n].ColumnChunks()
	for _, c := range g.s.columns {
		g.readers = append(g.readers, origin.NewValues(chunks[c.index]))
	}
}

func (g *rowGroup) row(place int64) (*row, error) {
	r := &row{place: place, cells: make([]value, g.s.cells)}
	err := origin.Calm(func() error {
		if place >= g.end {
			g.enter(place)
		}
		for i, c := range g.s.columns {
			v, err := g.readers[i].At(place - g.start)
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
		for _, r := range g.readers {
			_ = r.Close()
		}
		return nil
	})
	g.readers = nil
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
