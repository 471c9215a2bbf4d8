package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/lab/suite"
)

// datasetSection returns the results on one data set. The cost is left out where it was
// told for the other kind of calibration, with which it has nothing to do.
func (r *report) datasetSection(g *group, told bool) section {
	s := section{Title: r.groupTitle(g)}
	s.Tables = append(s.Tables, r.valueTable(g))
	s.Tables = append(s.Tables, balanceTables(g)...)
	s.Tables = append(s.Tables, r.likenessTables(g)...)
	if !told && slices.ContainsFunc(g.cells, func(c *cell) bool { return c.write > 0 || c.online }) {
		s.Tables = append(s.Tables, costTable(g))
	}
	if t := measureTable(g); len(t.Rows) > 0 && !g.wide() { // it would be too long to read
		s.Tables = append(s.Tables, t)
	}
	return s
}

// valueTable has methods as rows and ε or shots as columns, like the papers' tables.
func (r *report) valueTable(g *group) table {
	notes := &sources{}
	t := g.values(r.published(g, g.metric), notes)
	t.Caption = fmt.Sprintf("%s: mean ± standard deviation over seeds, 95 %% interval below", metricName(g.metric))
	t.Notes = append(notes.lines(), t.Notes...)
	return t
}

func (g *group) values(printed []suite.PublishedValue, notes *sources) table {
	best := g.best()
	t := g.table(printed, notes, func(c *cell) (entry, bool) { return valueEntry(c, best[c]), true })
	if len(best) > 0 {
		t.Notes = []string{"Strong: the highest mean at an ε that protects records."}
	}
	if slices.ContainsFunc(g.cells, func(c *cell) bool { return c.claimed }) {
		t.Notes = append(t.Notes, claimedNote)
	}
	if g.online() {
		t.Notes = append(t.Notes, g.onlineNote())
	}
	t.Notes = append(t.Notes, g.amplifiedNotes()...)
	return t
}

// claimedNote states what an ε is worth that nobody has proven.
const claimedNote = "Claimed: a paper says that this ε holds, its proof does not, and what the method protects is not known. It is no competitor at that ε."

// onlineNote explains what an ε buys.
func (g *group) onlineNote() string {
	together := "for the number of answers that is given"
	if n := g.queries(); len(n) == 1 {
		together = fmt.Sprintf("for %s together", answersName(n[0]))
	}
	return "Methods that answer online spend ε " + together + "; for the others it pays for demonstrations, which serve any number of answers."
}

func valueEntry(c *cell, strong bool) entry {
	e := entry{Text: spread(c.value.mean, c.value.std), Strong: strong}
	if b := between(c.value.low, c.value.high); b != "" {
		e.Small = []string{b}
	}
	return e
}

// deviation of a paper's value, which not all print.
func deviation(p suite.PublishedValue) float64 {
	if p.Std == 0 {
		return math.NaN()
	}
	return p.Std
}

// best returns the cells with the highest mean at their ε, among several with a guarantee.
func (g *group) best() map[*cell]bool {
	type column struct{ epsilon, at float64 }
	top, n := map[column]*cell{}, map[column]int{}
	l := g.layout(nil)
	for _, c := range g.cells {
		if !guaranteed(c.epsilon) || c.claimed {
			continue
		}
		at := column{c.epsilon, l.across(c.epsilon, c.shots, c.queries)}
		n[at]++
		if t := top[at]; t == nil || c.value.mean > t.value.mean {
			top[at] = c
		}
	}
	best := map[*cell]bool{}
	for at, c := range top {
		if n[at] > 1 {
			best[c] = true
		}
	}
	return best
}

// publishedEpsilon returns the place of a paper's value.
func publishedEpsilon(p suite.PublishedValue) float64 {
	if p.Epsilon == nil {
		return math.Inf(1)
	}
	return *p.Epsilon
}

// published returns the values that have a line in the tables of a group, of its metric or
// of one that compares embeddings.
func (r *report) published(g *group, metric string) []suite.PublishedValue {
	var found []suite.PublishedValue
	lines := g.layout(nil).lines
	for _, p := range r.in.Published {
		if similar := strings.HasPrefix(p.Metric, likeness); similar && !strings.HasPrefix(metric, p.Metric) || !similar && metric != g.metric {
			continue
		}
		if p.Dataset == g.dataset && slices.ContainsFunc(lines, func(l line) bool { return g.names(p, l) }) {
			found = append(found, p)
		}
	}
	return found
}

