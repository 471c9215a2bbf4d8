package report

import (
	"slices"

	"github.com/sotto-dp/sotto/internal/plot"
)

// queriesFigures has one for each method that answers online: against the number of
// answers that ε is for, a line for each ε; and against ε, a line for each number. What is
// not online holds for any number.
func (r *report) queriesFigures(g *group, title string) []plot.Figure {
	var names []string
	for _, c := range g.cells {
		if c.online && !c.level() && !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	if len(names) > maxSeries {
		return nil
	}
	var out []plot.Figure
	for _, name := range names {
		f := plot.Figure{Title: title + ", " + name}
		number := plot.Panel{
			Title: name + ", against answers", Y: vertical(g), Levels: r.anyNumber(g),
			X: plot.Axis{Label: "answers that ε is for, together", Log: true, Fit: true},
		}
		price := plot.Panel{Title: name + ", against ε", Y: vertical(g), Levels: r.levels(g), X: plot.Axis{Label: "ε", Log: true, Fit: true}}
		for _, c := range g.cells {
			if c.name == name && c.online && !c.level() {
				add(&number, "ε = "+epsilonName(c.epsilon), float64(c.queries), c)
				add(&price, answersName(c.queries), c.epsilon, c)
			}
		}
		for _, p := range []plot.Panel{number, price} {
			slices.Sort(p.X.Ticks)
			if len(p.X.Ticks) > 1 && len(p.Series) <= maxSeries {
				f.Panels = append(f.Panels, p)
			}
		}
		if len(f.Panels) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// add puts the value of a cell into the series of a name.
func add(p *plot.Panel, name string, x float64, c *cell) {
	i := slices.IndexFunc(p.Series, func(s plot.Series) bool { return s.Name == name })
	if i < 0 {
		i = len(p.Series)
		p.Series = append(p.Series, plot.Series{Name: name, Look: i})
	}
	p.Series[i].Points = append(p.Series[i].Points, measured(x, c.value))
	if !slices.Contains(p.X.Ticks, x) {
		p.X.Ticks = append(p.X.Ticks, x)
	}
}

// anyNumber returns the levels of what does not depend on the number of answers.
func (r *report) anyNumber(g *group) []plot.Level {
	levels := r.levels(g)
	l := g.layout(nil)
	for _, c := range g.cells {
		if !c.online && !c.level() {
			name := l.title(line{name: c.name, epsilon: c.epsilon})
			levels = append(levels, plot.Level{Name: name, Look: r.looks[c.name], Y: c.value.mean})
		}
	}
	return levels[:min(len(levels), maxSeries)]
}
