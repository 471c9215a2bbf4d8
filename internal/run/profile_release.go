package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// profileFile has the profile in numbers.
const profileFile = "profile.json"

func (w *profiler) files(context.Context) ([]release.File, error) {
	profile, err := w.released()
	if err != nil {
		return nil, err
	}
	content, err := w.release(profile)
	if err != nil {
		return nil, err
	}
	files, err := release.Render(content)
	if err != nil {
		return nil, err
	}
	numbers := struct {
		NotPrivate bool `json:"not_private,omitempty"`
		global.Profile
	}{!w.exec.certified(), *profile}
	data, err := json.MarshalIndent(numbers, "", "  ")
	return append(files, release.File{Name: profileFile, Data: append(data, '\n')}), err
}

// content is what the files are made from, a function of plan and journal.
func (w *profiler) release(p *global.Profile) (release.Release, error) {
	task, err := w.plan.Schema.Task()
	if err != nil {
		return release.Release{}, err
	}
	out := release.Release{
		Task: task, Examples: w.examples(p), Origin: release.Averaged, Tables: []release.Table{w.groups(p)}, Method: "profile", Settings: w.settings(),
		Private: w.plan.Private(), Seeded: w.exec.env.Seed != nil, Version: w.exec.env.Version,
		ExtraFiles: [][2]string{{profileFile, "the profile in numbers: counts, averages and their errors"}},
	}
	if w.plan.Size > 0 {
		out.Sizes = []release.Size{{Units: w.plan.Size}}
	}
	return out, w.exec.guaranteed(&out)
}

// examples are the groups in words.
func (w *profiler) examples(p *global.Profile) []prompt.Example {
	words := w.plan.Schema.Wording()
	var out []prompt.Example
	for _, g := range p.Groups {
		out = append(out, prompt.Example{Input: words.Text(g.Row), Output: words.Answer(g.Row)})
	}
	return out
}

func (w *profiler) fill(_ context.Context, out *Result) error {
	p, err := w.released()
	if err == nil {
		out.Examples = w.examples(p)
	}
	return err
}

// settings returns what the report shows of the plan.
func (w *profiler) settings() map[string]any {
	s := w.plan.Settings.WithDefaults()
	out := map[string]any{"noise": string(s.Noise), "schema": w.plan.Schema.Name}
	if name := w.source.elsewhere(); name != "" {
		out["engine"] = name
	}
	if s.Rate < 1 {
		out["rate"] = s.Rate
	}
	if s.RowsPerUnit > 0 {
		out["rows per unit"] = s.RowsPerUnit
	}
	return out
}

// groups are the profile as a table: a line for each column, a column for each group.
func (w *profiler) groups(p *global.Profile) release.Table {
	t := release.Table{
		Title: "Profile",
		Note:  "Numbers are averages within their bounds, ± how far noise may have moved them (one standard deviation, and the width of the bars). Words are the values that came out as the most frequent.",
		Head:  []string{""},
	}
	count := []release.Cell{{Text: "rows"}}
	for _, g := range p.Groups {
		t.Head = append(t.Head, cmp.Or(g.Where, "all rows"))
		text := "not counted"
		if g.CountError > 0 || g.Count != 0 {
			text = fmt.Sprintf("%s ± %s", rounded(g.Count, g.CountError), rounded(g.CountError, g.CountError))
		}
		count = append(count, release.Cell{Text: text})
	}
	t.Rows = append(t.Rows, count)
	for i, c := range w.plan.Schema.Columns {
		row := []release.Cell{{Text: c.Name}}
		for _, g := range p.Groups {
			row = append(row, cell(c, g, i))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// cell shows what was released of one column in one group.
func cell(c schema.Column, g global.Group, i int) release.Cell {
	e, v := g.Columns[i], g.Row[i]
	switch {
	case e.Statistic == global.Skip:
		return release.Cell{Text: "not asked"}
	case v.Discrete && v.Code < len(c.Domain()):
		return release.Cell{Text: c.Domain()[v.Code]}
	case v.Discrete:
		return release.Cell{}
	}
	out := release.Cell{Text: strconv.FormatFloat(v.Number, 'f', c.Digits, 64)}
	if c.Dates() {
		out.Text = c.Show(v.Number)
	}
	share := func(x float64) float64 { return (x - c.Low) / (c.High - c.Low) }
	if e.Statistic == global.Mean || e.Statistic == global.Moments {
		out.Text = fmt.Sprintf("%s ± %s", rounded(e.Mean, e.Error), rounded(e.Error, e.Error))
		if c.Dates() {
			out.Text = fmt.Sprintf("%s ± %s days", c.Show(e.Mean), rounded(e.Error, e.Error))
		}
		out.Bar = &release.Bar{Low: share(e.Mean - e.Error), At: share(e.Mean), High: share(e.Mean + e.Error)}
	}
	return out
}

// rounded prints a number with the digits that its error leaves: two of the error's.
func rounded(x, err float64) string {
	digits := 0
	if err > 0 {
		digits = min(6, max(0, 1-int(math.Floor(math.Log10(err)))))
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

func (w *profiler) claim(c *certificate.Claim) {
	c.Method = "profile"
	c.Proof = w.plan.Proof()
	c.Samplers = []certificate.Sampler{certificate.SampleAll}
	if privacy.Sampled(w.plan.Event()) {
		c.Samplers = []certificate.Sampler{certificate.SamplePoisson}
	}
	if w.plan.Size > 0 {
		c.Sizes = []certificate.Size{{Part: "all rows", Records: w.plan.Size}}
	}
	c.Assumptions = append(c.Assumptions, w.source.assumptions()...)
}
