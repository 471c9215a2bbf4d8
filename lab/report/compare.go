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
	if t := r.baselineTable(b); len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	if t := r.acrossTable(b); len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
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

// baselineTable compares the reference with what has no ε: the public way and those that
// have no privacy guarantee.
func (r *report) baselineTable(b block) table {
	t := table{
		Caption: fmt.Sprintf("%s less what has no ε, in points, with 95 %% intervals", r.reference),
		Head:    []string{"data set", "ε"},
	}
	names := distinct(cellsOf(r.of(b)), func(c *cell) (string, bool) { return c.name, !guaranteed(c.epsilon) })
	if len(names) == 0 {
		return t
	}
	for _, n := range names {
		t.Head = append(t.Head, "less "+n)
	}
	for _, row := range r.baselineRows(b) {
		out := make([]entry, 2+len(names))
		out[0], out[1] = entry{Text: row.dataset, Left: true}, entry{Text: epsilonName(row.epsilon)}
		if row.queries > 0 {
			out[1].Small = []string{answersName(row.queries)}
		}
		each(len(names), func(i int) { out[2+i] = baseline(row.groups, row.place, names[i]) })
		t.Rows = append(t.Rows, out)
	}
	return t
}

// baselineRow is the reference at an ε on some data sets. queries is left 0 where there is
// one number of answers only.
type baselineRow struct {
	dataset string
	place
	groups []*group
}

// baselineRows are for all data sets together, and for each.
func (r *report) baselineRows(b block) []baselineRow {
	groups := slices.DeleteFunc(r.of(b), func(g *group) bool { return len(g.shots()) > 1 })
	var rows []baselineRow
	if len(groups) > 1 {
		mine, _ := r.places(groups)
		for _, m := range mine {
			rows = append(rows, baselineRow{averageOf(len(groups)), m, groups})
		}
	}
	for _, g := range groups {
		for _, c := range g.cells {
			if c.name == r.reference && guaranteed(c.epsilon) {
				rows = append(rows, baselineRow{g.dataset, c.at(g), []*group{g}})
			}
		}
	}
	return rows
}

// baseline compares with a method without ε, if all of the data sets have it.
func baseline(groups []*group, m place, name string) entry {
	d, ok := differenceOver(groups, func(g *group) (a, b *cell) {
		if i := slices.IndexFunc(g.cells, func(c *cell) bool { return c.name == name && !guaranteed(c.epsilon) }); i >= 0 {
			b = g.cells[i]
		}
		return g.find(m), b
	})
	if !ok {
		return entry{Text: "–"}
	}
	return entry{Text: signed(d.Difference), Small: []string{signedBetween(d.Interval.Low, d.Interval.High)}}
}

// acrossTable reports whether the reference at a small ε does what others do at a larger
// one, on average over data sets and on how many of them.
func (r *report) acrossTable(b block) table {
	t := table{
		Caption: fmt.Sprintf("across ε: %s less the others, in points, over all data sets", r.reference),
		Head:    []string{"ε of " + r.reference},
	}
	groups := r.of(b)
	if slices.ContainsFunc(groups, (*group).several) {
		return t
	}
	mine, others := r.places(groups)
	if len(mine) < 2 || len(others) == 0 || len(others) > 16 {
		return t
	}
	for _, o := range others {
		t.Head = append(t.Head, fmt.Sprintf("less %s, ε = %s", o.name, epsilonName(o.epsilon)))
	}
	for _, m := range mine {
		row := make([]entry, 1+len(others))
		row[0] = entry{Text: epsilonName(m.epsilon)}
		each(len(others), func(i int) { row[1+i] = across(groups, m, others[i]) })
		t.Rows = append(t.Rows, row)
	}
	t.Notes = []string{"Below the mean over data sets: its 95 % interval, and on how many data sets the difference is not below 0. Strong: on all of them."}
	return t
}

// places returns where the reference and the others have a guarantee, which is more than a
// claim, on every data set.
func (r *report) places(groups []*group) (mine, others []place) {
	for _, c := range groups[0].cells {
		at := c.at(groups[0])
		everywhere := !slices.ContainsFunc(groups, func(g *group) bool { return g.find(at) == nil })
		switch {
		case !everywhere || !guaranteed(c.epsilon) || c.claimed:
		case c.name == r.reference:
			mine = append(mine, at)
		default:
			others = append(others, at)
		}
	}
	return mine, others
}

// at returns where a cell is found, with the number of answers where that varies.
func (c *cell) at(g *group) place {
	at := place{name: c.name, epsilon: c.epsilon}
	if len(g.queries()) > 1 {
		at.queries = c.queries
	}
	return at
}

// called returns the name of a cell, and that its ε is a claim.
func (c *cell) called() string {
	if c.claimed {
		return c.name + " (claimed)"
	}
	return c.name
}

// find ignores the number of shots, and that of answers unless it is given: use it where
// there is one only.
func (g *group) find(at place) *cell {
	for _, c := range g.cells {
		if c.name == at.name && c.epsilon == at.epsilon && (at.queries == 0 || c.queries == at.queries) {
			return c
		}
	}
	return nil
}

// aheadOn returns on how many data sets one place has a mean that is not below another's.
func aheadOn(groups []*group, a, b place) (n int) {
	for _, g := range groups {
		if g.find(a).value.mean >= g.find(b).value.mean {
			n++
		}
	}
	return n
}

func across(groups []*group, m, o place) entry {
	d, ok := differenceOver(groups, func(g *group) (a, b *cell) { return g.find(m), g.find(o) })
	if !ok {
		return entry{Text: "–"}
	}
	ahead := aheadOn(groups, m, o)
	return entry{
		Text:   signed(d.Difference),
		Small:  []string{signedBetween(d.Interval.Low, d.Interval.High), fmt.Sprintf("%d of %d", ahead, len(groups))},
		Strong: ahead == len(groups),
	}
}