// names reports whether a published value is of the method of a line: by its setting, or
// else by the mechanism where only one line has it.
func (g *group) names(p suite.PublishedValue, l line) bool {
	if p.Method != l.method {
		return false
	}
	if p.Setting != "" {
		return p.Setting == l.name
	}
	if l.name == l.method {
		return true
	}
	return !slices.ContainsFunc(g.cells, func(c *cell) bool { return c.method == l.method && c.name != l.name })
}

// sources gives letters to where published values come from.
type sources struct{ known []string }

func (s *sources) mark(p suite.PublishedValue) string {
	text := p.Model + ", " + p.Source
	i := slices.Index(s.known, text)
	if i < 0 {
		s.known = append(s.known, text)
		i = len(s.known) - 1
	}
	return letters(i)
}

func (s *sources) lines() []string {
	var lines []string
	for i, text := range s.known {
		lines = append(lines, fmt.Sprintf("[%s] %s", letters(i), text))
	}
	return lines
}

// letters counts a, b, …, z, aa, ab, …
func letters(i int) string {
	s := ""
	for i >= 0 {
		s = string(rune('a'+i%26)) + s
		i = i/26 - 1
	}
	return s
}

// costTable reports what a demonstration set costs, and answers online.
func costTable(g *group) table {
	t := table{
		Caption: "work for one demonstration set; means over seeds",
		Head:    []string{"method", "shots", "ε", "tokens to write", "as published", "seconds", "tokens to answer", "seeds", "items"},
	}
	if g.online() {
		t.Caption = "work for one demonstration set and the answers with it, or for answers online; means over seeds"
		t.Head = slices.Insert(t.Head, 3, "answers for ε")
		t.Head = append(t.Head, "tokens for an answer")
	}
	for _, c := range g.cells {
		row := []entry{
			{Text: c.name, Left: true},
			{Text: strconv.Itoa(c.shots)},
			{Text: epsilonName(c.epsilon)},
			{Text: unless0(c.write, count(c.write))},
			{Text: unless0(c.published, count(c.published))},
			{Text: unless0(c.seconds, strconv.FormatFloat(c.seconds, 'f', 1, 64))},
			{Text: unless0(c.answer, count(c.answer))},
			{Text: strconv.Itoa(c.value.seeds)},
			{Text: strconv.Itoa(c.value.items)},
		}
		if g.online() {
			asked := "any"
			if c.online {
				asked = count(float64(c.queries))
			}
			row = slices.Insert(row, 3, entry{Text: asked})
			row = append(row, entry{Text: unless0(c.perAnswer(), count(c.perAnswer()))})
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = []string{publishedNote}
	if g.online() {
		t.Notes = append(t.Notes, "Tokens for an answer: all that went through the model, shared out over the items.")
	}
	return t
}

// publishedNote states what tokens as published are.
const publishedNote = "As published: what the papers' programs would need at most, which compute every prompt of every token in full, for texts of full length with records at their limit."

// measureTable has what else was measured.
func measureTable(g *group) table {
	t := table{Caption: "other measures, of the answers and of the demonstrations; means over seeds", Head: []string{"method", "shots", "ε"}}
	known := map[string]bool{}
	for _, c := range g.cells {
		for k := range c.metrics {
			if !strings.HasPrefix(k, likeness) && !slices.Contains(balances, k) {
				known[k] = true
			}
		}
	}
	if len(known) == 0 {
		return t
	}
	names := slices.Sorted(maps.Keys(known))
	t.Head = append(t.Head, names...)
	for _, c := range g.cells {
		row := []entry{{Text: c.name, Left: true}, {Text: strconv.Itoa(c.shots)}, {Text: epsilonName(c.epsilon)}}
		for _, k := range names {
			e := entry{Text: "–"}
			if v, ok := c.metrics[k]; ok {
				e.Text = measure(v)
			}
			row = append(row, e)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// measure prints a share with three digits and a number of words with one.
func measure(v float64) string {
	digits := 1
	if math.Abs(v) <= 1 {
		digits = 3
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// unless0 leaves out what is 0.
func unless0(v float64, text string) string {
	if v == 0 {
		return "–"
	}
	return text
}
