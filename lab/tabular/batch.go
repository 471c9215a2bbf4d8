package tabular

import (
	"context"

	"github.com/sotto-dp/sotto/internal/private/table"
)

// batchRows is the number of rows of a batch.
const batchRows = 4096

// source hands out the training rows as sources of private tables do.
type source struct{ table *Table }

// Scan hands out batches in order; workers are of no use here.
func (s source) Scan(ctx context.Context, columns []int, _ int, each func(worker int, b *table.Batch) error) error {
	train := s.table.Train
	for from := 0; from < len(train); from += batchRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows := train[from:min(from+batchRows, len(train))]
		b := &table.Batch{Index: int64(from / batchRows), Rows: len(rows), First: int64(from + 1), Columns: make([]table.Vector, len(columns))}
		for k, i := range columns {
			v, scale := &b.Columns[k], table.NewScale(s.table.Schema.Columns[i])
			for _, row := range rows {
				if row[i].Discrete {
					v.Codes = append(v.Codes, uint16(row[i].Code))
				} else {
					v.Steps = append(v.Steps, scale.Steps(row[i].Number))
				}
			}
		}
		if err := each(0, b); err != nil {
			return err
		}
	}
	return nil
}

// all returns the columns of the schema.
func (s source) all() []int {
	out := make([]int, len(s.table.Schema.Columns))
	for i := range out {
		out[i] = i
	}
	return out
}
