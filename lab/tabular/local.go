package tabular

import (
	"context"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/local"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// LocalOptions configure how rows are perturbed, and how their distribution is learned.
type LocalOptions struct {
	// Epsilon of a row; infinite leaves rows as they are.
	Epsilon float64
	// Reconstruct is ibu (the default) or inverse; Split of ε among columns is equal (the
	// default) or optimal.
	Reconstruct, Split string
	Seed               uint64
}

// NewLocal perturbs the training rows and learns their distribution. All columns of the
// schema have to be discrete.
func NewLocal(ctx context.Context, t *Table, o LocalOptions) (*Distribution, error) {
	l := &Distribution{schema: t.Schema, key: noise.KeyFromSeed(o.Seed)}
	channel, perturb, err := l.channel(t, o)
	if err != nil {
		return nil, err
	}
	counts, err := reconstruct.NewCounts(channel)
	if err != nil {
		return nil, err
	}
	var out reconstruct.Rows
	src := source{t}
	err = src.Scan(ctx, src.all(), 1, func(_ int, b *table.Batch) error {
		if err := perturb(b, &out); err != nil {
			return err
		}
		return counts.Add(&out)
	})
	if err != nil {
		return nil, err
	}
	if o.Reconstruct == reconstruct.MethodInverse || math.IsInf(o.Epsilon, 1) {
		l.Estimate, err = reconstruct.Inverse(counts)
	} else {
		l.Estimate, err = reconstruct.IBU(ctx, counts, reconstruct.IBUOptions{})
	}
	if err == nil {
		l.sampler, err = reconstruct.NewSampler(len(t.Schema.Columns), l.Estimate)
	}
	return l, err
}

// channel returns what happens to rows, and does it.
func (l *Distribution) channel(t *Table, o LocalOptions) (reconstruct.Channel, func(*table.Batch, *reconstruct.Rows) error, error) {
	if math.IsInf(o.Epsilon, 1) {
		c := reconstruct.Channel{}
		for _, column := range t.Schema.Columns {
			c.Domains, c.Keep = append(c.Domains, len(column.Domain())), append(c.Keep, 1)
		}
		return c, asTheyAre, c.Check()
	}
	p, err := plan.NewLocal(plan.LocalRequest{Schema: t.Schema, Epsilon: o.Epsilon, Rows: int64(len(t.Train)), Split: o.Split})
	if err != nil {
		return reconstruct.Channel{}, nil, err
	}
	if l.Guarantee, err = guarantee(p.Settings.Event(), p.Settings.Adjacency(), 0); err != nil {
		return reconstruct.Channel{}, nil, err
	}
	perturber, err := local.New(p.Settings)
	if err != nil {
		return reconstruct.Channel{}, nil, err
	}
	return p.Settings.Channel(), func(b *table.Batch, out *reconstruct.Rows) error { return perturber.Batch(b, l.key, out) }, nil
}

// asTheyAre copies a batch.
func asTheyAre(b *table.Batch, out *reconstruct.Rows) error {
	out.Reset(len(b.Columns), b.Rows)
	for i, v := range b.Columns {
		if len(v.Codes) != b.Rows {
			return fmt.Errorf("column %d is not discrete: use a schema with bins for it", i+1)
		}
		copy(out.Columns[i], v.Codes)
	}
	return nil
}
