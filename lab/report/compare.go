package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sotto-dp/sotto/internal/stat"
)

// level of findings.
const level = 0.05

// contrast is two cells on one data set, or on several.
type contrast struct {
	dataset string
	shots   int
	queries int64
	a, b    *cell
	pairs   []stat.PairedScores
}

// comparisonSection compares the reference with all others.
func (r *report) comparisonSection(b block) section {
	s := section{Title: r.titled("Comparisons", b)}
	if r.reference == "" {
		return s
	}
	over, single := r.equalEpsilon(b)
	if len(over) > 0 {
		s.Tables = append(s.Tables, r.testTable("on average over all data sets", over))
	}
	if len(single) > 0 && !slices.ContainsFunc(r.of(b), (*group).wide) { // it would be too long to read
		s.Tables = append(s.Tables, r.testTable("by data set", single))
	}
	return s
}

// equalEpsilon lists the reference against each other method at the same ε and number of
// shots, over all data sets and by data set.
func (r *report) equalEpsilon(b block) (overall, all []contrast) {
	type key struct {
		name    string
		epsilon float64
		shots   int
		queries int64
	}
	var keys []key
	over := map[key][]contrast{}
	groups := r.of(b)
	for _, g := range groups {
		shots, queries := len(g.shots()) > 1, len(g.queries()) > 1
		for _, ref := range g.cells {
			if ref.name != r.reference || !guaranteed(ref.epsilon) {
				continue
			}
			for _, c := range g.cells {
				both := c.online && ref.online
				if c.name == ref.name || c.epsilon != ref.epsilon || both && c.queries != ref.queries || shots && c.online == ref.online && c.shots != ref.shots && c.shots > 0 {
					continue
				}
				p, ok := pair(ref, c)
				if !ok {
					continue
				}
				d := contrast{dataset: g.dataset, a: ref, b: c, pairs: []stat.PairedScores{p}}
				k := key{name: c.name, epsilon: c.epsilon}
				if shots {
					d.shots, k.shots = max(ref.shots, c.shots), max(ref.shots, c.shots)
				}
				if queries {
					d.queries, k.queries = max(ref.queries, c.queries), max(ref.queries, c.queries)
				}
				if over[k] == nil {
					keys = append(keys, k)
				}
				over[k] = append(over[k], d)
				all = append(all, d)
			}
		}
	}
	for _, k := range keys {
		if list := over[k]; len(groups) > 1 && len(list) == len(groups) {
			d := contrast{dataset: averageOf(len(list)), shots: k.shots, queries: k.queries, a: list[0].a, b: list[0].b}
			for _, one := range list {
				d.pairs = append(d.pairs, one.pairs...)
			}
			overall = append(overall, d)
		}
	}
	return overall, all
}

func averageOf(n int) string { return fmt.Sprintf("average of %d", n) }

// testTable shows contrasts with their p-values, adjusted for all of the table.
func (r *report) testTable(what string, contrasts []contrast) table {
	shots := slices.ContainsFunc(contrasts, func(c contrast) bool { return c.shots > 0 })
	queries := slices.ContainsFunc(contrasts, func(c contrast) bool { return c.queries > 0 })
	t := table{
		Caption: fmt.Sprintf("at equal ε, %s: %s less each other method, in points", what, r.reference),
		Head:    []string{"data set", "ε", "less", "difference", "95 % interval", "p", "p, adjusted"},
	}
	if shots {
		t.Head = slices.Insert(t.Head, 2, "shots")
	}
	if queries {
		t.Head = slices.Insert(t.Head, 2, "answers")
	}
	all, known := make([]stat.Comparison, len(contrasts)), make([]bool, len(contrasts))
	each(len(contrasts), func(i int) { all[i], known[i] = difference(contrasts[i].pairs...) })
	var found []stat.Comparison
	var kept []contrast
	for i, c := range contrasts {
		if known[i] {
			found, kept = append(found, all[i]), append(kept, c)
		}
	}
	adjusted, several, err := adjust(found)
	if err != nil {
		return t
	}
	for i, c := range kept {
		d := found[i]
		row := []entry{
			{Text: c.dataset, Left: true},
			{Text: epsilonName(c.a.epsilon)},
			{Text: c.b.called(), Left: true},
			{Text: signed(d.Difference), Strong: adjusted[i] < level},
			{Text: signedBetween(d.Interval.Low, d.Interval.High)},
			{Text: chance(d.P)},
			{Text: chance(adjusted[i])},
		}
		if math.IsNaN(adjusted[i]) {
			row[5].Text, row[6].Text = "–", "–"
		}
		if shots {
			row = slices.Insert(row, 2, entry{Text: strconv.Itoa(c.shots)})
		}
		if queries {
			row = slices.Insert(row, 2, entry{Text: count(float64(c.queries))})
		}
		t.Rows = append(t.Rows, row)
	}
	over := "Intervals and p-values are over other items, with the one seed that there is."
	if several {
		over = "Intervals are over other seeds and other items, p-values over other seeds with the same items; with few seeds p cannot be small (two-sided, it is at least 2/2ⁿ for n seeds)."
	}
	t.Notes = []string{fmt.Sprintf("Strong: more than chance, with a probability of any false finding in this table of at most %v (Holm). %s", level, over)}
	if slices.ContainsFunc(adjusted, math.IsNaN) {
		t.Notes = append(t.Notes, "–: of one seed alone; its interval is over other items.")
	}
	return t
}

// adjust returns the p-values of comparisons, adjusted together. Where others have several
// seeds, what has one gets none (NaN): its p would be over items, which answers another
// question.
func adjust(found []stat.Comparison) (adjusted []float64, several bool, err error) {
	several = slices.ContainsFunc(found, func(c stat.Comparison) bool { return c.Units == "seeds" })
	var p []float64
	for _, c := range found {
		if !several || c.Units == "seeds" {
			p = append(p, c.P)
		}
	}
	if p, err = stat.Holm(p); err != nil {
		return nil, several, err
	}
	for _, c := range found {
		if several && c.Units != "seeds" {
			adjusted = append(adjusted, math.NaN())
			continue
		}
		adjusted, p = append(adjusted, p[0]), p[1:]
	}
	return adjusted, several, nil
}

// called returns the name of a cell, and that its ε is a claim.
func (c *cell) called() string {
	if c.claimed {
		return c.name + " (claimed)"
	}
	return c.name
}
