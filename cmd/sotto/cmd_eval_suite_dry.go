package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/eval/suite"
	"github.com/sotto-dp/sotto/internal/ui"
)

type dryResult struct {
	Suite   string            `json:"suite"`
	Cells   int               `json:"cells"`
	Groups  []suite.GroupCost `json:"groups"`
	Tokens  float64           `json:"model_tokens"`
	Seconds float64           `json:"seconds"`
	Model   string            `json:"model"`
}

// estimate reports what the suite would take, without the cache. No record is read.
func (s *suiteRun) estimate(ctx context.Context, cells []suite.Cell) (err error) {
	r := &dryResult{Suite: s.suite.Name, Cells: len(cells)}
	bar := s.Bar("planning")
	r.Groups, err = s.suite.Estimate(ctx, cells, suite.Options{Open: s.open, OpenAnswerer: s.openAnswerer}, func(done, of int) { bar.Tell(done, of, "methods") })
	bar.Clear()
	if err != nil {
		return err
	}
	for _, g := range r.Groups {
		r.Tokens += g.Write + g.Answer
		r.Seconds += g.Seconds
	}
	at := slices.IndexFunc(cells, func(c suite.Cell) bool { return !c.Learns() })
	if at < 0 {
		r.Model = "no language model"
		return s.Emit(r)
	}
	spec, err := s.specOf(cells[at].Answerer)
	if err != nil {
		return err
	}
	answerer, err := s.openAnswerer(ctx, cells[at].Answerer)
	if err != nil {
		return err
	}
	r.Model = modelName(spec, answerer.Info())
	return s.Emit(r)
}

func (r *dryResult) Print(p *ui.Page) {
	p.Head("%s: %d sets of demonstrations, about %s tokens, %s", r.Suite, r.Cells, ui.Thousands(int64(r.Tokens)), ui.Span(r.Seconds))
	t := ui.NewTable("data set", "method", "#ε", "#shots", "#sets", "#tokens written", "#answered", "#time")
	last := ""
	for _, g := range r.Groups {
		name := g.Dataset
		if name == last {
			name = ""
		}
		last = g.Dataset
		shots := fmt.Sprint(g.Shots)
		if g.Online {
			shots = "for " + ui.Thousands(g.Queries)
		}
		t.Add(
			name, ui.Cut(g.Name, 18), epsilonOf(g.Epsilon), shots, fmt.Sprint(g.Cells),
			ui.Thousands(int64(g.Write)), ui.Thousands(int64(g.Answer)), ui.Span(g.Seconds),
		)
	}
	p.Table(t)
	p.Line("")
	p.Text(2, fmt.Sprintf("Texts count with their full length, records with the task's limit, and nothing is taken from the cache. Times are for %s on this machine, measured now, one set after the other. No record was read.", r.Model))
}
