package global

import (
	"context"
	"errors"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Source is a table that can be read: *table.Data.
type Source interface {
	Scan(ctx context.Context, columns []int, workers int, each func(worker int, b *table.Batch) error) error
}

var errIndex = errors.New("two batches have the same number, and would be sampled alike: number them")

var errUnits = errors.New("the table has a column of units and the profile no rows_per_unit, or the other way round: say both or none")

// Collect reads a table and adds up what the profile needs, by so many workers (0 means 1).
// With a key, the result is the same for any number of them.
func (m *Mechanism) Collect(ctx context.Context, src Source, key noise.Key, workers int) (*Sums, error) {
	p, err := m.Picker(key)
	if err != nil {
		return nil, err
	}
	workers = max(1, workers)
	if m.settings.RowsPerUnit > 0 {
		return m.collectUnits(ctx, src, p, workers)
	}
	var seen sync.Map
	each := make([]*Sums, workers)
	picked := make([][]int, workers)
	for i := range each {
		each[i] = m.NewSums()
	}
	err = src.Scan(ctx, m.columns, workers, func(worker int, b *table.Batch) error {
		switch {
		case b.Units != nil:
			return errUnits
		case p.sample == nil:
			return each[worker].Add(b)
		}
		if _, twice := seen.LoadOrStore(b.Index, nil); twice {
			return errIndex
		}
		var err error
		if picked[worker], err = p.Rows(b.Index, b.Rows, picked[worker][:0]); err != nil {
			return err
		}
		return each[worker].AddRows(b, picked[worker])
	})
	if err != nil {
		return nil, err
	}
	for _, s := range each[1:] {
		if err := each[0].Merge(s); err != nil {
			return nil, err
		}
	}
	return each[0], nil
}

// collectUnits keeps so many rows of each unit, and adds them up.
func (m *Mechanism) collectUnits(ctx context.Context, src Source, p *Picker, workers int) (*Sums, error) {
	each := make([]*unitRows, workers)
	for i := range each {
		each[i] = newUnitRows(m)
	}
	err := src.Scan(ctx, m.columns, workers, func(worker int, b *table.Batch) error {
		if b.Units == nil && b.Rows > 0 {
			return errUnits
		}
		return each[worker].add(p, b)
	})
	if err != nil {
		return nil, err
	}
	for i, k := range each[1:] {
		if err := each[0].merge(k); err != nil {
			return nil, err
		}
		each[i+1] = nil
	}
	s := m.NewSums()
	return s, each[0].sums(s)
}
