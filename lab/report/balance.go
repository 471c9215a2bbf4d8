package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lab/suite"
)

// balances are metrics that do not reward one answer to everything. They stand beside
// accuracy where rows have them, as those of tables do.
var balances = []string{"balanced_accuracy", "mcc", "auc", "batch_accuracy", "batch_balanced_accuracy", "share_yes"}

// balanceNotes say how to read them.
var balanceNotes = map[string]string{
	"balanced_accuracy":       "One answer to everything has 50 where there are two answers, however unbalanced they are.",
	"mcc":                     "Matthews' correlation of answers with what is right: 0 for one answer to everything, 100 if all are right.",
	"auc":                     "The chance that a question whose answer is Yes gets a higher score of Yes than one whose answer is No: 50 if scores know nothing, whatever the bias.",
	"batch_accuracy":          "Yes where its score is above the mean over the questions (Zhou et al. 2024): about half of the answers are, which costs accuracy where few are right.",
	"batch_balanced_accuracy": "The same answers, as balanced accuracy.",
	"share_yes":               "0 and 100 are one answer to everything.",
}

// balanceTables show them as accuracy is shown.
func balanceTables(g *group) []table {
	shown := balances
	if g.dataset != "" && g.wide() {
		shown = balances[:3] // the average has all
	}
	var out []table
	for _, name := range shown {
		t := g.table(nil, nil, func(c *cell) (entry, bool) {
			if _, there := c.metrics[name]; !there {
				return entry{}, false
			}
			return entry{Text: spread(100*c.metrics[name], stat.Std(c.points(name)))}, true
		})
		if len(t.Rows) == 0 {
			continue
		}
		t.Caption = metricName(name) + ": mean ± standard deviation over seeds"
		if g.dataset == "" {
			t.Caption = metricName(name) + ": mean over data sets"
		}
		t.Notes = []string{balanceNotes[name]}
		out = append(out, t)
	}
	return out
}

// points of a metric by seed, of those that have it.
func (c *cell) points(name string) (values []float64) {
	for _, row := range c.rows {
		if v, ok := row.Metrics[name]; ok {
			values = append(values, 100*v)
		}
	}
	return values
}

// balances of a mean over data sets, those that all of them have.
func (m mean) balances() map[string]float64 {
	out := map[string]float64{}
	for _, name := range balances {
		sum := 0.0
		for _, c := range m.cells {
			v, there := c.metrics[name]
			if !there {
				sum = math.NaN()
			}
			sum += v / float64(len(m.cells))
		}
		if !math.IsNaN(sum) {
			out[name] = sum
		}
	}
	return out
}

// amplifiedNotes lists methods whose guarantee is much less than the ε they go by, which
// a paper gives before it samples rows.
func (g *group) amplifiedNotes() []string {
	if g.dataset == "" {
		return nil // it depends on the data set
	}
	var names []string
	of := map[string][]string{}
	seen := map[place]bool{}
	for _, c := range g.cells {
		at := place{name: c.name, epsilon: c.epsilon}
		if !guaranteed(c.epsilon) || len(c.rows) == 0 || seen[at] {
			continue
		}
		seen[at] = true
		upper := c.rows[0].EpsilonUpper
		if !(upper > 0 && upper < 0.97*c.epsilon) {
			continue
		}
		if of[c.name] == nil {
			names = append(names, c.name)
		}
		of[c.name] = append(of[c.name], fmt.Sprintf("%.3g at ε = %s", upper, epsilonName(c.epsilon)))
	}
	var notes []string
	for _, name := range names {
		notes = append(notes, fmt.Sprintf("%s goes by the ε that its paper gives, before rows are sampled; its guarantee is %s.", name, strings.Join(of[name], ", ")))
	}
	return notes
}

// eachShotsFigures draw values against ε, a panel for each method and a series for each
// number of shots.
func (r *report) eachShotsFigures(g *group, title string) []plot.Figure {
	var panels []plot.Panel
	for _, name := range distinct(g.cells, func(c *cell) (string, bool) { return c.name, guaranteed(c.epsilon) && c.shots > 0 }) {
		panels = append(panels, r.eachShotsPanel(g, name))
	}
	return inPairs(title, panels)
}

// eachShotsPanel returns the series of one method and those of baselines, and as levels
// what has neither shots nor an ε.
func (r *report) eachShotsPanel(g *group, name string) plot.Panel {
	p := plot.Panel{Title: name, Y: vertical(g), X: plot.Axis{Label: "ε", Log: true, Ends: true, Fit: true}}
	shots := g.shots()
	for i, n := range shots {
		for _, c := range g.cells {
			if c.name == name && c.shots == n {
				p.Series = add(p.Series, shotsName(n), i, c.epsilon, c)
			}
		}
	}
	var learned []plot.Series // of baselines that have an ε
	for _, c := range g.cells {
		if suite.Learned(c.method) && g.bounded(c.name) {
			learned = add(learned, c.name, len(shots)+len(learned), c.epsilon, c)
		}
	}
	p.Series = append(p.Series, learned...)
	for _, c := range g.cells {
		if c.shots == 0 && !c.online && !g.bounded(c.name) {
			p.Levels = append(p.Levels, plot.Level{Name: c.name, Look: len(shots) + 2 + len(p.Levels), Y: c.value.mean})
		}
	}
	for _, e := range g.epsilons() {
		if guaranteed(e) {
			p.X.Ticks = append(p.X.Ticks, e)
		}
	}
	return p
}

// bounded reports whether what goes by a name has an ε somewhere.
func (g *group) bounded(name string) bool {
	return slices.ContainsFunc(g.cells, func(c *cell) bool { return c.name == name && guaranteed(c.epsilon) })
}
