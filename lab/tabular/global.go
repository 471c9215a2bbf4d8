package tabular

import (
	"context"
	"fmt"
	"strconv"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// GlobalOptions configure what a profile may cost, and what it is of.
type GlobalOptions struct {
	// Epsilon is infinite for a profile without noise.
	Epsilon, Delta float64
	// Size is the declared number of rows.
	Size int64
	// Groups is the number of groups: 1, or one of the numbers that the schema has a
	// partition for.
	Groups int
	// Noise is laplace (the default) or gaussian; Rate samples rows, 0 takes all.
	Noise string
	Rate  float64
	// Published makes profiles as Carey et al. 2024 do. Epsilon is then, as in their
	// tables, what a profile costs those who were sampled; the guarantee is less.
	Published bool
}

// Global is a profile that is planned, for any seed.
type Global struct {
	// Guarantee is nil without noise.
	Guarantee *Guarantee
	plan      plan.Profile
}

// NewGlobal plans a profile.
func NewGlobal(s schema.Schema, o GlobalOptions) (*Global, error) {
	r := plan.ProfileRequest{Schema: s, Epsilon: o.Epsilon, Delta: o.Delta, Size: o.Size, Noise: global.Noise(o.Noise), Rate: o.Rate, Published: o.Published}
	var err error
	if r.Groups, err = groups(s, o.Groups); err != nil {
		return nil, err
	}
	if o.Published {
		r.Rate = 0
	}
	p, err := plan.NewProfile(r)
	if err != nil {
		return nil, err
	}
	p.Settings.Rate = o.Rate
	return planned(p)
}

// planned computes the cost of a plan.
func planned(p plan.Profile) (*Global, error) {
	g := &Global{plan: p}
	if p.Settings.Noise == global.None {
		return g, nil
	}
	var err error
	g.Guarantee, err = guarantee(p.Event(), p.Adjacency(), p.Delta)
	return g, err
}

// Demos makes a demonstration of each group of the training rows.
func (g *Global) Demos(ctx context.Context, t *Table, seed uint64) ([]prompt.Example, error) {
	profile, err := g.release(ctx, source{t}, seed)
	if err != nil {
		return nil, err
	}
	var rows []schema.Row
	for _, group := range profile.Groups {
		rows = append(rows, group.Row)
	}
	return demos(t.Schema.Wording(), rows), nil
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

// release carries out the plan on training rows.
func (g *Global) release(ctx context.Context, src global.Source, seed uint64) (global.Profile, error) {
	m, err := global.New(g.plan.Schema, g.plan.Settings)
	if err != nil {
		return global.Profile{}, err
	}
	key := noise.KeyFromSeed(seed)
	sums, err := m.Collect(ctx, src, key, 1)
	if err != nil {
		return global.Profile{}, err
	}
	released, err := m.Release(sums, key)
	if err != nil {
		return global.Profile{}, err
	}
	return released.Profile(), nil
}
