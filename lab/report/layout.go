package report

import (
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/lab/suite"
)

// line of a table of values is a method; where there are several numbers of shots or of
// answers, which are the columns then, a method at an ε. Where there are more values of ε
// than numbers of shots, it is a method with its shots.
type line struct {
	name, method string
	epsilon      float64
	shots        int
	claimed      bool
}

// layout states what the columns of a table are: values of ε, or numbers of shots or of
// answers that ε is for. each: lines have numbers of shots.
type layout struct {
	shots, queries, each bool
	lines                []line
	columns              []float64
	headings             []string
}

// across returns the column of a value.
func (l *layout) across(epsilon float64, shots int, queries int64) float64 {
	switch {
	case l.queries:
		return float64(queries)
	case l.shots:
		return float64(shots)
	}
	return epsilon
}

func (l *layout) heading(column float64) string {
	switch {
	case l.queries && column == 0:
		return "any number"
	case l.queries:
		return answersName(int64(column))
	case l.shots:
		return epsilonName(column) + " shots"
	}
	return "ε = " + epsilonName(column)
}

// layout of a group, with places for what papers say.
func (g *group) layout(printed []suite.PublishedValue) layout {
	l := layout{queries: len(g.queries()) > 1}
	l.each = !l.queries && g.wide()
	l.shots = !l.queries && !l.each && len(g.shots()) > 1
	for _, c := range g.cells {
		at, column := line{name: c.name, method: c.method, claimed: c.claimed}, l.across(c.epsilon, c.shots, c.queries)
		if l.shots || l.queries {
			at.epsilon = c.epsilon
		}
		if l.each {
			at.shots = c.shots
		}
		if !slices.Contains(l.lines, at) {
			l.lines = append(l.lines, at)
		}
		if !slices.Contains(l.columns, column) {
			l.columns = append(l.columns, column)
		}
	}
	for _, p := range printed {
		if column := l.across(publishedEpsilon(p), p.Shots, p.Queries); !slices.Contains(l.columns, column) {
			l.columns = append(l.columns, column)
		}
	}
	slices.Sort(l.columns)
	for _, c := range l.columns {
		l.headings = append(l.headings, l.heading(c))
	}
	return l
}

// holds reports whether a value at an ε with a number of shots and of answers stands in a
// column.
func (l *layout) holds(at line, column, epsilon float64, shots int, queries int64) bool {
	if l.shots || l.queries {
		return at.epsilon == epsilon && column == l.across(epsilon, shots, queries)
	}
	return column == epsilon && (!l.each || at.shots == shots)
}

// wide reports whether there are several numbers of shots, and more values of ε.
func (g *group) wide() bool {
	n := 0
	for _, e := range g.epsilons() {
		if guaranteed(e) {
			n++
		}
	}
	return len(g.shots()) > 1 && n > len(g.shots())
}

// title of a line.
func (l *layout) title(at line) string {
	name := at.name
	if (l.shots || l.queries) && guaranteed(at.epsilon) {
		name += ", ε = " + epsilonName(at.epsilon)
	}
	if l.each && at.shots > 0 {
		name += ", " + shotsName(at.shots)
	}
	if at.claimed {
		name += " (claimed)"
	}
	return name
}

// table lays out what there is to say of cells, and values of papers beside it.
func (g *group) table(printed []suite.PublishedValue, notes *sources, of func(*cell) (entry, bool)) table {
	l := g.layout(printed)
	t := table{Head: append([]string{"method"}, l.headings...)}
	for _, at := range l.lines {
		row := []entry{{Text: l.title(at), Left: true}}
		some := false
		for _, column := range l.columns {
			var e entry
			for _, c := range g.cells {
				if c.name == at.name && l.holds(at, column, c.epsilon, c.shots, c.queries) {
					found, ok := of(c)
					if ok {
						e, some = found, true
					}
					break
				}
			}
			for _, p := range printed {
				if g.names(p, at) && l.holds(at, column, publishedEpsilon(p), p.Shots, p.Queries) {
					e.Small = append(e.Small, fmt.Sprintf("paper: %s [%s]", spread(p.Value, deviation(p)), notes.mark(p)))
					some = true
				}
			}
			row = append(row, e)
		}
		if some {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
