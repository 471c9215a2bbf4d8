package worst

import (
	"context"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/private/table/local"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// tables are perturbed rows, and profiles of a table that has one row more or less.
func tables() ([]Game, error) {
	rows, err := rows()
	if err != nil {
		return nil, err
	}
	profiles, err := profiles()
	return append(rows, profiles...), err
}

// rows: one row of three columns, exchanged for another that differs in all.
func rows() ([]Game, error) {
	s := local.Settings{Domains: []int{2, 3, 5}, Epsilons: []float64{0.5, 0.5, 1}}
	p, err := local.New(s)
	if err != nil {
		return nil, err
	}
	one, other := [3]uint16{0, 1, 4}, [3]uint16{1, 2, 0}
	play := func(_ context.Context, key noise.Key, with bool) (float64, error) {
		row := other
		if with {
			row = one
		}
		if err := p.Row(row[:], key.Stream("row")); err != nil {
			return 0, err
		}
		// The logarithm of how much likelier the row is with the one than with the other.
		score := 0.
		for i, code := range row {
			switch code {
			case one[i]:
				score += s.Epsilons[i]
			case other[i]:
				score -= s.Epsilons[i]
			}
		}
		return score, nil
	}
	return []Game{{
		Name: "local", Inputs: "a row of three columns, exchanged for one that differs in all of them",
		Claim: s.Event(), Adjacency: s.Adjacency(), Tight: true, player: always(play),
	}}, nil
}

// audited is a table of a column with two values.
var audited = schema.Schema{
	Name: "audit", Columns: []schema.Column{
		{Name: "kind", Kind: schema.Categorical, Values: []string{"a", "b"}},
		{Name: "x", Kind: schema.Numeric, Low: 0, High: 10},
	},
	Label: "kind", Template: "{x}", Question: "Which?",
}

// profiles: a table of no rows, or of one.
func profiles() ([]Game, error) {
	histogram := global.Settings{Columns: []global.Column{
		{Name: "kind", Statistic: global.Histogram, Multiplier: 0.5}, {Name: "x", Statistic: global.Skip},
	}}
	counted := global.Settings{Count: 1, Columns: []global.Column{
		{Name: "kind", Statistic: global.Skip}, {Name: "x", Statistic: global.Mean, Multiplier: 1},
	}}
	drawn := global.Settings{Columns: []global.Column{
		{Name: "kind", Statistic: global.Mode, Range: 1}, {Name: "x", Statistic: global.Skip},
	}}
	noisy := histogram
	noisy.Noise = global.Gaussian
	noisy.Columns = []global.Column{{Name: "kind", Statistic: global.Histogram, Multiplier: 1}, {Name: "x", Statistic: global.Skip}}
	var games []Game
	for _, p := range []profile{
		{
			Game:     Game{Name: "global", Inputs: "noisy counts of a table that has one row, or none", Tight: true},
			settings: histogram, score: func(g global.Group) float64 { return float64(g.Columns[0].Counts[0]) },
		},
		{
			Game:     Game{Name: "global, gaussian", Inputs: "the same with Gaussian noise", Delta: 1e-5, Tight: true},
			settings: noisy, score: func(g global.Group) float64 { return float64(g.Columns[0].Counts[0]) },
		},
		{
			Game:     Game{Name: "global mean", Inputs: "the count and the mean of a table that has one row at the upper bound, or none"},
			settings: counted, score: func(g global.Group) float64 { return g.Count + g.Columns[1].Mean/10 },
		},
		{
			Game:     Game{Name: "global mode", Inputs: "the commonest of two values; two rows have one of them, and the row has the other"},
			settings: drawn, others: 2, score: func(g global.Group) float64 { return float64(1 - g.Columns[0].Mode) },
		},
	} {
		m, err := global.New(audited, p.settings)
		if err != nil {
			return nil, err
		}
		p.m = m
		p.Claim, p.Adjacency, p.player = m.Event(), privacy.AddRemove, always(p.once)
		games = append(games, p.Game)
	}
	return games, nil
}

// profile is a game of a table's summary.
type profile struct {
	Game
	settings global.Settings
	m        *global.Mechanism
	// others are rows with the other value.
	others int
	score  func(global.Group) float64
}

func (p profile) once(_ context.Context, key noise.Key, with bool) (float64, error) {
	sums := p.m.NewSums()
	codes, steps := []uint16{}, []int32{}
	for range p.others {
		codes, steps = append(codes, 1), append(steps, 0)
	}
	if with {
		codes, steps = append(codes, 0), append(steps, table.Steps)
	}
	b := &table.Batch{Rows: len(codes), First: 1}
	for _, i := range p.m.Columns() {
		v := table.Vector{Codes: codes}
		if i == 1 {
			v = table.Vector{Steps: steps}
		}
		b.Columns = append(b.Columns, v)
	}
	if err := sums.Add(b); err != nil {
		return 0, err
	}
	out, err := p.m.Release(sums, key)
	if err != nil {
		return 0, err
	}
	return p.score(out.Profile().Groups[0]), nil
}
