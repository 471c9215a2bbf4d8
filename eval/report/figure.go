package report

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"sotto/internal/plot"
)

// datasetFigure draws values against ε, or against shots where these vary, and against the
// tokens that writing took.
func (r *report) datasetFigure(g *group) ([]figure, error) {
	var f plot.Figure
	caption := "Bars are 95 % intervals over seeds and items."
	f.Title = r.groupTitle(g)
	if g.dataset == "" {
		f.Title = r.titled("average over data sets", g.block)
	}
	switch {
	case len(g.queries()) > 1:
		f.Panels = append(f.Panels, r.queriesPanels(g)...)
	case len(g.shots()) > 1:
		if p, ok := r.shotsPanel(g); ok {
			f.Panels = append(f.Panels, p)
		}
	default:
		if p, ok := r.epsilonPanel(g); ok {
			f.Panels = append(f.Panels, p)
		}
		if p, e, hollow, ok := r.tokensPanel(g); ok {
			f.Panels = append(f.Panels, p)
			of := "one demonstration set"
			if g.online() {
				of = "one answer, with its share in what was written before,"
			}
			caption += fmt.Sprintf(" Tokens are those of %s at ε = %s.", of, epsilonName(e))
			if hollow {
				caption += " Outlines: at most, in the schedule of the papers' programs."
			}
		}
	}
	if len(f.Panels) == 0 || crowded(g) {
		return r.rankingFigure(g, f.Title)
	}
	return drawn(f.WriteFragment, caption)
}

// drawn takes a fragment as it is: package plot escapes what it is given.
func drawn(write func(io.Writer) error, caption string) ([]figure, error) {
	var b strings.Builder
	if err := write(&b); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return []figure{{SVG: template.HTML(b.String()), Caption: caption}}, nil
}

// crowded: many settings at a single ε, which an axis of ε would not tell apart.
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
	k := plot.Ranking{Title: title, X: plot.Axis{Label: metricName(g.metric), Most: 100}}
	several := len(g.shots()) > 1
	printed := r.published(g, g.metric)
	caption := "Bars are 95 % intervals over seeds and items."
	for _, c := range g.cells {
		m := measured(0, c.value)
		row := plot.Ranked{Name: c.label(g), Look: r.looks[c.name], Low: m.Low, Value: m.Y, Up: m.High}
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
	if slices.ContainsFunc(k.Rows, func(row plot.Ranked) bool { return len(row.Others) > 0 }) {
		caption += " Diamonds: the papers' values, of other models."
	}
	return drawn(k.WriteFragment, caption)
}

// levels are what needs no ε and no writing: nothing, and real records.
func (r *report) levels(g *group) []plot.Level {
	var levels []plot.Level
	for _, c := range g.cells {
		if alone(c.method) && !slices.ContainsFunc(levels, func(l plot.Level) bool { return l.Name == c.name }) {
			levels = append(levels, plot.Level{Name: c.name, Look: r.looks[c.name], Y: c.value.mean})
		}
	}
	return levels
}

func measured(x float64, e estimate) plot.Measured {
	m := plot.Measured{X: x, Low: e.mean, Y: e.mean, High: e.mean}
	if !math.IsNaN(e.low) && !math.IsNaN(e.high) {
		m.Low, m.High = min(e.low, e.mean), max(e.high, e.mean)
	}
	return m
}

func vertical(g *group) plot.Axis {
	return plot.Axis{Label: metricName(g.metric), Fit: true, Most: 100}
}

// mostSeries is how many series there are at most that a panel can show apart.
const mostSeries = 10

func (r *report) epsilonPanel(g *group) (plot.Panel, bool) {
	p := plot.Panel{
		Title: "against ε", Y: vertical(g), Levels: r.levels(g),
		X: plot.Axis{Label: "ε", Log: true, Ends: true, Fit: true},
	}
	for _, c := range g.cells {
		if alone(c.method) {
			continue
		}
		i := slices.IndexFunc(p.Series, func(s plot.Series) bool { return s.Name == c.name })
		if i < 0 {
			p.Series = append(p.Series, plot.Series{Name: c.name, Look: r.looks[c.name], Hollow: c.claimed})
			i = len(p.Series) - 1
		}
		p.Series[i].Points = append(p.Series[i].Points, measured(c.epsilon, c.value))
		if guaranteed(c.epsilon) && !slices.Contains(p.X.Ticks, c.epsilon) {
			p.X.Ticks = append(p.X.Ticks, c.epsilon)
		}
	}
	slices.Sort(p.X.Ticks)
	return p, len(p.Series) > 0 && len(p.Series) <= mostSeries
}

// headline is the ε that is shown where there is room for one: 1 if it was run, else the
// middle one.
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

