package audit

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/internal/sys/durable"
)

//go:embed page.html.tmpl
var pageText string

var page = template.Must(template.New("audit").Parse(pageText))

// Page is a report of an audit as people read it.
type Page struct {
	Title string
	// Lead says what was done, Mark what it is worth.
	Lead string
	// Alarm: a claim was refuted.
	Alarm bool
	Mark  string
	// Sections stand one below the other.
	Sections []Section
	// Made says by which program.
	Made string
}

// Section of a page.
type Section struct {
	Title, Text string
	Table       *Rows
	Figures     []plot.Figure
}

// Rows are a table: a head, and lines of cells.
type Rows struct {
	Head  []string
	Lines [][]string
}

// Save writes the page to a file.
func (p Page) Save(path string) error {
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		return err
	}
	return durable.WriteFile(path, []byte(b.String()), 0o644)
}

// Write writes the page, which needs nothing else.
func (p Page) Write(w io.Writer) error {
	var failed error
	draw := func(f plot.Figure) template.HTML {
		var b strings.Builder
		if err := f.WriteFragment(&b); err != nil && failed == nil {
			failed = err
		}
		return template.HTML(b.String()) // plot escapes what it draws
	}
	type section struct {
		Title, Text string
		Table       *Rows
		Figures     []template.HTML
	}
	sections := make([]section, len(p.Sections))
	for i, s := range p.Sections {
		sections[i] = section{Title: s.Title, Text: s.Text, Table: s.Table}
		for _, f := range s.Figures {
			sections[i].Figures = append(sections[i].Figures, draw(f))
		}
	}
	if failed != nil {
		return failed
	}
	return page.Execute(w, struct {
		Page
		Drawn []section
		Style template.CSS
	}{p, sections, template.CSS(plot.PageStyle())})
}

// Figure draws the claimed curve, and what an adversary found below it.
func (c Curve) Figure(title string) (plot.Figure, bool) {
	if len(c.Allowed) < 2 || len(c.Found) == 0 {
		return plot.Figure{}, false
	}
	allowed := plot.Series{Name: "allowed by the claim", Look: 0}
	for _, p := range c.Allowed {
		allowed.Points = append(allowed.Points, plot.Estimate{X: p.FalsePositives, Low: p.TruePositives, Y: p.TruePositives, High: p.TruePositives})
	}
	found := plot.Series{Name: "found", Look: 1, Apart: true}
	for _, p := range c.Found {
		found.Points = append(found.Points, plot.Estimate{X: p.FalseAlarms, Low: min(p.Share, p.Interval.Low), Y: p.Share, High: max(p.Share, p.Interval.High)})
	}
	return plot.Figure{Title: title, Panels: []plot.Panel{{
		Title: "What an adversary finds", X: plot.Axis{Label: "false alarms", Log: true}, Y: plot.Axis{Label: "found, of the runs with the record", Max: 1},
		Series: []plot.Series{allowed, found},
	}}}, true
}

// ComparisonFigure draws lower bounds beside what is claimed.
func ComparisonFigure(title string, names []string, claimed, lower, shaped []float64) (plot.Figure, bool) {
	claims := plot.Series{Name: "claimed ε", Apart: true, Look: 0}
	any := plot.Series{Name: "at least", Apart: true, Look: 1}
	kind := plot.Series{Name: "at least, if as described", Apart: true, Look: 2}
	add := func(s *plot.Series, i int, y float64) {
		s.Points = append(s.Points, plot.Estimate{X: float64(i + 1), Low: y, Y: y, High: y})
	}
	var notes []string
	var ticks []float64
	for i := range names {
		if math.IsInf(claimed[i], 0) {
			continue
		}
		add(&claims, i, claimed[i])
		add(&any, i, lower[i])
		add(&kind, i, shaped[i])
		ticks = append(ticks, float64(i+1))
		notes = append(notes, fmt.Sprintf("%d %s", i+1, names[i]))
	}
	if len(ticks) < 2 {
		return plot.Figure{}, false
	}
	return plot.Figure{
		Title: title, Notes: []string{strings.Join(notes, " · ")},
		Panels: []plot.Panel{{Title: "Claimed ε and what was found", X: plot.Axis{Label: "mechanism", Ticks: ticks, Fit: true}, Y: plot.Axis{Label: "ε"}, Series: []plot.Series{claims, any, kind}}},
	}, true
}
