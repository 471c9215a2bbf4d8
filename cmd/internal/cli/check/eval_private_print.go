package check

import (
	"fmt"
	"math"
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
)

// evalPrivateResult holds the first set's figures too, as that of "sotto eval" does.
type evalPrivateResult struct {
	measuredBy
	Value       float64                 `json:"value"`
	Low         float64                 `json:"low"`
	High        float64                 `json:"high"`
	Model       string                  `json:"model"`
	Rows        []evalPrivateRow        `json:"rows"`
	Comparisons []evalPrivateComparison `json:"comparisons"`
	// Commonest is the label that most of the records have that were asked, if they were counted by label.
	Commonest *release.Commonest `json:"commonest,omitempty"`
	cli.ReleaseResult

	labels int
}

// evalPrivateRow is one set. Right and Wrong have noise, and may be below 0.
type evalPrivateRow struct {
	evalPrivateRows
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Right int64   `json:"right"`
	Wrong int64   `json:"wrong"`
}

// evalPrivateComparison is of two sets on the same records: A less B.
type evalPrivateComparison struct {
	A          string  `json:"a"`
	B          string  `json:"b"`
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
}

func newEvalPrivateResult(d *sotto.Measurement) *evalPrivateResult {
	r := &evalPrivateResult{
		measuredBy: newMeasuredBy(d.Plan), Model: d.Model, Comparisons: []evalPrivateComparison{},
		ReleaseResult: cli.NewReleaseResult(d.Result, "", d.Plan.Delta, d.Plan.Adjacency(), d.Plan.Unit),
	}
	for i, n := range d.Plan.Prompts {
		s, c := d.Shares[i], d.Outcome.Counts[i]
		r.Rows = append(r.Rows, evalPrivateRow{setOf(n), s.Value, s.Low, s.High, c.Right, c.Wrong})
	}
	r.Value, r.Low, r.High = r.Rows[0].Value, r.Rows[0].Low, r.Rows[0].High
	if first := d.Outcome.Counts[0]; !d.Plan.Task.Open() {
		r.labels = len(d.Plan.Task.Labels)
		r.Commonest = release.MostCommon(d.Plan.Task.Labels, d.Outcome.Labels, first.Right+first.Wrong, true)
	}
	if by := d.Difference; by != nil {
		r.Comparisons = append(r.Comparisons, evalPrivateComparison{r.Rows[1].Demos, r.Rows[0].Demos, -by.Value, -by.High, -by.Low})
	}
	return r
}

func (r *evalPrivateResult) Print(p *ui.Page) {
	if r.Private {
		p.Head("%s %s on about %s records of %s: ε ≤ %s at δ = %s", r.Metric, ofModel(r.Model), ui.Thousands(int64(math.Round(r.Asked))), r.Task, ui.AtMost(r.Epsilon), ui.Whole(r.Delta))
	} else {
		p.Alarm("%s %s on records of %s: NOT PRIVATE, the random numbers are known", r.Metric, ofModel(r.Model), r.Task)
	}
	t := ui.NewTable("examples", "#shots", "form", "#"+r.Metric, "#95 % interval")
	for _, row := range r.Rows {
		t.Add(ui.Ending(row.Demos, 30), fmt.Sprint(row.Shots), row.way(), ui.Percent(row.Value), ui.Between(row.Low, row.High))
	}
	p.Table(t)
	if len(r.Comparisons) > 0 {
		t := ui.NewTable("compared on the same records", "#points", "#95 % interval")
		for _, c := range r.Comparisons {
			t.Add(
				ui.Ending(c.A, 13)+" less "+ui.Ending(c.B, 13), fmt.Sprintf("%+.1f", 100*c.Difference), fmt.Sprintf("%+.1f to %+.1f", 100*c.Low, 100*c.High),
			)
		}
		p.Line("")
		p.Table(t)
	}
	p.Line("")
	note := "Intervals cover the noise and the chance of which records were asked."
	note += ui.If(r.Metric != measure.Metric(measure.Right), " They are wider than they need be where grades are between 0 and 1.")
	if said := (release.Worth{Metric: r.Metric, Commonest: r.Commonest}).Against(r.labels); said != "" {
		note += " " + said
	}
	p.Text(2, note)
	p.Line("")
	p.Sentences(r.Guarantee)
	r.Facts(p,
		"event", r.Event,
		"noise", fmt.Sprintf("Laplace of scale %.3g on each count", r.Scale),
		"cost", r.Free(),
	)
}

