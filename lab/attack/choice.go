package attack

import (
	"context"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/lab/attack/adversary"
	"github.com/sotto-dp/sotto/prompt"
)

// candidateSets are the sets that records choose from, and how well each answers a record. The last is empty: no
// demonstrations are always a candidate.
type candidateSets struct {
	sets  [][]prompt.Example
	known map[prompt.Example][]float64
}

// Sets makes public sets of demonstrations to choose from, of records that no release is made of.
func (g *Game) Sets(n, shots int) (*candidateSets, error) {
	s := g.Key.Stream("sets")
	c := &candidateSets{known: map[prompt.Example][]float64{}}
	for range n {
		var set []prompt.Example
		for range shots {
			label := g.Task.Labels[s.Uint64n(uint64(len(g.Task.Labels)))]
			from := g.byLabel[label]
			if len(from) <= g.minRecords() {
				return nil, fmt.Errorf("the label %q has %d different records, and demonstrations to choose from need more than the %d of a release: give more records", label, len(from), g.minRecords())
			}
			at := int(s.Uint64n(uint64(len(from))))
			set = append(set, from[at])
			g.byLabel[label] = append(from[:at:at], from[at+1:]...)
		}
		c.sets = append(c.sets, set)
	}
	c.sets = append(c.sets, nil)
	return c, nil
}

// learn finds how well each set answers records.
func (c *candidateSets) learn(ctx context.Context, r *adversary.Reader, records []prompt.Example) error {
	var ask []prompt.Example
	for _, e := range records {
		if c.known[e] == nil {
			ask = append(ask, e)
			c.known[e] = []float64{}
		}
	}
	for _, set := range c.sets {
		answers, err := r.Answers(ctx, set, ask)
		if err != nil {
			return err
		}
		for i, e := range ask {
			c.known[e] = append(c.known[e], answers[i])
		}
	}
	return nil
}

// score is how much better the chosen set answers a record than the others do.
func (c *candidateSets) score(e prompt.Example, chosen int) (score float64) {
	n := float64(len(c.sets))
	for i, v := range c.known[e] {
		if i == chosen {
			score += v
		} else {
			score -= v / (n - 1)
		}
	}
	return score
}

// exactly chooses the set that answers members best: it has no privacy guarantee.
func (c *candidateSets) exactly(members []prompt.Example) int {
	best, highest := 0, math.Inf(-1)
	for i := range c.sets {
		sum := 0.
		for _, e := range members {
			sum += c.known[e][i]
		}
		if sum > highest {
			best, highest = i, sum
		}
	}
	return best
}

// Choices attacks which of some sets members chose: under (ε, δ), or exactly without a chooser.
func (g *Game) Choices(ctx context.Context, c *candidateSets, choose Chooser, epsilon, delta float64) ([]Row, error) {
	b := newBoard()
	for i := range g.Trials {
		t, err := g.deal(fmt.Sprint("choice ", epsilon), i)
		if err != nil {
			return nil, err
		}
		canary := g.canary[t.canary]
		if err := c.learn(ctx, g.reader, append(t.records[:len(t.records):len(t.records)], canary)); err != nil {
			return nil, err
		}
		var at int
		if members := t.members(canary); choose == nil {
			at = c.exactly(members)
		} else if at, err = choose(ctx, c.sets, members, t.seed); err != nil {
			return nil, err
		}
		for j, e := range t.records {
			b.add(Choice, i, t.inside[j], c.score(e, at))
		}
		b.addCanary(Choice, t, c.score(canary, at))
		g.tick()
	}
	return b.rows(epsilon, delta, g.Confidence)
}
