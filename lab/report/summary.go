package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/eval"
)

// summary says in sentences what the tables show: of one kind of calibration, for each
// of the models.
func (r *report) summary() []string {
	var lines []string
	blocks := r.blocks()
	for _, b := range blocks {
		if b.calibrated != blocks[0].calibrated {
			continue
		}
		of := ""
		if name := r.modelName(b); name != "" {
			of = name + ": "
		}
		for _, s := range r.averageWords(b) {
			lines = append(lines, sentence(of+s))
		}
		for _, g := range r.of(b) {
			if s := r.datasetWords(g); s != "" {
				lines = append(lines, s)
			}
		}
		for _, s := range []string{r.costWords(b), r.answerWords(b)} {
			if s != "" {
				lines = append(lines, sentence(of+s))
			}
		}
	}
	if r.split() {
		lines = append(lines, "All of this is with calibrated labels; those that are not calibrated have tables of their own below.")
	}
	if words := r.modelWords(); words != "" {
		lines = append(lines, words)
	}
	return lines
}

// datasetWords returns the outcome on a data set at one ε, and where another is best.
func (r *report) datasetWords(g *group) string {
	var parts []string
	if at, ok := headline(g.epsilons()); ok {
		parts = append(parts, r.bestWords(g, at))
	}
	for _, kind := range []struct {
		method, words string
		online        bool
	}{
		{zero, "without demonstrations it is %s", false},
		{"public", "without records, by the rules of answers, %s", true},
		{"public", "with texts that use no record %s", false},
		{"real", "with real records %s", false},
	} {
		for _, c := range g.cells {
			if c.method == kind.method && c.online == kind.online {
				parts = append(parts, fmt.Sprintf(kind.words, points(c.value.mean)))
				break
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s: %s.", bracketed(g.dataset, r.modelName(g.block)), metricName(g.metric), strings.Join(parts, "; "))
}

// bestWords names the best method at an ε, what the others have, and the ε at which
// another is best.
func (r *report) bestWords(g *group, at float64) string {
	ranked := g.ranked(at)
	if len(ranked) == 0 {
		return fmt.Sprintf("at ε = %s there are claims alone", epsilonName(at))
	}
	best := ranked[0]
	s := fmt.Sprintf("at ε = %s %s has %s", epsilonName(at), best.label(g), spread(best.value.mean, best.value.std))
	if len(ranked) == 1 {
		return s
	}
	var others []string
	for _, c := range ranked[1:min(4, len(ranked))] {
		others = append(others, fmt.Sprintf("%s %s", c.label(g), points(c.value.mean)))
	}
	if more := len(ranked) - 4; more > 0 {
		others = append(others, fmt.Sprintf("and %d more", more))
	}
	s = fmt.Sprintf("at ε = %s %s has the highest mean, %s (%s)", epsilonName(at), best.label(g), spread(best.value.mean, best.value.std), strings.Join(others, ", "))
	var elsewhere []string
	for _, e := range g.epsilons() {
		if !guaranteed(e) || e == at {
			continue
		}
		if o := g.ranked(e); len(o) > 1 && o[0].name != best.name {
			elsewhere = append(elsewhere, fmt.Sprintf("at ε = %s %s has", epsilonName(e), o[0].label(g)))
		}
	}
	if len(elsewhere) > 0 {
		s += "; " + list(elsewhere)
	}
	return s
}

// ranked returns the cells at an ε, the best first: of what is claimed none, and of answers
// online those for one number of them, the middle one.
func (g *group) ranked(at float64) []*cell {
	var cells []*cell
	for _, c := range g.cells {
		if c.epsilon == at && !c.claimed && (!c.online || c.queries == g.middle()) {
			cells = append(cells, c)
		}
	}
	slices.SortStableFunc(cells, func(a, b *cell) int { return cmp.Compare(b.value.mean, a.value.mean) })
	return cells
}

// label returns the name of a cell, with its shots or its number of answers where they
// vary.
func (c *cell) label(g *group) string {
	name := c.called()
	if c.online && len(g.queries()) > 1 {
		return fmt.Sprintf("%s for %s", name, answersName(c.queries))
	}
	if !c.online && len(g.shots()) > 1 {
		if c.shots == 0 {
			return name
		}
		return fmt.Sprintf("%s with %s", name, shotsName(c.shots))
	}
	return name
}

// averageWords compares the reference with the others over all data sets.
func (r *report) averageWords(b block) []string {
	groups := r.of(b)
	if len(groups) < 2 || slices.ContainsFunc(groups, (*group).several) {
		return nil
	}
	mine, others := r.places(groups)
	var epsilons []float64
	for _, m := range mine {
		epsilons = append(epsilons, m.epsilon)
	}
	at, ok := headline(epsilons)
	if !ok {
		return nil
	}
	me := r.averageAt(groups, place{name: r.reference, epsilon: at})
	s := fmt.Sprintf("on average over the %d data sets, at ε = %s, %s has %s", len(groups), epsilonName(at), r.reference, points(me))
	var parts []string
	for _, o := range others {
		if o.epsilon != at {
			continue
		}
		if d, ok := differenceOver(groups, func(g *group) (a, b *cell) { return g.find(place{name: r.reference, epsilon: at}), g.find(o) }); ok {
			parts = append(parts, fmt.Sprintf("%s has %s (difference %s, 95 %% interval %s)",
				o.name, points(r.averageAt(groups, o)), signed(d.Difference), signedBetween(d.Interval.Low, d.Interval.High)))
		}
	}
	if len(parts) == 0 {
		return []string{s + "."}
	}
	if more := len(parts) - 4; more > 0 {
		parts = append(parts[:4], fmt.Sprintf("%d more are in the table", more))
	}
	return append([]string{s + "; " + strings.Join(parts, "; ") + "."}, r.savedWords(groups, mine, others, at)...)
}

// savedWords says at which smaller ε the reference has what others have at one.
func (r *report) savedWords(groups []*group, mine, others []place, at float64) []string {
	var parts []string
	for _, o := range others {
		if o.epsilon != at {
			continue
		}
		for _, m := range mine { // in order of ε
			if m.epsilon >= at {
				break
			}
			if r.averageAt(groups, m) < r.averageAt(groups, o) {
				continue
			}
			parts = append(parts, fmt.Sprintf("of %s at ε = %s (on %d of %d data sets by themselves)", o.name, epsilonName(m.epsilon), aheadOn(groups, m, o), len(groups)))
			break
		}
	}
	if len(parts) == 0 || len(parts) > 4 {
		return nil
	}
	return []string{fmt.Sprintf("By the means, %s has the average that others have at ε = %s with less: that %s.", r.reference, epsilonName(at), list(parts))}
}

func (r *report) averageAt(groups []*group, at place) float64 {
	sum := 0.0
	for _, g := range groups {
		sum += g.find(at).value.mean / float64(len(groups))
	}
	return sum
}

// costWords compares the work of the methods at one ε, averaged over data sets.
func (r *report) costWords(b block) string {
	groups := r.of(b)
	var epsilons []float64
	for _, g := range groups {
		epsilons = append(epsilons, g.epsilons()...)
	}
	slices.Sort(epsilons)
	at, ok := headline(slices.Compact(epsilons))
	if !ok {
		return ""
	}
	var parts []string
	for _, name := range r.in.names() {
		write, published, n := 0.0, 0.0, 0.0
		for _, g := range groups {
			if c := g.find(place{name: name, epsilon: at}); c != nil && c.write > 0 {
				write, published, n = write+c.write, published+c.published, n+1
			}
		}
		if n == 0 {
			continue
		}
		s := fmt.Sprintf("%s model tokens with %s", count(write/n), name)
		if published > 0 {
			s += fmt.Sprintf(" (up to %s in the schedule of the papers' programs)", count(published/n))
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return ""
	}
	if len(parts) > 5 {
		parts = append(parts[:4], fmt.Sprintf("%d more in the tables", len(parts)-4))
	}
	return fmt.Sprintf("writing a demonstration set at ε = %s takes, on average, %s.", epsilonName(at), list(parts))
}

// answerWords reports what an answer costs where some are online, at one ε and one number
// of answers.
func (r *report) answerWords(b block) string {
	groups := slices.DeleteFunc(r.of(b), func(g *group) bool { return !g.online() })
	if len(groups) == 0 {
		return ""
	}
	at, ok := headline(groups[0].epsilons())
	if !ok {
		return ""
	}
	var parts []string
	for _, name := range r.in.names() {
		sum, n := 0.0, 0.0
		for _, g := range groups {
			for _, c := range g.cells {
				if c.name == name && (c.epsilon == at || !guaranteed(c.epsilon)) && (!c.online || c.queries == g.middle()) {
					sum, n = sum+c.perAnswer(), n+1
					break
				}
			}
		}
		if sum > 0 {
			parts = append(parts, fmt.Sprintf("%s model tokens with %s", count(sum/n), name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("an answer at ε = %s takes, on average and with its share in what was written before, %s.", epsilonName(at), list(parts))
}

// facts returns what a reader needs to judge the numbers.
func (r *report) facts() []fact {
	seeds := distinct(cellsOf(r.groups), func(c *cell) (int, bool) { return c.value.seeds, c.method != zero })
	items := distinct(r.in.Rows, func(row eval.Row) (int, bool) { return row.N, true })
	facts := []fact{
		{"Models", strings.Join(r.modelList(), "; ")},
		{"Seeds in a cell", span(seeds)},
		{"Test items", span(items)},
		{"δ", r.deltas()},
		{"Rows", fmt.Sprint(len(r.in.Rows))},
		{"Sotto", list(ordered(nil, r.in.Rows, func(row *eval.Row) string { return row.Version }))},
	}
	facts = slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
	for i, n := range r.in.Notes {
		facts = append(facts, fact{[]string{"Notes", ""}[min(i, 1)], n})
	}
	return facts
}

// deltas lists δ by data set where methods have a guarantee.
func (r *report) deltas() string {
	at := map[string]float64{}
	var order []string
	lo, hi := math.Inf(1), 0.0
	for i := range r.in.Rows {
		row := &r.in.Rows[i]
		if row.Delta > 0 && guaranteed(epsilonOf(row)) {
			if at[row.Dataset] == 0 {
				order = append(order, row.Dataset)
			}
			at[row.Dataset] = max(at[row.Dataset], row.Delta)
			lo, hi = min(lo, row.Delta), max(hi, row.Delta)
		}
	}
	switch {
	case hi == 0:
		return "none"
	case lo == hi:
		return deltaName(lo)
	}
	var parts []string
	for _, d := range order {
		parts = append(parts, d+" "+deltaName(at[d]))
	}
	return strings.Join(parts, ", ")
}
