package release

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/prompt"
)

//go:embed report.html.tmpl
var page string

// reportPage escapes everything by its context.
var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"add": func(a, b int) int { return a + b },
}).Parse(page))

// gauge shows how much a guess gains: from even odds to the bound.
type gauge struct {
	Even, Best, Rest float64 // widths
	Text             string
}

type reportView struct {
	Release
	Title, Mark, Why, Summary string
	// Names of the columns, and the rows: what a text was written for, and the text.
	Names          [2]string
	Rows           [][2]string
	Headline       string
	Sentence       string
	Gauge          *gauge
	Facts, Options []named
	Event, Account string
	Limits         []string
}

// gaugeWidth is the width of the drawing.
const gaugeWidth = 640.0

func report(r Release) ([]byte, error) {
	v := reportView{
		Release: r, Title: r.title(), Summary: r.summary(),
		Names: [2]string{r.Task.Answer.Output, r.Task.Answer.Input}, Headline: Mark, Limits: r.limits(),
		Facts: r.facts(), Options: r.settings(),
	}
	turn := r.Task.Kind == prompt.Generate
	if turn {
		slices.Reverse(v.Names[:])
	}
	for _, e := range r.Examples {
		row := [2]string{e.Output, e.Input}
		if turn {
			slices.Reverse(row[:])
		}
		v.Rows = append(v.Rows, row)
	}
	if r.NotPrivate() {
		v.Mark, v.Why = Mark, r.why()
	} else {
		v.describe()
	}
	var b bytes.Buffer
	if err := reportPage.Execute(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// describe fills in the description of a guarantee.
func (v *reportView) describe() {
	g := *v.Guarantee
	v.Headline = "ε = 0"
	if g.Epsilon.Upper > 0 {
		v.Headline = fmt.Sprintf("ε ≤ %s, δ = %s", atMost(g.Epsilon.Upper), number(g.Delta))
	}
	v.Sentence = Sentence(g)
	v.Event = g.Event.String()
	v.Account = fmt.Sprintf("sotto account '%s' --delta %s --adjacency %s", g.Event, number(g.Delta), g.Adjacency)
	if best := Guess(g); g.Epsilon.Upper > 0 && !math.IsInf(g.Epsilon.Upper, 1) {
		v.Gauge = &gauge{
			Even: gaugeWidth / 2, Best: gaugeWidth * (best - 0.5), Rest: gaugeWidth * (1 - best),
			Text: percent(best),
		}
	}
}
