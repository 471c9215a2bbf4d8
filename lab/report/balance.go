package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/sotto-dp/sotto/internal/stat"
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
