//go:build cgo

package main

import (
	"fmt"
	"io"
	"strings"

	"sotto/privacy"
	"sotto/run"
)

// result is what a verb prints, by names that sotto has too. What is released is in the
// files of the folder.
type result struct {
	Dir       string            `json:"dir"`
	Files     []string          `json:"files"`
	Rows      int64             `json:"rows,omitempty"` // that were perturbed
	Schema    string            `json:"schema"`
	Event     string            `json:"event"`
	Epsilon   float64           `json:"epsilon"`
	Delta     float64           `json:"delta"`
	Adjacency privacy.Adjacency `json:"adjacency"`
	Unit      privacy.Unit      `json:"unit"`
	Guarantee []string          `json:"guarantee"`
	Charge    string            `json:"charge"`
	Resumed   bool              `json:"resumed"`
	Warnings  []string          `json:"warnings,omitempty"`

	examples []string
}

func newResult(r run.Result, schema string, words []string) *result {
	g := r.Guarantee
	out := &result{
		Dir: r.Dir, Files: r.Files, Schema: schema, Event: r.Event.String(), Epsilon: g.Epsilon.Upper, Delta: g.Delta,
		Adjacency: g.Adjacency, Unit: g.Unit, Guarantee: words, Charge: string(r.Charge), Resumed: r.Resumed, Warnings: r.Warnings,
	}
	for _, e := range r.Examples {
		out.examples = append(out.examples, e.Input+" "+e.Output)
	}
	return out
}

func (r *result) tell(w io.Writer) {
	for i, text := range r.examples {
		fmt.Fprintf(w, "%d  %s\n\n", i+1, text)
	}
	for _, s := range r.Guarantee {
		fmt.Fprintln(w, "-", s)
	}
	for _, s := range r.Warnings {
		fmt.Fprintln(w, "warning:", s)
	}
	fmt.Fprintf(w, "\nevent   %s\ncharge  %s\nfiles   %s\ncheck   sotto verify %s\n", r.Event, r.Charge, strings.Join(r.Files, ", "), r.Dir)
}
