package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
)

type rehearseResult struct {
	Rehearsal bool                  `json:"rehearsal"`
	Invented  bool                  `json:"invented"`
	Records   int                   `json:"records"`
	Items     int                   `json:"items"`
	Copies    int64                 `json:"copies"`
	Rows      []sotto.RehearsedRow  `json:"rows"`
	Gains     []sotto.RehearsedGain `json:"gains"`
	Steps     string                `json:"steps,omitempty"`
	Method    string                `json:"method"`
	Event     string                `json:"event"`
	Epsilon   float64               `json:"epsilon"`
	Delta     float64               `json:"delta"`
	Chosen    *synthChosen          `json:"chosen,omitempty"`
	Texts     []prompt.Example      `json:"texts"`
	Run       float64               `json:"run_seconds"`
	RealLow   float64               `json:"real_seconds_low"`
	RealHigh  float64               `json:"real_seconds_high"`
	Seconds   float64               `json:"seconds"`
	Model     string                `json:"model"`
	Tokens    int64                 `json:"model_tokens"`
	Planned   int64                 `json:"model_tokens_planned"`
	Dir       string                `json:"dir,omitempty"`
	Files     []string              `json:"files,omitempty"`
	Warnings  []string              `json:"warnings,omitempty"`

	// generate: texts are outputs, and what they are for inputs.
	generate bool
}

// inventedWarning is about records that the model made up.
const inventedWarning = "the model invented these records: they are in its own words, and some are not what their label says. Expect other numbers on yours, as a rule lower ones; a public file that is like your records tells more (--stand-in)"

func newRehearseResult(d *sotto.Rehearsal) *rehearseResult {
	r := &rehearseResult{
		Rehearsal: true, Invented: d.Invented, Records: d.Records, Items: d.Items, Copies: d.Copies, Rows: d.Rows, Gains: d.Gains,
		Steps: d.Plan.Steps(), Method: d.Plan.Method(), Event: d.Event.String(), Epsilon: d.Plan.Epsilon, Delta: d.Plan.Delta,
		Chosen: newSynthChosen(&d.Run), Run: d.Run.Seconds, RealLow: d.RunLow, RealHigh: d.RunHigh, Seconds: d.Total,
		Model: d.Model, Tokens: d.Usage.Computed, Planned: d.Planned, Dir: d.Dir, Files: d.Files, Warnings: slices.Clone(d.Warnings),
		Texts: append([]prompt.Example{}, d.Examples...), generate: d.Plan.Task.Kind == prompt.Generate,
	}
	if d.Invented {
		r.Warnings = append(r.Warnings, inventedWarning)
	}
	return r
}

// name says what a kind of examples is.
func (r *rehearseResult) name(kind string) string {
	switch kind {
	case sotto.RehearsedNone:
		return "none"
	case sotto.RehearsedOwn:
		return "the model's own"
	case sotto.RehearsedReal:
		return "stand-in records"
	}
	if r.Chosen != nil {
		return "chosen by the records"
	}
	return "written from the records"
}

func (r *rehearseResult) Print(p *ui.Page) {
	p.Head("A rehearsal at ε = %s and δ = %s: nothing was charged, nothing is private or signed", ui.Whole(r.Epsilon), ui.Whole(r.Delta))
	made := "chosen"
	if r.Chosen == nil {
		made = "written"
	}
	t := ui.NewTable("examples", "#"+r.metric(), "#95 % interval", made+" − this")
	for _, row := range r.Rows {
		gain := ""
		for _, g := range r.Gains {
			if g.Over == row.Examples {
				gain = fmt.Sprintf("%+.1f points (%+.1f to %+.1f)", 100*g.Difference, 100*g.Low, 100*g.High)
			}
		}
		t.Add(r.name(row.Examples), fmt.Sprintf("%.1f %%", 100*row.Value), fmt.Sprintf("%.1f to %.1f", 100*row.Low, 100*row.High), gain)
	}
	p.Table(t)
	p.Line("")
	p.Text(2, r.about())
	if r.Invented {
		p.Painted(ui.Yellow, 2, "Note: "+inventedWarning+".")
	}
	p.Line("")
	p.Facts(
		"plan", strings.TrimPrefix(r.Steps, "the plan: "),
		"chosen", r.Chosen.words(len(r.Texts)),
		"prompt", r.Chosen.instruction(),
		"tokens", fmt.Sprintf("%s through %s, %s planned", ui.Thousands(r.Tokens), r.Model, ui.Thousands(r.Planned)),
		"time", fmt.Sprintf("%s for the run, %s for all of the rehearsal", ui.Span(r.Run), ui.Span(r.Seconds)),
		"real run", r.expected(),
		"files", r.Dir,
	)
}

// metric is what was measured.
func (r *rehearseResult) metric() string {
	if len(r.Rows) == 0 {
		return ""
	}
	return r.Rows[0].Metric
}

// about says what the numbers are about.
func (r *rehearseResult) about() string {
	whose := "public records"
	if r.Invented {
		whose = "records that the model invented"
	}
	return fmt.Sprintf("On %d of %d %s; the others were repeated up to %s to stand in for yours, so that as many were drawn, and the noise was as large, as in the real run.", r.Items, r.Records, whose, ui.Thousands(r.Copies))
}

// expected is how long the real run takes.
func (r *rehearseResult) expected() string {
	if ui.Span(r.RealLow) == ui.Span(r.RealHigh) {
		return "about " + ui.Span(r.RealLow) + " on this machine"
	}
	return fmt.Sprintf("about %s to %s on this machine, the longer the records the longer", ui.Span(r.RealLow), ui.Span(r.RealHigh))
}
