package attack

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/prompt"
)

// answered is how likely the labels of records are with demonstrations, and how much likelier than
// without any: some records are easy for everybody.
func (g *Game) answered(ctx context.Context, demos, of []prompt.Example) (with, gain []float64, err error) {
	if with, err = g.reader.answers(ctx, demos, of); err != nil {
		return nil, nil, err
	}
	var ask []prompt.Example
	for _, e := range of {
		if _, known := g.plain[e]; !known {
			ask = append(ask, e)
		}
	}
	plain, err := g.reader.answers(ctx, nil, ask)
	if err != nil {
		return nil, nil, err
	}
	for i, e := range ask {
		g.plain[e] = plain[i]
	}
	for i, e := range of {
		gain = append(gain, with[i]-g.plain[e])
	}
	return with, gain, nil
}

// Real attacks demonstrations that are records as they are, one in each prompt.
func (g *Game) Real(ctx context.Context) ([]Row, error) {
	b := newBoard()
	for i := range g.Trials {
		t, err := g.deal("real", i)
		if err != nil {
			return nil, err
		}
		if err := g.real(ctx, b, t); err != nil {
			return nil, err
		}
		g.tick()
	}
	return b.rows(math.Inf(1), 0, g.Confidence)
}

// real attacks the first record of a trial as the demonstration; the others are outside.
func (g *Game) real(ctx context.Context, b *board, t trial) error {
	member, canary := t.records[0], g.canary[t.canary]
	near := append(t.records[:g.Scored:g.Scored], canary)
	with, gain, err := g.answered(ctx, []prompt.Example{member}, slices.Concat(near, t.any))
	if err != nil {
		return err
	}
	writes, err := g.reader.writes(ctx, member, near)
	if err != nil {
		return err
	}
	for j := range g.Scored {
		b.add(Answers, t.number, j == 0, gain[j])
		b.add(Writes, t.number, j == 0, writes[j])
	}
	b.add(Published, t.number, true, with[0])
	for j := range t.any {
		b.add(Published, t.number, false, with[len(near)+j])
	}
	answer, write := gain[g.Scored], writes[g.Scored]
	if t.in { // the canary is the demonstration
		only := []prompt.Example{canary}
		if _, gain, err = g.answered(ctx, only, only); err != nil {
			return err
		}
		if writes, err = g.reader.writes(ctx, canary, only); err != nil {
			return err
		}
		answer, write = gain[0], writes[0]
	}
	b.addCanary(Answers, t, answer)
	b.addCanary(Writes, t, write)
	return nil
}

// Private attacks demonstrations that a method wrote under (ε, δ).
func (g *Game) Private(ctx context.Context, write Writer, epsilon, delta float64) ([]Row, error) {
	b := newBoard()
	for i := range g.Trials {
		t, err := g.deal(fmt.Sprint("private ", epsilon), i)
		if err != nil {
			return nil, err
		}
		canary := g.canary[t.canary]
		if t.released, err = write(ctx, canary.Output, t.members(canary), t.seed); err != nil {
			return nil, err
		}
		if err := g.private(ctx, b, t); err != nil {
			return nil, err
		}
		g.tick()
	}
	return b.rows(epsilon, delta, g.Confidence)
}

// private attacks a release.
func (g *Game) private(ctx context.Context, b *board, t trial) error {
	asked := append(t.records[:g.Scored:g.Scored], g.canary[t.canary])
	with, gain, err := g.answered(ctx, t.released, asked)
	if err != nil {
		return err
	}
	writes := make([]float64, len(asked))
	for _, text := range t.released {
		more, err := g.reader.writes(ctx, text, asked)
		if err != nil {
			return err
		}
		for j := range writes {
			writes[j] += more[j]
		}
	}
	for j := range g.Scored {
		b.add(Published, t.number, t.inside[j], with[j])
		b.add(Answers, t.number, t.inside[j], gain[j])
		b.add(Writes, t.number, t.inside[j], writes[j])
	}
	b.addCanary(Answers, t, gain[g.Scored])
	b.addCanary(Writes, t, writes[g.Scored])
	return nil
}
