package suite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"sotto/eval"
	"sotto/eval/stat"
)

// Comparison of two methods on the same items, from the same seeds.
type Comparison struct {
	// Dataset, or "" for the average over all that have both.
	Dataset    string `json:"dataset,omitempty"`
	Model      string `json:"model"`
	Answerer   string `json:"answerer"`
	Calibrated bool   `json:"calibrated"`
	Shots      int    `json:"shots"`
	// A and B with the ε of each.
	A        string   `json:"a"`
	EpsilonA *float64 `json:"epsilon_a"`
	B        string   `json:"b"`
	EpsilonB *float64 `json:"epsilon_b"`
	// Comparison has the difference A less B.
	stat.Comparison
	// Adjusted is P after Holm's correction for all comparisons of the same models with
	// the same calibration.
	Adjusted float64 `json:"adjusted"`
}

// contender is a method with its ε and its number of demonstrations.
type contender struct {
	name, epsilon string
	shots         int
}

// Compare compares one method with the others: with those that have an ε, at the same ε;
// and with those that have none. The method is called by its name.
func Compare(rows []eval.Row, name string) ([]Comparison, error) {
	order, groups := collect(rows)
	var out []Comparison
	families := map[place][]int{}
	for _, a := range contenders(order, func(g group) bool { return g.name == name }) {
		for _, b := range contenders(order, func(g group) bool { return g.name != name }) {
			first := groups[groupFor(order, b)][0]
			if b.epsilon != a.epsilon && kinds[first.Method].guarantees || b.shots != a.shots && first.Method != "zero" {
				continue
			}
			found, err := compare(order, groups, a, b)
			if err != nil {
				return nil, fmt.Errorf("compare %s with %s: %w", a.name, b.name, err)
			}
			for _, c := range found {
				family := place{"", c.Model, c.Answerer, c.Calibrated}
				families[family] = append(families[family], len(out))
				out = append(out, c)
			}
		}
	}
	for _, family := range families {
		p := make([]float64, len(family))
		for i, at := range family {
			p[i] = out[at].P
		}
		adjusted, err := stat.Holm(p)
		if err != nil {
			return nil, err
		}
		for i, at := range family {
			out[at].Adjusted = adjusted[i]
		}
	}
	return out, nil
}

func contenders(order []group, want func(group) bool) []contender {
	var out []contender
	for _, g := range order {
		if c := (contender{g.name, g.epsilon, g.shots}); want(g) && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

func (c contender) at(p place, metric string) group {
	return group{p, c.name, c.epsilon, metric, c.shots}
}

func groupFor(order []group, c contender) group {
	return order[slices.IndexFunc(order, func(g group) bool { return c == contender{g.name, g.epsilon, g.shots} })]
}

// compare two contenders wherever both are, and on average.
func compare(order []group, groups map[group][]eval.Row, a, b contender) ([]Comparison, error) {
	together := map[place][]stat.Paired{}
	var out []Comparison
	add := func(p place, a, b eval.Row, sets ...stat.Paired) error {
		c, err := stat.Compare(stat.Options{}, sets...)
		if err == nil {
			out = append(out, Comparison{
				Dataset: p.dataset, Model: p.model, Answerer: p.answerer, Calibrated: p.calibrated, Shots: a.Shots,
				A: a.Name, EpsilonA: a.Epsilon, B: b.Name, EpsilonB: b.Epsilon, Comparison: c,
			})
		}
		return err
	}
	sample := map[place][2]eval.Row{}
	for _, g := range order {
		if (contender{g.name, g.epsilon, g.shots}) != a {
			continue
		}
		mine, others := groups[g], groups[b.at(g.place, g.metric)]
		if others == nil {
			// Without demonstrations nobody wrote: rows name the one who answered.
			nobody := g.place
			nobody.model = g.answerer
			if others = groups[b.at(nobody, g.metric)]; others != nil && others[0].Method != "zero" {
				others = nil
			}
		}
		pair, err := paired(mine, others)
		if err != nil {
			return nil, err
		}
		if len(pair.A) == 0 {
			continue
		}
		if err := add(g.place, mine[0], others[0], pair); err != nil {
			return nil, err
		}
		whole := g.place
		whole.dataset = ""
		together[whole] = append(together[whole], pair)
		sample[whole] = [2]eval.Row{mine[0], others[0]}
	}
	wholes := slices.SortedFunc(maps.Keys(together), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.model, b.model), cmp.Compare(a.answerer, b.answerer), cmp.Compare(fmt.Sprint(a.calibrated), fmt.Sprint(b.calibrated)))
	})
	for _, p := range wholes {
		if sets := together[p]; len(sets) > 1 {
			if err := add(p, sample[p][0], sample[p][1], sets...); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// paired are the scores of the seeds that both have. Without demonstrations there is one
// row, which goes with every seed.
func paired(a, b []eval.Row) (stat.Paired, error) {
	var left, right []eval.Row
	for _, x := range a {
		for _, y := range b {
			if x.Seed == y.Seed || x.Method == "zero" || y.Method == "zero" {
				left, right = append(left, x), append(right, y)
			}
		}
	}
	if len(left) == 0 {
		return stat.Paired{}, nil
	}
	if _, err := table(append(slices.Clone(left), right...)); err != nil {
		return stat.Paired{}, err
	}
	p := stat.Paired{}
	p.A, _ = table(left)
	p.B, _ = table(right)
	return p, nil
}
