package tablecmd

import (
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
)

// result is what a verb prints, by names that sotto has too. What is released is in the
// files of the folder.
type result struct {
	Dir       string            `json:"dir"`
	Files     []string          `json:"files"`
	Rows      int64             `json:"rows,omitempty"` // that were perturbed
	Schema    string            `json:"schema"`
	Private   bool              `json:"private"`
	Event     string            `json:"event"`
	Epsilon   float64           `json:"epsilon,omitempty"` // of what is private
	Delta     float64           `json:"delta"`
	Adjacency privacy.Adjacency `json:"adjacency"`
	Unit      privacy.Unit      `json:"unit"`
	Guarantee []string          `json:"guarantee"`
	Charge    string            `json:"charge,omitempty"`
	Resumed   bool              `json:"resumed"`
	Warnings  []string          `json:"warnings,omitempty"`

	examples []string
}

func newResult(r sotto.Result, schema string, words []string) *result {
	g := r.Guarantee
	out := &result{
		Dir: r.Dir, Files: r.Files, Schema: schema, Private: r.Private, Event: r.Event.String(), Epsilon: g.Epsilon.Upper, Delta: g.Delta,
		Adjacency: g.Adjacency, Unit: g.Unit, Guarantee: words, Charge: string(r.Charge), Resumed: r.Resumed, Warnings: r.Warnings,
	}
	for _, e := range r.Examples {
		out.examples = append(out.examples, e.Input+" "+e.Output)
	}
	return out
}

// Print implements [ui.Result].
func (r *result) Print(p *ui.Page) {
	for i, text := range r.examples {
		p.Line("%d  %s\n", i+1, text)
	}
	if !r.Private {
		p.Line("NOT PRIVATE: the random numbers are known. Nothing was charged, and there is no certificate")
	}
	for _, s := range r.Guarantee {
		p.Line("- %s", s)
	}
	for _, s := range r.Warnings {
		p.Line("warning: %s", s)
	}
	p.Line("\nevent   %s\nfiles   %s", r.Event, strings.Join(r.Files, ", "))
	if r.Private {
		p.Line("charge  %s\ncheck   sotto verify %s", r.Charge, r.Dir)
	}
}
