package record

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"

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
	rows     *rows.Parquet
}

func newParquetFile(path string, o *Options) (*parquetFile, error) {
	f, info, err := origin.Open(path, o.open)
	if err != nil {
		return nil, err
	}
	s := &parquetFile{f: f, info: info, progress: o.Progress}
	s.prepare = sync.OnceValue(func() error { return s.readFooter(o) })
	return s, nil
}

// readFooter reads where things are. Footers hold extreme values of columns too, so
// that this is done no sooner than reading records.
func (s *parquetFile) readFooter(o *Options) (err error) {
	if s.p, err = origin.Parquet(s.f, s.info); err != nil {
		return err
	}
	var columns []rows.ParquetColumn
	var found error
	err = origin.Calm(func() error {
		columns, found = s.find(o)
		return nil
	})
	if err := cmp.Or(err, found); err != nil {
		return err
	}
	s.rows, err = rows.NewParquet(s.p, len(o.columns()), columns)
	return err
}

// find looks up the columns that are used.
func (s *parquetFile) find(o *Options) (columns []rows.ParquetColumn, err error) {
	roles, err := findColumns(s.names(), o)
	if err != nil {
		return nil, err
	}
	for i, c := range s.p.Root().Columns() {
		if roles[i] == nil {
			continue
		}
		convert := converter(c, slices.Max(roles[i]) >= numRoles)
		if convert == nil {
			return nil, &Error{Code: origin.Columns, Msg: fmt.Sprintf("column %q is neither of strings nor of integers or booleans: write it as strings", c.Name())}
		}
		if err := origin.CheckCompression(s.p, c); err != nil {
			return nil, err
		}
		columns = append(columns, rows.ParquetColumn{Index: c.Index(), Places: roles[i], Convert: convert})
	}
	return columns, nil
}

// converter returns how values of a column become text; nil if they do not. Numbers with a
// point do for a schema only.
func converter(c *parquet.Column, ofSchema bool) func(parquet.Value) rows.Value {
	if !c.Leaf() || c.Repeated() {
		return nil
	}
	is, number := kindOf(c)
	write := origin.ParquetText(c)
	switch physical := c.Type().Kind(); {
	case is != rows.Absent:
		return func(v parquet.Value) rows.Value { return rows.Value{Kind: is, S: string(write(nil, v))} }
	case !number || !ofSchema:
		return nil
	case physical == parquet.Float:
		return func(v parquet.Value) rows.Value { return plainNumber(float64(v.Float())) }
	case physical == parquet.Double:
		return func(v parquet.Value) rows.Value { return plainNumber(v.Double()) }
	default:
		return func(v parquet.Value) rows.Value { return rows.Value{Kind: rows.Scalar, S: string(write(nil, v))} }
	}
}

func plainNumber(x float64) rows.Value {
	return rows.Value{Kind: rows.Scalar, S: strconv.FormatFloat(x, 'f', -1, 64)}
}

// kindOf returns what the values of a column are, and whether they are numbers with a point.
func kindOf(c *parquet.Column) (is rows.Kind, number bool) {
	physical, logical := c.Type().Kind(), origin.Logical(c)
	decimal, isDecimal := logical.(*format.DecimalType)
	_, isInteger := logical.(*format.IntType)
	_, isUUID := logical.(*format.UUIDType)
	switch physical {
	case parquet.ByteArray:
		if !isDecimal {
			is = rows.Text
		}
	case parquet.FixedLenByteArray:
		if isUUID {
			is = rows.Scalar
		}
	case parquet.Boolean:
		is = rows.Scalar
	case parquet.Int32, parquet.Int64:
		if isInteger || logical == nil && c.Type().ConvertedType() == nil {
			is = rows.Scalar
		}
		number = isDecimal && decimal.Scale >= 0 && decimal.Scale <= 18
	case parquet.Float, parquet.Double:
		number = logical == nil
	}
	return is, number
}

func (s *parquetFile) scan(ctx context.Context, w *witness, yield func(*rows.Row) error) error {
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
	read := s.rows.Again()
	defer read.Close()
	for place := range read.Len() {
		if place%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r, err := read.At(place)
		if err != nil {
			return err
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	return origin.StillSame(s.f, s.info)
}

func (s *parquetFile) fetch(ctx context.Context, at []spot, yield func(int, *rows.Row) error) error {
	if err := s.prepare(); err != nil {
		return err
	}
	read := s.rows.Again()
	defer read.Close()
	for i, spot := range at {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if spot.place >= read.Len() {
			return origin.Differs(spot.ordinal)
		}
		r, err := read.At(spot.place)
		if err != nil {
			return err
		}
		if err := yield(i, r); err != nil {
			return err
		}
	}
	return nil
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