// measuredBy is what a measurement and its plan have in common.
type measuredBy struct {
	Metric string  `json:"metric"`
	Task   string  `json:"task"`
	Asked  float64 `json:"asked"`
	Size   int64   `json:"size"`
	Scale  float64 `json:"noise_scale"`
}

func newMeasuredBy(m plan.Measurement) measuredBy {
	return measuredBy{measure.Metric(m.Measure.Grade), m.Task.Name, m.Asked(), m.Size, m.Measure.Noise()}
}

// evalPrivatePlan says what to expect, and spends nothing.
type evalPrivatePlan struct {
	measuredBy
	Expected float64           `json:"expected"`
	Event    string            `json:"event"`
	Epsilon  float64           `json:"epsilon"`
	Delta    float64           `json:"delta"`
	Rows     []evalPrivateRows `json:"rows"`
}

// evalPrivateRows is a set, and how it is asked.
type evalPrivateRows struct {
	Demos string `json:"demos"`
	Shots int    `json:"shots"`
	// Form is "" before a run if the model decides.
	Form       prompt.Form `json:"form"`
	Calibrated bool        `json:"calibrated"`
	// Evidence is how it uses evidence, if it does.
	Evidence prompt.How `json:"evidence,omitempty"`
}

func setOf(n plan.NamedPrompt) evalPrivateRows {
	return evalPrivateRows{n.Name, len(n.Prompt.Examples), n.Prompt.Form.Name(), n.Prompt.Calibrated, n.Prompt.Evidence.How}
}

// way is the form, and how labels are read off.
func (r evalPrivateRows) way() string {
	if r.Evidence == prompt.Alone {
		return "evidence alone"
	}
	if r.Form == "" {
		return "chat or text, by the model"
	}
	return string(r.Form) + ui.If(r.Calibrated, ", calibrated") + ui.If(r.Evidence != "", ", evidence "+string(r.Evidence))
}

func newEvalPrivatePlan(q plan.MeasurementRequest, m plan.Measurement) (*evalPrivatePlan, error) {
	half, err := m.Expected(0.8)
	r := &evalPrivatePlan{measuredBy: newMeasuredBy(m), Expected: half, Event: m.Event().String(), Epsilon: m.Epsilon, Delta: m.Delta}
	for i, n := range m.Prompts {
		set := setOf(n)
		if q.Form == "" && q.Prompts[i].Prompt.Form == "" {
			set.Form = ""
		}
		r.Rows = append(r.Rows, set)
	}
	return r, err
}

func (r *evalPrivatePlan) Print(p *ui.Page) {
	p.Head("%s ± %.1f points, for ε = %s at δ = %s; nothing was spent", r.Metric, 100*r.Expected, ui.Whole(r.Epsilon), ui.Whole(r.Delta))
	p.Text(2, "That is half an interval of 95 % for a prompt that is right for 80 % of the records. It covers the noise and the chance of which records are asked.")
	p.Line("")
	var names []string
	for _, row := range r.Rows {
		names = append(names, fmt.Sprintf("%s (%s)", row.Demos, row.way()))
	}
	p.Facts(
		"records", fmt.Sprintf("about %s of %s are asked", ui.Thousands(int64(math.Round(r.Asked))), ui.Thousands(r.Size)),
		"sets", strings.Join(names, ", "),
		"event", r.Event,
		"noise", fmt.Sprintf("Laplace of scale %.3g on each count", r.Scale),
	)
}
