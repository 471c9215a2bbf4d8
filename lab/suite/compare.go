package suite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/stat"
)

// Comparison of two methods on the same items, from the same seeds.
type Comparison struct {
	// Dataset, or "" for the average over all that have both.
	Dataset    string `json:"dataset,omitempty"`
	Model      string `json:"model"`
	Answerer   string `json:"answerer"`
	Calibrated bool   `json:"calibrated"`
	Shots      int    `json:"shots"`
	Queries    int64  `json:"queries,omitempty"`
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

// Compare compares one method with the others: with those that have an ε, at the same ε,
// and, if both answer online, for the same number of answers; and with those that have
// none. The method is called by its name.
func Compare(rows []eval.Row, name string) ([]Comparison, error) {
	order, groups := collect(rows)
	var out []Comparison
	families := map[place][]int{}
	for _, a := range contenders(order, func(g group) bool { return g.name == name }) {
		for _, b := range contenders(order, func(g group) bool { return g.name != name }) {
			first, second := groups[groupFor(order, a)][0], groups[groupFor(order, b)][0]
			if !alike(first, second) {
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

// alike reports whether a row is of the same ε, number of demonstrations and number of
// answers as another, as far as it has them.
func alike(a, b eval.Row) bool {
	if kinds[b.Method].Bounded() && epsilonText(a.Epsilon) != epsilonText(b.Epsilon) {
		return false
	}
	if a.Online || b.Online {
		return a.Queries == b.Queries || a.Online != b.Online
	}
	return a.Shots == b.Shots || b.Method == "zero"
}

func contenders(order []group, want func(group) bool) []contender {
	var out []contender
	for _, g := range order {
		if want(g) && !slices.Contains(out, g.contender) {
			out = append(out, g.contender)
		}
	}
	return out
}

// at finds rows of a contender that can be compared with those of a place, which are
// perhaps of answers online: there is no calibration of these, and they stand beside both
// kinds. Where nobody wrote, rows name the model that answered.
func (c contender) at(p place, metric string, groups map[group][]eval.Row, online bool) []eval.Row {
	calibrations := []bool{p.calibrated}
	if online {
		calibrations = []bool{true, false}
	}
	for _, p.calibrated = range calibrations {
		nobody := p
		nobody.model = p.answerer
		if rows := groups[group{p, c, metric}]; rows != nil {
			return rows
		}
		if rows := groups[group{nobody, c, metric}]; rows != nil && rows[0].Method == "zero" {
			return rows
		}
	}
	p.calibrated = false
	if rows := groups[group{p, c, metric}]; rows != nil && rows[0].Online {
		return rows
	}
	return nil
}

func groupFor(order []group, c contender) group {
	return order[slices.IndexFunc(order, func(g group) bool { return g.contender == c })]
}

// compare two contenders wherever both are, and on average.
func compare(order []group, groups map[group][]eval.Row, a, b contender) ([]Comparison, error) {
	together := map[place][]stat.PairedScores{}
	var out []Comparison
	add := func(p place, a, b eval.Row, sets ...stat.PairedScores) error {
		c, err := stat.Compare(stat.Options{}, sets...)
		if err == nil {
			out = append(out, Comparison{
				Dataset: p.dataset, Model: p.model, Answerer: p.answerer, Calibrated: p.calibrated, Shots: a.Shots,
				Queries: max(a.Queries, b.Queries), A: a.Name, EpsilonA: a.Epsilon, B: b.Name, EpsilonB: b.Epsilon, Comparison: c,
			})
		}
		return err
	}
	sample := map[place][2]eval.Row{}
	for _, g := range order {
		if g.contender != a {
			continue
		}
		mine := groups[g]
		others := b.at(g.place, g.metric, groups, mine[0].Online)
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
func paired(a, b []eval.Row) (stat.PairedScores, error) {
	var left, right []eval.Row
	for _, x := range a {
		for _, y := range b {
			if x.Seed == y.Seed || x.Method == "zero" || y.Method == "zero" {
				left, right = append(left, x), append(right, y)
			}
		}
	}
	if len(left) == 0 {
		return stat.PairedScores{}, nil
	}
	if _, err := table(append(slices.Clone(left), right...)); err != nil {
		return stat.PairedScores{}, err
	}
	p := stat.PairedScores{}
	p.A, _ = table(left)
	p.B, _ = table(right)
	return p, nil
}
