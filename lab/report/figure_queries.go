package report

import (
	"slices"

	"github.com/sotto-dp/sotto/internal/plot"
)

// queriesFigures has one for each method that answers online: against the number of
// answers that ε is for, a line for each ε; and against ε, a line for each number. What is
// not online holds for any number.
func (r *report) queriesFigures(g *group, title string) []plot.Figure {
	names := distinct(g.cells, func(c *cell) (string, bool) { return c.name, c.online && !c.level() })
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
				number.Series = add(number.Series, "ε = "+epsilonName(c.epsilon), len(number.Series), float64(c.queries), c)
				number.X.Ticks = append(number.X.Ticks, float64(c.queries))
				price.Series = add(price.Series, answersName(c.queries), len(price.Series), c.epsilon, c)
				price.X.Ticks = append(price.X.Ticks, c.epsilon)
			}
		}
		for _, p := range []plot.Panel{number, price} {
			slices.Sort(p.X.Ticks)
			p.X.Ticks = slices.Compact(p.X.Ticks)
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
