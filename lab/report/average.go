package report

import (
	"fmt"
	"slices"
)

// mean of a method over data sets.
type mean struct {
	place
	method          string
	online, claimed bool
	value           estimate
	cells           []*cell
}

// averages are of what every data set of a block has. Each data set counts the same,
// whatever number of shots it has where that is one only.
func (r *report) averages(b block) []mean {
	groups := r.of(b)
	if len(groups) < 2 {
		return nil
	}
	several := slices.ContainsFunc(groups, func(g *group) bool { return len(g.shots()) > 1 })
	queries := slices.ContainsFunc(groups, func(g *group) bool { return len(g.queries()) > 1 })
	var means []mean
	for _, c := range groups[0].cells {
		m := mean{place: c.place, method: c.method, online: c.online, claimed: c.claimed}
		for _, g := range groups {
			for _, o := range g.cells {
				if o.name == c.name && o.epsilon == c.epsilon && (!several || o.shots == c.shots) && (!queries || o.queries == c.queries) {
					m.cells = append(m.cells, o)
					break
				}
			}
		}
		if len(m.cells) == len(groups) {
			means = append(means, m)
		}
	}
	each(len(means), func(i int) { means[i].value = average(means[i].cells) })
	return means
}

// averageSection shows all data sets as one.
func (r *report) averageSection(b block) section {
	groups := r.of(b)
	s := section{Title: r.titled(fmt.Sprintf("Average over %d data sets", len(groups)), b)}
	means := r.averages(b)
	if len(means) == 0 {
		return s
	}
	pseudo := &group{block: b, metric: groups[0].metric}
	for _, m := range means {
		c := &cell{place: m.place, method: m.method, online: m.online, claimed: m.claimed, value: m.value, rows: m.cells[0].rows[:1]}
		for _, o := range m.cells {
			c.write += o.write / float64(len(m.cells))
			c.published += o.published / float64(len(m.cells))
			c.answer += o.answer / float64(len(m.cells))
		}
		c.metrics = m.balances()
		pseudo.cells = append(pseudo.cells, c)
	}
	if slices.ContainsFunc(groups, func(g *group) bool { return g.metric != pseudo.metric }) {
		pseudo.metric = "score"
	}
	t := pseudo.values(nil, nil)
	t.Caption = metricName(pseudo.metric) + ": mean over data sets, 95 % interval below"
	s.Tables = append(s.Tables, t)
	s.Tables = append(s.Tables, balanceTables(pseudo)...)
	return s
}
