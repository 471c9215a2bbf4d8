package ui

import "github.com/sotto-dp/sotto/internal/document"

// Problems lists what is wrong with a file that the user wrote.
func (p *Page) Problems(list []document.Problem) {
	for _, f := range list {
		what, colour := "wrong", Red
		if f.Warning {
			what, colour = "warning", Yellow
		}
		p.Line("%s  %s", p.Paint(colour, Pad(what, len("warning"))), p.Paint(Bold, f.Place()))
		p.Text(9, f.What)
		p.Text(9, f.Fix)
	}
}
