package attack

import (
	"context"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/prompt"
)

// likelihoods is what the model says about records with demonstrations in its prompt.
type likelihoods struct {
	// answers are log-probabilities of their labels.
	answers []float64
	// answered and read are how much likelier labels, and whole records, are than without any
	// demonstration: some are easy for everybody.
	answered, read []float64
}

func (g *Game) ask(ctx context.Context, demos, of []prompt.Example) (a likelihoods, err error) {
	if a.answers, err = g.reader.Answers(ctx, demos, of); err != nil {
		return a, err
	}
	read, err := g.reader.Reads(ctx, demos, of)
	if err != nil {
		return a, err
	}
	var new []prompt.Example
	for _, e := range of {
		if _, known := g.plain[e]; !known {
			new = append(new, e)
		}
	}
	plain, err := g.reader.Answers(ctx, nil, new)
	if err != nil {
		return a, err
	}
	unread, err := g.reader.Reads(ctx, nil, new)
	if err != nil {
		return a, err
	}
	for i, e := range new {
		g.plain[e] = [2]float64{plain[i], unread[i]}
	}
	for i, e := range of {
		a.answered = append(a.answered, a.answers[i]-g.plain[e][0])
		a.read = append(a.read, read[i]-g.plain[e][1])
	}
	return a, nil
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
	a, err := g.ask(ctx, []prompt.Example{member}, near)
	if err != nil {
		return err
	}
	far, err := g.reader.Answers(ctx, []prompt.Example{member}, t.any)
	if err != nil {
		return err
	}
	writes, err := g.reader.Writes(ctx, member, near)
	if err != nil {
		return err
	}
	for j := range g.Scored {
		b.add(Answers, t.number, j == 0, a.answered[j])
		b.add(Reads, t.number, j == 0, a.read[j])
		b.add(Writes, t.number, j == 0, writes[j])
	}
	b.add(Published, t.number, true, a.answers[0])
	for _, v := range far {
		b.add(Published, t.number, false, v)
	}
	last := g.Scored
	if t.in { // the canary is the demonstration
		only := []prompt.Example{canary}
		if a, err = g.ask(ctx, only, only); err != nil {
			return err
		}
		if writes, err = g.reader.Writes(ctx, canary, only); err != nil {
			return err
		}
		last = 0
	}
	b.addCanary(Answers, t, a.answered[last])
	b.addCanary(Reads, t, a.read[last])
	b.addCanary(Writes, t, writes[last])
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
	of := append(t.records[:g.Scored:g.Scored], g.canary[t.canary])
	a, err := g.ask(ctx, t.released, of)
	if err != nil {
		return err
	}
	writes := make([]float64, len(of))
	for _, text := range t.released {
		more, err := g.reader.Writes(ctx, text, of)
		if err != nil {
			return err
		}
		for j := range writes {
			writes[j] += more[j]
		}
	}
	for j := range g.Scored {
		b.add(Published, t.number, t.inside[j], a.answers[j])
		b.add(Answers, t.number, t.inside[j], a.answered[j])
		b.add(Reads, t.number, t.inside[j], a.read[j])
		b.add(Writes, t.number, t.inside[j], writes[j])
	}
	b.addCanary(Answers, t, a.answered[g.Scored])
	b.addCanary(Reads, t, a.read[g.Scored])
	b.addCanary(Writes, t, writes[g.Scored])
	return nil
}
