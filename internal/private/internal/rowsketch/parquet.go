package rowsketch

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"

	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/fault"
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
		if write := origin.ParquetText(c); write != nil && origin.CheckCompression(p, c) == nil {
			out = append(out, &leaf{column: r.Column(c.Name()), index: c.Index(), write: write})
		}
	}
	return out
}

// group takes the rows of a row group.
func (r *Rows) group(ctx context.Context, g parquet.RowGroup, columns []*leaf) error {
	chunks := g.ColumnChunks()
	for _, c := range columns {
		c.Values = origin.NewValues(chunks[c.index])
		defer c.Close()
	}
	for row := range g.NumRows() {
		if row%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for _, c := range columns {
			v, err := c.At(row)
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
	*origin.Values
	column *Column
	index  int
	write  func([]byte, parquet.Value) []byte
	room   []byte
}
