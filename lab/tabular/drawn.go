package tabular

import (
	"context"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// NewDrawn plans and makes a profile of the training rows, histograms by label, and takes
// columns for independent given it. All have to be discrete. Groups, Rate and Published of the options do not count.
func NewDrawn(ctx context.Context, t *Table, o GlobalOptions, seed uint64) (*Distribution, error) {
	r, err := plan.ProfileRequest{Schema: t.Schema, Epsilon: o.Epsilon, Delta: o.Delta, Size: o.Size, Noise: global.Noise(o.Noise)}.Histograms()
	if err != nil {
		return nil, err
	}
	p, err := plan.NewProfile(r)
	if err != nil {
		return nil, err
	}
	g, err := planned(p)
	if err != nil {
		return nil, err
	}
	profile, err := g.release(ctx, binSource{source{t}}, seed)
	if err != nil {
		return nil, err
	}
	h, err := profile.Histograms(t.Schema)
	if err != nil {
		return nil, err
	}
	estimates, err := reconstruct.FromHistograms(h)
	if err != nil {
		return nil, err
	}
	d := &Distribution{Guarantee: g.Guarantee, schema: t.Schema, key: noise.KeyFromSeed(seed)}
	d.sampler, err = reconstruct.NewSampler(len(t.Schema.Columns), estimates...)
	return d, err
}

// binSource hands out bins of numbers as a number in them each, which is how profiles read them.
type binSource struct{ source }

// Scan reads the table, with numbers.
func (s binSource) Scan(ctx context.Context, columns []int, workers int, each func(worker int, b *table.Batch) error) error {
	return s.source.Scan(ctx, columns, workers, func(worker int, b *table.Batch) error {
		for k, i := range columns {
			c, v := s.table.Schema.Columns[i], &b.Columns[k]
			if c.Kind != schema.Numeric || v.Codes == nil {
				continue
			}
			scale := table.NewScale(c)
			starts := []int32{scale.Steps(c.Low)}
			for _, edge := range c.Edges {
				starts = append(starts, scale.Steps(edge))
			}
			v.Steps = make([]int32, len(v.Codes))
			for row, code := range v.Codes {
				v.Steps[row] = starts[code]
			}
			v.Codes = nil
		}
		return each(worker, b)
	})
}
