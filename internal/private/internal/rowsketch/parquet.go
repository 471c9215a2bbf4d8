package rowsketch

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"math/big"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sotto-dp/sotto/internal/fault"
	"github.com/sotto-dp/sotto/internal/private/internal/origin"
)

// Parquet gives all rows of a Parquet file to some Rows, each in one goroutine. Columns that
// are nested or compressed in a way that is not read count as missing.
func Parquet(ctx context.Context, p *parquet.File, parts []*Rows) error {
	var groups []parquet.RowGroup
	if err := origin.Calm(func() error {
		groups = p.RowGroups()
		return nil
	}); err != nil {
		return err
	}
	var next atomic.Int64
	var work sync.WaitGroup
	failed := make([]error, len(parts))
	for i, r := range parts {
		work.Go(func() {
			defer fault.Watch()
			failed[i] = origin.Calm(func() error {
				columns := r.leaves(p)
				for {
					n := int(next.Add(1)) - 1
					if n >= len(groups) {
						return nil
					}
					if err := r.group(ctx, groups[n], columns); err != nil {
						return err
					}
				}
			})
		})
	}
	work.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return cmp.Or(failed...)
}

// leaves are the columns of a file that can be read.
func (r *Rows) leaves(p *parquet.File) (out []*leaf) {
	for _, c := range p.Root().Columns() {
		if write := writer(c); write != nil && origin.CheckCompression(p, c) == nil {
			out = append(out, &leaf{column: r.Column(c.Name()), index: c.Index(), write: write})
		}
	}
	return out
}

// group takes the rows of a row group.
func (r *Rows) group(ctx context.Context, g parquet.RowGroup, columns []*leaf) error {
	chunks := g.ColumnChunks()
	for _, c := range columns {
		c.open(chunks[c.index])
		defer c.close()
	}
	for row := range g.NumRows() {
		if row%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for _, c := range columns {
			v, err := c.next()
			if err != nil {
				return err
			}
			if !v.IsNull() {
				c.room = c.write(c.room[:0], v)
				r.Add(c.column, c.room)
			}
		}
		r.Next()
	}
	return nil
}

// leaf reads a column, one value a row.
type leaf struct {
	column *Column
	index  int
	write  func([]byte, parquet.Value) []byte
	room   []byte

	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    [256]parquet.Value
	have   []parquet.Value
}

func (l *leaf) open(chunk parquet.ColumnChunk) {
	l.pages, l.values, l.have = chunk.Pages(), nil, nil
}

func (l *leaf) next() (parquet.Value, error) {
	for len(l.have) == 0 {
		if err := l.fill(); err != nil {
			return parquet.Value{}, err
		}
	}
	v := l.have[0]
	l.have = l.have[1:]
	return v, nil
}

func (l *leaf) fill() error {
	if l.values != nil {
		n, err := l.values.ReadValues(l.buf[:])
		if n > 0 {
			l.have = l.buf[:n]
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		l.release()
	}
	page, err := l.pages.ReadPage()
	if err != nil {
		return err
	}
	l.page, l.values = page, page.Values()
	return nil
}

func (l *leaf) release() {
	if l.page != nil {
		parquet.Release(l.page)
	}
	l.page, l.values = nil, nil
}

func (l *leaf) close() {
	l.release()
	_ = l.pages.Close() // nothing was written
}

// writer says how values of a column are written as text; nil if they are not.
func writer(c *parquet.Column) func([]byte, parquet.Value) []byte {
	if !c.Leaf() || c.Repeated() {
		return nil
	}
	switch logical := logicalOf(c).(type) {
	case *format.DecimalType:
		return decimals(int(logical.Scale), c.Type().Kind())
	case *format.DateType:
		return func(b []byte, v parquet.Value) []byte {
			return time.Unix(int64(v.Int32())*24*60*60, 0).UTC().AppendFormat(b, time.DateOnly)
		}
	case *format.TimestampType:
		return timestamps(logical)
	case *format.UUIDType:
		return func(b []byte, v parquet.Value) []byte {
			h := hex.EncodeToString(v.ByteArray())
			if len(h) != 32 {
				return append(b, h...)
			}
			return append(b, h[:8]+"-"+h[8:12]+"-"+h[12:16]+"-"+h[16:20]+"-"+h[20:]...)
		}
	case *format.IntType:
		if !logical.IsSigned && c.Type().Kind() == parquet.Int64 {
			return func(b []byte, v parquet.Value) []byte { return strconv.AppendUint(b, v.Uint64(), 10) }
		}
		if !logical.IsSigned {
			return func(b []byte, v parquet.Value) []byte { return strconv.AppendUint(b, uint64(v.Uint32()), 10) }
		}
	}
	return plainWriter(c.Type().Kind())
}

func logicalOf(c *parquet.Column) any {
	if l := c.Type().LogicalType(); l != nil {
		return l.Value
	}
	return nil
}

func plainWriter(kind parquet.Kind) func([]byte, parquet.Value) []byte {
	switch kind {
	case parquet.Boolean:
		return func(b []byte, v parquet.Value) []byte { return strconv.AppendBool(b, v.Boolean()) }
	case parquet.Int32:
		return func(b []byte, v parquet.Value) []byte { return strconv.AppendInt(b, int64(v.Int32()), 10) }
	case parquet.Int64:
		return func(b []byte, v parquet.Value) []byte { return strconv.AppendInt(b, v.Int64(), 10) }
	case parquet.Float:
		return func(b []byte, v parquet.Value) []byte {
			return strconv.AppendFloat(b, float64(v.Float()), 'g', -1, 32)
		}
	case parquet.Double:
		return func(b []byte, v parquet.Value) []byte { return strconv.AppendFloat(b, v.Double(), 'g', -1, 64) }
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return func(b []byte, v parquet.Value) []byte { return append(b, v.ByteArray()...) }
	}
	return nil
}

// decimals writes whole numbers of powers of ten.
func decimals(scale int, kind parquet.Kind) func([]byte, parquet.Value) []byte {
	exponent := func(b []byte) []byte { return strconv.AppendInt(append(b, "e-"...), int64(scale), 10) }
	switch kind {
	case parquet.Int32:
		return func(b []byte, v parquet.Value) []byte {
			return exponent(strconv.AppendInt(b, int64(v.Int32()), 10))
		}
	case parquet.Int64:
		return func(b []byte, v parquet.Value) []byte { return exponent(strconv.AppendInt(b, v.Int64(), 10)) }
	}
	return func(b []byte, v parquet.Value) []byte {
		raw := v.ByteArray()
		if len(raw) > 32 {
			return b
		}
		x := new(big.Int).SetBytes(raw)
		if len(raw) > 0 && raw[0]&0x80 != 0 { // two's complement
			x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
		}
		return exponent(x.Append(b, 10))
	}
}

// timestamps writes times as databases do.
func timestamps(t *format.TimestampType) func([]byte, parquet.Value) []byte {
	unit := int64(1)
	switch t.Unit.Value.(type) {
	case *format.MilliSeconds:
		unit = int64(time.Millisecond)
	case *format.MicroSeconds:
		unit = int64(time.Microsecond)
	}
	return func(b []byte, v parquet.Value) []byte {
		x := v.Int64()
		if unit > 1 && (x > math.MaxInt64/unit || x < math.MinInt64/unit) {
			return strconv.AppendInt(b, x, 10)
		}
		return time.Unix(0, x*unit).UTC().AppendFormat(b, "2006-01-02T15:04:05.999999999")
	}
}