// tokensPanel has a point for each method that writes, at one ε.
func (r *report) tokensPanel(g *group) (p plot.Panel, at float64, hollow, ok bool) {
	at, ok = headline(g.epsilons())
	if !ok {
		return p, 0, false, false
	}
	p = plot.Panel{
		Title: "against model tokens", Y: vertical(g), Levels: r.levels(g),
		X: plot.Axis{Label: "tokens through the model for a demonstration set", Log: true, Fit: true},
	}
	if g.online() {
		p.X.Label = "tokens through the model for an answer"
	}
	for _, c := range g.cells {
		x := c.write
		if g.online() {
			x = c.perAnswer()
		}
		if alone(c.method) || x <= 0 || guaranteed(c.epsilon) && c.epsilon != at {
			continue
		}
		look := r.looks[c.name]
		p.Series = append(p.Series, plot.Series{Name: c.name, Look: look, Apart: true, Points: []plot.Measured{measured(x, c.value)}})
		if c.published > 0 && !g.online() {
			hollow = true
			m := plot.Measured{X: c.published, Low: c.value.mean, Y: c.value.mean, High: c.value.mean}
			p.Series = append(p.Series, plot.Series{Look: look, Apart: true, Hollow: true, Points: []plot.Measured{m}})
		}
	}
	named := 0
	for _, s := range p.Series {
		if s.Name != "" {
			named++
		}
	}
	return p, at, hollow, named > 0 && named <= mostSeries
}

func (r *report) shotsPanel(g *group) (plot.Panel, bool) {
	p := plot.Panel{Title: "against shots", Y: vertical(g), X: plot.Axis{Label: "demonstrations", Log: g.shots()[0] > 0, Fit: true}}
	l := g.layout(nil)
	for _, at := range l.lines {
		s := plot.Series{Name: at.name, Look: len(p.Series)}
		if look, ok := looksOf[at.name]; ok {
			s.Look = look
		}
		if guaranteed(at.epsilon) {
			s.Name = l.title(at)
		}
		for _, c := range g.cells {
			switch {
			case c.name != at.name || c.epsilon != at.epsilon:
			case c.method == "zero":
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
	return p, len(p.Series) > 0 && len(p.Series) <= mostSeries
}

// queriesPanels show values against the number of answers that ε is for, a line for each
// method and ε, and against ε, a line for each method and number of answers. What is not
// online holds for any number.
func (r *report) queriesPanels(g *group) []plot.Panel {
	var out []plot.Panel
	l := g.layout(nil)
	most := plot.Panel{Title: "against answers", Y: vertical(g), X: plot.Axis{Label: "answers that ε is for, together", Log: true, Fit: true}}
	for _, at := range l.lines {
		s := plot.Series{Name: l.title(at), Look: len(most.Series), Hollow: at.claimed}
		for _, c := range g.cells {
			switch {
			case c.name != at.name || c.epsilon != at.epsilon:
			case !c.online:
				most.Levels = append(most.Levels, plot.Level{Name: l.title(at), Look: r.looks[c.name], Y: c.value.mean})
			default:
				s.Points = append(s.Points, measured(float64(c.queries), c.value))
				if x := float64(c.queries); !slices.Contains(most.X.Ticks, x) {
					most.X.Ticks = append(most.X.Ticks, x)
				}
			}
		}
		if len(s.Points) > 0 {
			most.Series = append(most.Series, s)
		}
	}
	slices.Sort(most.X.Ticks)
	if len(most.Series) > 0 && len(most.Series) <= mostSeries {
		out = append(out, most)
	}
	return append(out, r.pricePanels(g)...)
}

// pricePanels show the same values against ε, a line for each number of answers, where
// there are several ε.
func (r *report) pricePanels(g *group) []plot.Panel {
	p := plot.Panel{Title: "against ε", Y: vertical(g), Levels: r.levels(g), X: plot.Axis{Label: "ε", Log: true, Fit: true}}
	for _, c := range g.cells {
		if !c.online || !guaranteed(c.epsilon) {
			continue
		}
		i := slices.IndexFunc(p.Series, func(s plot.Series) bool { return s.Name == c.label(g) })
		if i < 0 {
			p.Series = append(p.Series, plot.Series{Name: c.label(g), Look: len(p.Series), Hollow: c.claimed})
			i = len(p.Series) - 1
		}
		p.Series[i].Points = append(p.Series[i].Points, measured(c.epsilon, c.value))
		if !slices.Contains(p.X.Ticks, c.epsilon) {
			p.X.Ticks = append(p.X.Ticks, c.epsilon)
		}
	}
	slices.Sort(p.X.Ticks)
	if len(p.X.Ticks) < 2 || len(p.Series) > mostSeries {
		return nil
	}
	return []plot.Panel{p}
}
