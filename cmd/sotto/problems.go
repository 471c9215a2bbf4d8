package main

import "github.com/sotto-dp/sotto/internal/document"

// problems tells what is wrong with a file that the user wrote.
func (p *page) problems(list []document.Problem) {
	for _, f := range list {
		what, colour := "wrong", red
		if f.Warning {
			what, colour = "warning", yellow
		}
		p.line("%s  %s", p.paint(colour, pad(what, len("warning"))), p.paint(bold, f.Place()))
		for _, part := range []string{f.What, f.Fix} {
			for _, line := range fold(part, pageWidth-9) {
				p.line("         %s", line)
			}
		}
	}
}
