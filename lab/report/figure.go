package report

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/plot"
)

// datasetFigure draws values against ε, or against shots or numbers of answers where these
// vary, and against the tokens that went through the model.
func (r *report) datasetFigure(g *group) ([]figure, error) {
	title := r.groupTitle(g)
	if g.dataset == "" {
		title = r.titled("average over data sets", g.block)
	}
	var figures []plot.Figure
	caption := intervals
	switch {
	case crowded(g):
	case len(g.queries()) > 1:
		figures = r.queriesFigures(g, title)
	case g.wide():
		figures = r.eachShotsFigures(g, title)
	case len(g.shots()) > 1:
		if p, ok := r.shotsPanel(g); ok {
			figures = append(figures, plot.Figure{Title: title, Panels: []plot.Panel{p}})
		}
	default:
		var panels []plot.Panel
		for _, online := range []bool{true, false} {
			if p, ok := r.epsilonPanel(g, online); ok {
				panels = append(panels, p)
			}
		}
		if p, words, ok := r.tokensPanel(g); ok {
			panels = append(panels, p)
			caption += words
		}
		figures = inPairs(title, panels)
	}
	if len(figures) == 0 {
		return r.rankingFigure(g, title)
	}
	var out []figure
	for i, f := range figures {
		words := ""
		if i == len(figures)-1 {
			words = caption
		}
		one, err := drawn(f.WriteFragment, words)
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

// inPairs puts two panels into a figure each.
func inPairs(title string, panels []plot.Panel) (figures []plot.Figure) {
	for some := range slices.Chunk(panels, 2) {
		figures = append(figures, plot.Figure{Title: title, Panels: some})
	}
	return figures
}

// add puts the value of a cell into the series of a name, which has a look if it is new.
func add(list []plot.Series, name string, look int, x float64, c *cell) []plot.Series {
	i := slices.IndexFunc(list, func(s plot.Series) bool { return s.Name == name })
	if i < 0 {
		i = len(list)
		list = append(list, plot.Series{Name: name, Look: look})
	}
	list[i].Points = append(list[i].Points, measured(x, c.value))
	return list
}

// intervals states what bars are.
const intervals = "Bars are 95 % intervals over seeds and items."

// drawn takes a fragment as it is: package plot escapes what it is given.
func drawn(write func(io.Writer) error, caption string) ([]figure, error) {
	var b strings.Builder
	if err := write(&b); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return []figure{{SVG: template.HTML(b.String()), Caption: caption}}, nil
}

// crowded: many settings at a single ε, which an axis of ε would not separate.
func crowded(g *group) bool {
	names, epsilons := map[string]bool{}, map[float64]bool{}
	for _, c := range g.cells {
		if guaranteed(c.epsilon) {
			names[c.name], epsilons[c.epsilon] = true, true
		}
	}
	return !g.several() && len(names) > 5 && len(epsilons) == 1
}

// rankingFigure has a row for each cell.
func (r *report) rankingFigure(g *group, title string) ([]figure, error) {
	k := plot.Ranking{Title: title, X: plot.Axis{Label: metricName(g.metric), Max: 100}}
	several := len(g.shots()) > 1
	printed := r.published(g, g.metric)
	caption := intervals
	for _, c := range g.cells {
		m := measured(0, c.value)
		row := plot.RankRow{Name: c.label(g), Look: r.looks[c.name], Low: m.Low, Value: m.Y, Up: m.High}
		if guaranteed(c.epsilon) && !crowded(g) {
			row.Name += ", ε = " + epsilonName(c.epsilon)
		}
		for _, p := range printed {
			l := line{name: c.name, method: c.method}
			if publishedEpsilon(p) == c.epsilon && g.names(p, l) && (!several || c.online || p.Shots == c.shots) {
				row.Others = append(row.Others, p.Value)
			}
		}
		k.Rows = append(k.Rows, row)
	}
	if slices.ContainsFunc(k.Rows, func(row plot.RankRow) bool { return len(row.Others) > 0 }) {
		caption += " Diamonds: the papers' values, of other models."
	}
	return drawn(k.WriteFragment, caption)
}

// levels returns what needs no ε and no writing: nothing, and real records, in a prompt or
// in many that answer together.
func (r *report) levels(g *group) []plot.Level {
	var levels []plot.Level
	for _, c := range g.cells {
		if c.level() && !slices.ContainsFunc(levels, func(l plot.Level) bool { return l.Name == c.name }) {
			levels = append(levels, plot.Level{Name: c.name, Look: r.looks[c.name], Y: c.value.mean})
		}
	}
	return levels
}

// short returns a name without the word that the figure has for it.
func (c *cell) short() string { return strings.Replace(c.called(), " online", "", 1) }

func (c *cell) level() bool { return alone(c.method) || c.online && !guaranteed(c.epsilon) }

func measured(x float64, e estimate) plot.Estimate {
	m := plot.Estimate{X: x, Low: e.mean, Y: e.mean, High: e.mean}
	if !math.IsNaN(e.low) && !math.IsNaN(e.high) {
		m.Low, m.High = min(e.low, e.mean), max(e.high, e.mean)
	}
	return m
}

func vertical(g *group) plot.Axis {
	return plot.Axis{Label: metricName(g.metric), Fit: true, Max: 100}
}

// maxSeries is the maximal number of series that a panel can show apart.
const maxSeries = 10

// epsilonPanel is of methods that answer online, or of the others.
func (r *report) epsilonPanel(g *group, online bool) (plot.Panel, bool) {
	p := plot.Panel{
		Title: "against ε", Y: vertical(g), Levels: r.levels(g),
		X: plot.Axis{Label: "ε", Log: true, Ends: true, Fit: true},
	}
	switch {
	case online:
		p.Title = "online, against ε"
		p.X.Label = "ε of " + answersName(g.middle()) + " together"
	case g.online():
		p.Title = "demonstrations, against ε"
		p.X.Label = "ε of any number of answers"
	}
	for _, c := range g.cells {
		if c.level() || c.online != online {
			continue
		}
		name := c.called()
		if online { // the title says so
			name = c.short()
		}
		p.Series = add(p.Series, name, r.looks[c.name], c.epsilon, c)
		if guaranteed(c.epsilon) {
			p.X.Ticks = append(p.X.Ticks, c.epsilon)
		}
	}
	p.X.Ticks = slices.Compact(slices.Sorted(slices.Values(p.X.Ticks)))
	return p, len(p.Series) > 0 && len(p.Series) <= maxSeries
}

// headline returns the ε that is shown where there is room for one: 1 if it was run, else
// the middle one.
func headline(epsilons []float64) (float64, bool) {
	var e []float64
	for _, v := range epsilons {
		if guaranteed(v) {
			e = append(e, v)
		}
	}
	if len(e) == 0 {
		return 0, false
	}
	if slices.Contains(e, 1) {
		return 1, true
	}
	return e[len(e)/2], true
}

// tokensPanel has a point for each method that works, at one ε, and words about it.
func (r *report) tokensPanel(g *group) (p plot.Panel, words string, ok bool) {
	at, ok := headline(g.epsilons())
	if !ok {
		return p, "", false
	}
	p = plot.Panel{
		Title: "against model tokens", Y: vertical(g), Levels: r.levels(g),
		X: plot.Axis{Label: "tokens through the model for a demonstration set", Log: true, Fit: true},
	}
	if g.online() {
		p.X.Label = "tokens through the model for an answer"
	}
	named, published, outlines := 0, false, false
	for _, c := range g.cells {
		x := c.write
		if g.online() {
			x = c.perAnswer()
		}
		if c.level() || x <= 0 || guaranteed(c.epsilon) && c.epsilon != at {
			continue
		}
		named++
		// Those that are not online are outlines beside those that are.
		look, hollow := r.looks[c.name], g.online() && !c.online
		outlines = outlines || hollow
		p.Series = append(p.Series, plot.Series{Name: c.short(), Look: look, Apart: true, Hollow: hollow, Points: []plot.Estimate{measured(x, c.value)}})
		if c.published > 0 && !g.online() {
			published = true
			m := plot.Estimate{X: c.published, Low: c.value.mean, Y: c.value.mean, High: c.value.mean}
			p.Series = append(p.Series, plot.Series{Look: look, Apart: true, Hollow: true, Points: []plot.Estimate{m}})
		}
	}
	of := "one demonstration set"
	if g.online() {
		of = "one answer, with its share in what was written before,"
	}
	words = fmt.Sprintf(" Tokens are for %s at ε = %s.", of, epsilonName(at))
	if outlines {
		words += " Outlines: demonstrations; filled: online."
	}
	if published {
		words += " Outlines: at most, in the schedule of the papers' programs."
	}
	return p, words, named > 0 && named <= maxSeries
}

func (r *report) shotsPanel(g *group) (plot.Panel, bool) {
	p := plot.Panel{Title: "against shots", Y: vertical(g), X: plot.Axis{Label: "demonstrations", Log: g.shots()[0] > 0, Fit: true}}
	l := g.layout(nil)
	for _, at := range l.lines {
		s := plot.Series{Name: at.name, Look: len(p.Series)}
		if look, ok := lookOf(at.name); ok {
			s.Look = look
		}
		if guaranteed(at.epsilon) {
			s.Name = l.title(at)
		}
		for _, c := range g.cells {
			switch {
			case c.name != at.name || c.epsilon != at.epsilon:
			case c.method == zero || c.online || c.shots == 0:
				p.Levels = append(p.Levels, plot.Level{Name: c.name, Look: s.Look, Y: c.value.mean})
			default:
				s.Points = append(s.Points, measured(float64(c.shots), c.value))
				if !slices.Contains(p.X.Ticks, float64(c.shots)) {
					p.X.Ticks = append(p.X.Ticks, float64(c.shots))
				}
			}
		}
		if len(s.Points) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	slices.Sort(p.X.Ticks)
	return p, len(p.Series) > 0 && len(p.Series) <= maxSeries
}
