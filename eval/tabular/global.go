package tabular

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"sotto/eval"
	"sotto/icl"
	"sotto/plan"
	"sotto/privacy/noise"
	"sotto/private/table/global"
	"sotto/schema"
)

// GlobalOptions say what a profile may cost, and what it is of.
type GlobalOptions struct {
	// Epsilon is infinite for a profile without noise.
	Epsilon, Delta float64
	// Size is the declared number of rows.
	Size int64
	// Groups is how many there are: 1, or one of the numbers that the schema has a partition
	// for.
	Groups int
	// Noise is laplace (the default) or gaussian; Rate samples rows, 0 takes all.
	Noise string
	Rate  float64
	// Published makes profiles as Carey et al. 2024 do. Epsilon is then, as in their
	// tables, what a profile costs those who were sampled; the guarantee is less.
	Published bool
	Seed      uint64
}

// Global makes a demonstration of each group of the training rows, from a profile. The
// guarantee is nil without noise.
func Global(ctx context.Context, t *eval.Table, o GlobalOptions) ([]icl.Demo, *Guarantee, error) {
	r := plan.ProfileRequest{Schema: t.Schema, Epsilon: o.Epsilon, Delta: o.Delta, Size: o.Size, Noise: global.Noise(o.Noise), Rate: o.Rate, Published: o.Published}
	var err error
	if r.Groups, err = groups(t.Schema, o.Groups); err != nil {
		return nil, nil, err
	}
	if o.Published {
		r.Rate = 0
	}
	p, err := plan.NewProfile(r)
	if err != nil {
		return nil, nil, err
	}
	p.Settings.Rate = o.Rate
	profile, g, err := release(ctx, t, p, o.Seed)
	if err != nil {
		return nil, nil, err
	}
	var rows []schema.Row
	for _, group := range profile.Groups {
		rows = append(rows, group.Row)
	}
	return demos(t.Schema.Wording(), rows), g, nil
}

// groups that a schema has by their number.
func groups(s schema.Schema, n int) ([]schema.Group, error) {
	if n == 1 {
		return nil, nil
	}
	list, ok := s.Groups[strconv.Itoa(n)]
	if !ok {
		return nil, fmt.Errorf("the schema %s has no partition into %d groups: give it one, or ask for 1 or another number", s.Name, n)
	}
	return list, nil
}

// release carries out a plan on the training rows.
func release(ctx context.Context, t *eval.Table, p plan.Profile, seed uint64) (global.Profile, *Guarantee, error) {
	m, err := global.New(p.Schema, p.Settings)
	if err != nil {
		return global.Profile{}, nil, err
	}
	key := noise.KeyFromSeed(seed)
	sums, err := m.Collect(ctx, source{t}, key, 1)
	if err != nil {
		return global.Profile{}, nil, err
	}
	released, err := m.Release(sums, key)
	if err != nil {
		return global.Profile{}, nil, err
	}
	if p.Settings.Noise == global.None || math.IsInf(p.Epsilon, 1) {
		return released.Profile(), nil, nil
	}
	g, err := guarantee(released.Event(), p.Adjacency(), p.Delta)
	return released.Profile(), g, err
}
