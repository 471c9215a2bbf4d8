package check

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/audit"
	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
)

// judged compares runs with a claim.
func judged(ctx context.Context, with, without []float64, c audit.Claim, o auditFlags) (auditGame, error) {
	return fault.Await(ctx, func() (auditGame, error) {
		g := auditGame{Event: c.Event.String(), Adjacency: c.Adjacency, Delta: c.Delta, Runs: len(with) + len(without)}
		v, err := audit.Judge(with, without, c, o.confidence)
		if err != nil {
			return g, err
		}
		g.Claimed, g.MinEpsilon, g.Shaped = ui.Real(v.Claimed), ui.Real(v.Lower.Epsilon), ui.Real(v.Shaped)
		g.Refuted = v.Refuted
		g.Curve, err = audit.Against(with, without, c, o.confidence)
		return g, err
	})
}

// finishAudit prints what was found, writes the page, and fails if a claim is refuted.
func finishAudit(p *cli.Program, r *auditResult, o auditFlags, title string) error {
	for _, g := range r.Games {
		r.Refuted = r.Refuted || g.Refuted
	}
	r.OK = !r.Refuted
	if err := o.write(auditPage(r, title)); err != nil {
		return err
	}
	if err := p.Emit(r); err != nil || !r.Refuted {
		return err
	}
	return ui.Reported("a claim is refuted")
}

// auditPage is the page of an audit.
func auditPage(r *auditResult, title string) audit.Page {
	page := audit.Page{
		Title: "Audit: " + r.headline(), Alarm: r.Refuted,
		Lead: title + ". A mechanism runs with a record or without it, and an adversary who knows all else says which; how often it is wrong bounds ε from below.",
		Mark: fmt.Sprintf("A claim is refuted by errors that its curve of ε and δ does not allow. If all claims are kept, one or more are refuted with a probability of %.3g at most.", 1-r.Confidence),
	}
	table := &audit.Rows{Head: []string{"Mechanism", "claimed ε", "at least", "as described", "found", "δ", "runs", "seconds"}}
	var names []string
	var claimed, lower, shaped []float64
	for _, g := range r.Games {
		name := g.Name
		if g.Refuted {
			name += " (refuted)"
		}
		table.Lines = append(table.Lines, []string{
			name, ui.AtMost(g.Claimed), ui.AtLeast(g.MinEpsilon), ui.AtLeast(g.Shaped), g.share(), ui.Whole(g.Delta), fmt.Sprint(g.Runs), fmt.Sprintf("%.1f", g.Seconds),
		})
		names, claimed = append(names, g.Name), append(claimed, float64(g.Claimed))
		lower, shaped = append(lower, float64(g.MinEpsilon)), append(shaped, float64(g.Shaped))
	}
	all := audit.Section{
		Title: "Bounds", Table: table,
		Text: "“At least” holds for any mechanism. “As described” is what a claim of the same shape, with noise of another size, has to state at least: it is tighter, since errors at one threshold then say something about all.",
	}
	if f, ok := audit.ComparisonFigure("claimed and found", names, claimed, lower, shaped); ok {
		all.Figures = []plot.Figure{f}
	}
	page.Sections = append(page.Sections, all)
	for _, g := range r.Games {
		s := audit.Section{Title: g.Name, Text: fmt.Sprintf("%s, %s. Inputs: %s.", g.Event, g.Adjacency, g.Inputs)}
		if f, ok := g.Curve.Figure(g.Event); ok {
			s.Figures = []plot.Figure{f}
		}
		page.Sections = append(page.Sections, s)
	}
	return page
}
