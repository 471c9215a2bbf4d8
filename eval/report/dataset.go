package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"sotto/eval/suite"
)

// datasetSection is the results on one data set. The cost is left out where it was told
// for the other kind of calibration, with which it has nothing to do.
func (r *report) datasetSection(g *group, told bool) (section, error) {
	s := section{Title: r.groupTitle(g)}
	f, err := r.datasetFigure(g)
	if err != nil {
		return s, err
	}
	s.Figures = f
	s.Tables = append(s.Tables, r.valueTable(g))
	if !told {
		s.Tables = append(s.Tables, costTable(g))
	}
	if t := measureTable(g); len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	return s, nil
}

// line of a table of values is a method; where there are several numbers of shots, which
// are the columns then, a method at an ε.
type line struct {
	name, method string
	epsilon      float64
}

// layout says what the columns of a table are: values of ε, or numbers of shots.
type layout struct {
	shots    bool
	lines    []line
	columns  []float64
	headings []string
}

// layout of a group, with places for what papers say.
func (g *group) layout(printed []suite.Published) layout {
	l := layout{shots: len(g.shots()) > 1}
	for _, c := range g.cells {
		at, column := line{name: c.name, method: c.method}, c.epsilon
		if l.shots {
			at.epsilon, column = c.epsilon, float64(c.shots)
		}
		if !slices.Contains(l.lines, at) {
			l.lines = append(l.lines, at)
		}
		if !slices.Contains(l.columns, column) {
			l.columns = append(l.columns, column)
		}
	}
	for _, p := range printed {
		column := publishedEpsilon(p)
		if l.shots {
			column = float64(p.Shots)
		}
		if !slices.Contains(l.columns, column) {
			l.columns = append(l.columns, column)
		}
	}
	slices.Sort(l.columns)
	for _, c := range l.columns {
		h := "ε = " + epsilonName(c)
		if l.shots {
			h = epsilonName(c) + " shots"
		}
		l.headings = append(l.headings, h)
	}
	return l
}

// holds reports whether a value at an ε with a number of shots stands in a column.
func (l *layout) holds(at line, column, epsilon float64, shots int) bool {
	if l.shots {
		return at.epsilon == epsilon && column == float64(shots)
	}
	return column == epsilon
}

// title of a line.
func (l *layout) title(at line) string {
	if l.shots && guaranteed(at.epsilon) {
		return at.name + ", ε = " + epsilonName(at.epsilon)
	}
	return at.name
}

// valueTable has methods as rows and ε or shots as columns, like the papers' tables.
func (r *report) valueTable(g *group) table {
	notes := &sources{}
	t := g.values(r.published(g), notes)
	t.Caption = fmt.Sprintf("%s: mean ± standard deviation over seeds, 95 %% interval below", metricName(g.metric))
	t.Notes = append(notes.lines(), t.Notes...)
	return t
}

func (g *group) values(printed []suite.Published, notes *sources) table {
	l := g.layout(printed)
	t := table{Head: append([]string{"method"}, l.headings...)}
	best := g.best()
	for _, at := range l.lines {
		row := []entry{{Text: l.title(at), Left: true}}
		for _, column := range l.columns {
			var e entry
			for _, c := range g.cells {
				if c.name == at.name && l.holds(at, column, c.epsilon, c.shots) {
					e = valueEntry(c, best[c])
					break
				}
			}
			for _, p := range printed {
				if g.names(p, at) && l.holds(at, column, publishedEpsilon(p), p.Shots) {
					e.Small = append(e.Small, fmt.Sprintf("paper: %s [%s]", spread(p.Value, deviation(p)), notes.mark(p)))
				}
			}
			row = append(row, e)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(best) > 0 {
		t.Notes = []string{"Strong: the highest mean at an ε that protects records."}
	}
	return t
}

func valueEntry(c *cell, strong bool) entry {
	e := entry{Text: spread(c.value.mean, c.value.std), Strong: strong}
	if b := between(c.value.low, c.value.high); b != "" {
		e.Small = []string{b}
	}
	return e
}

// deviation of a paper's value, which not all print.
func deviation(p suite.Published) float64 {
	if p.Std == 0 {
		return math.NaN()
	}
	return p.Std
}

// best are the cells with the highest mean at their ε, among several with a guarantee.
func (g *group) best() map[*cell]bool {
	several := len(g.shots()) > 1
	type column struct {
		epsilon float64
		shots   int
	}
	top, n := map[column]*cell{}, map[column]int{}
	for _, c := range g.cells {
		if !guaranteed(c.epsilon) {
			continue
		}
		at := column{epsilon: c.epsilon}
		if several {
			at.shots = c.shots
		}
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

// publishedEpsilon is the place of a paper's value.
func publishedEpsilon(p suite.Published) float64 {
	if p.Epsilon == nil {
		return math.Inf(1)
	}
	return *p.Epsilon
}

// published are the values that have a line in the tables of a group.
func (r *report) published(g *group) []suite.Published {
	var found []suite.Published
	lines := g.layout(nil).lines
	for _, p := range r.in.Published {
		if p.Dataset == g.dataset && slices.ContainsFunc(lines, func(l line) bool { return g.names(p, l) }) {
			found = append(found, p)
		}
	}
	return found
}

// names reports whether a published value is of the method of a line: by its setting, or
// else by the mechanism where only one line has it.
func (g *group) names(p suite.Published, l line) bool {
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

func (s *sources) mark(p suite.Published) string {
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

// costTable tells what a demonstration set costs.
func costTable(g *group) table {
	t := table{
		Caption: "work for one demonstration set; means over seeds",
		Head:    []string{"method", "shots", "ε", "tokens to write", "as published", "seconds", "tokens to answer", "seeds", "items"},
	}
	for _, c := range g.cells {
		t.Rows = append(t.Rows, []entry{
			{Text: c.name, Left: true},
			{Text: strconv.Itoa(c.shots)},
			{Text: epsilonName(c.epsilon)},
			{Text: unless0(c.write, count(c.write))},
			{Text: unless0(c.published, count(c.published))},
			{Text: unless0(c.seconds, strconv.FormatFloat(c.seconds, 'f', 1, 64))},
			{Text: unless0(c.answer, count(c.answer))},
			{Text: strconv.Itoa(c.value.seeds)},
			{Text: strconv.Itoa(c.value.items)},
		})
	}
	t.Notes = []string{publishedNote}
	return t
}

// publishedNote says what tokens as published are.
const publishedNote = "As published: what the papers' programs would need at most, which compute every prompt of every token in full, for texts of full length with records at their limit."

// measureTable has what else was measured.
func measureTable(g *group) table {
	t := table{Caption: "other measures, of the answers and of the demonstrations; means over seeds", Head: []string{"method", "shots", "ε"}}
	known := map[string]bool{}
	for _, c := range g.cells {
		for k := range c.metrics {
			known[k] = true
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
